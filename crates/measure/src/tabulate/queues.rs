//! Tables of queues: `queues`, `queue_drops`, loss runs and histograms.

use super::Measurement;
use crate::formula;
use crate::formula::{ratio, seconds, time_weighted};
use crate::histogram::Bucket;
use crate::observation::DropReason;
use crate::queue::{Amount, GroupAtQueue, LossRuns, Queue};
use crate::queue_series::QueueEvents;
use crate::summary::{Percentiles, Summary};
use crate::table::{Table, TableBuilder};
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
            backlog_packets: Summary::of(queue.backlog_packets(), percentiles),
            sojourn: Summary::of(&queue.sojourn(), percentiles),
        })
        .collect();
    let table = TableBuilder::new("queues", &rows)
        .with("queue", |row| row.name.to_owned())
        .with("enqueued_packets", |row| row.queue.sum(GroupAtQueue::enqueued).packets)
        .with("enqueued_bytes", |row| row.queue.sum(GroupAtQueue::enqueued).bytes)
        .with("drops_packets", |row| row.queue.sum(GroupAtQueue::dropped).packets)
        .with("drops_bytes", |row| row.queue.sum(GroupAtQueue::dropped).bytes);
    let table = with_reason(table, "queue_full", DropReason::QueueFull);
    let table = with_reason(table, "early", DropReason::Early);
    let table = with_reason(table, "link_loss", DropReason::LinkLoss);
    with_sojourn(with_backlog(table, percentiles), percentiles)
        .with("marks_packets", |row| row.queue.sum(GroupAtQueue::marked).packets)
        .with("marks_bytes", |row| row.queue.sum(GroupAtQueue::marked).bytes)
        .with("duplicated_packets", |row| row.queue.impaired().duplicated)
        .with("damaged_packets", |row| row.queue.impaired().damaged)
        .with("reordered_packets", |row| row.queue.impaired().reordered)
        .with("events_left_out", |_| measurement.queue_events.map_or(0, QueueEvents::left_out))
        .build()
}

type Builder<'a> = TableBuilder<'a, QueueRow<'a>>;

fn with_reason<'a>(table: Builder<'a>, name: &str, reason: DropReason) -> Builder<'a> {
    table
        .with(&format!("drops_{name}_packets"), |row| of_reason(row, reason).packets)
        .with(&format!("drops_{name}_bytes"), |row| of_reason(row, reason).bytes)
}

fn of_reason(row: &QueueRow<'_>, reason: DropReason) -> Amount {
    row.queue.sum(|group| group.dropped_for(reason))
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
            formula::mean(row.queue.backlog_bytes_sum(), row.backlog_packets.count)
        })
        .with("arrival_backlog_max_bytes", |row| {
            let seen = row.backlog_packets.count > 0;
            seen.then(|| u64::from(row.queue.backlog_bytes_maximum()))
        })
        .with("backlog_mean_packets", |row| time_weighted(row.queue.packet_nanos(), row.measured))
        .with("backlog_mean_bytes", |row| time_weighted(row.queue.byte_nanos(), row.measured))
}

fn with_sojourn<'a>(table: Builder<'a>, percentiles: &Percentiles) -> Builder<'a> {
    let [p50, p90, p99] = SHOWN_PERCENTILES.map(|percentile| percentiles.place(percentile));
    table
        .with("sojourn_mean_s", |row| row.sojourn.mean_s())
        .with("sojourn_p50_s", |row| row.sojourn.percentile_s(p50))
        .with("sojourn_p90_s", |row| row.sojourn.percentile_s(p90))
        .with("sojourn_p99_s", |row| row.sojourn.percentile_s(p99))
        .with("sojourn_max_s", |row| row.sojourn.maximum_s())
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
            sojourn: Summary::of(known.sojourn(), percentiles),
        })
        .collect();
    let table = TableBuilder::new("queue_drops", &rows)
        .with("queue", |row| row.queue.to_owned())
        .with("group", |row| row.group.to_owned())
        .with("packets", |row| row.known.dropped().packets)
        .with("bytes", |row| row.known.dropped().bytes)
        .with("share", |row| ratio(row.known.dropped().packets, row.dropped_of_all))
        .with("enqueued_packets", |row| row.known.enqueued().packets)
        .with("enqueued_bytes", |row| row.known.enqueued().bytes)
        .with("offered_packets", |row| row.known.offered().packets)
        .with("offered_bytes", |row| row.known.offered().bytes);
    let table = with_group_reason(table, "queue_full", DropReason::QueueFull);
    let table = with_group_reason(table, "early", DropReason::Early);
    let table = with_group_reason(table, "link_loss", DropReason::LinkLoss)
        .with("packet_drop_ratio", |row| {
            ratio(row.known.dropped_by_queue().packets, row.known.offered().packets)
        })
        .with("byte_drop_ratio", |row| {
            ratio(row.known.dropped_by_queue().bytes, row.known.offered().bytes)
        })
        .with("marked_packets", |row| row.known.marked().packets)
        .with("marked_bytes", |row| row.known.marked().bytes);
    let [p50, p90, p99] = SHOWN_PERCENTILES.map(|percentile| percentiles.place(percentile));
    table
        .with("sojourn_mean_s", |row| row.sojourn.mean_s())
        .with("sojourn_p50_s", |row| row.sojourn.percentile_s(p50))
        .with("sojourn_p90_s", |row| row.sojourn.percentile_s(p90))
        .with("sojourn_p99_s", |row| row.sojourn.percentile_s(p99))
        .with("sojourn_max_s", |row| row.sojourn.maximum_s())
        .build()
}

fn with_group_reason<'a>(
    table: TableBuilder<'a, GroupRow<'a>>,
    name: &str,
    reason: DropReason,
) -> TableBuilder<'a, GroupRow<'a>> {
    table
        .with(&format!("drops_{name}_packets"), |row| row.known.dropped_for(reason).packets)
        .with(&format!("drops_{name}_bytes"), |row| row.known.dropped_for(reason).bytes)
}

/// Every group at every queue: the queue's name, the queue, the group's name, the group there.
fn groups_at_queues<'a>(
    measurement: &Measurement<'a>,
) -> impl Iterator<Item = (&'a str, &'a Queue, &'a str, &'a GroupAtQueue)> {
    let settings = measurement.basis.settings;
    settings.queues.iter().zip(measurement.queues).flat_map(|(name, queue)| {
        let groups = settings.groups.iter().zip(queue.groups());
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
        for (group, known) in settings.groups.iter().zip(queue.groups()) {
            let row = |slot| Row { queue: name, of: group, slot };
            rows.extend(known.sojourn().slots().map(row));
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
        for (of, backlog) in
            [("packets", queue.backlog_packets()), ("bytes", queue.backlog_bytes())]
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
