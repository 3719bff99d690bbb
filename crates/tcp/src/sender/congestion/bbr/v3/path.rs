//! What is known of the path in the long run: rounds and the greatest bandwidth of late, and acknowledgments that
//! come in heaps.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.5.1 to §5.5.6, §5.5.9.

use crate::sender::congestion::bbr::arithmetic::{delivered_in, elapsed, is_before};
use crate::sender::congestion::bbr::filter::GreatestOfLate;
use crate::sender::congestion::plugged::{RateSample, TcpSock};

/// The greatest heap of so many rounds counts once start-up is over, and before.
const HEAP_ROUNDS: u32 = 10;
const HEAP_ROUNDS_AT_FIRST: u32 = 1;

/// Rounds, by data: one ends with the acknowledgment of something sent after it began.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) count: u32,
    ends_at: u32,
    pub(super) has_begun: bool,
}

impl Rounds {
    /// The present round ends with what is sent from now on.
    pub(super) fn begin(&mut self, sender: &TcpSock) {
        self.ends_at = sender.delivered;
    }

    /// Follows a sample; returns whether a round has begun with it.
    pub(super) fn follow(&mut self, sender: &TcpSock, sample: &RateSample) -> bool {
        self.has_begun = !is_before(sample.delivered_before, self.ends_at);
        if self.has_begun {
            self.begin(sender);
            self.count = self.count.wrapping_add(1);
        }
        self.has_begun
    }
}

/// The greatest bandwidth of this cycle of probing and the one before.
#[derive(Debug, Default)]
pub(super) struct GreatestBandwidth {
    before: u64,
    now: u64,
}

impl GreatestBandwidth {
    pub(super) fn get(&self) -> u64 {
        self.before.max(self.now)
    }

    /// What the application limited counts only where it is the greatest.
    pub(super) fn note(&mut self, bandwidth: u64, is_application_limited: bool) {
        if bandwidth >= self.get() || !is_application_limited {
            self.now = self.now.max(bandwidth);
        }
    }

    /// The cycle is over.
    pub(super) fn advance(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }
}

/// What has come since a heap of acknowledgments began beyond what the bandwidth explains.
#[derive(Debug, Default)]
pub(super) struct Heaps {
    began: u64,
    counted: u32,
    greatest: GreatestOfLate,
}

impl Heaps {
    /// Counting begins.
    pub(super) fn begin(&mut self, now: u64) {
        self.began = now;
        self.counted = 0;
    }

    /// Follows an acknowledgment in round `round`.
    pub(super) fn follow(
        &mut self,
        sender: &TcpSock,
        newly_delivered: u32,
        bandwidth: u64,
        round: u32,
        was_ever_full: bool,
    ) {
        let now = sender.now_micros;
        let mut expected = delivered_in(bandwidth, elapsed(now, self.began));
        if self.counted <= expected {
            self.begin(now);
            expected = 0;
        }
        self.counted = self.counted.saturating_add(newly_delivered);
        let heap = self.counted.saturating_sub(expected).min(sender.window);
        let rounds = if was_ever_full { HEAP_ROUNDS } else { HEAP_ROUNDS_AT_FIRST };
        self.greatest.note(u64::from(heap), round, rounds);
    }

    /// Segments that the window has room for because of heaps.
    pub(super) fn room(&self) -> u32 {
        u32::try_from(self.greatest.get()).unwrap_or(u32::MAX)
    }
}
