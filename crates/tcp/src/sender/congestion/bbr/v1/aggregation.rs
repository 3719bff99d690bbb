//! Acknowledgments that come in heaps: room for what a heap holds beyond what the bandwidth explains.
//!
//! Source: Linux `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`.

use crate::sender::congestion::bbr::arithmetic::{delivered_in, elapsed};
use crate::sender::congestion::plugged::{RateSample, TcpSock};

/// The greatest heap of so many rounds counts, twice over.
const ROUNDS: u8 = 5;
/// After so many segments counting begins anew.
const MOST_COUNTED: u32 = 1 << 20;
/// A heap is no larger than what comes in this time.
const MOST_MICROS: u64 = 100_000;

/// What has come since the heap began, and the greatest heaps of this window of rounds and the one before.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    began: u64,
    counted: u32,
    greatest: [u32; 2],
    place: usize,
    rounds: u8,
}

impl Aggregation {
    /// Counting begins.
    pub(super) fn begin(&mut self, now: u64) {
        self.began = now;
        self.counted = 0;
    }

    /// Follows an acknowledgment.
    pub(super) fn update(
        &mut self,
        sender: &TcpSock,
        sample: &RateSample,
        bandwidth: u64,
        round_started: bool,
    ) {
        let newly = sample.newly_delivered;
        if newly == 0 || sample.delivered < 0 || sample.interval_micros <= 0 {
            return;
        }
        if round_started {
            self.follow_round();
        }
        let micros = elapsed(sender.delivered_at_micros, self.began);
        let mut expected = delivered_in(bandwidth, micros);
        if self.counted <= expected || self.counted + newly >= MOST_COUNTED {
            self.begin(sender.delivered_at_micros);
            expected = 0;
        }
        self.counted = (self.counted + newly).min(MOST_COUNTED - 1);
        let heap = self.counted.saturating_sub(expected).min(sender.window);
        let greatest = &mut self.greatest[self.place];
        *greatest = (*greatest).max(heap);
    }

    fn follow_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.rounds = 0;
            self.place ^= 1;
            self.greatest[self.place] = 0;
        }
    }

    /// Segments that the window has room for because of heaps.
    pub(super) fn room(&self, bandwidth: u64, is_full: bool) -> u32 {
        if !is_full {
            return 0;
        }
        let most = delivered_in(bandwidth, MOST_MICROS);
        self.greatest[0].max(self.greatest[1]).min(most)
    }
}
