//! The cycle of gains, and how it is come to: the end of start-up, and draining.
//!
//! Source: Linux 6.18 `bbr_is_next_cycle_phase`, `bbr_reset_probe_bw_mode`, `bbr_check_full_bw_reached`,
//! `bbr_check_drain`.

use super::{BEGINNINGS, Bbr1, CYCLE, FULL_GROWTH, FULL_ROUNDS, Mode};
use crate::sender::congestion::bbr::arithmetic::{UNIT, elapsed};
use crate::sender::congestion::plugged::{RateSample, TcpSock};

impl Bbr1 {
    /// `bbr_is_next_cycle_phase`.
    pub(super) fn is_phase_over(&self, sender: &TcpSock, sample: &RateSample) -> bool {
        let is_long = elapsed(sender.delivered_at_micros, self.phase_began) > self.least_rtt;
        if self.pacing_gain == UNIT {
            return is_long;
        }
        let flight = self.flight_when_leaving(sender, sample.flight_before);
        let bandwidth = self.bandwidth.get();
        if self.pacing_gain > UNIT {
            is_long
                && (sample.losses > 0
                    || flight >= self.flight_for(sender, bandwidth, self.pacing_gain))
        } else {
            is_long || flight <= self.flight_for(sender, bandwidth, UNIT)
        }
    }

    pub(super) fn advance_phase(&mut self, sender: &TcpSock) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = sender.delivered_at_micros;
    }

    /// `bbr_reset_probe_bw_mode`.
    pub(super) fn begin_cycle(&mut self, sender: &TcpSock) {
        self.mode = Mode::ProbeBandwidth;
        let back = usize::try_from(self.chance.below(BEGINNINGS)).unwrap_or(0);
        self.phase = CYCLE.len() - 1 - back;
        self.advance_phase(sender);
    }

    /// `bbr_check_full_bw_reached`.
    pub(super) fn look_whether_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_started || sample.is_application_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bandwidth * FULL_GROWTH / UNIT {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    pub(super) fn look_whether_drained(&mut self, sender: &mut TcpSock) {
        let one = self.flight_for(sender, self.bandwidth.get(), UNIT);
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            sender.threshold = one;
        }
        if self.mode == Mode::Drain && self.flight_when_leaving(sender, sender.in_flight()) <= one {
            self.begin_cycle(sender);
        }
    }
}
