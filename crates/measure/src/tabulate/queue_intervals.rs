//! The table `queue_intervals`: what queues did in each window.

use super::Basis;
use crate::formula;
use crate::queue_windows::{QueueSeries, QueueWindow};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// Rows by window, then by queue.
pub(super) fn queue_intervals_table(basis: &Basis<'_>, series: Option<&QueueSeries>) -> Table {
    let length = series.map_or(Span::ZERO, QueueSeries::length);
    let rows = series.map_or(&[][..], QueueSeries::windows);
    let begin = basis.settings.measured_from();
    let seconds = |nanos: u64| Span::from_nanos(nanos).as_secs_f64();
    TableBuilder::new("queue_intervals", rows)
        .with("interval_s", |_| length.as_secs_f64())
        .with("start_s", |window: &QueueWindow| {
            basis.seconds_at(begin + length.saturating_mul(window.number))
        })
        .with_text("queue", |window, text| text.push_str(&basis.settings.queues[window.queue]))
        .with("enqueued_packets", |window| window.enqueued)
        .with("drops_packets", |window| window.dropped)
        .with("marks_packets", |window| window.marked)
        .with("arrival_backlog_mean_packets", |window| {
            formula::mean(window.backlog_sum, window.enqueued)
        })
        .with("arrival_backlog_max_packets", |window| window.backlog_most)
        .with("sojourn_mean_s", |window| {
            formula::mean(window.waited_sum, window.left).map(|nanos| nanos / 1e9)
        })
        .with("sojourn_max_s", |window| window.waited_most.map(seconds))
        .build()
}
