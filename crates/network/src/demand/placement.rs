//! Which slots of a frame are whose.

use fairwind_qdisc::Placement;
use std::ops::Range;

/// The slots of a terminal in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slots {
    /// One after another.
    Together(Range<u32>),
    /// Somewhere, in ascending order.
    Spread(Vec<u32>),
}

impl Default for Slots {
    fn default() -> Self {
        Self::Together(0..0)
    }
}

impl Slots {
    /// The first of them that is `slot` or a later one.
    pub(super) fn next_from(&self, slot: u32) -> Option<u32> {
        match self {
            Self::Together(own) => Some(slot.max(own.start)).filter(|slot| *slot < own.end),
            Self::Spread(own) => own.get(own.partition_point(|own| *own < slot)).copied(),
        }
    }
}

/// The slots of each terminal in a frame of `slots`, where each has so many.
pub(super) fn places(placement: Placement, slots: u32, shares: &[u32]) -> Vec<Slots> {
    match placement {
        Placement::Together => together(shares),
        Placement::Spread => spread(slots, shares),
    }
}

fn together(shares: &[u32]) -> Vec<Slots> {
    let mut first = 0;
    let mut next = |share: &u32| {
        let own = first..first + share;
        first = own.end;
        Slots::Together(own)
    };
    shares.iter().map(&mut next).collect()
}

/// Each terminal, those with most slots first, gets the middle slots of equal parts of the frame, or the next ones that are
/// free.
fn spread(slots: u32, shares: &[u32]) -> Vec<Slots> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|&terminal| std::cmp::Reverse(shares[terminal]));
    let mut free = Free::new(slots);
    let mut places = vec![Slots::default(); shares.len()];
    for terminal in order {
        let share = u64::from(shares[terminal]);
        let middle = |part: u64| (2 * part + 1) * u64::from(slots) / (2 * share.max(1));
        let mut own: Vec<u32> = (0..share)
            .filter_map(|part| free.take(u32::try_from(middle(part)).unwrap_or(0)))
            .collect();
        own.sort_unstable();
        places[terminal] = Slots::Spread(own);
    }
    places
}

/// The slots of a frame that are nobody's yet.
struct Free {
    /// Of each slot one that is no later than the next free one, itself while it is free.
    next: Vec<usize>,
}

impl Free {
    fn new(slots: u32) -> Self {
        Self { next: (0..=usize::try_from(slots).unwrap_or(0)).collect() }
    }

    /// Takes the first free slot from `wanted` on, from the beginning again behind the last.
    fn take(&mut self, wanted: u32) -> Option<u32> {
        let end = self.next.len() - 1;
        let mut slot = self.find(usize::try_from(wanted).unwrap_or(end).min(end));
        if slot == end {
            slot = self.find(0);
        }
        if slot == end {
            return None;
        }
        self.next[slot] = slot + 1;
        u32::try_from(slot).ok()
    }

    /// The first free slot from `slot` on; the end where there is none. What it passes is passed faster next time.
    fn find(&mut self, slot: usize) -> usize {
        let mut found = slot;
        while self.next[found] != found {
            self.next[found] = self.next[self.next[found]];
            found = self.next[found];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(places: &[Slots]) -> Vec<Vec<u32>> {
        let all = |own: &Slots| {
            let next = |slot: &u32| own.next_from(slot + 1);
            std::iter::successors(own.next_from(0), next).collect()
        };
        places.iter().map(all).collect()
    }

    #[test]
    fn slots_follow_one_another_in_the_order_of_terminals() {
        let placed = places(Placement::Together, 8, &[2, 0, 3]);
        assert_eq!(slots(&placed), [vec![0, 1], vec![], vec![2, 3, 4]]);
        assert_eq!(placed[2].next_from(4), Some(4));
        assert_eq!(placed[2].next_from(5), None);
    }

    #[test]
    fn spread_slots_are_at_equal_distances_as_far_as_others_allow() {
        // The middles of four parts of twelve slots, and of two; one slot is taken, so the next one.
        let placed = places(Placement::Spread, 12, &[2, 4]);
        assert_eq!(slots(&placed), [vec![3, 9], vec![1, 4, 7, 10]]);
        let placed = places(Placement::Spread, 4, &[1, 1, 2]);
        assert_eq!(slots(&placed), [vec![2], vec![0], vec![1, 3]]);
    }

    #[test]
    fn every_slot_of_a_full_frame_is_somebody_s() {
        let placed = slots(&places(Placement::Spread, 48, &[28, 13, 7]));
        assert_eq!(placed.iter().map(Vec::len).collect::<Vec<_>>(), [28, 13, 7]);
        let mut all: Vec<u32> = placed.concat();
        all.sort_unstable();
        assert_eq!(all, (0..48).collect::<Vec<_>>());
    }
}
