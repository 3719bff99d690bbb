//! Which sender has something to do next by the clock.

use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One deadline for each of many.
#[derive(Debug)]
pub(super) struct TimerQueue {
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The deadline that counts; entries that differ are old.
    deadlines: Vec<Instant>,
}

impl TimerQueue {
    /// For `count`, none of which has a deadline.
    pub(super) fn new(count: usize) -> Self {
        Self { heap: BinaryHeap::new(), deadlines: vec![Instant::MAX; count] }
    }

    /// Moves a deadline; [`Instant::MAX`] for none.
    pub(super) fn schedule(&mut self, which: usize, deadline: Instant) {
        if self.deadlines[which] != deadline {
            self.deadlines[which] = deadline;
            if deadline != Instant::MAX {
                self.heap.push(Reverse((deadline, which)));
            }
        }
    }

    /// The next deadline.
    pub(super) fn next(&mut self) -> Instant {
        while let Some(&Reverse((deadline, which))) = self.heap.peek() {
            if self.deadlines[which] == deadline {
                return deadline;
            }
            self.heap.pop();
        }
        Instant::MAX
    }

    /// One whose deadline has come, which has none afterwards.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, which)) = self.heap.pop()?;
        self.deadlines[which] = Instant::MAX;
        Some(which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_deadline_counts_once() {
        let at = Instant::from_millis;
        let mut timers = TimerQueue::new(3);
        timers.schedule(0, at(5));
        timers.schedule(1, at(3));
        timers.schedule(0, at(9));
        timers.schedule(0, at(5));
        timers.schedule(2, at(4));
        timers.schedule(2, Instant::MAX);
        assert_eq!(timers.next(), at(3));
        assert_eq!(timers.due(at(10)), Some(1));
        assert_eq!(timers.due(at(10)), Some(0));
        assert_eq!(timers.due(at(10)), None);
        assert_eq!(timers.next(), Instant::MAX);
    }
}
