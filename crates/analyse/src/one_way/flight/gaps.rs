//! Bytes of transmissions that have not arrived, though later ones of the same transmission have.
//!
//! Cost: a search among all gaps, whatever is asked; what a transmission has left is found together.

use std::collections::BTreeMap;

/// The gaps of all transmissions of a direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Gaps {
    /// Behind the last byte, by the transmission's order and the first byte.
    ends: BTreeMap<(u32, u64), u64>,
}

impl Gaps {
    /// A gap of the transmission `order`, which has none there yet.
    pub(super) fn add(&mut self, order: u32, start: u64, end: u64) {
        if start < end {
            self.ends.insert((order, start), end);
        }
    }

    /// The gap of a transmission in which the byte at `place` is missing: its first byte, and behind its last.
    pub(super) fn around(&self, order: u32, place: u64) -> Option<(u64, u64)> {
        let (&(_, start), &end) = self.ends.range((order, 0)..=(order, place)).next_back()?;
        (place < end).then_some((start, end))
    }

    /// Where the first gap of a transmission begins behind `place`.
    pub(super) fn next_beginning(&self, order: u32, place: u64) -> Option<u64> {
        let from = (order, place.checked_add(1)?);
        self.ends.range(from..=(order, u64::MAX)).next().map(|(&(_, start), _)| start)
    }

    /// Bytes have come that lie within one gap.
    pub(super) fn fill(&mut self, order: u32, start: u64, end: u64) {
        let Some(gap) = self.around(order, start).filter(|gap| end <= gap.1) else { return };
        self.ends.remove(&(order, gap.0));
        self.add(order, gap.0, start);
        self.add(order, end, gap.1);
    }

    /// Takes the gaps of a transmission out, in the order of their bytes.
    pub(super) fn take(&mut self, order: u32, mut taken: impl FnMut(u64, u64)) {
        while let Some((&(order, start), &end)) =
            self.ends.range((order, 0)..=(order, u64::MAX)).next()
        {
            taken(start, end);
            self.ends.remove(&(order, start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps_of(gaps: &Gaps, order: u32) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        gaps.clone().take(order, |start, end| found.push((start, end)));
        found
    }

    #[test]
    fn a_gap_is_filled_from_either_end_or_cut_in_two() {
        let mut gaps = Gaps::default();
        gaps.add(7, 100, 200);
        gaps.add(8, 0, 1_000);
        gaps.fill(7, 140, 160);
        assert_eq!(gaps_of(&gaps, 7), [(100, 140), (160, 200)]);
        gaps.fill(7, 100, 110);
        gaps.fill(7, 190, 200);
        gaps.fill(7, 110, 140);
        assert_eq!(gaps_of(&gaps, 7), [(160, 190)]);
        assert_eq!(gaps_of(&gaps, 8), [(0, 1_000)], "of another transmission");
    }

    #[test]
    fn what_is_missing_is_found_by_its_place() {
        let mut gaps = Gaps::default();
        gaps.add(1, 100, 200);
        gaps.add(1, 300, 400);
        let around = [99, 100, 199, 200, 350].map(|place| gaps.around(1, place));
        assert_eq!(around, [None, Some((100, 200)), Some((100, 200)), None, Some((300, 400))]);
        let next = [0, 99, 100, 299, 300].map(|place| gaps.next_beginning(1, place));
        assert_eq!(next, [Some(100), Some(100), Some(300), Some(300), None]);
        assert_eq!((gaps.around(2, 150), gaps.next_beginning(u32::MAX, u64::MAX)), (None, None));
    }
}
