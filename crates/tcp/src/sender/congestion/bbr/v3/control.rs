//! What follows from the model: the rate and the window.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.6.

use super::{Bbr3, INITIAL_WINDOW, LEAST_WINDOW, State};
use crate::sender::congestion::bbr::arithmetic::{
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
