//! The tables `slots` and `slot_intervals`: what queues had of a carrier, and what they made of it.

use super::Basis;
use crate::formula::{self, bits_per_second};
use crate::slots::{SlotBook, SlotCounts, Slots};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// A row of either table.
struct Row<'a> {
    queue: usize,
    /// The window's number; 0 for the whole.
    number: u64,
    frame: Span,
    counts: &'a SlotCounts,
}

impl Row<'_> {
    /// How long the frames last that were counted.
    fn lasted(&self) -> Span {
        self.frame.saturating_mul(self.counts.frames)
    }
}

/// Rows by queue.
pub(super) fn slots_table(basis: &Basis<'_>, book: &SlotBook) -> Table {
    let whole = |(queue, slots): (usize, &'_ Slots)| (queue, slots.frame, slots.all);
    let counted: Vec<_> = book.queues().map(whole).collect();
    let rows: Vec<Row<'_>> = counted
        .iter()
        .map(|(queue, frame, counts)| Row { queue: *queue, number: 0, frame: *frame, counts })
        .collect();
    let builder = TableBuilder::new("slots", &rows)
        .with_text("queue", |row: &Row<'_>, text| {
            text.push_str(&basis.settings.queues[row.queue]);
        })
        .with("frame_s", |row| row.frame.as_secs_f64());
    counts(builder).build()
}

/// Rows by queue, then by window; windows after the last of which anything was told are left out.
pub(super) fn slot_intervals_table(basis: &Basis<'_>, book: &SlotBook) -> Table {
    let length = book.length().unwrap_or(Span::ZERO);
    let begin = basis.settings.measured_from();
    let rows: Vec<Row<'_>> = book
        .queues()
        .flat_map(|(queue, slots)| {
            let numbered = (0..).zip(&slots.windows);
            numbered.map(move |(number, counts)| Row { queue, number, frame: slots.frame, counts })
        })
        .collect();
    let builder = TableBuilder::new("slot_intervals", &rows)
        .with("interval_s", |_: &Row<'_>| length.as_secs_f64())
        .with("start_s", |row| basis.seconds_at(begin + length.saturating_mul(row.number)))
        .with_text("queue", |row, text| text.push_str(&basis.settings.queues[row.queue]));
    counts(builder).build()
}

/// What both tables have.
fn counts<'a, 'r>(builder: TableBuilder<'a, Row<'r>>) -> TableBuilder<'a, Row<'r>> {
    let ratio = |above: u64, below: u64| formula::mean(u128::from(above), below);
    builder
        .with("frames", |row| row.counts.frames)
        .with("slots_assigned", |row| row.counts.assigned())
        .with("slots_guaranteed", |row| row.counts.guaranteed)
        .with("slots_by_rate", |row| row.counts.by_rate)
        .with("slots_by_volume", |row| row.counts.by_volume)
        .with("slots_free", |row| row.counts.free)
        .with("slots_used", |row| row.counts.used)
        .with("slot_use_ratio", move |row| ratio(row.counts.used, row.counts.assigned()))
        .with("capacity_bytes", |row| row.counts.capacity_bytes)
        .with("carried_bytes", |row| row.counts.sent_bytes)
        .with("capacity_use_ratio", move |row| {
            ratio(row.counts.sent_bytes, row.counts.capacity_bytes)
        })
        .with("assigned_bits_per_second", |row| {
            bits_per_second(row.counts.capacity_bytes, row.lasted())
        })
        .with("requests", |row| row.counts.requests)
        .with("requested_mean_bits_per_second", |row| {
            formula::mean(row.counts.rate_sum, row.counts.rates)
        })
        .with("requested_max_bits_per_second", |row| {
            (row.counts.rates > 0).then_some(row.counts.rate_most)
        })
        .with("requested_bytes", |row| row.counts.volume_bytes)
}
