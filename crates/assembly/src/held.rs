//! What a host holds back before it reaches the network: acknowledgments of clients that are made to look far away.

use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};
use std::collections::BTreeMap;

/// Whether a segment acknowledges and does nothing else but end the stream: it carries no data, opens nothing and resets
/// nothing. A FIN belongs to these, or it would bring what those before it were held back with.
#[inline]
pub fn only_acknowledges(segment: &Segment) -> bool {
    segment.payload_bytes == 0
        && segment.flags.contains(Flags::ACK)
        && !segment.flags.intersects(Flags::SYN | Flags::RST)
}

/// What waits for its instant.
#[derive(Debug)]
pub struct Held<T> {
    /// By instant, then by the order in which they came.
    waiting: BTreeMap<(Instant, u64), T>,
    /// How many have come.
    count: u64,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), count: 0 }
    }
}

impl<T> Held<T> {
    /// Holds `item` back until `until`.
    pub fn hold(&mut self, until: Instant, item: T) {
        self.waiting.insert((until, self.count), item);
        self.count += 1;
    }

    /// When the first is to be let go; [`Instant::MAX`] where none waits.
    #[inline]
    pub fn next(&self) -> Instant {
        self.waiting.first_key_value().map_or(Instant::MAX, |(&(until, _), _)| until)
    }

    /// Lets go the first that is held until `now` at most, with the instant that it was held until; of those held until
    /// the same one that which came first.
    pub fn release(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.next() > now {
            return None;
        }
        self.waiting.pop_first().map(|((until, _), item)| (until, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_leaves_at_its_instant_and_in_order() {
        let mut held = Held::default();
        assert_eq!(held.next(), Instant::MAX);
        for (until, item) in [(7, 'c'), (5, 'a'), (7, 'd'), (5, 'b')] {
            held.hold(Instant::from_millis(until), item);
        }
        let (five, seven) = (Instant::from_millis(5), Instant::from_millis(7));
        assert_eq!((held.next(), held.release(Instant::from_millis(4))), (five, None));
        let mut released = std::iter::from_fn(|| held.release(Instant::from_millis(9)));
        let expected = [(five, 'a'), (five, 'b'), (seven, 'c'), (seven, 'd')];
        assert_eq!(released.by_ref().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn calls_data_and_resets_are_not_held_back() {
        let of = |flags: Flags, payload_bytes: u32| {
            only_acknowledges(&Segment { flags, payload_bytes, ..Segment::default() })
        };
        assert!(of(Flags::ACK, 0) && of(Flags::ACK | Flags::FIN, 0));
        assert!(!of(Flags::SYN, 0) && !of(Flags::SYN | Flags::ACK, 0) && !of(Flags::RST, 0));
        assert!(!of(Flags::RST | Flags::ACK, 0) && !of(Flags::ACK, 1));
    }
}
