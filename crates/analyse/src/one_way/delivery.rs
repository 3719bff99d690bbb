//! Stream offsets, and which bytes have arrived in order.

use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;

/// Offset of the first byte seen; earlier bytes have offsets, too.
pub(super) const BASE: u64 = 1 << 32;

/// Mapping of sequence numbers to 64-bit offsets.
///
/// A number maps to the offset nearest to the highest one seen (RFC 9293 §3.4: less than 2^31 apart).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamOffsets {
    anchor: Option<(SequenceNumber, u64)>,
}

impl StreamOffsets {
    /// The offset of `sequence`; the first call sets the origin.
    #[inline]
    pub(super) fn offset_of(&mut self, sequence: SequenceNumber) -> u64 {
        let (number, place) = *self.anchor.get_or_insert((sequence, BASE));
        let distance = sequence.distance_from(number).cast_signed();
        place.saturating_add_signed(i64::from(distance))
    }

    /// The offset of `sequence`, if the origin is known.
    #[inline]
    pub(super) fn known_offset(self, sequence: SequenceNumber) -> Option<u64> {
        let (number, place) = self.anchor?;
        let distance = sequence.distance_from(number).cast_signed();
        Some(place.saturating_add_signed(i64::from(distance)))
    }

    /// The sequence number of an offset, if the origin is known.
    pub(super) fn sequence(self, place: u64) -> Option<SequenceNumber> {
        let (number, known) = self.anchor?;
        // Modulo 2^32, as sequence numbers count.
        let distance = place.wrapping_sub(known) & u64::from(u32::MAX);
        Some(number + u32::try_from(distance).unwrap_or_default())
    }

    /// `sequence`, at offset `place`, is the highest so far.
    #[inline]
    pub(super) const fn advance(&mut self, sequence: SequenceNumber, place: u64) {
        self.anchor = Some((sequence, place));
    }
}

/// Limit of ranges behind a gap: with more, the gap is never filled, or the capture misses it. A hundred
/// megabytes in full-sized segments.
const MOST_HELD: usize = 1 << 16;

/// A range of new bytes at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArrivedRange {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) at: Instant,
    /// Transmissions of its bytes, if seen.
    pub(super) sent: Option<SendTimes>,
}

/// Transmissions of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SendTimes {
    pub(super) first: Instant,
    pub(super) copy: Instant,
    /// Whether the range also counts as the network delay of the copy.
    pub(super) shows_network: bool,
}

/// Received bytes of one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Delivery {
    /// Everything before this offset has arrived; `None` at first.
    in_order_to: Option<u64>,
    /// Ranges behind a gap, ascending and disjoint.
    held: VecDeque<ArrivedRange>,
}

impl Delivery {
    /// Offset up to which everything has arrived; 0 at first.
    #[inline]
    pub(super) fn in_order_to(&self) -> u64 {
        self.in_order_to.unwrap_or(0)
    }

    /// Whether the beginning of the stream is known.
    pub(super) const fn has_begun(&self) -> bool {
        self.in_order_to.is_some()
    }

    /// Sets the beginning of the stream, unless known.
    #[inline]
    pub(super) fn begin(&mut self, place: u64) {
        self.in_order_to.get_or_insert(place);
    }

    /// Fast path: takes `start..end` if it continues the stream and there is no gap.
    #[inline]
    pub(super) fn extend(&mut self, start: u64, end: u64) -> bool {
        let goes_on = self.in_order_to == Some(start) && self.held.is_empty();
        if goes_on {
            self.in_order_to = Some(end);
        }
        goes_on
    }

    /// Whether `start` lies behind a gap and all held ranges.
    #[inline]
    pub(super) fn is_behind_all(&self, start: u64) -> bool {
        start > self.in_order_to() && self.held.back().is_none_or(|last| last.end <= start)
    }

    /// The parts of `start..end` that are new.
    pub(super) fn new_parts(&self, start: u64, end: u64, parts: &mut Vec<(u64, u64)>) {
        parts.clear();
        let mut cursor = start.max(self.in_order_to());
        let first = self.held.partition_point(|held| held.end <= cursor);
        for held in self.held.iter().skip(first).take_while(|held| held.start < end) {
            if held.start > cursor {
                parts.push((cursor, held.start));
            }
            cursor = cursor.max(held.end);
        }
        if cursor < end {
            parts.push((cursor, end));
        }
    }

    /// Adds a new part.
    pub(super) fn add(&mut self, part: ArrivedRange) {
        if self.held.back().is_none_or(|last| last.end <= part.start) {
            self.held.push_back(part);
            return;
        }
        let place = self.held.partition_point(|held| held.start < part.start);
        self.held.insert(place, part);
    }

    /// Whether so much is held that the next call gives up the gap.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.held.len() > MOST_HELD
    }

    /// The next range in order.
    #[inline]
    pub(super) fn next_in_order(&mut self) -> Option<ArrivedRange> {
        let in_order_to = self.in_order_to?;
        let is_full = self.is_full();
        let next = self.held.pop_front()?;
        if next.start > in_order_to && !is_full {
            self.held.push_front(next);
            return None;
        }
        self.in_order_to = Some(in_order_to.max(next.end));
        Some(next)
    }

    /// The receiver has acknowledged everything before `place`; returns how many of these bytes the capture
    /// misses.
    pub(super) fn acknowledged(&mut self, place: u64) -> u64 {
        let Some(in_order_to) = self.in_order_to.filter(|&in_order_to| place > in_order_to) else {
            return 0;
        };
        let known = self.held.iter().take_while(|held| held.start < place);
        let seen: u64 = known.map(|held| held.end.min(place) - held.start).sum();
        self.in_order_to = Some(place);
        (place - in_order_to).saturating_sub(seen)
    }

    /// The ranges that never came into order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = ArrivedRange> {
        self.held.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_go_on_where_sequence_numbers_wrap() {
        let mut offsets = StreamOffsets::default();
        let first = SequenceNumber::new(u32::MAX - 9);
        assert_eq!(offsets.offset_of(first), BASE);
        assert_eq!(offsets.offset_of(SequenceNumber::new(5)), BASE + 15);
        assert_eq!(offsets.offset_of(first - 1), BASE - 1);
        assert_eq!(offsets.sequence(BASE + 15), Some(SequenceNumber::new(5)));
        assert_eq!(offsets.sequence(BASE - 1), Some(first - 1));
        let far = first + 0x7000_0000;
        offsets.advance(far, BASE + 0x7000_0000);
        assert_eq!(offsets.offset_of(far + 0x7000_0000), BASE + 0xe000_0000);
    }

    proptest! {
        #[test]
        fn delivery_reports_new_bytes_in_stream_order(
            pieces in proptest::collection::vec((0_u64..60, 1_u64..12), 0..60)
        ) {
            let mut delivery = Delivery::default();
            delivery.begin(0);
            let mut seen = [false; 80];
            let mut parts = Vec::new();
            let mut in_order = 0;
            for (start, length) in pieces {
                delivery.new_parts(start, start + length, &mut parts);
                let range = usize::try_from(start).unwrap()..usize::try_from(start + length).unwrap();
                let new = seen[range.clone()].iter().filter(|byte| !**byte).count();
                prop_assert_eq!(parts.iter().map(|(start, end)| end - start).sum::<u64>(), new as u64);
                seen[range].fill(true);
                for &(start, end) in &parts {
                    delivery.add(ArrivedRange { start, end, at: Instant::ZERO, sent: None });
                }
                while let Some(next) = delivery.next_in_order() {
                    prop_assert_eq!(next.start, in_order);
                    in_order = next.end;
                }
                let next = seen.iter().position(|byte| !byte).unwrap();
                prop_assert_eq!(delivery.in_order_to(), next as u64);
            }
        }
    }

    #[test]
    fn unfilled_gap_is_dropped_at_memory_limit() {
        let mut delivery = Delivery::default();
        delivery.begin(0);
        for start in (1..).take(MOST_HELD) {
            delivery.add(ArrivedRange { start, end: start + 1, at: Instant::ZERO, sent: None });
            assert!(delivery.next_in_order().is_none());
        }
        let start = delivery.held.back().unwrap().end;
        delivery.add(ArrivedRange { start, end: start + 1, at: Instant::ZERO, sent: None });
        assert_eq!(delivery.next_in_order().map(|next| next.start), Some(1));
        while delivery.next_in_order().is_some() {}
        assert_eq!((delivery.in_order_to(), delivery.held.len()), (start + 1, 0));
    }

    #[test]
    fn acknowledged_bytes_count_as_arrived() {
        let mut delivery = Delivery::default();
        delivery.begin(100);
        delivery.add(ArrivedRange { start: 150, end: 200, at: Instant::ZERO, sent: None });
        assert_eq!(delivery.acknowledged(200), 50);
        assert_eq!(delivery.acknowledged(200), 0);
        assert!(delivery.next_in_order().is_some());
        assert_eq!(delivery.in_order_to(), 200);
    }
}
