//! Which bytes of the stream have arrived, and how many of them more than once.

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
    fn holes_that_are_never_filled_are_given_up_at_some_time() {
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
        // What comes for a hole that was given up is taken for a repetition.
        assert_eq!(received.insert(0, 10), 0);
    }
}
