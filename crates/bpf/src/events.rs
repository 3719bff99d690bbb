//! Events of BPF programs: their fields, and those of several processors in one order.
//!
//! Events of several processors in one order.
//!
//! A program reads the clock and then asks for room in the ring, so an event may stand in the ring
//! behind one of another processor that happened later. Events are therefore held back for a moment.

use fairwind_units::{Instant, Span};

/// An event's bytes. A field that lies outside reads as zero: programs and readers are of one build.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a>(pub &'a [u8]);

impl<'a> RawEvent<'a> {
    /// `count` bytes at `offset`; empty beyond the end.
    pub fn bytes(self, offset: usize, count: usize) -> &'a [u8] {
        self.0.get(offset..offset + count).unwrap_or_default()
    }

    fn array<const N: usize>(self, offset: usize) -> [u8; N] {
        self.bytes(offset, N).try_into().unwrap_or([0; N])
    }

    /// The byte at `offset`.
    pub fn u8(self, offset: usize) -> u8 {
        u8::from_ne_bytes(self.array(offset))
    }

    /// The number of 16 bits at `offset`.
    pub fn u16(self, offset: usize) -> u16 {
        u16::from_ne_bytes(self.array(offset))
    }

    /// The number of 32 bits at `offset`.
    pub fn u32(self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.array(offset))
    }

    /// The number of 64 bits at `offset`.
    pub fn u64(self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.array(offset))
    }
}

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
    use super::{RawEvent, ReorderBuffer};
    use fairwind_units::Instant;

    #[test]
    fn fields_are_read_in_the_machines_own_order_of_bytes() {
        let bytes: Vec<u8> = 0x0102_0304_0506_0708_u64.to_ne_bytes().into();
        let record = RawEvent(&bytes);
        assert_eq!(record.u64(0), 0x0102_0304_0506_0708);
        let halves = [record.u32(0), record.u32(4)];
        let expected = if cfg!(target_endian = "little") {
            [0x0506_0708, 0x0102_0304]
        } else {
            [0x0102_0304, 0x0506_0708]
        };
        assert_eq!(halves, expected);
    }

    #[test]
    fn a_field_beyond_the_end_is_zero() {
        assert_eq!(RawEvent(&[1, 2]).u32(0), 0);
    }

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
