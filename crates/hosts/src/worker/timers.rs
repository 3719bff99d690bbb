//! Deadlines of senders, and their sampling at equal intervals, a few at a time.

use fairwind_units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

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

    /// Takes one expired timer; it has no deadline afterwards.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, which)) = self.heap.pop()?;
        self.deadlines[which] = Instant::MAX;
        Some(which)
    }
}

/// Sampling at multiples of an interval, each time of all senders.
#[derive(Debug)]
pub(super) struct SamplingSchedule {
    interval: Option<Span>,
    places: usize,
    /// When the round that goes on, or the next one, began or begins.
    begins: Instant,
    /// The first place that it has not been to.
    place: usize,
}

impl SamplingSchedule {
    /// The first round begins one interval after the origin; without an interval there is none.
    pub(super) fn new(interval: Option<Span>, places: usize) -> Self {
        let interval = interval.filter(|interval| !interval.is_zero() && places > 0);
        let begins = interval.map_or(Instant::MAX, |interval| Instant::ZERO + interval);
        Self { interval, places, begins, place: 0 }
    }

    /// When there are places to look at.
    pub(super) fn next(&self) -> Instant {
        self.begins
    }

    /// Senders to sample now, at most `most`. Missed rounds are not made up for.
    pub(super) fn due(&mut self, now: Instant, most: usize) -> Range<usize> {
        let Some(interval) = self.interval else { return 0..0 };
        if now < self.begins {
            return 0..0;
        }
        let first = self.place;
        let end = (first + most).min(self.places);
        self.place = end;
        if end == self.places {
            self.place = 0;
            let passed = now.as_nanos() / interval.as_nanos();
            self.begins = Instant::ZERO + interval.saturating_mul(passed + 1);
        }
        first..end
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

    #[test]
    fn sampling_round_visits_all_on_time() {
        let at = Instant::from_millis;
        let mut sampling = SamplingSchedule::new(Some(Span::from_millis(10)), 5);
        assert_eq!(sampling.due(at(9), 3), 0..0);
        assert_eq!(sampling.next(), at(10));
        assert_eq!(sampling.due(at(10), 3), 0..3);
        assert_eq!(sampling.next(), at(10), "the round goes on");
        assert_eq!(sampling.due(at(11), 3), 3..5);
        assert_eq!(sampling.next(), at(20));
        assert_eq!(sampling.due(at(47), 9), 0..5);
        assert_eq!(sampling.next(), at(50));
        assert_eq!(SamplingSchedule::new(None, 5).next(), Instant::MAX);
    }
}
