//! Events of several processors in one order.
//!
//! A program reads the clock and then asks for room in the ring, so an event may stand in the ring
//! behind one of another processor that happened later. Events are therefore held back for a moment.

use fairwind_units::{Instant, Span};

/// How long an event is held back. Between the clock and the ring lie fractions of a microsecond, and
/// whatever the machine takes the processor away for.
const REORDER_DELAY: Span = Span::from_millis(2);

/// Events that may still be preceded by others.
#[derive(Debug)]
pub(super) struct ReorderBuffer<E> {
    waiting: Vec<(Instant, E)>,
    /// Everything before this has been handed out.
    released: Instant,
    late: u64,
}

impl<E> ReorderBuffer<E> {
    pub(super) fn new() -> Self {
        Self { waiting: Vec::new(), released: Instant::ZERO, late: 0 }
    }

    /// Takes an event. One that comes too late to stand in its place is told at the earliest instant
    /// that is left, and counted.
    pub(super) fn push(&mut self, at: Instant, event: E) {
        if at < self.released {
            self.late += 1;
        }
        self.waiting.push((at.max(self.released), event));
    }

    /// Hands out, in order, what nothing can precede any more, given that everything before `read` has
    /// been taken; returns the instant before which nothing will follow.
    pub(super) fn release(&mut self, read: Instant, mut each: impl FnMut(Instant, E)) -> Instant {
        let until = Instant::ZERO + read.saturating_since(Instant::ZERO + REORDER_DELAY);
        self.released = self.released.max(until);
        self.waiting.sort_by_key(|(at, _)| *at);
        let count = self.waiting.partition_point(|(at, _)| *at < self.released);
        self.waiting.drain(..count).for_each(|(at, event)| each(at, event));
        self.released
    }

    /// Hands out all that is left.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Instant, E)) {
        self.waiting.sort_by_key(|(at, _)| *at);
        self.waiting.drain(..).for_each(|(at, event)| each(at, event));
    }

    /// How many events came too late to stand in their place.
    pub(super) fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::ReorderBuffer;
    use fairwind_units::Instant;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    fn release(reorder_buffer: &mut ReorderBuffer<char>, read: Instant) -> String {
        let mut told = String::new();
        reorder_buffer.release(read, |_, event| told.push(event));
        told
    }

    #[test]
    fn events_are_handed_out_in_the_order_in_which_they_happened() {
        let mut reorder_buffer = ReorderBuffer::new();
        reorder_buffer.push(at(20), 'b');
        reorder_buffer.push(at(10), 'a');
        reorder_buffer.push(at(30), 'c');
        assert_eq!(release(&mut reorder_buffer, at(5000)), "abc");
    }

    #[test]
    fn an_event_waits_for_others_that_may_come_before_it() {
        let mut reorder_buffer = ReorderBuffer::new();
        reorder_buffer.push(at(4900), 'b');
        assert_eq!(release(&mut reorder_buffer, at(5000)), "");
        reorder_buffer.push(at(4800), 'a');
        assert_eq!(release(&mut reorder_buffer, at(9000)), "ab");
        assert_eq!(reorder_buffer.late(), 0);
    }

    #[test]
    fn an_event_that_comes_too_late_is_counted_and_breaks_no_order() {
        let mut reorder_buffer = ReorderBuffer::new();
        let watermark = reorder_buffer.release(at(9000), |_, _| {});
        reorder_buffer.push(at(10), 'a');
        let mut told = Vec::new();
        reorder_buffer.release(at(20_000), |at, event| told.push((at, event)));
        assert_eq!(told, [(watermark, 'a')]);
        assert_eq!(reorder_buffer.late(), 1);
    }
}
