//! Tables of one-way flows: counts, first arrivals, delays, losses over time, loss runs, and clocks.

use super::clock_drift::{ClockDrift, ClockModel};
use super::counts::{FirstArrival, FirstArrivals, LossWindow, OneWayCounts};
use super::delays::GroupDelays;
use super::group::Group;
use fairwind_measure::{
    Bucket, EmptyRowBudget, LossRuns, Percentiles, Summary, Table, TableBuilder, Times,
    percentile_name,
};
use fairwind_units::Span;

/// Row of a closed flow.
#[derive(Debug)]
pub(super) struct FlowRow {
    pub(super) flow: u64,
    pub(super) name: String,
    pub(super) group: u32,
    pub(super) counts: OneWayCounts,
    pub(super) first: FirstArrivals,
}

/// Row of a group.
#[derive(Debug)]
pub(super) struct GroupRow {
    pub(super) group: u32,
    pub(super) counts: OneWayCounts,
    pub(super) first: FirstArrivals,
}

/// Key of a row: a flow or a group.
#[derive(Clone, Copy)]
struct RowKey<'a> {
    scope: &'static str,
    name: &'a str,
    group: &'a str,
    flow: Option<u64>,
}

/// Rows of groups, then of flows.
fn scopes<'a>(
    groups: &'a [GroupRow],
    flows: &'a [FlowRow],
    names: &[&'a str],
) -> Vec<(RowKey<'a>, &'a OneWayCounts, &'a FirstArrivals)> {
    let name = |group: u32| name_of(names, group);
    let of_groups = groups.iter().map(|row| {
        let name = name(row.group);
        (RowKey { scope: "group", name, group: name, flow: None }, &row.counts, &row.first)
    });
    let of_flows = flows.iter().map(|row| {
        let (group, flow) = (name(row.group), Some(row.flow));
        (RowKey { scope: "flow", name: &row.name, group, flow }, &row.counts, &row.first)
    });
    of_groups.chain(of_flows).collect()
}

fn name_of<'a>(names: &[&'a str], group: u32) -> &'a str {
    usize::try_from(group).ok().and_then(|place| names.get(place)).copied().unwrap_or_default()
}

fn with_row_key<Row>(
    table: TableBuilder<'_, Row>,
    key: impl Fn(&Row) -> RowKey<'_>,
) -> TableBuilder<'_, Row> {
    table
        .with("scope", |row| key(row).scope.to_owned())
        .with("name", |row| key(row).name.to_owned())
        .with("group", |row| key(row).group.to_owned())
        .with("flow", |row| key(row).flow)
}

type Count = (&'static str, fn(&OneWayCounts) -> u64);

/// The counters in the order of columns.
const COUNTS: &[Count] = &[
    ("packets_sent", |counts| counts.packets_sent),
    ("packets_received", |counts| counts.packets_received),
    ("packets_lost", |counts| counts.packets_lost),
    ("packets_partly_lost", |counts| counts.packets_partly_lost),
    ("packets_unjudged", |counts| counts.packets_unjudged),
    ("packets_duplicated", |counts| counts.packets_duplicated),
    ("packets_departure_unseen", |counts| counts.packets_departure_unseen),
    ("packets_cut", |counts| counts.packets_cut),
    ("packets_merged", |counts| counts.packets_merged),
    ("data_packets_sent", |counts| counts.data_packets_sent),
    ("data_packets_received", |counts| counts.data_packets_received),
    ("ack_packets_sent", |counts| counts.ack_packets_sent),
    ("ack_packets_lost", |counts| counts.ack_packets_lost),
    ("wire_bytes_sent", |counts| counts.wire_bytes_sent),
    ("wire_bytes_lost", |counts| counts.wire_bytes_lost),
    ("payload_bytes_sent", |counts| counts.payload_bytes_sent),
    ("payload_bytes_received", |counts| counts.payload_bytes_received),
    ("payload_bytes_matched", |counts| counts.payload_bytes_matched),
    ("payload_bytes_lost", |counts| counts.payload_bytes_lost),
    ("payload_bytes_unjudged", |counts| counts.payload_bytes_unjudged),
    ("payload_bytes_duplicated", |counts| counts.payload_bytes_duplicated),
    ("payload_bytes_departure_unseen", |counts| counts.payload_bytes_departure_unseen),
    ("payload_bytes_arrival_unseen", |counts| counts.payload_bytes_arrival_unseen),
    ("ranges_received", |counts| counts.ranges_received),
    ("ranges_lost", |counts| counts.ranges_lost),
    ("ranges_unjudged", |counts| counts.ranges_unjudged),
    ("bundles_sent", |counts| counts.bundles_sent),
    ("bundles_lost", |counts| counts.bundles_lost),
    ("bundle_hits", |counts| counts.bundle_hits),
    ("bundle_misses", |counts| counts.bundle_misses),
    ("bundled_bytes_sent", |counts| counts.bundled_bytes_sent),
    ("bundled_bytes_hit", |counts| counts.bundled_bytes_hit),
    ("bundled_bytes_missed", |counts| counts.bundled_bytes_missed),
    ("redundant_bytes_sent", |counts| counts.redundant_bytes_sent),
];

pub(super) fn passages_table(groups: &[GroupRow], flows: &[FlowRow], names: &[&str]) -> Table {
    let rows = scopes(groups, flows, names);
    let mut table = with_row_key(TableBuilder::new("passages", &rows), |row| row.0);
    for &(name, count) in COUNTS {
        table = table.with(name, |row| count(row.1));
    }
    table
        .with("packet_loss_ratio", |(_, counts, _)| ratio(counts.packets_lost, counts.packets_sent))
        .with("packet_balance_ratio", |(_, counts, _)| {
            let sent = (counts.packets_sent > 0).then(|| real(counts.packets_sent))?;
            Some((sent - real(counts.packets_received)) / sent)
        })
        .with("payload_byte_loss_ratio", |(_, counts, _)| {
            ratio(counts.payload_bytes_lost, counts.payload_bytes_sent)
        })
        .with("range_loss_ratio", |(_, counts, _)| {
            ratio(counts.ranges_lost, counts.ranges_received + counts.ranges_lost)
        })
        .with("ack_loss_ratio", |(_, counts, _)| {
            ratio(counts.ack_packets_lost, counts.ack_packets_sent)
        })
        .with("is_cut_by_offload", |(_, counts, _)| counts.packets_cut > 0)
        .build()
}

pub(super) fn first_arrivals_table(
    groups: &[GroupRow],
    flows: &[FlowRow],
    names: &[&str],
) -> Table {
    let mut rows: Vec<(RowKey<'_>, &str, Option<u64>, FirstArrival)> = Vec::new();
    for (key, _, first) in scopes(groups, flows, names) {
        rows.extend(first.kinds().map(|(kind, repeat, came)| (key, kind, repeat, came)));
    }
    with_row_key(TableBuilder::new("first_arrivals", &rows), |row| row.0)
        .with("transmission", |row| row.1.to_owned())
        .with("repeat", |row| row.2)
        .with("ranges", |row| row.3.ranges)
        .with("payload_bytes", |row| row.3.bytes)
        .build()
}

/// Delays of one layer of a flow or a group.
#[derive(Debug)]
pub(super) struct DelayRow {
    flow: Option<u64>,
    /// Empty for a group.
    name: String,
    group: u32,
    layer: &'static str,
    /// Added to absolute delays: the minimum if they are stored as variation.
    base: u64,
    absolute: Summary,
    variation: Summary,
}

impl DelayRow {
    pub(super) fn of_flow(
        (flow, name, group): (u64, &str, u32),
        layer: &'static str,
        smallest: u64,
        variation: &Times,
        percentiles: &Percentiles,
    ) -> Self {
        let variation = Summary::of(variation, percentiles);
        let absolute = variation.clone();
        let name = name.to_owned();
        Self { flow: Some(flow), name, group, layer, base: smallest, absolute, variation }
    }

    pub(super) fn of_group<'a>(
        group: u32,
        delays: &'a GroupDelays,
        percentiles: &'a Percentiles,
    ) -> impl Iterator<Item = Self> + 'a {
        let layers = delays.absolute.layers().zip(delays.variation.layers());
        layers.map(move |((layer, absolute), (_, variation))| Self {
            flow: None,
            name: String::new(),
            group,
            layer,
            base: 0,
            absolute: Summary::of(&absolute, percentiles),
            variation: Summary::of(&variation, percentiles),
        })
    }

    pub(super) const fn has_samples(&self) -> bool {
        self.variation.count > 0
    }

    fn absolute_s(&self, value: Option<f64>) -> Option<f64> {
        value.map(|value| value + seconds(self.base))
    }
}

pub(super) fn delays_table(rows: &[DelayRow], names: &[&str], shown: &[f64]) -> Table {
    let percentiles = Percentiles::new(shown.iter().copied());
    let key = |row: &DelayRow| {
        let group = name_of(names, row.group).to_owned();
        let is_group = row.flow.is_none();
        let scope = if is_group { "group" } else { "flow" };
        (scope, if is_group { group.clone() } else { row.name.clone() }, group)
    };
    let mut table = TableBuilder::new("delays", rows)
        .with("scope", |row| key(row).0.to_owned())
        .with("name", |row| key(row).1)
        .with("group", |row| key(row).2)
        .with("flow", |row| row.flow)
        .with("layer", |row| row.layer.to_owned())
        .with("payload_bytes", |row| row.variation.count)
        .with("min_s", |row| row.absolute_s(row.absolute.minimum_s()))
        .with("mean_s", |row| row.absolute_s(row.absolute.mean_s()));
    for &percentile in shown {
        let place = percentiles.place(percentile);
        let name = format!("{}_s", percentile_name(percentile));
        table = table.with(&name, |row| row.absolute_s(row.absolute.percentile_s(place)));
    }
    table = table
        .with("max_s", |row| row.absolute_s(row.absolute.maximum_s()))
        .with("variation_mean_s", |row| row.variation.mean_s());
    for &percentile in shown {
        let place = percentiles.place(percentile);
        let name = format!("variation_{}_s", percentile_name(percentile));
        table = table.with(&name, |row| row.variation.percentile_s(place));
    }
    table.with("variation_max_s", |row| row.variation.maximum_s()).build()
}

/// Series and distributions of groups.
pub(super) fn group_series(groups: &[Group], max_empty_rows: Option<u64>) -> Vec<Table> {
    vec![
        delay_histogram_table(groups),
        queueing_table(groups),
        losses_table(groups, max_empty_rows),
        loss_runs_table(groups),
        run_lengths_table(groups),
    ]
}

fn delay_histogram_table(groups: &[Group]) -> Table {
    let mut rows: Vec<(&str, &str, &str, Bucket)> = Vec::new();
    for group in groups {
        let kinds = [("absolute", &group.delays.absolute), ("variation", &group.delays.variation)];
        for (kind, layered) in kinds {
            for (layer, times) in layered.layers() {
                rows.extend(times.slots().map(|slot| (group.name.as_str(), layer, kind, slot)));
            }
        }
    }
    TableBuilder::new("delay_histogram", &rows)
        .with("group", |row| row.0.to_owned())
        .with("layer", |row| row.1.to_owned())
        .with("kind", |row| row.2.to_owned())
        .with("lower_s", |row| seconds(row.3.lower))
        .with("upper_s", |row| seconds(row.3.upper))
        .with("payload_bytes", |row| row.3.count)
        .build()
}

fn queueing_table(groups: &[Group]) -> Table {
    let mut rows: Vec<(Span, u64, &str, &Times)> = Vec::new();
    for group in groups {
        for series in &group.delays.series {
            let windows = series.windows();
            rows.extend(
                windows
                    .map(|(number, times)| (series.length(), number, group.name.as_str(), times)),
            );
        }
    }
    TableBuilder::new("queueing", &rows)
        .with("interval_s", |row| row.0.as_secs_f64())
        .with("start_s", |row| row.0.saturating_mul(row.1).as_secs_f64())
        .with("group", |row| row.2.to_owned())
        .with("ranges", |row| row.3.count())
        .with("min_s", |row| row.3.minimum().map(seconds))
        .with("mean_s", |row| row.3.mean().map(|nanos| nanos / 1e9))
        .with("p99_s", |row| row.3.percentile(99.0).map(seconds))
        .with("max_s", |row| row.3.maximum().map(seconds))
        .build()
}

/// A window without departures.
const NOTHING_SENT: LossWindow = LossWindow {
    packets_sent: 0,
    bytes_sent: 0,
    old_bytes_sent: 0,
    ranges_sent: 0,
    packets_lost: 0,
    bytes_lost: 0,
    old_bytes_lost: 0,
    ranges_lost: 0,
};

/// The windows, with `nothing` for empty ones within the budget.
fn with_silence<'a, T>(
    windows: impl Iterator<Item = (u64, &'a T)>,
    nothing: &'a T,
    most_rows: Option<u64>,
) -> impl Iterator<Item = (u64, &'a T)> {
    let mut silence = EmptyRowBudget::with_rows(most_rows);
    let mut next = 0;
    windows.flat_map(move |(number, window)| {
        let begin = if silence.shows(number - next, 1) { next } else { number };
        silence.end();
        next = number.saturating_add(1);
        (begin..number).map(move |number| (number, nothing)).chain([(number, window)])
    })
}

struct LossSequence<'a> {
    length: Span,
    number: u64,
    group: &'a Group,
    window: &'a LossWindow,
}

fn losses_table(groups: &[Group], max_empty_rows: Option<u64>) -> Table {
    let mut rows: Vec<LossSequence<'_>> = Vec::new();
    for group in groups {
        for series in &group.loss_series {
            let length = series.length();
            let row = |(number, window)| LossSequence { length, number, group, window };
            rows.extend(with_silence(series.windows(), &NOTHING_SENT, max_empty_rows).map(row));
        }
    }
    let new = |sent: u64, old: u64| sent.saturating_sub(old);
    TableBuilder::new("losses", &rows)
        .with("interval_s", |row| row.length.as_secs_f64())
        .with("start_s", |row| row.length.saturating_mul(row.number).as_secs_f64())
        .with("group", |row| row.group.name.clone())
        .with("packets_sent", |row| row.window.packets_sent)
        .with("packets_lost", |row| row.window.packets_lost)
        .with("ranges_sent", |row| row.window.ranges_sent)
        .with("ranges_lost", |row| row.window.ranges_lost)
        .with("payload_bytes_sent", |row| row.window.bytes_sent)
        .with("old_bytes_sent", |row| row.window.old_bytes_sent)
        .with("new_bytes_sent", |row| new(row.window.bytes_sent, row.window.old_bytes_sent))
        .with("payload_bytes_lost", |row| row.window.bytes_lost)
        .with("old_bytes_lost", |row| row.window.old_bytes_lost)
        .with("new_bytes_lost", |row| new(row.window.bytes_lost, row.window.old_bytes_lost))
        .with("range_loss_ratio", |row| ratio(row.window.ranges_lost, row.window.ranges_sent))
        .with("payload_byte_loss_ratio", |row| ratio(row.window.bytes_lost, row.window.bytes_sent))
        .with("old_byte_loss_ratio", |row| ratio(row.window.old_bytes_lost, row.window.bytes_sent))
        .with("new_byte_loss_ratio", |row| {
            ratio(new(row.window.bytes_lost, row.window.old_bytes_lost), row.window.bytes_sent)
        })
        .with("old_share_of_lost_ratio", |row| {
            ratio(row.window.old_bytes_lost, row.window.bytes_lost)
        })
        .with("range_loss_of_total_ratio", |row| {
            let counts = &row.group.counts;
            ratio(row.window.ranges_lost, counts.ranges_received + counts.ranges_lost)
        })
        .with("payload_byte_loss_of_total_ratio", |row| {
            ratio(row.window.bytes_lost, row.group.counts.payload_bytes_sent)
        })
        .build()
}

fn loss_runs_table(groups: &[Group]) -> Table {
    let rows: Vec<(&str, &LossRuns)> =
        groups.iter().map(|group| (group.name.as_str(), &group.runs)).collect();
    TableBuilder::new("loss_runs", &rows)
        .with("group", |row| row.0.to_owned())
        .with("packets_sent", |row| row.1.packets)
        .with("packets_lost", |row| row.1.losses)
        .with("packet_loss_ratio", |row| ratio(row.1.losses, row.1.packets))
        .with("in_succession_ratio", |row| ratio(row.1.in_succession, row.1.losses))
        .with("among_connections_ratio", |row| ratio(row.1.among_connections, row.1.losses))
        .with("within_connections_ratio", |row| ratio(row.1.within_connections, row.1.losses))
        .build()
}

fn run_lengths_table(groups: &[Group]) -> Table {
    let rows: Vec<(&str, u64, u64)> = groups
        .iter()
        .flat_map(|group| {
            group.runs.lengths.iter().map(|(&length, &runs)| (group.name.as_str(), length, runs))
        })
        .collect();
    TableBuilder::new("loss_run_lengths", &rows)
        .with("group", |row| row.0.to_owned())
        .with("length_packets", |row| row.1)
        .with("runs", |row| row.2)
        .build()
}

/// Estimates of the clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub(super) model: ClockModel,
    pub(super) drift: ClockDrift,
    /// Offset that was subtracted from the receiver's timestamps.
    pub(super) merged_by_nanos: i64,
    /// Whether any packet is in both captures.
    pub(super) is_known: bool,
    /// Whether packets of both directions are.
    pub(super) is_symmetric: bool,
}

impl Clocks {
    const fn is_apart(&self) -> bool {
        matches!(self.model, ClockModel::Apart)
    }

    fn offset_s(&self) -> Option<f64> {
        let merged_by_s = Span::from_nanos(self.merged_by_nanos.unsigned_abs()).as_secs_f64();
        let merged_by_s = if self.merged_by_nanos < 0 { -merged_by_s } else { merged_by_s };
        let is_known = self.is_known || !self.is_apart();
        is_known.then_some(merged_by_s + self.drift.offset_nanos / 1e9)
    }
}

pub(super) fn clocks_table(clocks: &Clocks) -> Table {
    let rows = [clocks];
    TableBuilder::new("clocks", &rows)
        .with("clock", |row| if row.is_apart() { "apart" } else { "shared" }.to_owned())
        .with("offset_s", |row| row.offset_s())
        .with("is_symmetric", |row| row.is_symmetric)
        .with("drift_parts_per_million", |row| row.drift.parts_per_million)
        .with("drift_uncertainty_parts_per_million", |row| row.drift.uncertainty_parts_per_million)
        .with("is_compensated", |row| row.drift.is_compensated)
        .build()
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    Span::from_nanos(nanos).as_secs_f64()
}

/// `part / whole`; `None` if `whole` is zero.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| real(part) / real(whole))
}

#[expect(clippy::cast_precision_loss, reason = "a table's number needs no more than 53 bits")]
const fn real(count: u64) -> f64 {
    count as f64
}
