//! `HyStart`: exit from slow start before it overfills the path.
//!
//! Source: Linux `hystart_update`; Ha and Rhee, "Taming the elephants: New TCP slow start" (2011).
//! Differs: the allowance for delayed acknowledgments is always a millisecond,
//! where Linux takes less above 2 Gbit/s.
//!
//! | parameter | value | unit |
//! |---|---|---|
//! | minimum window | 16 | segments |
//! | pause that ends a train of acknowledgments | 2 | ms |
//! | length of a train that ends slow start | half of the minimum round trip; all of it with pacing | |
//! | delay samples | 8 | per round trip |
//! | rise of the delay that ends slow start | an eighth of the minimum, 4 to 16 ms | |
//!
//! Cost per ACK in slow start: a few comparisons.

use super::Observation;
use crate::config::HyStartSigns;
use fairwind_wire::SequenceNumber;

const MIN_WINDOW: u32 = 16;
/// Times are in microseconds from here on.
const PAUSE: u64 = 2_000;
const ALLOWANCE: u64 = 1_000;
const MIN_SAMPLES: u8 = 8;
const MIN_RISE: u64 = 4_000;
const MAX_RISE: u64 = 16_000;

/// One round trip of slow start.
#[derive(Debug, Clone, Copy)]
struct Round {
    start: u64,
    /// Last acknowledgment of the train that began with the round.
    last: u64,
    end: SequenceNumber,
    /// Minimum delay of the first samples.
    delay: u64,
    samples: u8,
}

/// The state of the search for the end of slow start.
#[derive(Debug)]
pub(super) struct HyStart {
    signs: HyStartSigns,
    round: Round,
    found: bool,
}

impl HyStart {
    pub(super) fn new(signs: HyStartSigns) -> Self {
        Self { signs, round: Round::beginning(0, SequenceNumber::new(0)), found: false }
    }

    pub(super) fn signs(&self) -> HyStartSigns {
        self.signs
    }

    pub(super) fn is_over(&self) -> bool {
        self.found
    }

    /// Begins a round trip, which ends when the data sent so far is acknowledged (Linux
    /// `bictcp_hystart_reset`).
    pub(super) fn begin_round(&mut self, now: u64, next: SequenceNumber) {
        self.round = Round::beginning(now, next);
    }

    /// Handles an acknowledgment in slow start; returns whether slow start ends.
    #[inline]
    pub(super) fn observe(&mut self, seen: &Observation) -> bool {
        if seen.oldest_unacked.is_after(self.round.end) {
            self.begin_round(seen.now, seen.next);
        }
        if seen.window < MIN_WINDOW {
            return false;
        }
        self.found = match self.signs {
            HyStartSigns::TrainsAndDelay => {
                self.round.is_train_long(seen) | self.round.is_delay_high(seen)
            }
            HyStartSigns::Trains => self.round.is_train_long(seen),
            HyStartSigns::Delay => self.round.is_delay_high(seen),
            HyStartSigns::None => false,
        };
        self.found
    }
}

impl Round {
    const fn beginning(now: u64, next: SequenceNumber) -> Self {
        Self { start: now, last: now, end: next, delay: u64::MAX, samples: 0 }
    }

    /// A train longer than half a round trip fills the path; a paced one may take a whole round trip.
    #[inline]
    fn is_train_long(&mut self, seen: &Observation) -> bool {
        if seen.now.saturating_sub(self.last) > PAUSE {
            return false;
        }
        self.last = seen.now;
        let max = (seen.min + ALLOWANCE) >> u32::from(!seen.is_paced);
        seen.now.saturating_sub(self.start) > max
    }

    /// A round trip that is longer than it was shows a queue.
    #[inline]
    fn is_delay_high(&mut self, seen: &Observation) -> bool {
        self.delay = self.delay.min(seen.delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = (seen.min / 8).clamp(MIN_RISE, MAX_RISE);
        self.delay > seen.min + rise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(now_ms: u64, oldest: u32, next: u32, delay_ms: u64) -> Observation {
        Observation {
            now: now_ms * 1_000,
            oldest_unacked: SequenceNumber::new(oldest),
            next: SequenceNumber::new(next),
            delay: delay_ms * 1_000,
            min: 100_000,
            window: 20,
            is_paced: false,
        }
    }

    #[test]
    fn long_ack_train_ends_slow_start() {
        let mut hystart = HyStart::new(HyStartSigns::TrainsAndDelay);
        let ends: Vec<u64> =
            (0..60).filter(|&at| hystart.observe(&seen(at, 10, 100, 100))).collect();
        assert_eq!(ends.first(), Some(&51), "half of 100 ms and 1 ms");
    }

    #[test]
    fn disabled_signals_end_nothing() {
        for (signs, trains, delays) in
            [(HyStartSigns::Trains, 1, 0), (HyStartSigns::Delay, 0, 1), (HyStartSigns::None, 0, 0)]
        {
            let mut hystart = HyStart::new(signs);
            let train = (0..60).any(|at| hystart.observe(&seen(at, 10, 100, 100)));
            let mut hystart = HyStart::new(signs);
            let delay = (0..10).any(|number| hystart.observe(&seen(number * 3, 10, 100, 113)));
            assert_eq!((u8::from(train), u8::from(delay)), (trains, delays), "{signs:?}");
        }
    }

    #[test]
    fn a_pause_ends_a_train() {
        let mut hystart = HyStart::new(HyStartSigns::TrainsAndDelay);
        let spaced = (0..60).map(|at| at * 3);
        assert_eq!(spaced.filter(|&at| hystart.observe(&seen(at, 10, 100, 100))).count(), 0);
    }

    #[test]
    fn delay_rise_ends_slow_start() {
        let mut hystart = HyStart::new(HyStartSigns::TrainsAndDelay);
        let ends: Vec<u64> =
            (0..10).filter(|&number| hystart.observe(&seen(number * 3, 10, 100, 113))).collect();
        assert_eq!(ends, [8, 9]);
        let mut hystart = HyStart::new(HyStartSigns::TrainsAndDelay);
        let few = (0..20).filter(|&number| hystart.observe(&seen(number * 3, 10, 100, 112)));
        assert_eq!(few.count(), 0, "112 ms are not enough");
    }
}
