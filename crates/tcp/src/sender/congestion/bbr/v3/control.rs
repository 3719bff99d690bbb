//! What follows from the model: the rate and the window.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.6.
//!
//! Start-up, how it ends by growth or by losses, and draining what it left.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.1, §5.3.2.

use crate::sender::congestion::bbr::v3::bounds::is_too_much;
use crate::sender::congestion::bbr::v3::{Bbr3, FullPipe, INITIAL_WINDOW, LEAST_WINDOW, State};
use crate::sender::congestion::bbr::{
    BANDWIDTH_UNIT, RECOVERY, UNIT, bundle_goal, bytes_per_second, product,
};
use crate::sender::congestion::plugged::{RateSample, TcpSock};

/// 4 ln 2, as the kernel's version 3 rounds it.
const STARTUP_GAIN: u64 = UNIT * 277 / 100 + 1;
const DRAIN_GAIN: u64 = UNIT / 2;
const DOWN_GAIN: u64 = UNIT * 90 / 100;
const UP_GAIN: u64 = UNIT * 5 / 4;
const WINDOW_GAIN: u64 = 2 * UNIT;
const UP_WINDOW_GAIN: u64 = UNIT * 9 / 4;
/// Of the bandwidth, so that queues drain.
const RATE_PERCENT: u64 = 99;
/// Bundles that are under way in both hosts.
const BUNDLES: u32 = 3;
/// Round trip to begin with where there is none, in microseconds.
const SUPPOSED_RTT_MICROS: u64 = 1_000;

impl State {
    /// Of the rate, in 256ths (§5.6.1).
    pub(super) fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => STARTUP_GAIN,
            Self::Drain => DRAIN_GAIN,
            Self::Down => DOWN_GAIN,
            Self::Cruise | Self::Refill | Self::ProbeRtt => UNIT,
            Self::Up => UP_GAIN,
        }
    }

    /// Of the window. That of looking for the least round trip has a bound of its own.
    fn window_gain(self) -> u64 {
        match self {
            Self::Up => UP_WINDOW_GAIN,
            _ => WINDOW_GAIN,
        }
    }
}

impl Bbr3 {
    /// `InitPacingRate`.
    pub(super) fn begin_rate(&mut self, sender: &mut TcpSock) {
        let rtt = match u64::from(sender.smoothed_rtt_eighths) {
            0 => SUPPOSED_RTT_MICROS,
            eighths => {
                self.has_seen_rtt = true;
                (eighths >> 3).max(1)
            }
        };
        let bandwidth = u64::from(sender.window) * BANDWIDTH_UNIT / rtt;
        sender.control.pacing.rate = bytes_per_second(sender, bandwidth, STARTUP_GAIN, 100);
    }

    /// `SetPacingRateWithGain`.
    pub(super) fn set_rate(&mut self, sender: &mut TcpSock, gain: u64) {
        if !self.has_seen_rtt && sender.smoothed_rtt_eighths != 0 {
            self.begin_rate(sender);
        }
        let rate = bytes_per_second(sender, self.believed, gain, RATE_PERCENT);
        if rate > 0 && (self.pipe.was_ever_full || rate > sender.control.pacing.rate) {
            sender.control.pacing.rate = rate;
        }
    }

    /// Bandwidth times least round trip times a gain, in segments (`BDPMultiple`).
    pub(super) fn product(&self, gain: u64) -> u32 {
        self.product_of(self.believed, gain)
    }

    fn product_of(&self, bandwidth: u64, gain: u64) -> u32 {
        self.rtt.least.map_or(INITIAL_WINDOW, |least| product(bandwidth, least, gain))
    }

    /// `QuantizationBudget`.
    fn with_budget(&self, sender: &TcpSock, flight: u32) -> u32 {
        let flight = flight.max(BUNDLES * bundle_goal(sender)).max(LEAST_WINDOW);
        flight.saturating_add(if self.state == State::Up { 2 } else { 0 })
    }

    /// What is in flight at a gain (`Inflight`).
    pub(super) fn flight_for(&self, sender: &TcpSock, gain: u64) -> u32 {
        self.flight_at(sender, self.believed, gain)
    }

    /// The same of another bandwidth.
    pub(super) fn flight_at(&self, sender: &TcpSock, bandwidth: u64, gain: u64) -> u32 {
        self.with_budget(sender, self.product_of(bandwidth, gain))
    }

    /// `SetCwnd`.
    pub(super) fn set_window(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        self.restore_after_recovery(sender);
        let most = self.product(self.state.window_gain()).saturating_add(self.heaps.room());
        let most = self.with_budget(sender, most);
        let grown = sender.window.saturating_add(sample.newly_delivered);
        let mut window = sender.window;
        if self.pipe.was_ever_full {
            window = grown.min(most);
        } else if window < most || sender.delivered < INITIAL_WINDOW {
            window = grown;
        }
        window = window.max(LEAST_WINDOW);
        if self.state == State::ProbeRtt {
            window = window.min(self.looking_window());
        }
        sender.window = self.bounded_window(window).min(sender.greatest_window);
    }

    /// `BoundCwndForModel`.
    fn bounded_window(&self, window: u32) -> u32 {
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.long_term,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(LEAST_WINDOW),
            State::Startup | State::Drain => None,
        };
        let bounds = [long_term, self.bounds.flight];
        bounds.into_iter().flatten().fold(window, |window, most| window.min(most.max(LEAST_WINDOW)))
    }

    /// What the window was before recovery, it is again afterwards (§5.6.4.4 `RestoreCwnd`).
    fn restore_after_recovery(&mut self, sender: &mut TcpSock) {
        let (before, state) = (self.state_before, sender.control.state & 0x1f);
        if before >= RECOVERY && state < RECOVERY {
            sender.window = sender.window.max(self.window_before);
        }
        self.state_before = state;
    }

    /// `SaveCwnd`.
    pub(super) fn save_window(&mut self, sender: &TcpSock) {
        self.window_before = if self.state_before < RECOVERY && self.state != State::ProbeRtt {
            sender.window
        } else {
            self.window_before.max(sender.window)
        };
    }
}

/// The pipe is full when for so many rounds the bandwidth does not grow by a quarter.
const FULL_ROUNDS: u8 = 3;
/// Start-up ends by losses when they make so many gaps in a round.
const FULL_GAPS: u32 = 6;
/// Draining ends after so many rounds anyway.
const DRAIN_ROUNDS: u32 = 3;

impl FullPipe {
    /// Looking begins anew, from a bandwidth (`ResetFullBW`).
    pub(super) fn begin(&mut self, bandwidth: u64) {
        self.bandwidth = bandwidth;
        self.rounds = 0;
        self.is_full = false;
    }

    /// Follows a sample that the application did not limit, the first of a round (`CheckFullBWReached`).
    pub(super) fn follow(&mut self, bandwidth: u64) {
        if self.is_full {
            return;
        }
        if bandwidth >= self.bandwidth * 5 / 4 {
            self.begin(bandwidth);
            return;
        }
        self.rounds += 1;
        self.is_full = self.rounds >= FULL_ROUNDS;
        self.was_ever_full |= self.is_full;
    }
}

impl Bbr3 {
    /// `CheckStartupDone`.
    pub(super) fn look_whether_started(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        self.look_for_losses_at_start(sender, sample);
        if self.state == State::Startup && self.pipe.was_ever_full {
            self.state = State::Drain;
            self.drain_began_in = self.rounds.count;
            sender.threshold = self.flight_for(sender, UNIT);
        }
    }

    /// Whether a whole round of recovery has lost too much, in too many places (`CheckStartupHighLoss`).
    fn look_for_losses_at_start(&mut self, sender: &TcpSock, sample: &RateSample) {
        let Some(at_sending) = self.sampled.filter(|_| sample.delivered > 0) else { return };
        let lost = sender.losses.wrapping_sub(at_sending.losses);
        let is_lossy = self.latest.round_began
            && sender.control.state & 0x1f == RECOVERY
            && self.latest.gaps >= FULL_GAPS
            && is_too_much(lost, at_sending.flight);
        if self.state != State::Startup || self.pipe.was_ever_full || !is_lossy {
            return;
        }
        self.undo_state = Some(State::Startup);
        self.pipe.was_ever_full = true;
        let flight = self.product(UNIT).max(self.latest.flight());
        self.bounds.long_term = Some(flight);
    }

    /// `CheckDrainDone`.
    pub(super) fn look_whether_drained(&mut self, sender: &TcpSock) {
        let is_late = self.rounds.count > self.drain_began_in.wrapping_add(DRAIN_ROUNDS);
        if self.state == State::Drain
            && (sender.in_flight() <= self.flight_for(sender, UNIT) || is_late)
        {
            self.go_down(sender);
        }
    }
}
