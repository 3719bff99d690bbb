//! Which queue a flow has: a set-associative table, so that flows rarely meet in one while queues are vacant.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018, section III.B.

use super::super::hash::scaled;
use super::super::rounds::index;

/// Queues of a tin.
pub(super) const QUEUES: u32 = 1024;
/// Queues that a flow may have.
const WAYS: u32 = 8;

/// Whose each queue is.
#[derive(Debug)]
pub(super) struct Ways {
    tags: Vec<u64>,
}

impl Ways {
    pub(super) fn new() -> Self {
        Self { tags: vec![0; index(QUEUES)] }
    }

    /// The queue of the flow with `hash`; it takes a vacant one of its set where it has none, and shares the one that
    /// it is hashed to where there is none.
    pub(super) fn place(&mut self, hash: u64, is_vacant: impl Fn(u32) -> bool) -> u32 {
        let home = scaled(hash, QUEUES);
        let first = home / WAYS * WAYS;
        let ways = || (0..WAYS).map(|way| first + (home - first + way) % WAYS);
        let known = ways().find(|way| self.tags[index(*way)] == hash && !is_vacant(*way));
        known.unwrap_or_else(|| {
            let way = ways().find(|way| is_vacant(*way)).unwrap_or(home);
            self.tags[index(way)] = hash;
            way
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_flows_of_a_set_have_queues_of_their_own_and_the_ninth_shares_one() {
        let mut ways = Ways::new();
        let mut taken = Vec::new();
        // Hashes that differ in their lower half only are hashed to the same queue.
        for flow in 0..8 {
            let way = ways.place(flow + 1, |way| !taken.contains(&way));
            assert!(!taken.contains(&way) && way < 8);
            taken.push(way);
        }
        assert_eq!(ways.place(3, |way| !taken.contains(&way)), taken[2]);
        let shared = ways.place(9, |way| !taken.contains(&way));
        assert_eq!(shared, 0);
        // A queue that has become vacant serves the next one.
        taken.retain(|way| *way != 5);
        assert_eq!(ways.place(10, |way| !taken.contains(&way)), 5);
    }
}
