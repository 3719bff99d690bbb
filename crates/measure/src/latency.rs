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
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// How many stretches may be under way: of full segments a window of more than a gigabyte. Where more are,
/// as in a capture that has lost all acknowledgments, the oldest ones are forgotten.
const MOST_UNDER_WAY: usize = 1 << 20;

/// The latency of consecutive stretches of one stream.
///
/// In this order in memory: most offsets cover no stretch, which the first field alone tells.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct StretchLatency {
    /// End offset of the oldest stretch under way, or `u64::MAX`.
    oldest_end: u64,
    /// `(end offset, first instant)` of stretches not yet covered, ascending in both.
    under_way: VecDeque<(u64, Instant)>,
    samples: Times,
}

impl StretchLatency {
    pub(crate) fn new() -> Self {
        Self { oldest_end: u64::MAX, under_way: VecDeque::new(), samples: Times::new() }
    }

    /// Reads what the next packet needs, for whoever calls it in advance.
    #[inline]
    pub(crate) fn fetch(&self) -> u64 {
        self.oldest_end ^ self.under_way.front().map_or(0, |oldest| oldest.0)
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

    /// Everything before `offset` has arrived: one sample for each stretch that this completes.
    #[inline]
    pub(crate) fn cover(&mut self, at: Instant, offset: u64) {
        if self.oldest_end <= offset {
            self.complete(at, offset);
        }
    }

    /// What began its way on its own has arrived, whatever else is under way.
    pub(crate) fn record(&mut self, at: Instant, began: Instant) {
        self.samples.record(at.saturating_since(began).as_nanos());
    }

    #[cold]
    fn forget_oldest(&mut self) {
        self.under_way.pop_front();
        self.oldest_end = self.under_way.front().map_or(u64::MAX, |oldest| oldest.0);
    }

    fn complete(&mut self, at: Instant, offset: u64) {
        self.oldest_end = u64::MAX;
        while let Some(&(end_offset, began)) = self.under_way.front() {
            if end_offset > offset {
                self.oldest_end = end_offset;
                return;
            }
            self.under_way.pop_front();
            self.samples.record(at.saturating_since(began).as_nanos());
        }
    }

    /// Another number whenever a stretch has been covered since.
    pub(crate) const fn progress(&self) -> u64 {
        self.oldest_end
    }

    /// How long the oldest stretch that is not covered has been under way.
    pub(crate) fn oldest(&self, now: Instant) -> Option<Span> {
        self.under_way.front().map(|(_, began)| now.saturating_since(*began))
    }

    /// Forgets the samples; what is under way stays.
    pub(crate) fn forget_samples(&mut self) {
        self.samples = Times::new();
    }

    pub(crate) const fn samples(&self) -> &Times {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_nothing_ever_covers_are_forgotten_at_some_time() {
        let most = u64::try_from(MOST_UNDER_WAY).unwrap();
        let mut latency = StretchLatency::new();
        for end_offset in 1..=most + 2 {
            latency.begin(Instant::from_nanos(end_offset), end_offset);
        }
        assert_eq!(latency.under_way.len(), MOST_UNDER_WAY);
        // The first two stretches are not known any more, the third one is.
        latency.cover(Instant::from_nanos(2_000_003), 2);
        assert_eq!(latency.samples().count(), 0);
        latency.cover(Instant::from_nanos(2_000_003), 3);
        assert_eq!(latency.samples().maximum(), Some(2_000_000));
    }
}
