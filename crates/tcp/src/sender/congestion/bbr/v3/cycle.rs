//! Probing of BBR version 3: bandwidth cycle (down, cruise, refill, up), and minimum round trip.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.3; §5.3.4, §5.5.7.

use crate::sender::congestion::bbr::v3::control::{flight_before, is_too_much};
use crate::sender::congestion::bbr::v3::{Bbr3, MIN_WINDOW, MinRttFilter, Probing, State};
use crate::sender::congestion::bbr::{UNIT, elapsed};
use crate::sender::congestion::plugged::{LostSegment, RateSample, TcpSock};

/// Minimum wait before probing, and its random addition, in microseconds.
const WAIT_MICROS: u64 = 2_000_000;
const WAIT_MORE_MICROS: u64 = 1_000_000;
/// Maximum rounds before probing, for coexistence with Reno.
const RENO_ROUNDS: u32 = 63;
/// Maximum doublings of the growth of the long-term bound.
const MAX_DOUBLINGS: u32 = 30;

/// Phase of acknowledgments relative to probing (§2.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Feedback {
    /// None.
    #[default]
    None,
    /// The pipe is being filled.
    Refilling,
    /// The flight is rising.
    Starting,
    /// Acknowledgments of the probe arrive.
    Coming,
    /// Acknowledgments of a finished probe arrive.
    Stopping,
}

impl Probing {
    /// Another round began.
    pub(super) fn follow_round(&mut self) {
        self.rounds_since_up = self.rounds_since_up.saturating_add(1);
    }
}

impl State {
    pub(super) fn is_of_cycle(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it probes for bandwidth (`IsProbingBW`).
    pub(super) fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

impl Bbr3 {
    /// A segment was lost (§5.5.10.2 `HandleLostPacket`).
    pub(super) fn respond_to_loss(&mut self, sender: &TcpSock, lost: &LostSegment) {
        if !self.probing.is_sample {
            return;
        }
        let since = lost.losses.wrapping_sub(lost.at_sending.losses);
        if !is_too_much(since, lost.at_sending.flight) {
            return;
        }
        self.probing.was_too_high = true;
        self.probing.is_sample = false;
        if !lost.at_sending.is_application_limited {
            self.bounds.set_long_term(flight_before(lost), self.target(sender));
        }
        if self.state == State::Up {
            self.undo_state = Some(State::Up);
            self.go_down(sender);
        }
    }

    /// Follows an acknowledgment (`UpdateProbeBWCyclePhase`).
    pub(super) fn follow_cycle(&mut self, sender: &TcpSock, sample: &RateSample, bandwidth: u64) {
        if !self.pipe.was_ever_full
            || self.adapt_long_term(sender, sample)
            || !self.state.is_of_cycle()
        {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(sender) => self.refill(sender),
            State::Down if self.is_time_to_cruise(sender) => self.state = State::Cruise,
            State::Refill if self.rounds.has_begun => {
                self.probing.is_sample = true;
                self.go_up(sender, bandwidth);
            }
            State::Up => self.check_probe_up_done(sender, bandwidth),
            _ => {}
        }
    }

    /// `StartProbeBW_DOWN`.
    pub(super) fn go_down(&mut self, sender: &TcpSock) {
        self.latest.forget();
        self.probing.per_segment = None;
        self.probing.rounds_since_up = u32::try_from(self.random.below(2)).unwrap_or(0);
        self.probing.wait = WAIT_MICROS + self.random.below(WAIT_MORE_MICROS);
        self.probing.cycle_began = sender.now_micros;
        self.probing.feedback = Feedback::Stopping;
        self.rounds.begin(sender);
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn refill(&mut self, sender: &TcpSock) {
        self.bounds.forget_cycle();
        self.probing.up_rounds = 0;
        self.probing.up_acknowledged = 0;
        self.probing.was_cautious = false;
        self.probing.feedback = Feedback::Refilling;
        self.rounds.begin(sender);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn go_up(&mut self, sender: &TcpSock, bandwidth: u64) {
        self.probing.feedback = Feedback::Starting;
        self.rounds.begin(sender);
        self.pipe.begin(bandwidth);
        self.state = State::Up;
        self.steepen(sender);
    }

    /// `IsTimeToProbeBW`, `IsRenoCoexistenceProbeTime`: probing is due by the clock, or when Reno would have filled
    /// a pipe of this size.
    fn is_time_to_probe(&self, sender: &TcpSock) -> bool {
        elapsed(sender.now_micros, self.probing.cycle_began) > self.probing.wait
            || self.probing.rounds_since_up >= self.target(sender).min(RENO_ROUNDS)
    }

    /// `TargetInflight`.
    fn target(&self, sender: &TcpSock) -> u32 {
        self.product(UNIT).min(sender.window)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sender: &TcpSock) -> bool {
        let flight = sender.in_flight();
        self.bounds.with_headroom(MIN_WINDOW).is_none_or(|max| flight <= max)
            && flight <= self.flight_at(sender, self.bandwidth.get(), UNIT)
    }

    /// `IsTimeToGoDown`, and its consequences.
    fn check_probe_up_done(&mut self, sender: &TcpSock, bandwidth: u64) {
        let bound = self.bounds.long_term;
        let is_risky =
            self.probing.was_too_high && bound.is_some_and(|max| sender.in_flight() >= max);
        if is_risky {
            self.probing.was_cautious = true;
        } else if self.is_limited_by_bound(sender) {
            self.pipe.begin(bandwidth);
        }
        if is_risky || self.pipe.is_full {
            self.probing.was_too_high = false;
            self.go_down(sender);
        }
    }

    /// Whether the window limits the sender, and the long-term bound the window.
    fn is_limited_by_bound(&self, sender: &TcpSock) -> bool {
        sender.window_limited & 1 != 0
            && self.bounds.long_term.is_some_and(|max| sender.window >= max)
    }

    /// `AdaptLongTermModel`; returns whether another state was entered.
    fn adapt_long_term(&mut self, sender: &TcpSock, sample: &RateSample) -> bool {
        let begun = self.rounds.has_begun;
        if self.probing.feedback == Feedback::Starting && begun {
            self.probing.feedback = Feedback::Coming;
        }
        if self.probing.feedback == Feedback::Stopping && begun && self.end_feedback(sender, sample)
        {
            return true;
        }
        let (Some(bound), Some(at_sending)) = (self.bounds.long_term, self.sampled) else {
            return false;
        };
        if !is_too_much(sender.losses.wrapping_sub(at_sending.losses), at_sending.flight) {
            self.bounds.long_term = Some(bound.max(at_sending.flight));
            if self.state == State::Up {
                self.raise_long_term(sender, sample);
            }
        }
        false
    }

    /// Ends the feedback phase of a probe.
    fn end_feedback(&mut self, sender: &TcpSock, sample: &RateSample) -> bool {
        self.probing.is_sample = false;
        self.probing.feedback = Feedback::None;
        if !self.state.is_of_cycle() {
            return false;
        }
        if !sample.is_application_limited {
            self.bandwidth.advance();
        }
        let goes_on = self.probing.was_cautious && !self.probing.was_too_high;
        if goes_on {
            self.refill(sender);
        }
        goes_on
    }

    /// `ProbeInflightLongtermUpward`.
    fn raise_long_term(&mut self, sender: &TcpSock, sample: &RateSample) {
        if !self.is_limited_by_bound(sender) {
            return;
        }
        let probing = &mut self.probing;
        probing.up_acknowledged += sample.newly_delivered;
        if let Some(per_segment) = probing.per_segment
            && probing.up_acknowledged >= per_segment
        {
            let more = probing.up_acknowledged / per_segment;
            probing.up_acknowledged -= more * per_segment;
            self.bounds.long_term = self.bounds.long_term.map(|bound| bound.saturating_add(more));
        }
        if self.rounds.has_begun {
            self.steepen(sender);
        }
    }

    /// `RaiseInflightLongtermSlope`.
    fn steepen(&mut self, sender: &TcpSock) {
        let growth = 1_u32 << self.probing.up_rounds;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(MAX_DOUBLINGS);
        self.probing.per_segment = Some((sender.window / growth).max(1));
    }
}

/// Lifetime of the minimum round trip, interval of probing for it, and duration; in microseconds.
const MIN_RTT_LIFETIME_MICROS: u64 = 10_000_000;
const PROBE_RTT_INTERVAL_MICROS: u64 = 5_000_000;
const PROBE_RTT_DURATION_MICROS: u64 = 200_000;
/// While it is, half a bandwidth-delay product is in flight.
const PROBE_RTT_GAIN: u64 = UNIT / 2;

impl MinRttFilter {
    pub(super) fn begin(&mut self, min: Option<u64>, now: u64) {
        *self = Self { min, seen_at: now, probe_min: min, probe_min_at: now, ..Self::default() };
    }

    /// `UpdateMinRTT`.
    fn follow(&mut self, now: u64, sample: &RateSample) {
        self.is_due = now > self.probe_min_at + PROBE_RTT_INTERVAL_MICROS;
        if let Ok(rtt) = u64::try_from(sample.rtt_micros)
            && (self.is_due || self.probe_min.is_none_or(|min| rtt < min))
        {
            self.probe_min = Some(rtt);
            self.probe_min_at = now;
        }
        let is_old = now > self.seen_at + MIN_RTT_LIFETIME_MICROS;
        let Some(probe_min) = self.probe_min else { return };
        if is_old || self.min.is_none_or(|min| probe_min < min) {
            self.min = Some(probe_min);
            self.seen_at = self.probe_min_at;
        }
    }
}

impl Bbr3 {
    /// `UpdateMinRTT`, `CheckProbeRTT`.
    pub(super) fn follow_rtt(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        self.rtt.follow(sender.now_micros, sample);
        if self.state != State::ProbeRtt && self.rtt.is_due && !self.idle_restart {
            self.save_window(sender);
            self.state = State::ProbeRtt;
            self.rtt.done_at = None;
            self.probing.feedback = Feedback::Stopping;
            self.rounds.begin(sender);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sender);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, sender: &mut TcpSock) {
        let flight = sender.in_flight();
        sender.application_limited = sender.delivered.wrapping_add(flight).max(1);
        if self.rtt.done_at.is_some() {
            self.rtt.has_lasted_a_round |= self.rounds.has_begun;
            if self.rtt.has_lasted_a_round {
                self.check_probe_rtt_done(sender);
            }
        } else if flight <= self.probe_rtt_window() {
            self.rtt.done_at = Some(sender.now_micros + PROBE_RTT_DURATION_MICROS);
            self.rtt.has_lasted_a_round = false;
            self.rounds.begin(sender);
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_window(&self) -> u32 {
        self.product(PROBE_RTT_GAIN).max(MIN_WINDOW)
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`: back to cruising, or to start-up where it was interrupted.
    pub(super) fn check_probe_rtt_done(&mut self, sender: &mut TcpSock) {
        if self.rtt.done_at.is_none_or(|done| sender.now_micros <= done) {
            return;
        }
        self.rtt.probe_min_at = sender.now_micros;
        sender.window = sender.window.max(self.window_before);
        self.bounds.forget_cycle();
        if self.pipe.was_ever_full {
            self.go_down(sender);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
