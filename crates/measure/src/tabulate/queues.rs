//! The tables `queues` (one row each) and `queue_drops` (who was dropped there).

use super::Measurement;
use crate::formula::{self, ratio, time_weighted};
use crate::observation::DropReason;
use crate::queue::{Amount, Queue};
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
            sojourn: Summary::of(queue.sojourn(), percentiles),
        })
        .collect();
    let table = TableBuilder::new("queues", &rows)
        .with("queue", |row| row.name.to_owned())
        .with("enqueued_packets", |row| row.queue.enqueued().packets)
        .with("enqueued_bytes", |row| row.queue.enqueued().bytes)
        .with("drops_packets", |row| row.queue.dropped().packets)
        .with("drops_bytes", |row| row.queue.dropped().bytes);
    let table = with_reason(table, "queue_full", DropReason::QueueFull);
    let table = with_reason(table, "early", DropReason::Early);
    let table = with_reason(table, "link_loss", DropReason::LinkLoss);
    with_sojourn(with_backlog(table, percentiles), percentiles).build()
}

type Builder<'a> = TableBuilder<'a, QueueRow<'a>>;

fn with_reason<'a>(table: Builder<'a>, name: &str, reason: DropReason) -> Builder<'a> {
    table
        .with(&format!("drops_{name}_packets"), |row| row.queue.dropped_for(reason).packets)
        .with(&format!("drops_{name}_bytes"), |row| row.queue.dropped_for(reason).bytes)
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

struct DropRow<'a> {
    queue: &'a str,
    group: &'a str,
    dropped: Amount,
    enqueued: Amount,
    dropped_of_all: u64,
}

/// Rows by queue, then by group; a group that met no drop has a row with zero.
pub(super) fn drops_table(measurement: &Measurement<'_>) -> Table {
    let mut rows = Vec::new();
    for (name, queue) in measurement.basis.settings.queues.iter().zip(measurement.queues) {
        let amounts = queue.dropped_by_group().iter().zip(queue.enqueued_by_group());
        let groups = measurement.basis.settings.groups.iter().zip(amounts);
        rows.extend(groups.map(|(group, (dropped, enqueued))| DropRow {
            queue: name,
            group,
            dropped: *dropped,
            enqueued: *enqueued,
            dropped_of_all: queue.dropped().packets,
        }));
    }
    TableBuilder::new("queue_drops", &rows)
        .with("queue", |row| row.queue.to_owned())
        .with("group", |row| row.group.to_owned())
        .with("packets", |row| row.dropped.packets)
        .with("bytes", |row| row.dropped.bytes)
        .with("share", |row| ratio(row.dropped.packets, row.dropped_of_all))
        .with("enqueued_packets", |row| row.enqueued.packets)
        .with("enqueued_bytes", |row| row.enqueued.bytes)
        .build()
}
