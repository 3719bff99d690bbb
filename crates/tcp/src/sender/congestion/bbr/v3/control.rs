//! Rate and window of BBR version 3; start-up and drain; bounds from losses.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.6 (rate and window), §5.3.1, §5.3.2 (start-up, drain), §5.5.10, §5.5.11
//! (short-term and long-term bounds).

use crate::sender::congestion::bbr::v3::{
    Bbr3, Bounds, FullPipe, INITIAL_WINDOW, Latest, MIN_WINDOW, State,
};
use crate::sender::congestion::bbr::{
    RECOVERY, UNIT, begin_rate, bundle_goal, bytes_per_second, is_before, product,
};
use crate::sender::congestion::plugged::{LostSegment, RateSample, TcpSock};

/// 4 ln 2, as the kernel's version 3 rounds it.
const STARTUP_GAIN: u64 = UNIT * 277 / 100 + 1;
const DRAIN_GAIN: u64 = UNIT / 2;
const DOWN_GAIN: u64 = UNIT * 90 / 100;
const UP_GAIN: u64 = UNIT * 5 / 4;
const WINDOW_GAIN: u64 = 2 * UNIT;
const UP_WINDOW_GAIN: u64 = UNIT * 9 / 4;
/// Of the bandwidth, so that queues drain.
const RATE_PERCENT: u64 = 99;
/// Bundles in both hosts.
const BUNDLES: u32 = 3;

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

    /// Window gain. Probing for the round trip has another bound.
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
        self.has_seen_rtt |= begin_rate(sender, STARTUP_GAIN, 100);
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

    /// Bandwidth times minimum round trip times a gain, in segments (`BDPMultiple`).
    pub(super) fn product(&self, gain: u64) -> u32 {
        self.product_of(self.believed, gain)
    }

    fn product_of(&self, bandwidth: u64, gain: u64) -> u32 {
        self.rtt.min.map_or(INITIAL_WINDOW, |min| product(bandwidth, min, gain))
    }

    /// `QuantizationBudget`.
    fn with_budget(&self, sender: &TcpSock, flight: u32) -> u32 {
        let flight = flight.max(BUNDLES * bundle_goal(sender)).max(MIN_WINDOW);
        flight.saturating_add(if self.state == State::Up { 2 } else { 0 })
    }

    /// Flight at a gain (`Inflight`).
    pub(super) fn flight_for(&self, sender: &TcpSock, gain: u64) -> u32 {
        self.flight_at(sender, self.believed, gain)
    }

    /// The same for another bandwidth.
    pub(super) fn flight_at(&self, sender: &TcpSock, bandwidth: u64, gain: u64) -> u32 {
        self.with_budget(sender, self.product_of(bandwidth, gain))
    }

    /// `SetCwnd`.
    pub(super) fn set_window(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        self.restore_after_recovery(sender);
        let max = self.product(self.state.window_gain()).saturating_add(self.aggregation.room());
        let max = self.with_budget(sender, max);
        let grown = sender.window.saturating_add(sample.newly_delivered);
        let mut window = sender.window;
        if self.pipe.was_ever_full {
            window = grown.min(max);
        } else if window < max || sender.delivered < INITIAL_WINDOW {
            window = grown;
        }
        window = window.max(MIN_WINDOW);
        if self.state == State::ProbeRtt {
            window = window.min(self.probe_rtt_window());
        }
        sender.window = self.bounded_window(window).min(sender.max_window);
    }

    /// `BoundCwndForModel`.
    fn bounded_window(&self, window: u32) -> u32 {
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.long_term,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(MIN_WINDOW),
            State::Startup | State::Drain => None,
        };
        let bounds = [long_term, self.bounds.flight];
        bounds.into_iter().flatten().fold(window, |window, max| window.min(max.max(MIN_WINDOW)))
    }

    /// Restores the window after recovery (§5.6.4.4 `RestoreCwnd`).
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

/// The pipe is full if the bandwidth does not grow by a quarter for this number of rounds.
const FULL_ROUNDS: u8 = 3;
/// Loss gaps in a round that end start-up.
const FULL_GAPS: u32 = 6;
const DRAIN_ROUNDS: u32 = 3;

impl FullPipe {
    /// Restarts the estimate at a bandwidth (`ResetFullBW`).
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
    pub(super) fn check_startup_done(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        self.check_startup_losses(sender, sample);
        if self.state == State::Startup && self.pipe.was_ever_full {
            self.state = State::Drain;
            self.drain_began_in = self.rounds.count;
            sender.threshold = self.flight_for(sender, UNIT);
        }
    }

    /// Whether a whole round of recovery has lost too much, in too many places (`CheckStartupHighLoss`).
    fn check_startup_losses(&mut self, sender: &TcpSock, sample: &RateSample) {
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
    pub(super) fn check_drain_done(&mut self, sender: &TcpSock) {
        let is_late = self.rounds.count > self.drain_began_in.wrapping_add(DRAIN_ROUNDS);
        if self.state == State::Drain
            && (sender.in_flight() <= self.flight_for(sender, UNIT) || is_late)
        {
            self.go_down(sender);
        }
    }
}

/// Tolerated loss in percent of the flight.
const LOSS_PERCENT: u64 = 2;

/// Seven tenths: the maximum reduction of a bound in a round.
pub(super) fn reduced(value: u64) -> u64 {
    value * 7 / 10
}

fn reduced_segments(value: u32) -> u32 {
    u32::try_from(reduced(u64::from(value))).unwrap_or(u32::MAX)
}

/// Whether the loss exceeds the tolerated part of the flight.
pub(super) fn is_too_much(lost: u32, flight: u32) -> bool {
    u64::from(lost) * 100 > u64::from(flight) * LOSS_PERCENT
}

/// Flight at which the loss became excessive: that before the segment, plus the tolerated part of it, which is
/// zero in whole segments (§5.5.10.2 `InflightAtLoss`).
pub(super) fn flight_before(lost: &LostSegment) -> u32 {
    lost.at_sending.flight.saturating_sub(1)
}

impl Latest {
    /// Resets the signals (`ResetCongestionSignals`).
    pub(super) fn forget(&mut self) {
        self.has_loss = false;
        self.bandwidth = 0;
        self.flight = 0;
    }

    /// Near the beginning of an acknowledgment (`UpdateLatestDeliverySignals`).
    pub(super) fn follow(&mut self, sender: &TcpSock, sample: &RateSample, bandwidth: u64) {
        self.bandwidth = self.bandwidth.max(bandwidth);
        self.flight = self.flight.max(sample.delivered.cast_unsigned());
        self.round_began = !is_before(sample.delivered_before, self.round_ends_at);
        if self.round_began {
            self.round_ends_at = sender.delivered;
        }
    }

    /// Near its end (`AdvanceLatestDeliverySignals`).
    pub(super) fn advance(&mut self, sample: &RateSample, bandwidth: u64) {
        if self.round_began {
            self.bandwidth = bandwidth;
            self.flight = sample.delivered.cast_unsigned();
            self.gaps = 0;
            self.gap_end = None;
        }
    }

    /// A segment was lost; returns whether it is the first one of the round.
    pub(super) fn note_loss(&mut self, sender: &TcpSock, lost: &LostSegment) -> bool {
        let is_first = !self.has_loss;
        if is_first {
            self.round_ends_at = sender.delivered;
        }
        self.has_loss = true;
        self.gaps += u32::from(self.gap_end != Some(lost.begin));
        self.gap_end = Some(lost.end);
        is_first
    }

    /// Maximum segments delivered in a round trip.
    pub(super) fn flight(&self) -> u32 {
        self.flight
    }
}

impl Bounds {
    /// Resets the short-term bounds (`ResetShortTermModel`).
    pub(super) fn forget_cycle(&mut self) {
        self.bandwidth = None;
        self.flight = None;
    }

    /// Adapts the short-term bounds after a round with losses: to the delivered amount, but at most
    /// by three tenths (`AdaptLowerBoundsFromCongestion`).
    pub(super) fn adapt(&mut self, latest: &Latest, max: u64, window: u32) {
        let bandwidth = self.bandwidth.unwrap_or(max);
        let flight = self.flight.unwrap_or(window);
        self.bandwidth = Some(latest.bandwidth.max(reduced(bandwidth)));
        self.flight = Some(latest.flight.max(reduced_segments(flight)));
    }

    /// Sets the long-term bound after probing has exceeded it (`HandleInflightTooHigh`).
    pub(super) fn set_long_term(&mut self, flight: u32, target: u32) {
        self.long_term = Some(flight.max(reduced_segments(target)));
    }

    /// The bandwidth within its bound (`BoundBWForModel`).
    pub(super) fn bounded(&self, max: u64) -> u64 {
        self.bandwidth.map_or(max, |bound| bound.min(max))
    }

    /// The long-term bound less headroom for other flows: 15 %, at least a segment
    /// (`InflightWithHeadroom`).
    pub(super) fn with_headroom(&self, min: u32) -> Option<u32> {
        self.long_term.map(|bound| {
            let room = u64::from(bound) * 15 / 100;
            let room = u32::try_from(room).unwrap_or(u32::MAX).max(1);
            bound.saturating_sub(room).max(min)
        })
    }

    /// Restores bounds after a spurious loss detection (`HandleSpuriousLossDetection`).
    pub(super) fn widen(&mut self, before: &Self) {
        // None is wider than any.
        fn wider<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.zip(other).map(|(one, other)| one.max(other))
        }
        self.bandwidth = wider(self.bandwidth, before.bandwidth);
        self.flight = wider(self.flight, before.flight);
        self.long_term = wider(self.long_term, before.long_term);
    }

    /// As they are, to be widened to later (`SaveStateUponLoss`).
    pub(super) fn saved(&self) -> Self {
        Self { bandwidth: self.bandwidth, flight: self.flight, long_term: self.long_term }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::congestion::plugged::TransmitSnapshot;

    fn lost(flight: u32, before: u32, now: u32) -> LostSegment {
        let at_sending = TransmitSnapshot { flight, losses: before, is_application_limited: false };
        LostSegment { begin: 0, end: 1448, losses: now, at_sending }
    }

    #[test]
    fn more_than_two_percent_loss_is_excessive() {
        assert!(!is_too_much(2, 100));
        assert!(is_too_much(3, 100));
        assert!(is_too_much(1, 49));
        assert!(!is_too_much(0, 0));
    }

    /// (0.02 x 99 - 2) / 0.98 is less than a segment, so the flight before it was tolerated.
    #[test]
    fn bound_is_flight_before_excessive_loss() {
        assert_eq!(flight_before(&lost(100, 0, 3)), 99);
    }

    #[test]
    fn long_term_bound_has_floor_and_headroom() {
        let mut bounds = Bounds::default();
        assert_eq!(bounds.with_headroom(4), None);
        bounds.set_long_term(99, 100);
        assert_eq!(bounds.long_term, Some(99));
        bounds.set_long_term(50, 100);
        assert_eq!(bounds.long_term, Some(70));
        // 70 x 0.15 = 10.5.
        assert_eq!(bounds.with_headroom(4), Some(60));
        bounds.set_long_term(5, 0);
        assert_eq!(bounds.with_headroom(4), Some(4), "a segment at least");
        bounds.set_long_term(4, 0);
        assert_eq!(bounds.with_headroom(4), Some(4), "never less than the least window");
    }

    /// 1000 falls to 700, not to 600; then to 650, which is more than 490.
    #[test]
    fn lossy_round_reduces_bounds_to_seven_tenths() {
        let mut bounds = Bounds::default();
        let mut latest = Latest { bandwidth: 600, flight: 60, ..Latest::default() };
        bounds.adapt(&latest, 1000, 100);
        assert_eq!((bounds.bandwidth, bounds.flight), (Some(700), Some(70)));
        assert_eq!(bounds.bounded(1000), 700);
        (latest.bandwidth, latest.flight) = (650, 65);
        bounds.adapt(&latest, 1000, 100);
        assert_eq!((bounds.bandwidth, bounds.flight), (Some(650), Some(65)));
        bounds.forget_cycle();
        assert_eq!(bounds.bounded(1000), 1000);
    }

    #[test]
    fn spurious_loss_restores_bounds() {
        let mut bounds = Bounds { bandwidth: Some(700), flight: Some(70), long_term: Some(80) };
        bounds.widen(&Bounds { bandwidth: None, flight: Some(90), long_term: Some(60) });
        assert_eq!((bounds.bandwidth, bounds.flight, bounds.long_term), (None, Some(90), Some(80)));
    }

    #[test]
    fn consecutive_losses_are_one_gap() {
        let sender = TcpSock::default();
        let mut latest = Latest::default();
        for (begin, end) in [(0, 10), (10, 20), (40, 50), (60, 70)] {
            let lost = LostSegment { begin, end, ..lost(10, 0, 1) };
            assert_eq!(latest.note_loss(&sender, &lost), begin == 0);
        }
        assert_eq!(latest.gaps, 3);
    }
}
