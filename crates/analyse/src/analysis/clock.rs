//! Time that goes on, whatever the timestamps of a capture do.
//!
//! Source: our own rule. A timestamp that is a day ahead, or behind the one before by more than a second, is
//! a clock that was set, a damaged record, or two captures in one file; nothing can be measured across it.
//! So it is taken as if no time had passed, and counted. Without the rule one damaged timestamp would cost
//! millions of empty windows.

use fairwind_units::{Instant, Span};

/// A step ahead of more than this is not time that passed.
const LONGEST_STEP: Span = Span::from_secs(86_400);
/// A step back of more than this is not disorder among packets.
const LONGEST_BACK: Span = Span::from_secs(1);

/// The time of one input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Continuous {
    /// The last timestamp, as it stood.
    last: Instant,
    /// What is added to timestamps, and what is taken from them.
    ahead: Span,
    behind: Span,
    has_begun: bool,
    /// Steps that were not time.
    pub(crate) steps: u64,
}

impl Continuous {
    pub(crate) const fn new() -> Self {
        Self {
            // So that the first timestamp is a step, which is not counted.
            last: Instant::MAX,
            ahead: Span::ZERO,
            behind: Span::ZERO,
            has_begun: false,
            steps: 0,
        }
    }

    /// The instant that a timestamp stands for.
    #[inline]
    pub(crate) fn at(&mut self, stamp: Instant) -> Instant {
        let is_usual = stamp.saturating_since(self.last) <= LONGEST_STEP
            && self.last.saturating_since(stamp) <= LONGEST_BACK;
        if !is_usual {
            self.step(stamp);
        }
        self.last = stamp;
        let moved = stamp + self.ahead;
        Instant::from_nanos(moved.as_nanos().saturating_sub(self.behind.as_nanos()))
    }

    #[cold]
    fn step(&mut self, stamp: Instant) {
        if !self.has_begun {
            self.has_begun = true;
            return;
        }
        self.steps += 1;
        // Only one of the two is above zero.
        let ahead = stamp.saturating_since(self.last);
        let back = self.last.saturating_since(stamp);
        let behind = self.behind + ahead;
        let ahead = self.ahead + back;
        self.behind = behind.saturating_sub(ahead);
        self.ahead = ahead.saturating_sub(behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_over_steps_and_small_disorder_stays() {
        let mut clock = Continuous::new();
        let day = 86_400;
        let stamps =
            [5 * day, 5 * day + 1, 9 * day, 9 * day + 2, 9 * day + 1, 3 * day, 3 * day + 1];
        let told: Vec<u64> = stamps
            .iter()
            .map(|&stamp| clock.at(Instant::from_secs(stamp)).as_nanos() / 1_000_000_000 - 5 * day)
            .collect();
        // A step ahead of four days, and one back of six; a second back is disorder.
        assert_eq!(told, [0, 1, 1, 3, 2, 2, 3]);
        assert_eq!(clock.steps, 2);
    }

    #[test]
    fn the_largest_and_the_smallest_timestamp_do_no_harm() {
        let mut clock = Continuous::new();
        for stamp in [u64::MAX, 0, u64::MAX, 1, u64::MAX - 1] {
            clock.at(Instant::from_nanos(stamp));
        }
        assert!(clock.steps > 0);
    }
}
