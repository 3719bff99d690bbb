//! The table `intervals`: what happened in each window.

use super::{Basis, OpenFlow, Scope};
use crate::formula::{bits_per_second, ratio};
use crate::interval::{Scopes, Series, WindowCounts};
use crate::points::{ObservationPoints, Watched};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// The windows that nobody has yet, and whose they are.
pub(crate) struct Windows<'a> {
    pub(crate) series: &'a [Series],
    pub(crate) scopes: &'a Scopes,
    /// Where the flows of each group are watched.
    pub(crate) groups: Vec<Watched>,
    pub(crate) open: &'a [OpenFlow<'a>],
}

struct Row<'a> {
    length: Span,
    /// The window's number in its series.
    number: u64,
    scope: Scope<'a>,
    watched: Watched,
    counts: WindowCounts,
}

impl Row<'_> {
    fn rate(&self, points: ObservationPoints, bytes: u64) -> Option<f64> {
        self.known(points, bits_per_second(bytes, self.length).unwrap_or_default())
    }

    fn share(&self, points: ObservationPoints, part: u64, whole: u64) -> Option<f64> {
        self.known(points, ratio(part, whole)).flatten()
    }

    fn known<Value>(&self, points: ObservationPoints, value: Value) -> Option<Value> {
        self.watched.knows(points).then_some(value)
    }
}

/// Rows by interval length as in the settings, then by window, then groups and flows.
pub(super) fn intervals_table(basis: &Basis<'_>, windows: &Windows<'_>) -> Table {
    let rows: Vec<Row<'_>> =
        windows.series.iter().flat_map(|series| series_rows(basis, windows, series)).collect();
    let begin = basis.settings.measured_from();
    TableBuilder::new("intervals", &rows)
        .with("interval_s", |row| row.length.as_secs_f64())
        .with("start_s", |row| basis.seconds_at(begin + row.length.saturating_mul(row.number)))
        .with_text("scope", |row, text| text.push_str(row.scope.kind))
        .with_text("name", |row, text| text.push_str(row.scope.name))
        .with_text("group", |row, text| text.push_str(row.scope.group))
        .with("flow", |row| row.scope.flow)
        .with_known("throughput_bits_per_second", |row| {
            row.rate(ObservationPoints::ARRIVING, row.counts.wire_bytes_received)
        })
        .with_known("goodput_bits_per_second", |row| {
            row.rate(ObservationPoints::READER, row.counts.payload_bytes_read)
        })
        .with_known("packets_sent", |row| {
            row.known(ObservationPoints::LEAVING, row.counts.packets_sent)
        })
        .with_known("bytes_retransmitted", |row| {
            row.known(ObservationPoints::SENDER, row.counts.payload_bytes_retransmitted)
        })
        .with_known("bundled_bytes_sent", |row| {
            row.known(ObservationPoints::SENDER, row.counts.payload_bytes_bundled)
        })
        .with_known("packets_lost", |row| {
            row.known(ObservationPoints::HOSTS, row.counts.packets_lost)
        })
        .with_known("wire_bytes_sent", |row| {
            row.known(ObservationPoints::LEAVING, row.counts.wire_bytes_sent)
        })
        .with_known("wire_bytes_lost", |row| {
            row.known(ObservationPoints::HOSTS, row.counts.wire_bytes_lost)
        })
        .with("packet_loss_ratio", |row| {
            row.share(ObservationPoints::HOSTS, row.counts.packets_lost, row.counts.packets_sent)
        })
        .with("wire_byte_loss_ratio", |row| {
            row.share(
                ObservationPoints::HOSTS,
                row.counts.wire_bytes_lost,
                row.counts.wire_bytes_sent,
            )
        })
        .with_known("packets_received", |row| {
            row.known(ObservationPoints::ARRIVING, row.counts.packets_received)
        })
        .with_known("packets_marked", |row| {
            row.known(ObservationPoints::RECEIVER, row.counts.packets_marked)
        })
        .build()
}

fn series_rows<'a>(
    basis: &Basis<'a>,
    windows: &'a Windows<'a>,
    series: &'a Series,
) -> Vec<Row<'a>> {
    let length = series.length();
    let row = |number, scope, watched, counts| Row { length, number, scope, watched, counts };
    let groups: Vec<_> =
        basis.group_scopes().zip(&windows.scopes.of_group).zip(&windows.groups).collect();
    let flows: Vec<_> = windows
        .open
        .iter()
        .filter_map(|open| Some((open, *windows.scopes.of_flow.get(open.place)?)))
        .map(|(open, place)| {
            let scope = basis.flow_scope(open.number, open.description);
            (scope, place, Watched::one(open.description.seen_at))
        })
        .collect();
    let mut rows = Vec::new();
    for window in series.windows() {
        for ((scope, place), watched) in &groups {
            rows.push(row(window.number, *scope, **watched, window.counts(**place)));
        }
        for (scope, place, watched) in &flows {
            rows.push(row(window.number, *scope, *watched, window.counts(*place)));
        }
    }
    rows.extend(series.of_retired().map(|retired| {
        let scope = basis.flow_scope(retired.flow.number, &retired.flow.description);
        let watched = Watched::one(retired.flow.description.seen_at);
        row(retired.window, scope, watched, retired.counts)
    }));
    // Groups in their order, then flows by their numbers; mostly they lie so.
    rows.sort_by_key(|row| (row.number, row.scope.flow.map_or(0, |flow| flow + 1)));
    rows
}
