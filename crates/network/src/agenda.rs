//! What is due next: a binary heap with at most two entries per link.

use crate::LinkId;
use fairwind_units::Instant;

/// What a link has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Take the next packet from the queue.
    Departure,
    /// Hand the first packet under way to the node at the other end.
    Delivery,
}

/// One thing due: by instant, then by the number of the packet's acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    /// Zero for departures: at equal instants they come before any delivery, because a packet that
    /// leaves a queue at an instant makes room for one that arrives at that instant.
    pub(crate) insertion: u64,
    pub(crate) link: LinkId,
    pub(crate) work: Work,
}

impl Due {
    /// One wide number compares without a branch between its halves.
    #[inline]
    fn key(&self) -> u128 {
        (u128::from(self.at.as_nanos()) << 64) | u128::from(self.insertion)
    }
}

/// Everything due, earliest first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: Vec<Due>,
}

impl Agenda {
    #[inline]
    pub(crate) fn first(&self) -> Option<Due> {
        self.heap.first().copied()
    }

    #[inline]
    pub(crate) fn push(&mut self, due: Due) {
        let mut hole = self.heap.len();
        self.heap.push(due);
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.heap[parent].key() <= due.key() {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = due;
    }

    /// Removes the first entry and adds `due`, in one pass.
    ///
    /// # Panics
    /// Where nothing is due.
    #[inline]
    pub(crate) fn replace_first(&mut self, due: Due) {
        let heap = self.heap.as_mut_slice();
        let key = due.key();
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= heap.len() {
                break;
            }
            if child + 1 < heap.len() {
                child += usize::from(heap[child + 1].key() < heap[child].key());
            }
            if key <= heap[child].key() {
                break;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = due;
    }

    #[inline]
    pub(crate) fn remove_first(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.replace_first(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(at: u64, insertion: u64) -> Due {
        Due {
            at: Instant::from_nanos(at),
            insertion,
            link: LinkId(u32::try_from(insertion).unwrap()),
            work: Work::Delivery,
        }
    }

    proptest! {
        #[test]
        fn entries_come_by_instant_then_by_insertion(
            operations in prop::collection::vec((0_u8..4, 0_u64..50), 0..200),
        ) {
            let mut agenda = Agenda::default();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (insertion, (operation, at)) in (1..).zip(operations) {
                model.sort_unstable();
                let expected = model.first().copied();
                let first = agenda.first().map(|d| (d.at.as_nanos(), d.insertion));
                prop_assert_eq!(first, expected);
                match operation {
                    0 if first.is_some() => {
                        agenda.remove_first();
                        model.remove(0);
                    }
                    1 if first.is_some() => {
                        agenda.replace_first(due(at, insertion));
                        model[0] = (at, insertion);
                    }
                    _ => {
                        agenda.push(due(at, insertion));
                        model.push((at, insertion));
                    }
                }
            }
        }
    }
}
