//! Items released at a deadline, such as the ACKs that a host holds back to make its clients look far away.

use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};
use std::collections::BTreeMap;

/// Whether a segment is an ACK without payload, SYN or RST. A FIN without payload counts, because it acknowledges
/// what the delayed ACKs before it acknowledge.
#[inline]
pub fn is_pure_ack(segment: &Segment) -> bool {
    segment.payload_bytes == 0
        && segment.flags.contains(Flags::ACK)
        && !segment.flags.intersects(Flags::SYN | Flags::RST)
}

/// A queue of items, each with a deadline; items of equal deadlines leave in the order of insertion.
#[derive(Debug)]
pub struct DelayQueue<T> {
    /// By deadline and number of insertion.
    items: BTreeMap<(Instant, u64), T>,
    inserted: u64,
}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), inserted: 0 }
    }
}

impl<T> DelayQueue<T> {
    /// Inserts an item that is due at `deadline`.
    pub fn insert(&mut self, deadline: Instant, item: T) {
        self.items.insert((deadline, self.inserted), item);
        self.inserted += 1;
    }

    /// The earliest deadline; [`Instant::MAX`] if the queue is empty.
    #[inline]
    pub fn next_deadline(&self) -> Instant {
        self.items.first_key_value().map_or(Instant::MAX, |(&(deadline, _), _)| deadline)
    }

    /// Removes the first item that is due at `now`, and gives it with its deadline.
    pub fn pop_due(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.next_deadline() > now {
            return None;
        }
        self.items.pop_first().map(|((deadline, _), item)| (deadline, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_by_deadline_then_by_insertion() {
        let mut queue = DelayQueue::default();
        assert_eq!(queue.next_deadline(), Instant::MAX);
        for (deadline, item) in [(7, 'c'), (5, 'a'), (7, 'd'), (5, 'b')] {
            queue.insert(Instant::from_millis(deadline), item);
        }
        let (five, seven) = (Instant::from_millis(5), Instant::from_millis(7));
        assert_eq!((queue.next_deadline(), queue.pop_due(Instant::from_millis(4))), (five, None));
        let mut released = std::iter::from_fn(|| queue.pop_due(Instant::from_millis(9)));
        let expected = [(five, 'a'), (five, 'b'), (seven, 'c'), (seven, 'd')];
        assert_eq!(released.by_ref().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn syn_data_and_reset_are_no_pure_acks() {
        let of = |flags: Flags, payload_bytes: u32| {
            is_pure_ack(&Segment { flags, payload_bytes, ..Segment::default() })
        };
        assert!(of(Flags::ACK, 0) && of(Flags::ACK | Flags::FIN, 0));
        assert!(!of(Flags::SYN, 0) && !of(Flags::SYN | Flags::ACK, 0) && !of(Flags::RST, 0));
        assert!(!of(Flags::RST | Flags::ACK, 0) && !of(Flags::ACK, 1));
    }
}
