//! `HyStart`: leaving slow start before it overfills the path.
//!
//! Source: Linux `hystart_update`; Ha and Rhee, "Taming the elephants: New TCP slow start" (2011).
//! Differs: the allowance for what an acknowledgment may wait on its way is always a millisecond,
//! where Linux takes less above 2 Gbit/s.
//!
//! | parameter | value | unit |
//! |---|---|---|
//! | least window | 16 | segments |
//! | pause that ends a train of acknowledgments | 2 | ms |
//! | length of a train that ends slow start | half of the least round trip | |
//! | samples before the delay is judged | 8 | per round trip |
//! | rise of the delay that ends slow start | an eighth of the least, 4 to 16 ms | |
//!
//! Cost per ACK in slow start: a few comparisons.

use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

const LEAST_WINDOW: u32 = 16;
const PAUSE: Span = Span::from_millis(2);
const ALLOWANCE: Span = Span::from_millis(1);
const LEAST_SAMPLES: u8 = 8;
const LEAST_RISE: Span = Span::from_millis(4);
const GREATEST_RISE: Span = Span::from_millis(16);

/// One round trip of slow start.
#[derive(Debug, Clone, Copy)]
struct Round {
    start: Instant,
    /// The last acknowledgment of the train that began with the round.
    last: Instant,
    end: SequenceNumber,
    /// Least delay of the first samples.
    delay: Option<Span>,
    samples: u8,
}

/// The state of the search for the end of slow start.
#[derive(Debug, Default)]
pub(super) struct HyStart {
    round: Option<Round>,
    found: bool,
}

/// What an acknowledgment told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) now: Instant,
    pub(super) oldest_unacked: SequenceNumber,
    pub(super) next: SequenceNumber,
    pub(super) delay: Span,
    pub(super) least: Span,
    pub(super) window: u32,
}

impl HyStart {
    /// Whether slow start has been ended already.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.found
    }

    /// Takes an acknowledgment in slow start; says whether it ends here.
    #[inline]
    pub(super) fn observe(&mut self, seen: &Observation) -> bool {
        let new = match &self.round {
            None => true,
            Some(round) => seen.oldest_unacked.is_after(round.end),
        };
        let fresh =
            Round { start: seen.now, last: seen.now, end: seen.next, delay: None, samples: 0 };
        let round = self.round.get_or_insert(fresh);
        if new {
            *round = fresh;
        }
        if seen.window < LEAST_WINDOW {
            return false;
        }
        self.found = round.is_train_long(seen) | round.is_delay_high(seen);
        self.found
    }
}

impl Round {
    /// A train that lasts longer than half a round trip fills the path.
    #[inline]
    fn is_train_long(&mut self, seen: &Observation) -> bool {
        if seen.now.saturating_since(self.last) > PAUSE {
            return false;
        }
        self.last = seen.now;
        seen.now.saturating_since(self.start) > (seen.least + ALLOWANCE) / 2
    }

    /// A round trip that is longer than it was shows a queue.
    #[inline]
    fn is_delay_high(&mut self, seen: &Observation) -> bool {
        let delay = self.delay.map_or(seen.delay, |least| least.min(seen.delay));
        self.delay = Some(delay);
        if self.samples < LEAST_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = (seen.least / 8).max(LEAST_RISE).min(GREATEST_RISE);
        delay > seen.least + rise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(now_ms: u64, oldest: u32, next: u32, delay_ms: u64) -> Observation {
        Observation {
            now: Instant::from_millis(now_ms),
            oldest_unacked: SequenceNumber::new(oldest),
            next: SequenceNumber::new(next),
            delay: Span::from_millis(delay_ms),
            least: Span::from_millis(100),
            window: 20,
        }
    }

    #[test]
    fn a_train_of_more_than_half_a_round_trip_ends_slow_start() {
        let mut hystart = HyStart::default();
        let ends: Vec<u64> =
            (0..60).filter(|&at| hystart.observe(&seen(at, 10, 100, 100))).collect();
        assert_eq!(ends.first(), Some(&51), "half of 100 ms and 1 ms");
    }

    #[test]
    fn a_pause_ends_a_train() {
        let mut hystart = HyStart::default();
        let spaced = (0..60).map(|at| at * 3);
        assert_eq!(spaced.filter(|&at| hystart.observe(&seen(at, 10, 100, 100))).count(), 0);
    }

    #[test]
    fn an_eighth_more_delay_ends_slow_start_after_eight_samples() {
        let mut hystart = HyStart::default();
        let ends: Vec<u64> =
            (0..10).filter(|&number| hystart.observe(&seen(number * 3, 10, 100, 113))).collect();
        assert_eq!(ends, [8, 9]);
        let mut hystart = HyStart::default();
        let few = (0..20).filter(|&number| hystart.observe(&seen(number * 3, 10, 100, 112)));
        assert_eq!(few.count(), 0, "112 ms are not enough");
    }
}
