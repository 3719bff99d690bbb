//! The clock of a controller that is due at fixed instants, of which those that have passed are caught up when somebody
//! calls: between two calls nothing happens in a queue, so it comes to the same.

use fairwind_units::{Instant, Span};

/// Whether the next update may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerProgress {
    /// It may.
    GoesOn,
    /// It and all later ones do what the last of them does alone, unless somebody calls before.
    Settled,
}

/// When a controller is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeriodicTimer {
    next: Instant,
    every: Span,
}

impl PeriodicTimer {
    /// Due after every `every`, which is a nanosecond at least.
    pub(super) fn new(every: Span) -> Self {
        let every = every.max(Span::from_nanos(1));
        Self { next: Instant::ZERO + every, every }
    }

    /// Calls `update` with each instant that is due by `now`, in order; of those after which nothing goes on, with the
    /// last one only, so that an hour is no more work than it takes to come to rest.
    pub(super) fn catch_up(
        &mut self,
        now: Instant,
        mut update: impl FnMut(Instant) -> TimerProgress,
    ) {
        while self.next <= now {
            let progress = update(self.next);
            let after = self.next + self.every;
            if after == self.next {
                // The end of time.
                return;
            }
            self.next = after;
            if progress == TimerProgress::Settled {
                let ahead = now.saturating_since(self.next).as_nanos() / self.every.as_nanos();
                self.next += self.every * ahead;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of the updates by `now`, the one at `settles` and later ones having settled.
    fn updates(ticks: &mut PeriodicTimer, now: Instant, settles: u64) -> Vec<u64> {
        let mut millis = Vec::new();
        ticks.catch_up(now, |at| {
            let milli = at.as_nanos() / 1_000_000;
            millis.push(milli);
            if milli < settles { TimerProgress::GoesOn } else { TimerProgress::Settled }
        });
        millis
    }

    #[test]
    fn what_has_settled_is_left_out_up_to_the_last_update_that_is_due() {
        let mut ticks = PeriodicTimer::new(Span::from_millis(10));
        assert!(updates(&mut ticks, Instant::from_nanos(9_999_999), 100).is_empty());
        assert_eq!(updates(&mut ticks, Instant::from_millis(30), 100), [10, 20, 30]);
        assert_eq!(updates(&mut ticks, Instant::from_millis(99), 60), [40, 50, 60, 90]);
        assert_eq!(updates(&mut ticks, Instant::from_millis(100), 60), [100]);
        assert_eq!(updates(&mut ticks, Instant::from_millis(120), 0), [110, 120]);
    }

    #[test]
    fn the_end_of_time_is_reached_once() {
        let mut ticks = PeriodicTimer::new(Span::from_secs(1));
        assert_eq!(updates(&mut ticks, Instant::MAX, 0).len(), 3);
    }
}
