//! Rate and window of BBR version 1; detection of policers.
//!
//! Source: Linux 6.18 `bbr_set_pacing_rate`, `bbr_set_cwnd` and their callees.
//!
//! **Long-term bandwidth**: detects a token-bucket policer. Source: Linux `bbr_lt_bw_sampling` and its callees.
//! Two consecutive intervals have similar rates; each has 4 to 16 round trips, begins and ends with losses, and
//! loses a fifth.

use crate::sender::congestion::bbr::v1::{
    Bbr1, HIGH_GAIN, INITIAL_WINDOW, MIN_WINDOW, Mode, RATE_PERCENT,
};
use crate::sender::congestion::bbr::{
    BANDWIDTH_UNIT, RECOVERY, UNIT, begin_rate, bundle_goal, bytes_per_second, delivered_in,
    product,
};
use crate::sender::congestion::plugged::{RateSample, TcpSock};

impl Bbr1 {
    /// `bbr_init_pacing_rate_from_rtt`.
    pub(super) fn begin_rate(&mut self, sender: &mut TcpSock) {
        self.has_seen_rtt |= begin_rate(sender, HIGH_GAIN, RATE_PERCENT);
    }

    /// `bbr_set_pacing_rate`.
    pub(super) fn set_rate(&mut self, sender: &mut TcpSock, bandwidth: u64, gain: u64) {
        let rate = bytes_per_second(sender, bandwidth, gain, RATE_PERCENT);
        if !self.has_seen_rtt && sender.smoothed_rtt_eighths != 0 {
            self.begin_rate(sender);
        }
        if self.is_full || rate > sender.control.pacing.rate {
            sender.control.pacing.rate = rate;
        }
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, sender: &mut TcpSock, sample: &RateSample, bandwidth: u64) {
        let acknowledged = sample.newly_delivered;
        if acknowledged > 0 {
            let (mut window, is_set) = self.recover_or_restore(sender, sample);
            if !is_set {
                let excess = self.aggregation.room(bandwidth, self.is_full);
                let target = self.bdp(bandwidth, self.window_gain).saturating_add(excess);
                let target = self.with_budget(sender, target);
                if self.is_full {
                    window = (window + acknowledged).min(target);
                } else if window < target || sender.delivered < INITIAL_WINDOW {
                    window += acknowledged;
                }
                window = window.max(MIN_WINDOW);
            }
            sender.window = window.min(sender.max_window);
        }
        if self.mode == Mode::ProbeRtt {
            sender.window = sender.window.min(MIN_WINDOW);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`.
    pub(super) fn recover_or_restore(
        &mut self,
        sender: &TcpSock,
        sample: &RateSample,
    ) -> (u32, bool) {
        let (before, state) = (self.state_before, sender.control.state & 0x1f);
        let flight = sender.in_flight();
        let mut window = sender.window;
        if let Ok(losses) = u32::try_from(sample.losses)
            && losses > 0
        {
            window = window.saturating_sub(losses).max(1);
        }
        if state == RECOVERY && before != RECOVERY {
            self.conserves = true;
            self.round_ends_at = sender.delivered;
            window = flight + sample.newly_delivered;
        } else if before >= RECOVERY && state < RECOVERY {
            window = window.max(self.window_before);
            self.conserves = false;
        }
        self.state_before = state;
        if self.conserves {
            return (window.max(flight + sample.newly_delivered), true);
        }
        (window, false)
    }

    /// Segments in flight at a gain (`bbr_bdp`).
    pub(super) fn bdp(&self, bandwidth: u64, gain: u64) -> u32 {
        if self.min_rtt >= u64::from(u32::MAX) {
            return INITIAL_WINDOW;
        }
        product(bandwidth, self.min_rtt, gain)
    }

    /// Adds room for offload and acknowledgments (`bbr_quantization_budget`).
    pub(super) fn with_budget(&self, sender: &TcpSock, window: u32) -> u32 {
        let window = window.saturating_add(3 * bundle_goal(sender));
        let window = window.saturating_add(1) & !1;
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        window.saturating_add(if probes { 2 } else { 0 })
    }

    pub(super) fn flight_for(&self, sender: &TcpSock, bandwidth: u64, gain: u64) -> u32 {
        self.with_budget(sender, self.bdp(bandwidth, gain))
    }

    /// Segments in the network when the next bundle leaves (`bbr_packets_in_net_at_edt`).
    pub(super) fn flight_when_leaving(&self, sender: &TcpSock, flight: u32) -> u32 {
        let micros = sender.paced_until_nanos.saturating_sub(sender.now_nanos) / 1_000;
        let delivered = delivered_in(self.bandwidth(), micros);
        let joined = if self.pacing_gain > UNIT { bundle_goal(sender) } else { 0 };
        (flight + joined).saturating_sub(delivered)
    }

    /// `bbr_save_cwnd`.
    pub(super) fn save_window(&mut self, sender: &TcpSock) {
        self.window_before = if self.state_before < RECOVERY && self.mode != Mode::ProbeRtt {
            sender.window
        } else {
            self.window_before.max(sender.window)
        };
    }
}

const MIN_ROUNDS: u32 = 4;
/// Loss ratio of an interval, in 256ths.
const LOSS_256: u64 = 50;
/// Maximum difference of similar rates, in 256ths or in bytes per second.
const ALIKE_256: u64 = 32;
const ALIKE_BYTES: u64 = 4_000 / 8;
/// Rounds before a long-term limit is tried again.
const MAX_ROUNDS: u32 = 48;

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
    pub(super) fn limit(&self) -> Option<u64> {
        self.is_limited.then_some(self.bandwidth)
    }

    /// Restarts the sampling (`bbr_reset_lt_bw_sampling`).
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

    /// Handles an acknowledgment. Returns whether the limit has lasted long enough, so that probing restarts.
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
        if self.rounds > 4 * MIN_ROUNDS {
            self.forget(sender);
        } else if self.rounds >= MIN_ROUNDS && sample.losses > 0 {
            self.end_interval(sender);
        }
        false
    }

    fn keep(&mut self, sender: &TcpSock, counts: bool) -> bool {
        self.rounds += u32::from(counts);
        let is_over = counts && self.rounds >= MAX_ROUNDS;
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
