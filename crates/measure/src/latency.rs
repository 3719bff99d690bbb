//! Latency from the instant at which a stretch of the stream began its way to the instant at which a
//! cumulative offset covers it.
//!
//! Both latencies are of this form. *ACK latency*: from the first sending of bytes to the first
//! acknowledgment, received by the sender, that covers them. *Delivery latency*: from the
//! application's write to the in-order read of its last byte. What is sent again does not begin again.
//!
//! Cost: one entry pushed and popped per sample, and the sample's place in the histogram. Memory: the
//! stretches under way, up to a bound.

use crate::distribution::Times;
use crate::ring::Ring;
use fairwind_units::{Instant, Span};

/// How many stretches may be under way: of full segments a window of more than a gigabyte. Where more are,
/// as in a capture that has lost all acknowledgments, the oldest ones are forgotten.
const MOST_UNDER_WAY: usize = 1 << 20;

/// Consecutive stretches of one stream that have begun their way, and are not covered.
///
/// In this order in memory: most offsets cover no stretch, which the first field alone tells.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Stretches {
    /// End offset of the oldest one, or `u64::MAX`.
    oldest_end: u64,
    /// `(end offset, first instant)`, ascending in both.
    under_way: Ring<(u64, Instant)>,
}

impl Stretches {
    pub(crate) fn new() -> Self {
        Self { oldest_end: u64::MAX, under_way: Ring::new() }
    }

    /// Reads where the oldest stretch is, for whoever calls it in advance.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        self.under_way.first_place().map_or(0, |stretch| stretch.0)
    }

    /// The stream up to `end_offset`, as far as it is new, begins its way.
    #[inline]
    pub(crate) fn begin(&mut self, at: Instant, end_offset: u64) {
        self.oldest_end = self.oldest_end.min(end_offset);
        if self.under_way.len() >= MOST_UNDER_WAY {
            self.forget_oldest();
        }
        self.under_way.push_back((end_offset, at));
    }

    /// Everything before `offset` has arrived: one sample of latency for each stretch that this completes.
    #[inline]
    pub(crate) fn cover(&mut self, at: Instant, offset: u64, latencies: &mut Times) {
        if self.oldest_end <= offset {
            self.complete(at, offset, |latency| latencies.record(latency));
        }
    }

    /// The same, where samples may wait to be counted.
    #[inline]
    pub(crate) fn cover_deferred(&mut self, at: Instant, offset: u64, latencies: &mut Times) {
        if self.oldest_end <= offset {
            self.complete(at, offset, |latency| latencies.record_deferred(latency));
        }
    }

    #[cold]
    fn forget_oldest(&mut self) {
        self.under_way.pop_front();
        self.oldest_end = self.under_way.front().map_or(u64::MAX, |oldest| oldest.0);
    }

    #[inline(never)]
    fn complete(&mut self, at: Instant, offset: u64, mut record: impl FnMut(u64)) {
        let mut oldest_end = u64::MAX;
        self.under_way.pop_front_while(|&(end_offset, began)| {
            if end_offset > offset {
                oldest_end = end_offset;
                return false;
            }
            record(at.saturating_since(began).as_nanos());
            true
        });
        self.oldest_end = oldest_end;
    }

    /// Another number whenever a stretch has been covered since.
    pub(crate) const fn progress(&self) -> u64 {
        self.oldest_end
    }

    /// How long the oldest stretch that is not covered has been under way.
    pub(crate) fn oldest(&self, now: Instant) -> Option<Span> {
        self.under_way.front().map(|(_, began)| now.saturating_since(*began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_nothing_ever_covers_are_forgotten_at_some_time() {
        let most = u64::try_from(MOST_UNDER_WAY).unwrap();
        let (mut stretches, mut latencies) = (Stretches::new(), Times::new());
        for end_offset in 1..=most + 2 {
            stretches.begin(Instant::from_nanos(end_offset), end_offset);
        }
        assert_eq!(stretches.under_way.len(), MOST_UNDER_WAY);
        // The first two stretches are not known any more, the third one is.
        stretches.cover(Instant::from_nanos(2_000_003), 2, &mut latencies);
        assert_eq!(latencies.count(), 0);
        stretches.cover(Instant::from_nanos(2_000_003), 3, &mut latencies);
        assert_eq!(latencies.maximum(), Some(2_000_000));
    }
}
