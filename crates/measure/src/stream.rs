//! Stream offsets of sequence numbers (RFC 9293 §3.4), and which bytes have arrived.

use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Where the stream's offset 0 lies in sequence space, once known.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamOrigin(Option<SequenceNumber>);

impl StreamOrigin {
    /// Takes the origin from a segment of the data sender: exactly from a SYN, and otherwise (a
    /// capture that begins in mid-stream) so that the stream begins with this segment.
    #[inline]
    pub fn learn(&mut self, segment: &Segment) {
        if self.0.is_none() {
            self.0 = Some(first_payload(segment));
        }
    }

    /// Offset behind the payload of `segment`, which lies near the offset `near`. Below zero for
    /// bytes before the origin.
    ///
    /// The origin must have been learned.
    #[inline]
    pub fn payload_end(self, segment: &Segment, near: u64) -> i64 {
        let origin = self.0.unwrap_or_else(|| first_payload(segment));
        unwrapped(origin, first_payload(segment) + segment.payload_bytes, near)
    }

    /// Offset that an acknowledgment number stands for, or `None` before anything was sent.
    #[inline]
    pub fn acknowledged(self, acknowledgment: SequenceNumber, near: u64) -> Option<i64> {
        self.0.map(|origin| unwrapped(origin, acknowledgment, near))
    }
}

#[inline]
fn first_payload(segment: &Segment) -> SequenceNumber {
    segment.sequence + u32::from(segment.flags.contains(Flags::SYN))
}

/// The offset nearest to `near` with the sequence number `sequence`.
#[inline]
fn unwrapped(origin: SequenceNumber, sequence: SequenceNumber, near: u64) -> i64 {
    let low_bits = u32::try_from(near & u64::from(u32::MAX)).expect("masked to 32 bits");
    let distance = sequence.distance_from(origin + low_bits).cast_signed();
    near.cast_signed() + i64::from(distance)
}

/// `offset` as a place in the stream: what lies before the origin counts as its beginning.
#[inline]
pub(crate) fn clamped(offset: i64) -> u64 {
    offset.max(0).cast_unsigned()
}

/// How many separate ranges are kept: more than a window of a hundred megabytes has if every other of its
/// segments is lost. Where there are more, as in a capture that missed packets for good, the first holes count
/// as filled: nothing is known of them any more.
const MOST_RANGES: usize = 1 << 16;

/// How many ranges are given up at once, since all others move for it.
const GIVEN_UP: usize = MOST_RANGES / 64;

/// The bytes that have arrived: everything before `next`, and separate ranges behind it.
///
/// Cost: a comparison while bytes arrive in order; otherwise a search among the holes.
#[derive(Debug, Clone, Default)]
pub struct ReceivedBytes {
    /// Everything before this offset has arrived.
    next: u64,
    /// Ranges `(start, end)` behind `next`, ascending, with holes before each.
    beyond_holes: Vec<(u64, u64)>,
}

impl ReceivedBytes {
    /// First offset that has not arrived.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Adds `start..end`; returns how many of these bytes had not arrived before.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if self.beyond_holes.is_empty() && start <= self.next {
            let new = end.saturating_sub(self.next);
            self.next += new;
            return new;
        }
        self.insert_beside_holes(start.max(self.next), end)
    }

    fn insert_beside_holes(&mut self, start: u64, end: u64) -> u64 {
        if end <= start {
            return 0;
        }
        // Ranges that touch `start..end` melt into one with it.
        let first = self.beyond_holes.partition_point(|range| range.1 < start);
        let behind = self.beyond_holes.partition_point(|range| range.0 <= end);
        let touched = &self.beyond_holes[first..behind];
        let known: u64 =
            touched.iter().map(|range| range.1.min(end).saturating_sub(range.0.max(start))).sum();
        let melted = (
            touched.first().map_or(start, |range| range.0.min(start)),
            touched.last().map_or(end, |range| range.1.max(end)),
        );
        self.beyond_holes.splice(first..behind, [melted]);
        if self.beyond_holes.len() > MOST_RANGES {
            self.give_up_first_holes();
        }
        self.advance();
        end - start - known
    }

    #[cold]
    fn give_up_first_holes(&mut self) {
        self.next =
            self.beyond_holes.drain(..GIVEN_UP).next_back().map_or(self.next, |range| range.1);
    }

    /// Closes the first hole where it has been filled.
    fn advance(&mut self) {
        if let Some(&(start, end)) = self.beyond_holes.first()
            && start <= self.next
        {
            self.next = end;
            self.beyond_holes.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn offset_is_unwrapped_within_2_31(
            origin: u32, near in 0_u64..1 << 40, distance in -0x7fff_ffff_i64..0x7fff_ffff,
        ) {
            let offset = near.cast_signed() + distance;
            let bits = u32::try_from((offset & 0xffff_ffff).cast_unsigned()).unwrap();
            let origin = SequenceNumber::new(origin);
            prop_assert_eq!(unwrapped(origin, origin + bits, near), offset);
        }
    }

    #[test]
    fn byte_after_syn_is_offset_zero() {
        let mut origin = StreamOrigin::default();
        let syn = Segment {
            flags: Flags::SYN,
            sequence: SequenceNumber::new(u32::MAX),
            ..Segment::default()
        };
        origin.learn(&syn);
        assert_eq!(origin.payload_end(&syn, 0), 0);
        assert_eq!(origin.acknowledged(SequenceNumber::new(0), 0), Some(0));
    }

    proptest! {
        #[test]
        fn new_bytes_are_those_not_seen_before(
            pieces in proptest::collection::vec((0_usize..60, 0_usize..12), 0..60)
        ) {
            let mut received = ReceivedBytes::default();
            let mut seen = [false; 80];
            for (start, length) in pieces {
                let piece = &mut seen[start..start + length];
                let new = piece.iter().filter(|byte| !**byte).count();
                piece.fill(true);
                let counted = received.insert(start as u64, (start + length) as u64);
                prop_assert_eq!(counted, new as u64);
                let next = seen.iter().position(|byte| !byte).unwrap();
                prop_assert_eq!(received.next(), next as u64);
            }
        }
    }

    #[test]
    fn unfilled_gaps_are_discarded_eventually() {
        let mut received = ReceivedBytes::default();
        let ranges = u64::try_from(MOST_RANGES).unwrap();
        for range in 1..=ranges {
            assert_eq!(received.insert(range * 10, range * 10 + 5), 5);
        }
        assert_eq!(received.next(), 0);
        assert_eq!(received.insert((ranges + 1) * 10, (ranges + 1) * 10 + 5), 5);
        // Ranges of five bytes, ten apart, of which the first ones are given up with the holes before them.
        let given_up = u64::try_from(GIVEN_UP).unwrap();
        assert_eq!(received.next(), given_up * 10 + 5);
        assert_eq!(received.beyond_holes.len(), MOST_RANGES + 1 - GIVEN_UP);
        // Data for a discarded gap counts as a retransmission.
        assert_eq!(received.insert(0, 10), 0);
    }
}
