//! The least round trip, and sending less for a while to look for it.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.4, §5.5.7.

use super::cycle::Feedback;
use super::{Bbr3, LEAST_WINDOW, State};
use crate::sender::congestion::bbr::arithmetic::UNIT;
use crate::sender::congestion::plugged::{RateSample, TcpSock};

/// The least round trip is that of so long, and is looked for so often, for so long; in microseconds.
const REMEMBERED_MICROS: u64 = 10_000_000;
const LOOKING_EVERY_MICROS: u64 = 5_000_000;
const LOOKING_MICROS: u64 = 200_000;
/// While it is, half a bandwidth-delay product is in flight.
const LOOKING_GAIN: u64 = UNIT / 2;

/// Least round trips and when they were seen, in microseconds.
#[derive(Debug, Default)]
pub(super) struct LeastRtt {
    /// The one that counts; none before there is a sample.
    pub(super) least: Option<u64>,
    seen_at: u64,
    /// The one by which looking is due.
    of_late: Option<u64>,
    of_late_at: u64,
    is_due: bool,
    done_at: Option<u64>,
    has_lasted_a_round: bool,
}

impl LeastRtt {
    pub(super) fn begin(&mut self, least: Option<u64>, now: u64) {
        *self = Self { least, seen_at: now, of_late: least, of_late_at: now, ..Self::default() };
    }

    /// `UpdateMinRTT`.
    fn follow(&mut self, now: u64, sample: &RateSample) {
        self.is_due = now > self.of_late_at + LOOKING_EVERY_MICROS;
        if let Ok(rtt) = u64::try_from(sample.rtt_micros)
            && (self.is_due || self.of_late.is_none_or(|least| rtt < least))
        {
            self.of_late = Some(rtt);
            self.of_late_at = now;
        }
        let is_old = now > self.seen_at + REMEMBERED_MICROS;
        let Some(of_late) = self.of_late else { return };
        if is_old || self.least.is_none_or(|least| of_late < least) {
            self.least = Some(of_late);
            self.seen_at = self.of_late_at;
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
            self.look_for_rtt(sender);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn look_for_rtt(&mut self, sender: &mut TcpSock) {
        let flight = sender.in_flight();
        sender.application_limited = sender.delivered.wrapping_add(flight).max(1);
        if self.rtt.done_at.is_some() {
            self.rtt.has_lasted_a_round |= self.rounds.has_begun;
            if self.rtt.has_lasted_a_round {
                self.look_whether_rtt_known(sender);
            }
        } else if flight <= self.looking_window() {
            self.rtt.done_at = Some(sender.now_micros + LOOKING_MICROS);
            self.rtt.has_lasted_a_round = false;
            self.rounds.begin(sender);
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn looking_window(&self) -> u32 {
        self.product(LOOKING_GAIN).max(LEAST_WINDOW)
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`: back to cruising, or to start-up where it was interrupted.
    pub(super) fn look_whether_rtt_known(&mut self, sender: &mut TcpSock) {
        if self.rtt.done_at.is_none_or(|done| sender.now_micros <= done) {
            return;
        }
        self.rtt.of_late_at = sender.now_micros;
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
