//! Tables of one-way flows: counts, first arrivals, delays, losses over time, loss runs and clocks; and their columns.

use super::clock_drift::{ClockDrift, ClockModel};
use super::counts::{FirstArrival, FirstArrivals, LossWindow, OneWayCounts};
use super::group::{Group, GroupDelays};
use fairwind_measure::{
    Bucket, ColumnDefinition, EmptyRowBudget, LossRuns, Percentiles, Summary, Table, TableBuilder,
    TableDefinition, Times, define, ratio, seconds, table_columns,
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

/// Counts and first arrivals of a flow or a group, with their key.
type CountsRow<'a> = (RowKey<'a>, (&'a OneWayCounts, &'a FirstArrivals));

/// Rows of groups, then of flows.
fn scopes<'a>(
    groups: &'a [GroupRow],
    flows: &'a [FlowRow],
    names: &[&'a str],
) -> Vec<CountsRow<'a>> {
    let of_groups = groups
        .iter()
        .map(|row| (RowKey::of_group(name_of(names, row.group)), (&row.counts, &row.first)));
    let of_flows = flows.iter().map(|row| {
        let group = name_of(names, row.group);
        (RowKey::of_flow(row.flow, &row.name, group), (&row.counts, &row.first))
    });
    of_groups.chain(of_flows).collect()
}

impl<'a> RowKey<'a> {
    const fn of_group(name: &'a str) -> Self {
        Self { scope: "group", name, group: name, flow: None }
    }

    const fn of_flow(flow: u64, name: &'a str, group: &'a str) -> Self {
        Self { scope: "flow", name, group, flow: Some(flow) }
    }
}

fn name_of<'a>(names: &[&'a str], group: u32) -> &'a str {
    usize::try_from(group).ok().and_then(|place| names.get(place)).copied().unwrap_or_default()
}

pub(super) fn passages_table(groups: &[GroupRow], flows: &[FlowRow], names: &[&str]) -> Table {
    let rows = scopes(groups, flows, names);
    let mut table = with_scope(TableBuilder::new("passages", &rows));
    for &(name, count) in OneWayCounts::COLUMNS {
        table = table.with(name, |row| count(row.1.0));
    }
    with_ratios(table).build()
}

/// What arrived first in one kind of transmission: the kind, the number of the retransmission, and how much.
type FirstArrivalRow<'a> = (RowKey<'a>, (&'static str, Option<u64>, FirstArrival));

pub(super) fn first_arrivals_table(
    groups: &[GroupRow],
    flows: &[FlowRow],
    names: &[&str],
) -> Table {
    let mut rows: Vec<FirstArrivalRow<'_>> = Vec::new();
    for (key, (_, first)) in scopes(groups, flows, names) {
        rows.extend(first.kinds().map(|kind| (key, kind)));
    }
    with_first_arrivals(with_scope(TableBuilder::new("first_arrivals", &rows))).build()
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
    let rows: Vec<(RowKey<'_>, &DelayRow)> = rows
        .iter()
        .map(|row| {
            let group = name_of(names, row.group);
            let of_flow = row.flow.map(|flow| RowKey::of_flow(flow, &row.name, group));
            (of_flow.unwrap_or(RowKey::of_group(group)), row)
        })
        .collect();
    let table = with_scope(TableBuilder::new("delays", &rows));
    with_delays(table, shown, &percentiles).build()
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

/// Group, layer, kind and slot of a histogram.
type SlotRow<'a> = (&'a str, &'static str, &'static str, Bucket);

fn delay_histogram_table(groups: &[Group]) -> Table {
    let mut rows: Vec<SlotRow<'_>> = Vec::new();
    for group in groups {
        let kinds = [("absolute", &group.delays.absolute), ("variation", &group.delays.variation)];
        for (kind, layered) in kinds {
            for (layer, times) in layered.layers() {
                rows.extend(times.slots().map(|slot| (group.name.as_str(), layer, kind, slot)));
            }
        }
    }
    with_slots(TableBuilder::new("delay_histogram", &rows)).build()
}

/// Length and number of a window, group, and delays.
type QueueingRow<'a> = (Span, u64, &'a str, &'a Times);

fn queueing_table(groups: &[Group]) -> Table {
    let mut rows: Vec<QueueingRow<'_>> = Vec::new();
    for group in groups {
        for series in &group.delays.series {
            let windows = series.windows();
            rows.extend(
                windows.map(|(number, times)| (series.length, number, group.name.as_str(), times)),
            );
        }
    }
    with_queueing(TableBuilder::new("queueing", &rows)).build()
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
    with_losses(TableBuilder::new("losses", &rows)).build()
}

/// A group's losses in runs.
type LossRunsRow<'a> = (&'a str, &'a LossRuns);

fn loss_runs_table(groups: &[Group]) -> Table {
    let rows: Vec<LossRunsRow<'_>> =
        groups.iter().map(|group| (group.name.as_str(), &group.runs)).collect();
    with_loss_runs(TableBuilder::new("loss_runs", &rows)).build()
}

/// Group, length of runs, and their number.
type RunLength<'a> = (&'a str, u64, u64);

fn run_lengths_table(groups: &[Group]) -> Table {
    let rows: Vec<RunLength<'_>> = groups
        .iter()
        .flat_map(|group| {
            group.runs.lengths.iter().map(|(&length, &runs)| (group.name.as_str(), length, runs))
        })
        .collect();
    with_run_lengths(TableBuilder::new("loss_run_lengths", &rows)).build()
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
    with_clocks(TableBuilder::new("clocks", std::slice::from_ref(clocks))).build()
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

table_columns! {
    SCOPE: with_scope['a, Rest]((RowKey<'a>, Rest));
    "scope", "text", with_text(|row, text| text.push_str(row.0.scope)), "Scope of the row: `group` or `flow`.";
    "name", "text", with_text(|row, text| text.push_str(row.0.name)), "Name of the group or the flow.";
    "group", "text", with_text(|row, text| text.push_str(row.0.group)), "Name of the flow's group, as in the table `flows`; that of its connection if the flow has no payload.";
    "flow", "number", with(|row| row.0.flow), "Number of the flow, as in the table `flows`; missing for a group.";
}

table_columns! {
    RATIOS: with_ratios['a](CountsRow<'a>);
    "packet_loss_ratio", "ratio", with(|row| ratio(row.1.0.packets_lost, row.1.0.packets_sent)), "Packets lost over packets sent.";
    "packet_balance_ratio", "ratio", with(|row| row.1.0.packet_balance()), "(Packets sent - packets received) over packets sent, which other tools call packet loss. It is below 0 if packets are segmented behind the sender's tap; use ranges then.";
    "payload_byte_loss_ratio", "ratio", with(|row| ratio(row.1.0.payload_bytes_lost, row.1.0.payload_bytes_sent)), "Payload bytes lost over payload bytes sent.";
    "range_loss_ratio", "ratio", with(|row| ratio(row.1.0.ranges_lost, row.1.0.ranges_received + row.1.0.ranges_lost)), "Ranges lost over ranges with a known fate.";
    "ack_loss_ratio", "ratio", with(|row| ratio(row.1.0.ack_packets_lost, row.1.0.ack_packets_sent)), "`ack_packets_lost` over `ack_packets_sent`.";
    "is_cut_by_offload", "yes or no", with(|row| row.1.0.packets_cut > 0), "Whether packets left larger than they arrived, so that packet counts of the two taps are not comparable.";
}

table_columns! {
    FIRST_ARRIVALS: with_first_arrivals['a](FirstArrivalRow<'a>);
    "transmission", "text", with(|row| row.1.0.to_owned()), "The transmission in which the bytes arrived first: `original`, `bundle` (old bytes of an RDB packet) or `retransmission`.";
    "repeat", "number", with(|row| row.1.1), "Number of the retransmission of these bytes; 8 stands for all later ones, too. Missing for other transmissions.";
    "ranges", "ranges", with(|row| row.1.2.ranges), "Byte ranges that arrived first in it.";
    "payload_bytes", "B", with(|row| row.1.2.bytes), "Bytes in them.";
}

table_columns! {
    DELAYS: with_delays['a]((RowKey<'a>, &'a DelayRow), shown: &[f64], percentiles: &Percentiles);
    "layer", "text", with(|row| row.1.layer.to_owned()), "`network`: from a packet's departure to its arrival, for each that arrived. `transport`: from the first departure of bytes to their first arrival, retransmissions included. `application`: from the first departure of bytes until they and all bytes before them had arrived, head-of-line blocking included.";
    "payload_bytes", "B", with(|row| row.1.variation.count), "Bytes in the row; each counts as one sample.";
    "min_s", "s", with(|row| row.1.absolute_s(row.1.absolute.minimum_s())), "Smallest delay. Two clocks are aligned so that the smallest delays of both directions are equal. If the path is asymmetric, all delays of a direction have the same error.";
    "mean_s", "s", with(|row| row.1.absolute_s(row.1.absolute.mean_s())), "Mean delay.";
    "p*_s", "s", = with_percentiles("", "_s", shown, percentiles, |row, place| row.1.absolute_s(row.1.absolute.percentile_s(place))), "Percentile of the delay, by bytes.";
    "max_s", "s", with(|row| row.1.absolute_s(row.1.absolute.maximum_s())), "Largest delay.";
    "variation_mean_s", "s", = with_times("variation_", shown, percentiles, |row| &row.1.variation), "Mean of the delay beyond the smallest network delay of the same flow, corrected for clock drift. It shows queueing, and in the other layers retransmissions and gaps. If a part of a capture counts (`--from`, `--connection-from`), the smallest delay is still that of all packets from the flow's first one to the end of the part, so that a queue which stands in the whole part is seen; packets after the part (`--to`) are not looked at.";
    "variation_p*_s", "s", _, "Percentile of the delay beyond the smallest, by bytes; accurate to a slot of the histogram (0.8 %).";
    "variation_max_s", "s", _, "Largest delay beyond the smallest.";
}

table_columns! {
    DELAY_HISTOGRAM: with_slots['a](SlotRow<'a>);
    "group", "text", with(|row| row.0.to_owned()), "Name of the group.";
    "layer", "text", with(|row| row.1.to_owned()), "As in the table `delays`.";
    "kind", "text", with(|row| row.2.to_owned()), "`absolute`: the delay. `variation`: the delay beyond the smallest network delay of each flow, as in the table `delays`.";
    "lower_s", "s", with(|row| seconds(row.3.lower)), "Smallest delay that falls into the slot.";
    "upper_s", "s", with(|row| seconds(row.3.upper)), "Smallest delay above the slot.";
    "payload_bytes", "B", with(|row| row.3.count), "Bytes with such a delay.";
}

table_columns! {
    QUEUEING: with_queueing['a](QueueingRow<'a>);
    "interval_s", "s", with(|row| row.0.as_secs_f64()), "Length of the window.";
    "start_s", "s", with(|row| row.0.saturating_mul(row.1).as_secs_f64()), "Beginning of the window in which the packets left. Windows without packets have no rows. Beyond 1 048 576 windows the last ones are left out, and a warning says so.";
    "group", "text", with(|row| row.2.to_owned()), "Name of the group.";
    "ranges", "ranges", with(|row| row.3.count()), "Ranges with payload that left in the window and arrived.";
    "min_s", "s", with(|row| row.3.minimum().map(seconds)), "Smallest network delay beyond the smallest of the flow, which is that of `variation_mean_s` in the table `delays`: the standing queue.";
    "mean_s", "s", with(|row| row.3.mean().map(|nanos| nanos / 1e9)), "Mean, over ranges, of the network delay beyond the smallest of the flow.";
    "p99_s", "s", with(|row| row.3.percentile(99.0).map(seconds)), "99th percentile of this delay.";
    "max_s", "s", with(|row| row.3.maximum().map(seconds)), "Largest such delay.";
}

table_columns! {
    LOSSES: with_losses['a](LossSequence<'a>);
    "interval_s", "s", with(|row| row.length.as_secs_f64()), "Length of the window.";
    "start_s", "s", with(|row| row.length.saturating_mul(row.number).as_secs_f64()), "Beginning of the window in which the packets left, whenever their loss became known. Windows without packets have rows, except in long silence (at most 131 072 rows, and 4096 for each window with packets). Beyond 1 048 576 windows with packets the last ones are left out, and a warning says so.";
    "group", "text", with(|row| row.group.name.clone()), "Name of the group.";
    "packets_sent", "packets", with(|row| row.window.packets_sent), "Packets that left in the window. Each direction of a connection counts in the group of its data; one without payload in the group of the connection.";
    "packets_lost", "packets", with(|row| row.window.packets_lost), "Of these, the ones that did not arrive at all.";
    "ranges_sent", "ranges", with(|row| row.window.ranges_sent), "Ranges that left in the window, with a known fate.";
    "ranges_lost", "ranges", with(|row| row.window.ranges_lost), "Of these, the ones lost.";
    "payload_bytes_sent", "B", with(|row| row.window.bytes_sent), "Payload bytes that left in the window.";
    "old_bytes_sent", "B", with(|row| row.window.old_bytes_sent), "Of these, the ones that had been sent before.";
    "new_bytes_sent", "B", with(|row| row.window.bytes_sent.saturating_sub(row.window.old_bytes_sent)), "Of these, the ones sent for the first time.";
    "payload_bytes_lost", "B", with(|row| row.window.bytes_lost), "Payload bytes that left in the window and were lost.";
    "old_bytes_lost", "B", with(|row| row.window.old_bytes_lost), "Of these, the ones that had been sent before.";
    "new_bytes_lost", "B", with(|row| row.window.bytes_lost.saturating_sub(row.window.old_bytes_lost)), "Of these, the ones sent for the first time.";
    "range_loss_ratio", "ratio", with(|row| ratio(row.window.ranges_lost, row.window.ranges_sent)), "Ranges lost over ranges sent in the window.";
    "payload_byte_loss_ratio", "ratio", with(|row| ratio(row.window.bytes_lost, row.window.bytes_sent)), "Bytes lost over bytes sent in the window.";
    "old_byte_loss_ratio", "ratio", with(|row| ratio(row.window.old_bytes_lost, row.window.bytes_sent)), "Old bytes lost over bytes sent in the window.";
    "new_byte_loss_ratio", "ratio", with(|row| ratio(row.window.bytes_lost.saturating_sub(row.window.old_bytes_lost), row.window.bytes_sent)), "New bytes lost over bytes sent in the window.";
    "old_share_of_lost_ratio", "ratio", with(|row| ratio(row.window.old_bytes_lost, row.window.bytes_lost)), "Old bytes lost over bytes lost in the window.";
    "range_loss_of_total_ratio", "ratio", with(|row| ratio(row.window.ranges_lost, row.group.counts.ranges_received + row.group.counts.ranges_lost)), "Ranges lost in the window over all ranges of the group with a known fate.";
    "payload_byte_loss_of_total_ratio", "ratio", with(|row| ratio(row.window.bytes_lost, row.group.counts.payload_bytes_sent)), "Bytes lost in the window over all bytes that the group sent.";
}

table_columns! {
    LOSS_RUNS: with_loss_runs['a](LossRunsRow<'a>);
    "group", "text", with(|row| row.0.to_owned()), "Name of the group.";
    "packets_sent", "packets", with(|row| row.1.packets), "Packets that occupy sequence numbers, in the order of departure at one tap; the rows of both taps are added.";
    "packets_lost", "packets", with(|row| row.1.losses), "Of these, the ones lost completely or in part.";
    "packet_loss_ratio", "ratio", with(|row| ratio(row.1.losses, row.1.packets)), "Packets lost over packets sent.";
    "in_succession_ratio", "ratio", with(|row| ratio(row.1.in_succession, row.1.losses)), "Share of the losses that are in runs of two or more consecutive packets of the group.";
    "among_connections_ratio", "ratio", with(|row| ratio(row.1.among_connections, row.1.losses)), "Share of the losses that are in runs over more than one connection.";
    "within_connections_ratio", "ratio", with(|row| ratio(row.1.within_connections, row.1.losses)), "Share of the losses that are in runs in which some connection lost more than one packet.";
}

table_columns! {
    RUN_LENGTHS: with_run_lengths['a](RunLength<'a>);
    "group", "text", with(|row| row.0.to_owned()), "Name of the group.";
    "length_packets", "packets", with(|row| row.1), "Length of a run of consecutive lost packets.";
    "runs", "runs", with(|row| row.2), "Number of runs of this length.";
}

table_columns! {
    CLOCKS: with_clocks(Clocks);
    "clock", "text", with(|row| if row.is_apart() { "apart" } else { "shared" }.to_owned()), "`shared`: both captures have one clock. `apart`: they have two clocks, with the estimates that follow.";
    "offset_s", "s", with(Clocks::offset_s), "Offset of the receiver's clock to the sender's at the first packet, which makes the smallest delays of both directions equal. 0 for one clock; missing where no packet is in both captures.";
    "is_symmetric", "yes or no", with(|row| row.is_symmetric), "Whether both captures contain packets of both directions. If not, the smallest delay of the one direction counts as 0; with two clocks, all its delays are too small by that delay.";
    "drift_parts_per_million", "ppm", with(|row| row.drift.parts_per_million), "Drift of the receiver's clock against the sender's: the slope of the lines under the delays of both directions.";
    "drift_uncertainty_parts_per_million", "ppm", with(|row| row.drift.uncertainty_parts_per_million), "Uncertainty of the slope, from the variation of the smallest delays. Missing where there are too few samples for a line.";
    "is_compensated", "yes or no", with(|row| row.drift.is_compensated), "Whether the drift is larger than its uncertainty and the delays are corrected for it.";
}
