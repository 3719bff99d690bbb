//! Tables of one-way flows: counts, first arrivals, delays, losses over time, loss runs and clocks; and their columns.

use super::clock_drift::{ClockDrift, ClockModel};
use super::counts::{FirstArrival, FirstArrivals, LossWindow, OneWayCounts};
use super::group::{Group, GroupDelays};
use fairwind_measure::{
    Bucket, ColumnDefinition, DefinitionLine, EmptyRowBudget, LossRuns, Percentiles, Summary,
    Table, TableBuilder, TableDefinition, Times, define, percentile_name, ratio, seconds,
};
use fairwind_units::Span;
use std::sync::LazyLock;

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

pub(super) fn passages_table(groups: &[GroupRow], flows: &[FlowRow], names: &[&str]) -> Table {
    let rows = scopes(groups, flows, names);
    let mut table = with_row_key(TableBuilder::new("passages", &rows), |row| row.0);
    for &(name, count) in OneWayCounts::COLUMNS {
        table = table.with(name, |row| count(row.1));
    }
    table
        .with("packet_loss_ratio", |(_, counts, _)| ratio(counts.packets_lost, counts.packets_sent))
        .with("packet_balance_ratio", |(_, counts, _)| counts.packet_balance())
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
                windows.map(|(number, times)| (series.length, number, group.name.as_str(), times)),
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
            let length = series.length;
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

/// Every column of the tables that are made of two captures, in the order of tables and columns.
pub fn columns() -> &'static [ColumnDefinition] {
    static COLUMNS: LazyLock<Vec<ColumnDefinition>> = LazyLock::new(|| define(TABLES));
    &COLUMNS
}

const TABLES: &[TableDefinition] = &[
    ("passages", &[SCOPE, OneWayCounts::DEFINITIONS, RATIOS]),
    ("first_arrivals", &[SCOPE, FIRST_ARRIVALS]),
    ("delays", &[SCOPE, DELAYS]),
    ("delay_histogram", &[DELAY_HISTOGRAM]),
    ("queueing", &[QUEUEING]),
    ("losses", &[LOSSES]),
    ("loss_runs", &[LOSS_RUNS]),
    ("loss_run_lengths", &[RUN_LENGTHS]),
    ("clocks", &[CLOCKS]),
];

#[rustfmt::skip]
const SCOPE: &[DefinitionLine] = &[
    ("scope", "text", "Scope of the row: `group` or `flow`."),
    ("name", "text", "Name of the group or the flow."),
    ("group", "text", "Name of the connection's group, as in the table `connections`; both flows of the connection belong to it."),
    ("flow", "number", "Number of the flow, as in the table `flows`; missing for a group."),
];

#[rustfmt::skip]
const RATIOS: &[DefinitionLine] = &[
    ("packet_loss_ratio", "ratio", "Packets lost over packets sent."),
    ("packet_balance_ratio", "ratio", "(Packets sent - packets received) over packets sent, which other tools call packet loss. It is below 0 if packets are segmented behind the sender's tap; use ranges then."),
    ("payload_byte_loss_ratio", "ratio", "Payload bytes lost over payload bytes sent."),
    ("range_loss_ratio", "ratio", "Ranges lost over ranges with a known fate."),
    ("ack_loss_ratio", "ratio", "`ack_packets_lost` over `ack_packets_sent`."),
    ("is_cut_by_offload", "yes or no", "Whether packets left larger than they arrived, so that packet counts of the two taps are not comparable."),
];

#[rustfmt::skip]
const FIRST_ARRIVALS: &[DefinitionLine] = &[
    ("transmission", "text", "The transmission in which the bytes arrived first: `original`, `bundle` (old bytes of an RDB packet) or `retransmission`."),
    ("repeat", "number", "Number of the retransmission of these bytes; 8 stands for all later ones, too. Missing for other transmissions."),
    ("ranges", "ranges", "Byte ranges that arrived first in it."),
    ("payload_bytes", "B", "Bytes in them."),
];

#[rustfmt::skip]
const DELAYS: &[DefinitionLine] = &[
    ("layer", "text", "`network`: from a packet's departure to its arrival, for each that arrived. `transport`: from the first departure of bytes to their first arrival, retransmissions included. `application`: from the first departure of bytes until they and all bytes before them had arrived, head-of-line blocking included."),
    ("payload_bytes", "B", "Bytes in the row; each counts as one sample."),
    ("min_s", "s", "Smallest delay. Two clocks are aligned so that the smallest delays of both directions are equal. If the path is asymmetric, all delays of a direction have the same error."),
    ("mean_s", "s", "Mean delay."),
    ("p*_s", "s", "Percentile of the delay, by bytes."),
    ("max_s", "s", "Largest delay."),
    ("variation_mean_s", "s", "Mean of the delay beyond the smallest network delay of the same flow, corrected for clock drift. It shows queueing, and in the other layers retransmissions and gaps."),
    ("variation_p*_s", "s", "Percentile of the delay beyond the smallest, by bytes; accurate to a slot of the histogram (0.8 %)."),
    ("variation_max_s", "s", "Largest delay beyond the smallest."),
];

#[rustfmt::skip]
const DELAY_HISTOGRAM: &[DefinitionLine] = &[
    ("group", "text", "Name of the group."),
    ("layer", "text", "As in the table `delays`."),
    ("kind", "text", "`absolute`: the delay. `variation`: the delay beyond the smallest network delay of each flow."),
    ("lower_s", "s", "Smallest delay that falls into the slot."),
    ("upper_s", "s", "Smallest delay above the slot."),
    ("payload_bytes", "B", "Bytes with such a delay."),
];

#[rustfmt::skip]
const QUEUEING: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window."),
    ("start_s", "s", "Beginning of the window in which the packets left. Windows without packets have no rows. Beyond 1 048 576 windows the last ones are left out, and a warning says so."),
    ("group", "text", "Name of the group."),
    ("ranges", "ranges", "Ranges with payload that left in the window and arrived."),
    ("min_s", "s", "Smallest network delay beyond the smallest of the flow: the standing queue."),
    ("mean_s", "s", "Mean, over ranges, of the network delay beyond the smallest of the flow."),
    ("p99_s", "s", "99th percentile of this delay."),
    ("max_s", "s", "Largest such delay."),
];

#[rustfmt::skip]
const LOSSES: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window."),
    ("start_s", "s", "Beginning of the window in which the packets left, whenever their loss became known. Windows without packets have rows, except in long silence (at most 131 072 rows, and 4096 for each window with packets). Beyond 1 048 576 windows with packets the last ones are left out, and a warning says so."),
    ("group", "text", "Name of the group."),
    ("packets_sent", "packets", "Packets that left in the window, in both directions of the group's connections."),
    ("packets_lost", "packets", "Of these, the ones that did not arrive at all."),
    ("ranges_sent", "ranges", "Ranges that left in the window, with a known fate."),
    ("ranges_lost", "ranges", "Of these, the ones lost."),
    ("payload_bytes_sent", "B", "Payload bytes that left in the window."),
    ("old_bytes_sent", "B", "Of these, the ones that had been sent before."),
    ("new_bytes_sent", "B", "Of these, the ones sent for the first time."),
    ("payload_bytes_lost", "B", "Payload bytes that left in the window and were lost."),
    ("old_bytes_lost", "B", "Of these, the ones that had been sent before."),
    ("new_bytes_lost", "B", "Of these, the ones sent for the first time."),
    ("range_loss_ratio", "ratio", "Ranges lost over ranges sent in the window."),
    ("payload_byte_loss_ratio", "ratio", "Bytes lost over bytes sent in the window."),
    ("old_byte_loss_ratio", "ratio", "Old bytes lost over bytes sent in the window."),
    ("new_byte_loss_ratio", "ratio", "New bytes lost over bytes sent in the window."),
    ("old_share_of_lost_ratio", "ratio", "Old bytes lost over bytes lost in the window."),
    ("range_loss_of_total_ratio", "ratio", "Ranges lost in the window over all ranges of the group with a known fate."),
    ("payload_byte_loss_of_total_ratio", "ratio", "Bytes lost in the window over all bytes that the group sent."),
];

#[rustfmt::skip]
const LOSS_RUNS: &[DefinitionLine] = &[
    ("group", "text", "Name of the group."),
    ("packets_sent", "packets", "Packets that occupy sequence numbers, in the order of departure at one tap; the rows of both taps are added."),
    ("packets_lost", "packets", "Of these, the ones lost completely or in part."),
    ("packet_loss_ratio", "ratio", "Packets lost over packets sent."),
    ("in_succession_ratio", "ratio", "Share of the losses that are in runs of two or more consecutive packets of the group."),
    ("among_connections_ratio", "ratio", "Share of the losses that are in runs over more than one connection."),
    ("within_connections_ratio", "ratio", "Share of the losses that are in runs in which some connection lost more than one packet."),
];

#[rustfmt::skip]
const RUN_LENGTHS: &[DefinitionLine] = &[
    ("group", "text", "Name of the group."),
    ("length_packets", "packets", "Length of a run of consecutive lost packets."),
    ("runs", "runs", "Number of runs of this length."),
];

#[rustfmt::skip]
const CLOCKS: &[DefinitionLine] = &[
    ("clock", "text", "`shared`: both captures have one clock. `apart`: they have two clocks, with the estimates that follow."),
    ("offset_s", "s", "Offset of the receiver's clock to the sender's at the first packet, which makes the smallest delays of both directions equal. 0 for one clock; missing where no packet is in both captures."),
    ("is_symmetric", "yes or no", "Whether both captures contain packets of both directions. If not, the smallest delay of the one direction counts as 0; with two clocks, all its delays are too small by that delay."),
    ("drift_parts_per_million", "ppm", "Drift of the receiver's clock against the sender's: the slope of the lines under the delays of both directions."),
    ("drift_uncertainty_parts_per_million", "ppm", "Uncertainty of the slope, from the variation of the smallest delays. Missing where there are too few samples for a line."),
    ("is_compensated", "yes or no", "Whether the drift is larger than its uncertainty and the delays are corrected for it."),
];
