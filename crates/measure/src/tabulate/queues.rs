//! Tables of queues: `queues`, `queue_drops`, loss runs and histograms.

use super::Measurement;
use crate::distribution::{Percentiles, Summary};
use crate::formula;
use crate::formula::{ratio, seconds, time_weighted};
use crate::histogram::Bucket;
use crate::observation::DropReason;
use crate::queue::{Amount, GroupAtQueue, LossRuns, Queue};
use crate::table::{DefinitionLine, Table, TableBuilder};
use fairwind_units::Span;

struct QueueRow<'a> {
    name: &'a str,
    queue: &'a Queue,
    measured: Span,
    backlog_packets: Summary,
    sojourn: Summary,
}

/// The percentiles that the columns show.
const SHOWN_PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// Rows in the order of the queues' ids.
pub(super) fn queues_table(measurement: &Measurement<'_>) -> Table {
    let percentiles = &Percentiles::new(SHOWN_PERCENTILES);
    let rows: Vec<QueueRow<'_>> = measurement
        .basis
        .settings
        .queues
        .iter()
        .zip(measurement.queues)
        .map(|(name, queue)| QueueRow {
            name,
            queue,
            measured: measurement.basis.measured(),
            backlog_packets: Summary::of(&queue.backlog_packets, percentiles),
            sojourn: Summary::of(&queue.sojourn(), percentiles),
        })
        .collect();
    let table = TableBuilder::new("queues", &rows)
        .with("queue", |row| row.name.to_owned())
        .with("enqueued_packets", |row| row.queue.sum(|group| group.enqueued).packets)
        .with("enqueued_bytes", |row| row.queue.sum(|group| group.enqueued).bytes)
        .with("drops_packets", |row| row.queue.sum(GroupAtQueue::dropped).packets)
        .with("drops_bytes", |row| row.queue.sum(GroupAtQueue::dropped).bytes);
    let of_reason = |row: &QueueRow<'_>, reason| row.queue.sum(|group| group.dropped_for(reason));
    with_backlog(with_reasons(table, of_reason), percentiles)
        .with_times("sojourn_", &SHOWN_PERCENTILES, percentiles, |row| &row.sojourn)
        .with("marks_packets", |row| row.queue.sum(|group| group.marked).packets)
        .with("marks_bytes", |row| row.queue.sum(|group| group.marked).bytes)
        .with("duplicated_packets", |row| row.queue.impaired.duplicated)
        .with("damaged_packets", |row| row.queue.impaired.damaged)
        .with("reordered_packets", |row| row.queue.impaired.reordered)
        .with("events_left_out", |_| measurement.queue_events.map_or(0, |events| events.left_out))
        .build()
}

type Builder<'a> = TableBuilder<'a, QueueRow<'a>>;

/// Adds the drops by reason.
fn with_reasons<Row>(
    mut table: TableBuilder<'_, Row>,
    dropped: impl Fn(&Row, DropReason) -> Amount,
) -> TableBuilder<'_, Row> {
    for reason in [DropReason::QueueFull, DropReason::Early, DropReason::LinkLoss] {
        let name = reason.name();
        table = table
            .with(&format!("drops_{name}_packets"), |row| dropped(row, reason).packets)
            .with(&format!("drops_{name}_bytes"), |row| dropped(row, reason).bytes);
    }
    table
}

fn with_backlog<'a>(table: Builder<'a>, percentiles: &Percentiles) -> Builder<'a> {
    let [p50, p90, p99] = SHOWN_PERCENTILES.map(|percentile| percentiles.place(percentile));
    table
        .with("arrival_backlog_mean_packets", |row| row.backlog_packets.mean)
        .with("arrival_backlog_p50_packets", |row| row.backlog_packets.percentile(p50))
        .with("arrival_backlog_p90_packets", |row| row.backlog_packets.percentile(p90))
        .with("arrival_backlog_p99_packets", |row| row.backlog_packets.percentile(p99))
        .with("arrival_backlog_max_packets", |row| row.backlog_packets.maximum)
        .with("arrival_backlog_mean_bytes", |row| {
            formula::mean(row.queue.backlog_bytes_sum, row.backlog_packets.count)
        })
        .with("arrival_backlog_max_bytes", |row| {
            let seen = row.backlog_packets.count > 0;
            seen.then(|| u64::from(row.queue.backlog_bytes_maximum))
        })
        .with("backlog_mean_packets", |row| time_weighted(row.queue.packet_nanos, row.measured))
        .with("backlog_mean_bytes", |row| time_weighted(row.queue.byte_nanos, row.measured))
}

struct GroupRow<'a> {
    queue: &'a str,
    group: &'a str,
    known: &'a GroupAtQueue,
    dropped_of_all: u64,
    sojourn: Summary,
}

/// Rows by queue, then by group; a group that met no drop has a row with zero.
pub(super) fn drops_table(measurement: &Measurement<'_>) -> Table {
    let percentiles = &Percentiles::new(SHOWN_PERCENTILES);
    let rows: Vec<GroupRow<'_>> = groups_at_queues(measurement)
        .map(|(queue, of_all, group, known)| GroupRow {
            queue,
            group,
            known,
            dropped_of_all: of_all.sum(GroupAtQueue::dropped).packets,
            sojourn: Summary::of(&known.sojourn, percentiles),
        })
        .collect();
    let table = TableBuilder::new("queue_drops", &rows)
        .with("queue", |row| row.queue.to_owned())
        .with("group", |row| row.group.to_owned())
        .with("packets", |row| row.known.dropped().packets)
        .with("bytes", |row| row.known.dropped().bytes)
        .with("share", |row| ratio(row.known.dropped().packets, row.dropped_of_all))
        .with("enqueued_packets", |row| row.known.enqueued.packets)
        .with("enqueued_bytes", |row| row.known.enqueued.bytes)
        .with("offered_packets", |row| row.known.offered().packets)
        .with("offered_bytes", |row| row.known.offered().bytes);
    with_reasons(table, |row, reason| row.known.dropped_for(reason))
        .with("packet_drop_ratio", |row| {
            ratio(row.known.dropped_by_queue().packets, row.known.offered().packets)
        })
        .with("byte_drop_ratio", |row| {
            ratio(row.known.dropped_by_queue().bytes, row.known.offered().bytes)
        })
        .with("marked_packets", |row| row.known.marked.packets)
        .with("marked_bytes", |row| row.known.marked.bytes)
        .with_times("sojourn_", &SHOWN_PERCENTILES, percentiles, |row| &row.sojourn)
        .build()
}

/// Every group at every queue: the queue's name, the queue, the group's name, the group there.
fn groups_at_queues<'a>(
    measurement: &Measurement<'a>,
) -> impl Iterator<Item = (&'a str, &'a Queue, &'a str, &'a GroupAtQueue)> {
    let settings = measurement.basis.settings;
    settings.queues.iter().zip(measurement.queues).flat_map(|(name, queue)| {
        let groups = settings.groups.iter().zip(&queue.groups);
        groups.map(move |(group, known)| (name.as_str(), queue, group.as_str(), known))
    })
}

struct RunsRow<'a> {
    queue: &'a str,
    group: &'a str,
    runs: LossRuns,
}

/// The tables `queue_loss_runs`, by queue and group, and `queue_loss_run_lengths`, by length, too.
pub(super) fn loss_runs_tables(measurement: &Measurement<'_>) -> [Table; 2] {
    let rows: Vec<RunsRow<'_>> = groups_at_queues(measurement)
        .map(|(queue, _, group, known)| RunsRow { queue, group, runs: known.loss_runs() })
        .collect();
    let runs = TableBuilder::new("queue_loss_runs", &rows)
        .with("queue", |row| row.queue.to_owned())
        .with("group", |row| row.group.to_owned())
        .with("packets_sent", |row| row.runs.packets)
        .with("packets_lost", |row| row.runs.losses)
        .with("packet_loss_ratio", |row| ratio(row.runs.losses, row.runs.packets))
        .with("in_succession_ratio", |row| ratio(row.runs.in_succession, row.runs.losses))
        .with("among_connections_ratio", |row| ratio(row.runs.among_connections, row.runs.losses))
        .with("within_connections_ratio", |row| ratio(row.runs.within_connections, row.runs.losses))
        .build();
    let lengths: Vec<(&RunsRow<'_>, u64, u64)> = rows
        .iter()
        .flat_map(|row| row.runs.lengths.iter().map(move |(&length, &runs)| (row, length, runs)))
        .collect();
    let lengths = TableBuilder::new("queue_loss_run_lengths", &lengths)
        .with("queue", |(row, _, _)| row.queue.to_owned())
        .with("group", |(row, _, _)| row.group.to_owned())
        .with("length_packets", |(_, length, _)| *length)
        .with("runs", |(_, _, runs)| *runs)
        .build();
    [runs, lengths]
}

struct Row<'a> {
    queue: &'a str,
    /// The group, or what is counted.
    of: &'a str,
    slot: Bucket,
}

/// Rows by queue and group, in ascending order of waiting time, without empty slots.
pub(super) fn sojourn_histogram_table(measurement: &Measurement<'_>) -> Table {
    let settings = measurement.basis.settings;
    let mut rows = Vec::new();
    for (name, queue) in settings.queues.iter().zip(measurement.queues) {
        for (group, known) in settings.groups.iter().zip(&queue.groups) {
            let row = |slot| Row { queue: name, of: group, slot };
            rows.extend(known.sojourn.slots().map(row));
        }
    }
    TableBuilder::new("queue_sojourn_histogram", &rows)
        .with_text("queue", |row, text| text.push_str(row.queue))
        .with_text("group", |row, text| text.push_str(row.of))
        .with("lower_s", |row| seconds(row.slot.lower))
        .with("upper_s", |row| seconds(row.slot.upper))
        .with("count", |row| row.slot.count)
        .build()
}

/// Rows by queue, packets before bytes, in ascending order, without empty slots.
pub(super) fn backlog_histogram_table(measurement: &Measurement<'_>) -> Table {
    let mut rows = Vec::new();
    for (name, queue) in measurement.basis.settings.queues.iter().zip(measurement.queues) {
        for (of, backlog) in [("packets", &queue.backlog_packets), ("bytes", &queue.backlog_bytes)]
        {
            rows.extend(backlog.slots().map(|slot| Row { queue: name, of, slot }));
        }
    }
    TableBuilder::new("queue_backlog_histogram", &rows)
        .with_text("queue", |row, text| text.push_str(row.queue))
        .with_text("of", |row, text| text.push_str(row.of))
        .with("lower", |row| row.slot.lower)
        .with("upper", |row| row.slot.upper)
        .with("count", |row| row.slot.count)
        .build()
}

#[rustfmt::skip]
pub(super) const QUEUE: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name."),
    ("enqueued_packets", "packets", "Packets that the queue accepted."),
    ("enqueued_bytes", "B", "Bytes on the wire that the queue accepted."),
    ("drops_packets", "packets", "Packets dropped at the queue or lost on the link behind it."),
    ("drops_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_queue_full_packets", "packets", "Packets dropped because the queue was full."),
    ("drops_queue_full_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_early_packets", "packets", "Packets dropped by the queue discipline although there was room."),
    ("drops_early_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_link_loss_packets", "packets", "Packets lost or damaged on the link behind the queue."),
    ("drops_link_loss_bytes", "B", "Bytes on the wire of these packets."),
    ("arrival_backlog_mean_packets", "packets", "Mean number of packets that an accepted packet found waiting."),
    ("arrival_backlog_p50_packets", "packets", "Median of the packets found waiting; exact below 256, else at most 1 % above."),
    ("arrival_backlog_p90_packets", "packets", "90th percentile of the packets found waiting."),
    ("arrival_backlog_p99_packets", "packets", "99th percentile of the packets found waiting."),
    ("arrival_backlog_max_packets", "packets", "Most packets that an accepted packet found waiting."),
    ("arrival_backlog_mean_bytes", "B", "Mean number of bytes that an accepted packet found waiting."),
    ("arrival_backlog_max_bytes", "B", "Most bytes that an accepted packet found waiting."),
    ("backlog_mean_packets", "packets", "Time-weighted mean of the packets waiting: the sum of the waiting times of packets that left, over the measured time."),
    ("backlog_mean_bytes", "B", "Time-weighted mean of the bytes waiting, counted likewise."),
    ("sojourn_mean_s", "s", "Mean time that a packet waited before it was transmitted."),
    ("sojourn_p50_s", "s", "Median of the waiting time, at most 1 % above the true one."),
    ("sojourn_p90_s", "s", "90th percentile of the waiting time."),
    ("sojourn_p99_s", "s", "99th percentile of the waiting time."),
    ("sojourn_max_s", "s", "Longest waiting time."),
    ("marks_packets", "packets", "Packets that the queue marked instead of dropping them (RFC 3168)."),
    ("marks_bytes", "B", "Bytes on the wire of these packets."),
    ("duplicated_packets", "packets", "Copies that the link behind the queue made of packets."),
    ("damaged_packets", "packets", "Packets that the link behind the queue damaged. `drops_link_loss_packets` includes them, because no host accepts them."),
    ("reordered_packets", "packets", "Packets that reached the end of the link behind the queue before one that was sent earlier."),
    ("events_left_out", "events", "Requested events of all queues that did not fit into the table `queue_events`."),
];

#[rustfmt::skip]
pub(super) const QUEUE_DROPS: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group that the packets belong to, in either direction."),
    ("packets", "packets", "Packets of the group dropped at the queue or lost on the link behind it."),
    ("bytes", "B", "Bytes on the wire of these packets."),
    ("share", "ratio", "The group's part of all packets dropped there."),
    ("enqueued_packets", "packets", "Packets of the group that the queue accepted."),
    ("enqueued_bytes", "B", "Bytes on the wire of these packets."),
    ("offered_packets", "packets", "Packets of the group that arrived at the queue, accepted or not."),
    ("offered_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_queue_full_packets", "packets", "Packets of the group dropped because the queue was full."),
    ("drops_queue_full_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_early_packets", "packets", "Packets of the group dropped by the queue discipline although there was room."),
    ("drops_early_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_link_loss_packets", "packets", "Packets of the group lost or damaged on the link behind the queue."),
    ("drops_link_loss_bytes", "B", "Bytes on the wire of these packets."),
    ("packet_drop_ratio", "ratio", "The group's packet loss ratio at the queue: packets that the queue dropped, for whatever reason, over packets offered."),
    ("byte_drop_ratio", "ratio", "The group's byte loss ratio at the queue: bytes on the wire that the queue dropped over bytes offered."),
    ("marked_packets", "packets", "Packets of the group that the queue marked instead of dropping them."),
    ("marked_bytes", "B", "Bytes on the wire of these packets."),
    ("sojourn_mean_s", "s", "Mean time that a packet of the group waited before it was transmitted."),
    ("sojourn_p50_s", "s", "Median of the group's waiting time, at most 1 % above the true one."),
    ("sojourn_p90_s", "s", "90th percentile of the group's waiting time."),
    ("sojourn_p99_s", "s", "99th percentile of the group's waiting time."),
    ("sojourn_max_s", "s", "Longest waiting time of the group."),
];

#[rustfmt::skip]
pub(super) const QUEUE_LOSS_RUNS: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group that the packets belong to, in either direction."),
    ("packets_sent", "packets", "Packets of the group that arrived at the queue."),
    ("packets_lost", "packets", "Packets of the group dropped at the queue or lost on the link behind it."),
    ("packet_loss_ratio", "ratio", "Packets lost over packets sent."),
    ("in_succession_ratio", "ratio", "Share of the losses that are in runs of two or more packets of the group: consecutive arrivals that the queue refused, packets dropped from the queue with no departure in between, or consecutive packets that the link lost."),
    ("among_connections_ratio", "ratio", "Share of the losses that are in runs over more than one connection."),
    ("within_connections_ratio", "ratio", "Share of the losses that are in runs in which some connection lost more than one packet."),
];

#[rustfmt::skip]
pub(super) const QUEUE_LOSS_RUN_LENGTHS: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group that the packets belong to, in either direction."),
    ("length_packets", "packets", "Length of a run of lost packets, as in the table `queue_loss_runs`."),
    ("runs", "runs", "Number of runs of this length."),
];

#[rustfmt::skip]
pub(super) const QUEUE_SOJOURN_HISTOGRAM: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group that the packets belong to, in either direction."),
    ("lower_s", "s", "Smallest waiting time that falls into the slot."),
    ("upper_s", "s", "Smallest waiting time above the slot."),
    ("count", "packets", "Packets of the group that left after such a time; empty slots are left out."),
];

#[rustfmt::skip]
pub(super) const QUEUE_BACKLOG_HISTOGRAM: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name."),
    ("of", "text", "The unit of the backlog: `packets`, and also `bytes` on the wire in scenarios with `measure.queue_events`."),
    ("lower", "packets or B", "Smallest backlog that falls into the slot."),
    ("upper", "packets or B", "Smallest backlog above the slot."),
    ("count", "packets", "Accepted packets that found so much waiting; empty slots are left out."),
];
