//! Tables of queues: `queues`, `queue_drops`, loss runs and histograms.

use super::Measurement;
use crate::distribution::{Percentiles, Summary};
use crate::formula;
use crate::formula::{ratio, seconds, time_weighted};
use crate::histogram::Bucket;
use crate::observation::DropReason;
use crate::queue::{GroupAtQueue, LossRuns, Queue};
use crate::table::{Table, TableBuilder};
use crate::table_columns;
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
    let left_out = measurement.queue_events.map_or(0, |events| events.left_out);
    with_queue(TableBuilder::new("queues", &rows), percentiles, left_out).build()
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
    with_drops(TableBuilder::new("queue_drops", &rows), percentiles).build()
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

/// Runs of a row of one length, and their number.
type RunLength<'a> = (&'a RunsRow<'a>, u64, u64);

/// The tables `queue_loss_runs`, by queue and group, and `queue_loss_run_lengths`, by length, too.
pub(super) fn loss_runs_tables(measurement: &Measurement<'_>) -> [Table; 2] {
    let rows: Vec<RunsRow<'_>> = groups_at_queues(measurement)
        .map(|(queue, _, group, known)| RunsRow { queue, group, runs: known.loss_runs() })
        .collect();
    let runs = with_loss_runs(TableBuilder::new("queue_loss_runs", &rows)).build();
    let lengths: Vec<RunLength<'_>> = rows
        .iter()
        .flat_map(|row| row.runs.lengths.iter().map(move |(&length, &runs)| (row, length, runs)))
        .collect();
    [runs, with_run_lengths(TableBuilder::new("queue_loss_run_lengths", &lengths)).build()]
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
    with_sojourn_slots(TableBuilder::new("queue_sojourn_histogram", &rows)).build()
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
    with_backlog_slots(TableBuilder::new("queue_backlog_histogram", &rows)).build()
}

table_columns! {
    pub(super) QUEUE: with_queue['a](QueueRow<'a>, percentiles: &Percentiles, events_left_out: u64);
    "queue", "text", with(|row| row.name.to_owned()), "The queue's name.";
    "enqueued_packets", "packets", with(|row| row.queue.sum(|group| group.enqueued).packets), "Packets that the queue accepted.";
    "enqueued_bytes", "B", with(|row| row.queue.sum(|group| group.enqueued).bytes), "Bytes on the wire that the queue accepted.";
    "drops_packets", "packets", with(|row| row.queue.sum(GroupAtQueue::dropped).packets), "Packets dropped at the queue or lost on the link behind it.";
    "drops_bytes", "B", with(|row| row.queue.sum(GroupAtQueue::dropped).bytes), "Bytes on the wire of these packets.";
    "drops_queue_full_packets", "packets", with(|row| row.queue.sum(|group| group.dropped_for(DropReason::QueueFull)).packets), "Packets dropped because the queue was full.";
    "drops_queue_full_bytes", "B", with(|row| row.queue.sum(|group| group.dropped_for(DropReason::QueueFull)).bytes), "Bytes on the wire of these packets.";
    "drops_early_packets", "packets", with(|row| row.queue.sum(|group| group.dropped_for(DropReason::Early)).packets), "Packets dropped by the queue discipline although there was room.";
    "drops_early_bytes", "B", with(|row| row.queue.sum(|group| group.dropped_for(DropReason::Early)).bytes), "Bytes on the wire of these packets.";
    "drops_link_loss_packets", "packets", with(|row| row.queue.sum(|group| group.dropped_for(DropReason::LinkLoss)).packets), "Packets lost or damaged on the link behind the queue.";
    "drops_link_loss_bytes", "B", with(|row| row.queue.sum(|group| group.dropped_for(DropReason::LinkLoss)).bytes), "Bytes on the wire of these packets.";
    "arrival_backlog_mean_packets", "packets", with(|row| row.backlog_packets.mean), "Mean number of packets that an accepted packet found waiting.";
    "arrival_backlog_p50_packets", "packets", with(|row| row.backlog_packets.percentile(percentiles.place(50.0))), "Median of the packets found waiting; exact below 256, else at most 1 % above.";
    "arrival_backlog_p90_packets", "packets", with(|row| row.backlog_packets.percentile(percentiles.place(90.0))), "90th percentile of the packets found waiting.";
    "arrival_backlog_p99_packets", "packets", with(|row| row.backlog_packets.percentile(percentiles.place(99.0))), "99th percentile of the packets found waiting.";
    "arrival_backlog_max_packets", "packets", with(|row| row.backlog_packets.maximum), "Most packets that an accepted packet found waiting.";
    "arrival_backlog_mean_bytes", "B", with(|row| formula::mean(row.queue.backlog_bytes_sum, row.backlog_packets.count)), "Mean number of bytes that an accepted packet found waiting.";
    "arrival_backlog_max_bytes", "B", with(|row| (row.backlog_packets.count > 0).then(|| u64::from(row.queue.backlog_bytes_maximum))), "Most bytes that an accepted packet found waiting.";
    "backlog_mean_packets", "packets", with(|row| time_weighted(row.queue.packet_nanos, row.measured)), "Time-weighted mean of the packets waiting: the sum of the waiting times of packets that left, over the measured time.";
    "backlog_mean_bytes", "B", with(|row| time_weighted(row.queue.byte_nanos, row.measured)), "Time-weighted mean of the bytes waiting, counted likewise.";
    "sojourn_mean_s", "s", = with_times("sojourn_", &SHOWN_PERCENTILES, percentiles, |row| &row.sojourn), "Mean time that a packet waited before it was transmitted.";
    "sojourn_p50_s", "s", _, "Median of the waiting time, at most 1 % above the true one.";
    "sojourn_p90_s", "s", _, "90th percentile of the waiting time.";
    "sojourn_p99_s", "s", _, "99th percentile of the waiting time.";
    "sojourn_max_s", "s", _, "Longest waiting time.";
    "marks_packets", "packets", with(|row| row.queue.sum(|group| group.marked).packets), "Packets that the queue marked instead of dropping them (RFC 3168).";
    "marks_bytes", "B", with(|row| row.queue.sum(|group| group.marked).bytes), "Bytes on the wire of these packets.";
    "duplicated_packets", "packets", with(|row| row.queue.impaired.duplicated), "Copies that the link behind the queue made of packets.";
    "damaged_packets", "packets", with(|row| row.queue.impaired.damaged), "Packets that the link behind the queue damaged. `drops_link_loss_packets` includes them, because no host accepts them.";
    "reordered_packets", "packets", with(|row| row.queue.impaired.reordered), "Packets that reached the end of the link behind the queue before one that was sent earlier.";
    "events_left_out", "events", with(|_| events_left_out), "Requested events of all queues that did not fit into the table `queue_events`.";
}

table_columns! {
    pub(super) QUEUE_DROPS: with_drops['a](GroupRow<'a>, percentiles: &Percentiles);
    "queue", "text", with(|row| row.queue.to_owned()), "The queue's name.";
    "group", "text", with(|row| row.group.to_owned()), "The group that the packets belong to, in either direction.";
    "packets", "packets", with(|row| row.known.dropped().packets), "Packets of the group dropped at the queue or lost on the link behind it.";
    "bytes", "B", with(|row| row.known.dropped().bytes), "Bytes on the wire of these packets.";
    "share", "ratio", with(|row| ratio(row.known.dropped().packets, row.dropped_of_all)), "The group's part of all packets dropped there.";
    "enqueued_packets", "packets", with(|row| row.known.enqueued.packets), "Packets of the group that the queue accepted.";
    "enqueued_bytes", "B", with(|row| row.known.enqueued.bytes), "Bytes on the wire of these packets.";
    "offered_packets", "packets", with(|row| row.known.offered().packets), "Packets of the group that arrived at the queue, accepted or not.";
    "offered_bytes", "B", with(|row| row.known.offered().bytes), "Bytes on the wire of these packets.";
    "drops_queue_full_packets", "packets", with(|row| row.known.dropped_for(DropReason::QueueFull).packets), "Packets of the group dropped because the queue was full.";
    "drops_queue_full_bytes", "B", with(|row| row.known.dropped_for(DropReason::QueueFull).bytes), "Bytes on the wire of these packets.";
    "drops_early_packets", "packets", with(|row| row.known.dropped_for(DropReason::Early).packets), "Packets of the group dropped by the queue discipline although there was room.";
    "drops_early_bytes", "B", with(|row| row.known.dropped_for(DropReason::Early).bytes), "Bytes on the wire of these packets.";
    "drops_link_loss_packets", "packets", with(|row| row.known.dropped_for(DropReason::LinkLoss).packets), "Packets of the group lost or damaged on the link behind the queue.";
    "drops_link_loss_bytes", "B", with(|row| row.known.dropped_for(DropReason::LinkLoss).bytes), "Bytes on the wire of these packets.";
    "packet_drop_ratio", "ratio", with(|row| ratio(row.known.dropped_by_queue().packets, row.known.offered().packets)), "The group's packet loss ratio at the queue: packets that the queue dropped, for whatever reason, over packets offered.";
    "byte_drop_ratio", "ratio", with(|row| ratio(row.known.dropped_by_queue().bytes, row.known.offered().bytes)), "The group's byte loss ratio at the queue: bytes on the wire that the queue dropped over bytes offered.";
    "marked_packets", "packets", with(|row| row.known.marked.packets), "Packets of the group that the queue marked instead of dropping them.";
    "marked_bytes", "B", with(|row| row.known.marked.bytes), "Bytes on the wire of these packets.";
    "sojourn_mean_s", "s", = with_times("sojourn_", &SHOWN_PERCENTILES, percentiles, |row| &row.sojourn), "Mean time that a packet of the group waited before it was transmitted.";
    "sojourn_p50_s", "s", _, "Median of the group's waiting time, at most 1 % above the true one.";
    "sojourn_p90_s", "s", _, "90th percentile of the group's waiting time.";
    "sojourn_p99_s", "s", _, "99th percentile of the group's waiting time.";
    "sojourn_max_s", "s", _, "Longest waiting time of the group.";
}

table_columns! {
    pub(super) QUEUE_LOSS_RUNS: with_loss_runs['a](RunsRow<'a>);
    "queue", "text", with(|row| row.queue.to_owned()), "The queue's name.";
    "group", "text", with(|row| row.group.to_owned()), "The group that the packets belong to, in either direction.";
    "packets_sent", "packets", with(|row| row.runs.packets), "Packets of the group that arrived at the queue.";
    "packets_lost", "packets", with(|row| row.runs.losses), "Packets of the group dropped at the queue or lost on the link behind it.";
    "packet_loss_ratio", "ratio", with(|row| ratio(row.runs.losses, row.runs.packets)), "Packets lost over packets sent.";
    "in_succession_ratio", "ratio", with(|row| ratio(row.runs.in_succession, row.runs.losses)), "Share of the losses that are in runs of two or more packets of the group: consecutive arrivals that the queue refused, packets dropped from the queue with no departure in between, or consecutive packets that the link lost.";
    "among_connections_ratio", "ratio", with(|row| ratio(row.runs.among_connections, row.runs.losses)), "Share of the losses that are in runs over more than one connection.";
    "within_connections_ratio", "ratio", with(|row| ratio(row.runs.within_connections, row.runs.losses)), "Share of the losses that are in runs in which some connection lost more than one packet.";
}

table_columns! {
    pub(super) QUEUE_LOSS_RUN_LENGTHS: with_run_lengths['a](RunLength<'a>);
    "queue", "text", with(|(row, _, _)| row.queue.to_owned()), "The queue's name.";
    "group", "text", with(|(row, _, _)| row.group.to_owned()), "The group that the packets belong to, in either direction.";
    "length_packets", "packets", with(|(_, length, _)| *length), "Length of a run of lost packets, as in the table `queue_loss_runs`.";
    "runs", "runs", with(|(_, _, runs)| *runs), "Number of runs of this length.";
}

table_columns! {
    pub(super) QUEUE_SOJOURN_HISTOGRAM: with_sojourn_slots['a](Row<'a>);
    "queue", "text", with_text(|row, text| text.push_str(row.queue)), "The queue's name.";
    "group", "text", with_text(|row, text| text.push_str(row.of)), "The group that the packets belong to, in either direction.";
    "lower_s", "s", with(|row| seconds(row.slot.lower)), "Smallest waiting time that falls into the slot.";
    "upper_s", "s", with(|row| seconds(row.slot.upper)), "Smallest waiting time above the slot.";
    "count", "packets", with(|row| row.slot.count), "Packets of the group that left after such a time; empty slots are left out.";
}

table_columns! {
    pub(super) QUEUE_BACKLOG_HISTOGRAM: with_backlog_slots['a](Row<'a>);
    "queue", "text", with_text(|row, text| text.push_str(row.queue)), "The queue's name.";
    "of", "text", with_text(|row, text| text.push_str(row.of)), "The unit of the backlog: `packets`, and also `bytes` on the wire in scenarios with `measure.queue_events`.";
    "lower", "packets or B", with(|row| row.slot.lower), "Smallest backlog that falls into the slot.";
    "upper", "packets or B", with(|row| row.slot.upper), "Smallest backlog above the slot.";
    "count", "packets", with(|row| row.slot.count), "Accepted packets that found so much waiting; empty slots are left out.";
}
