//! Noticing that somebody on the path limits the rate in the long run, by dropping what exceeds it.
//!
//! Source: Linux `bbr_lt_bw_sampling` and what it calls: two intervals in a row, each of 4 to 16 round trips that begin
//! and end with losses and lose a fifth, and whose rates are alike.

use crate::sender::congestion::bbr::arithmetic::BANDWIDTH_UNIT;
use crate::sender::congestion::plugged::{RateSample, TcpSock};

const LEAST_ROUNDS: u32 = 4;
/// Lost of those delivered, in 256ths, that make an interval.
const LOSS_256: u64 = 50;
/// Rates are alike that differ by no more, in 256ths of themselves or in bytes per second.
const ALIKE_256: u64 = 32;
const ALIKE_BYTES: u64 = 4_000 / 8;
/// So many rounds the limit is kept to before it is tried again.
const MOST_ROUNDS: u32 = 48;

/// The rates of intervals, and whether they are a limit.
#[derive(Debug, Default)]
pub(super) struct Policer {
    is_sampling: bool,
    is_limited: bool,
    bandwidth: u64,
    rounds: u32,
    last_at: u64,
    last_delivered: u32,
    last_lost: u32,
}

impl Policer {
    /// The limit, where there is one.
    pub(super) fn limit(&self) -> Option<u64> {
        self.is_limited.then_some(self.bandwidth)
    }

    /// Begins anew (`bbr_reset_lt_bw_sampling`).
    pub(super) fn forget(&mut self, sender: &TcpSock) {
        self.bandwidth = 0;
        self.is_limited = false;
        self.is_sampling = false;
        self.begin_interval(sender);
    }

    fn begin_interval(&mut self, sender: &TcpSock) {
        self.last_at = sender.delivered_at_micros / 1_000;
        self.last_delivered = sender.delivered;
        self.last_lost = sender.losses;
        self.rounds = 0;
    }

    /// Follows an acknowledgment. Returns whether the limit was kept to for long enough, so that probing is to
    /// begin anew.
    pub(super) fn sample(
        &mut self,
        sender: &TcpSock,
        sample: &RateSample,
        round_started: bool,
        probes: bool,
    ) -> bool {
        if self.is_limited {
            return self.keep(sender, round_started && probes);
        }
        if !self.is_sampling {
            if sample.losses <= 0 {
                return false;
            }
            self.begin_interval(sender);
            self.is_sampling = true;
        }
        if sample.is_application_limited {
            self.forget(sender);
            return false;
        }
        self.rounds += u32::from(round_started);
        if self.rounds > 4 * LEAST_ROUNDS {
            self.forget(sender);
        } else if self.rounds >= LEAST_ROUNDS && sample.losses > 0 {
            self.end_interval(sender);
        }
        false
    }

    fn keep(&mut self, sender: &TcpSock, counts: bool) -> bool {
        self.rounds += u32::from(counts);
        let is_over = counts && self.rounds >= MOST_ROUNDS;
        if is_over {
            self.forget(sender);
        }
        is_over
    }

    fn end_interval(&mut self, sender: &TcpSock) {
        let lost = u64::from(sender.losses.wrapping_sub(self.last_lost));
        let delivered = u64::from(sender.delivered.wrapping_sub(self.last_delivered));
        if delivered == 0 || lost * 256 < LOSS_256 * delivered {
            return;
        }
        let millis = (sender.delivered_at_micros / 1_000).saturating_sub(self.last_at);
        if millis < 1 {
            return;
        }
        if millis >= u64::from(u32::MAX) / 1_000 {
            self.forget(sender);
            return;
        }
        self.judge(delivered * BANDWIDTH_UNIT / (millis * 1_000), sender);
    }

    /// `bbr_lt_bw_interval_done`.
    fn judge(&mut self, bandwidth: u64, sender: &TcpSock) {
        if self.bandwidth > 0 {
            let apart = bandwidth.abs_diff(self.bandwidth);
            let bytes = u128::from(apart) * u128::from(sender.segment_bytes) * 990_000
                / u128::from(BANDWIDTH_UNIT);
            if apart * 256 <= ALIKE_256 * self.bandwidth || bytes <= u128::from(ALIKE_BYTES) {
                self.bandwidth = u64::midpoint(bandwidth, self.bandwidth);
                self.is_limited = true;
                self.rounds = 0;
                return;
            }
        }
        self.bandwidth = bandwidth;
        self.begin_interval(sender);
    }
}
