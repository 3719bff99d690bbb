//! Start-up, how it ends by growth or by losses, and draining what it left.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.3.1, §5.3.2.

use super::bounds::is_too_much;
use super::{Bbr3, State};
use crate::sender::congestion::bbr::arithmetic::{RECOVERY, UNIT};
use crate::sender::congestion::plugged::{RateSample, TcpSock};

/// The pipe is full when for so many rounds the bandwidth does not grow by a quarter.
const FULL_ROUNDS: u8 = 3;
/// Start-up ends by losses when they make so many gaps in a round.
const FULL_GAPS: u32 = 6;
/// Draining ends after so many rounds anyway.
const DRAIN_ROUNDS: u32 = 3;

/// Whether sending faster still brings more.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    bandwidth: u64,
    rounds: u8,
    /// It does not, since looking began.
    pub(super) is_full: bool,
    /// It did not once.
    pub(super) was_ever_full: bool,
}

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
