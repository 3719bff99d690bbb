//! The tables `latencies` (percentiles) and `latency_histogram` (whole distributions of groups).

use super::{Basis, Scope};
use crate::formula::seconds;
use crate::histogram::Bucket;
use crate::points::ObservationPoints;
use crate::row::{FlowRow, GroupRow, Measured};
use crate::summary::{Summary, percentile_name};
use crate::table::{Table, TableBuilder};

struct Row<'a> {
    scope: Scope<'a>,
    kind: &'static str,
    latency: &'a Summary,
}

/// Rows for each group, then for each flow: ACK latency, delivery latency, and the response time of
/// those that asked for anything; as far as they could be seen.
pub(super) fn latencies_table(
    basis: &Basis<'_>,
    groups: &[GroupRow<'_>],
    flows: &[FlowRow],
) -> Table {
    let of_groups = basis.group_scopes().zip(groups);
    let of_groups = of_groups.flat_map(|(scope, group)| all_kinds(scope, group));
    let of_flows = flows
        .iter()
        .flat_map(|flow| all_kinds(basis.flow_scope(flow.number, &flow.description), flow));
    let rows: Vec<Row<'_>> = of_groups.chain(of_flows).collect();
    let mut table = TableBuilder::new("latencies", &rows)
        .with_text("scope", |row, text| text.push_str(row.scope.kind))
        .with_text("name", |row, text| text.push_str(row.scope.name))
        .with_text("group", |row, text| text.push_str(row.scope.group))
        .with("flow", |row| row.scope.flow)
        .with_text("kind", |row, text| text.push_str(row.kind))
        .with("count", |row| row.latency.count)
        .with("min_s", |row| row.latency.minimum_s())
        .with("mean_s", |row| row.latency.mean_s());
    for &percentile in &basis.settings.percentiles {
        let place = basis.percentiles.place(percentile);
        let name = format!("{}_s", percentile_name(percentile));
        table = table.with(&name, |row| row.latency.percentile_s(place));
    }
    table.with("max_s", |row| row.latency.maximum_s()).build()
}

fn all_kinds<'a>(scope: Scope<'a>, row: &'a impl Measured) -> impl Iterator<Item = Row<'a>> {
    let latencies = row.latencies();
    let response = Some(&latencies.response).filter(|times| times.count > 0);
    let kinds = [
        ("ack", Some(&latencies.ack).filter(|_| row.knows(ObservationPoints::SENDER))),
        (
            "delivery",
            Some(&latencies.delivery).filter(|_| row.knows(ObservationPoints::APPLICATIONS)),
        ),
        ("response", response),
    ];
    kinds
        .into_iter()
        .filter_map(move |(kind, latency)| Some(Row { scope, kind, latency: latency? }))
}

struct SlotRow<'a> {
    group: &'a str,
    kind: &'static str,
    slot: Bucket,
}

/// Rows for each group and kind, in ascending order of latency, without empty slots.
pub(super) fn histogram_table(groups: &[GroupRow<'_>]) -> Table {
    let mut rows = Vec::new();
    for group in groups {
        let sum = group.sum;
        let kinds = [
            ("ack", &sum.ack_latency),
            ("delivery", &sum.delivery_latency),
            ("response", &sum.response_time),
        ];
        for (kind, latency) in kinds {
            let row = |slot| SlotRow { group: group.name, kind, slot };
            rows.extend(latency.slots().map(row));
        }
    }
    TableBuilder::new("latency_histogram", &rows)
        .with_text("group", |row, text| text.push_str(row.group))
        .with_text("kind", |row, text| text.push_str(row.kind))
        .with("lower_s", |row| seconds(row.slot.lower))
        .with("upper_s", |row| seconds(row.slot.upper))
        .with("count", |row| row.slot.count)
        .build()
}
