//! The tables `latencies` (percentiles) and `latency_histogram` (whole distributions of groups).

use super::summary::{Percentiles, Summary};
use super::totals::{FlowRow, GroupRow, Measured, SHOWN_PERCENTILES};
use super::{Measurement, Scope};
use crate::formula::seconds;
use crate::histogram::Slot;
use crate::settings::Settings;
use crate::table::{Table, TableBuilder};

struct Row<'a> {
    scope: Scope<'a>,
    kind: &'static str,
    latency: &'a Summary,
}

/// The percentiles of latencies that some table shows.
pub(super) fn percentiles(settings: &Settings) -> Percentiles {
    Percentiles::new(settings.percentiles.iter().copied().chain(SHOWN_PERCENTILES))
}

/// Rows for each group, then for each flow: ACK latency, delivery latency, and the response time of
/// those that asked for anything.
pub(super) fn latencies_table(
    measurement: &Measurement<'_>,
    groups: &[GroupRow<'_>],
    flows: &[FlowRow<'_>],
    percentiles: &Percentiles,
) -> Table {
    let of_groups = measurement.group_scopes().into_iter().zip(groups);
    let of_groups = of_groups.flat_map(|(scope, group)| all_kinds(scope, group));
    let of_flows = measurement.flow_scopes().into_iter().zip(flows);
    let of_flows = of_flows.flat_map(|(scope, flow)| all_kinds(scope, flow));
    let rows: Vec<Row<'_>> = of_groups.chain(of_flows).collect();
    let mut table = TableBuilder::new("latencies", &rows)
        .with("scope", |row| row.scope.kind.to_owned())
        .with("name", |row| row.scope.name.to_owned())
        .with("group", |row| row.scope.group.to_owned())
        .with("flow", |row| row.scope.flow)
        .with("kind", |row| row.kind.to_owned())
        .with("count", |row| row.latency.count)
        .with("min_s", |row| row.latency.minimum.map(seconds))
        .with("mean_s", |row| row.latency.mean_s());
    for &percentile in &measurement.settings.percentiles {
        let place = percentiles.place(percentile);
        table = table.with(&percentile_column(percentile), |row| row.latency.percentile_s(place));
    }
    table.with("max_s", |row| row.latency.maximum_s()).build()
}

fn all_kinds<'a>(scope: Scope<'a>, row: &'a impl Measured) -> impl Iterator<Item = Row<'a>> {
    let measures = row.measures();
    let response = Some(&measures.response_time).filter(|times| times.count > 0);
    let kinds = [
        ("ack", Some(&measures.ack_latency)),
        ("delivery", Some(&measures.delivery_latency)),
        ("response", response),
    ];
    kinds
        .into_iter()
        .filter_map(move |(kind, latency)| Some(Row { scope, kind, latency: latency? }))
}

/// `p50_s`, `p99_9_s`.
fn percentile_column(percentile: f64) -> String {
    format!("p{percentile}_s").replace('.', "_")
}

struct SlotRow<'a> {
    group: &'a str,
    kind: &'static str,
    slot: Slot,
}

/// Rows for each group and kind, in ascending order of latency, without empty slots.
pub(super) fn histogram_table(groups: &[GroupRow<'_>]) -> Table {
    let mut rows = Vec::new();
    for group in groups {
        for (kind, latency) in group.latencies() {
            let row = |slot| SlotRow { group: group.name(), kind, slot };
            rows.extend(latency.slots().map(row));
        }
    }
    TableBuilder::new("latency_histogram", &rows)
        .with("group", |row| row.group.to_owned())
        .with("kind", |row| row.kind.to_owned())
        .with("lower_s", |row| seconds(row.slot.lower))
        .with("upper_s", |row| seconds(row.slot.upper))
        .with("count", |row| row.slot.count)
        .build()
}
