//! The table `intervals`: what happened in each window.

use super::{Measurement, Scope};
use crate::formula::bits_per_second;
use crate::interval::{Series, WindowCounts};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

struct Row<'a> {
    length: Span,
    start_s: f64,
    scope: Scope<'a>,
    counts: WindowCounts,
}

/// Rows by interval length as in the settings, then by window, then groups and flows.
pub(super) fn intervals_table(measurement: &Measurement<'_>) -> Table {
    let of_groups = measurement.group_scopes().into_iter().zip(&measurement.scopes.of_group);
    let of_flows = measurement.flow_scopes().into_iter().zip(&measurement.scopes.of_flow);
    let scopes: Vec<_> = of_groups.chain(of_flows).collect();
    let rows: Vec<Row<'_>> = measurement
        .series
        .iter()
        .flat_map(|series| series_rows(measurement, series, &scopes))
        .collect();
    TableBuilder::new("intervals", &rows)
        .with("interval_s", |row| row.length.as_secs_f64())
        .with("start_s", |row| row.start_s)
        .with("scope", |row| row.scope.kind.to_owned())
        .with("name", |row| row.scope.name.to_owned())
        .with("group", |row| row.scope.group.to_owned())
        .with("flow", |row| row.scope.flow)
        .with("throughput_bits_per_second", |row| {
            bits_per_second(row.counts.wire_bytes_received, row.length).unwrap_or_default()
        })
        .with("goodput_bits_per_second", |row| {
            bits_per_second(row.counts.payload_bytes_read, row.length).unwrap_or_default()
        })
        .with("packets_sent", |row| row.counts.packets_sent)
        .with("bytes_retransmitted", |row| row.counts.payload_bytes_retransmitted)
        .with("packets_lost", |row| row.counts.packets_lost)
        .build()
}

fn series_rows<'a>(
    measurement: &Measurement<'a>,
    series: &Series,
    scopes: &[(Scope<'a>, &usize)],
) -> Vec<Row<'a>> {
    let (length, begin) = (series.length(), measurement.settings.measured_from());
    let mut rows = Vec::new();
    for (number, window) in series.windows() {
        let start_s = measurement.seconds_at(begin + length * number);
        let row = |&(scope, place): &(Scope<'a>, &usize)| {
            // Nothing was counted of what came later.
            let counts = window.get(*place).copied().unwrap_or_default();
            Row { length, start_s, scope, counts }
        };
        rows.extend(scopes.iter().map(row));
    }
    rows
}
