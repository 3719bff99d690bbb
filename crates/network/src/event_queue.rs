//! Event queue: a binary heap with at most two events per link, and one per packet on an impaired wire.

use crate::LinkId;
use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The next packet leaves the queue.
    Departure,
    /// The first packet in flight reaches the other end.
    Delivery,
}

/// An event of a link. Events are ordered by instant, then by the number of the packet's acceptance.
///
/// One wide number travels in registers and compares without a branch. A struct of three fields would be stored field
/// by field and loaded as a whole right afterwards; that stall costs more than the rest of the queue.
///
/// From the top: 64 bits of instant, 44 of insertion (20 days of ten million packets a second), 19 of link, 1 of kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

/// Greatest number of links, from the bits of an event.
pub(crate) const MAX_LINKS: usize = 1 << LINK_BITS;

const LINK_BITS: u32 = 19;
const INSERTION_BITS: u32 = 44;

impl Event {
    /// No event.
    pub(crate) const NEVER: Self = Self(u128::MAX);

    /// The next packet leaves the queue of `link`.
    ///
    /// At equal instants departures come before any delivery, because a packet that leaves a queue
    /// at an instant makes room for one that arrives at that instant.
    #[inline]
    pub(crate) fn departure(at: Instant, link: LinkId) -> Self {
        Self::new(at, u64::from(link.0) << 1)
    }

    /// The packet that `link` accepted as number `insertion`, from one, reaches the other end.
    #[inline]
    pub(crate) fn delivery(at: Instant, insertion: u64, link: LinkId) -> Self {
        debug_assert!(insertion >> INSERTION_BITS == 0, "insertions fit in their bits");
        Self::new(at, (insertion << (LINK_BITS + 1)) | (u64::from(link.0) << 1) | 1)
    }

    #[inline]
    fn new(at: Instant, rest: u64) -> Self {
        Self((u128::from(at.as_nanos()) << 64) | u128::from(rest))
    }

    /// Whether this is due at `until` or earlier.
    #[inline]
    pub(crate) fn is_by(self, until: Instant) -> bool {
        self.at() <= until && !self.is_never()
    }

    /// Whether this is due at [`Instant::MAX`], which is later than everything.
    #[inline]
    pub(crate) fn is_never(self) -> bool {
        self.at() == Instant::MAX
    }

    #[inline]
    pub(crate) fn at(self) -> Instant {
        Instant::from_nanos(self.half(64))
    }

    /// Index of the link.
    #[inline]
    pub(crate) fn link_index(self) -> usize {
        usize::try_from(self.half(0) >> 1).unwrap_or(usize::MAX) & (MAX_LINKS - 1)
    }

    #[inline]
    pub(crate) fn work(self) -> EventKind {
        if self.0 & 1 == 0 { EventKind::Departure } else { EventKind::Delivery }
    }

    /// The 64 bits above the lowest `shift`.
    #[inline]
    fn half(self, shift: u32) -> u64 {
        u64::try_from((self.0 >> shift) & u128::from(u64::MAX)).expect("masked to 64 bits")
    }
}

/// All events, earliest first.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Event>>,
}

impl EventQueue {
    /// The first event; [`Event::NEVER`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> Event {
        self.heap.peek().map_or(Event::NEVER, |first| first.0)
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.heap.push(Reverse(event));
    }

    /// Replaces the first event by `event`, in one pass.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn replace_first(&mut self, event: Event) {
        *self.heap.peek_mut().expect("an event is replaced") = Reverse(event);
    }

    #[inline]
    pub(crate) fn remove_first(&mut self) {
        self.heap.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(at: u64, insertion: u64) -> Event {
        Event::delivery(Instant::from_nanos(at), insertion, LinkId(0))
    }

    proptest! {
        #[test]
        fn entries_are_ordered_by_instant_then_insertion(
            operations in prop::collection::vec((0_u8..4, 0_u64..50), 0..200),
        ) {
            let mut events = EventQueue::default();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (insertion, (operation, at)) in (1..).zip(operations) {
                model.sort_unstable();
                let expected = model.first().copied();
                let first = Some(events.first()).filter(|first| !first.is_never());
                let first = first.map(|d| (d.at().as_nanos(), d.half(0) >> (LINK_BITS + 1)));
                prop_assert_eq!(first, expected);
                match operation {
                    0 if first.is_some() => {
                        events.remove_first();
                        model.remove(0);
                    }
                    1 if first.is_some() => {
                        events.replace_first(due(at, insertion));
                        model[0] = (at, insertion);
                    }
                    _ => {
                        events.push(due(at, insertion));
                        model.push((at, insertion));
                    }
                }
            }
        }
    }

    #[test]
    fn last_instant_is_never_due() {
        assert!(!Event::NEVER.is_by(Instant::MAX));
        assert!(!Event::delivery(Instant::MAX, 1, LinkId(0)).is_by(Instant::MAX));
        assert!(
            !due(3, 1).is_by(Instant::from_nanos(2)) && due(3, 1).is_by(Instant::from_nanos(3))
        );
    }
}
