//! Ordered stream of events from BPF programs on several processors.
//!
//! A program reads the clock before it reserves space in the ring. So an event may follow a later event
//! of another processor. The reorder buffer therefore delays events briefly.

use super::loader::{Object, Programs};
use super::{BpfError, RawEvent, check_kernel_types};
use fairwind_linux as linux;
use fairwind_units::{Instant, Span};
use std::time::Duration;

/// How long an event is held back. Clock and ring are fractions of a microsecond apart, unless the
/// program is interrupted.
const REORDER_DELAY: Span = Span::from_millis(2);

/// Events that may still be preceded by others.
#[derive(Debug)]
struct ReorderBuffer<E> {
    waiting: Vec<(Instant, E)>,
    /// Everything before this has been handed out.
    released: Instant,
}

impl<E> ReorderBuffer<E> {
    fn new() -> Self {
        Self { waiting: Vec::new(), released: Instant::ZERO }
    }

    /// Adds an event. An event older than the last release is reported at the instant of that release.
    fn push(&mut self, at: Instant, event: E) {
        self.waiting.push((at.max(self.released), event));
    }

    /// Hands out, in order, the events that no other can precede, if all events before `read` were
    /// added. Returns the watermark: all later events are at or after it.
    fn release(&mut self, read: Instant, mut each: impl FnMut(Instant, E)) -> Instant {
        let until = Instant::ZERO + read.saturating_since(Instant::ZERO + REORDER_DELAY);
        self.released = self.released.max(until);
        self.waiting.sort_by_key(|(at, _)| *at);
        let count = self.waiting.partition_point(|(at, _)| *at < self.released);
        self.waiting.drain(..count).for_each(|(at, event)| each(at, event));
        self.released
    }

    /// Hands out all that is left.
    fn finish(&mut self, mut each: impl FnMut(Instant, E)) {
        self.waiting.sort_by_key(|(at, _)| *at);
        self.waiting.drain(..).for_each(|(at, event)| each(at, event));
    }
}

/// Events of attached programs, in the order in which they happened.
#[derive(Debug)]
pub(super) struct EventStream<E> {
    programs: Programs,
    reorder_buffer: ReorderBuffer<E>,
}

impl<E> EventStream<E> {
    /// Attaches the `wanted` programs of an object to their tracepoints.
    pub(super) fn attach(object: Object, wanted: &[&str]) -> Result<Self, BpfError> {
        check_kernel_types()?;
        let programs = Programs::attach(object, wanted)?;
        Ok(Self { programs, reorder_buffer: ReorderBuffer::new() })
    }

    /// Sets an entry of a map of the programs.
    pub(super) fn set(&self, map: &str, key: &[u8], value: &[u8]) -> Result<(), BpfError> {
        self.programs.set(map, key, value)
    }

    /// Hands out new events in order; waits at most `limit` if there are few. Returns the watermark:
    /// all later events are at or after it.
    pub(super) fn read(
        &mut self,
        limit: Duration,
        decode: impl FnMut(RawEvent<'_>) -> Option<(Instant, E)>,
        each: impl FnMut(Instant, E),
    ) -> Result<Instant, BpfError> {
        self.programs.wait(limit)?;
        let asked = linux::monotonic();
        self.take(decode)?;
        Ok(self.reorder_buffer.release(asked, each))
    }

    /// Hands out all remaining events.
    pub(super) fn finish(
        &mut self,
        decode: impl FnMut(RawEvent<'_>) -> Option<(Instant, E)>,
        each: impl FnMut(Instant, E),
    ) -> Result<(), BpfError> {
        self.take(decode)?;
        self.reorder_buffer.finish(each);
        Ok(())
    }

    fn take(
        &mut self,
        mut decode: impl FnMut(RawEvent<'_>) -> Option<(Instant, E)>,
    ) -> Result<(), BpfError> {
        let Self { programs, reorder_buffer } = self;
        programs.read(|record| {
            if let Some((at, event)) = decode(record) {
                reorder_buffer.push(at, event);
            }
        })
    }

    /// How many events were lost because they came faster than they were read.
    pub(super) fn missed(&self) -> u64 {
        self.programs.missed()
    }
}

#[cfg(test)]
mod tests {
    use super::{RawEvent, ReorderBuffer};
    use fairwind_units::Instant;

    #[test]
    fn fields_are_read_in_native_byte_order() {
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
        let mut released = String::new();
        reorder_buffer.release(read, |_, event| released.push(event));
        released
    }

    #[test]
    fn events_are_released_in_time_order() {
        let mut reorder_buffer = ReorderBuffer::new();
        reorder_buffer.push(at(20), 'b');
        reorder_buffer.push(at(10), 'a');
        reorder_buffer.push(at(30), 'c');
        assert_eq!(release(&mut reorder_buffer, at(5000)), "abc");
    }

    #[test]
    fn event_waits_for_possible_earlier_events() {
        let mut reorder_buffer = ReorderBuffer::new();
        reorder_buffer.push(at(4900), 'b');
        assert_eq!(release(&mut reorder_buffer, at(5000)), "");
        reorder_buffer.push(at(4800), 'a');
        assert_eq!(release(&mut reorder_buffer, at(9000)), "ab");
    }

    #[test]
    fn late_event_breaks_no_order() {
        let mut reorder_buffer = ReorderBuffer::new();
        let watermark = reorder_buffer.release(at(9000), |_, _| {});
        reorder_buffer.push(at(10), 'a');
        let mut released = Vec::new();
        reorder_buffer.release(at(20_000), |at, event| released.push((at, event)));
        assert_eq!(released, [(watermark, 'a')]);
    }
}
