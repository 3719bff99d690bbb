//! The tables `queue_sojourn_histogram` and `queue_backlog_histogram`: whole distributions.

use super::Measurement;
use crate::formula::seconds;
use crate::histogram::Bucket;
use crate::table::{Table, TableBuilder};

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
