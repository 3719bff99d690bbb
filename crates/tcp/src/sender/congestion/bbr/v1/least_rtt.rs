//! The least round trip, and sending next to nothing for a while to look for it.
//!
//! Source: Linux 6.18 `bbr_update_min_rtt`, `bbr_check_probe_rtt_done`.

use super::{Bbr1, LEAST_RTT_MICROS, LEAST_WINDOW, Mode, PROBE_RTT_MICROS};
use crate::sender::congestion::plugged::{RateSample, TcpSock};

impl Bbr1 {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_least_rtt(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        let now = sender.now_micros;
        let is_old = now > self.least_rtt_at + LEAST_RTT_MICROS;
        if let Ok(rtt) = u64::try_from(sample.rtt_micros)
            && (rtt < self.least_rtt || is_old && !sample.is_delayed)
        {
            self.least_rtt = rtt;
            self.least_rtt_at = now;
        }
        if is_old && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(sender);
            self.probe_rtt_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sender);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    pub(super) fn probe_rtt(&mut self, sender: &mut TcpSock) {
        let flight = sender.in_flight();
        sender.application_limited = sender.delivered.wrapping_add(flight).max(1);
        if self.probe_rtt_done_at.is_some() {
            self.probe_rtt_round_done |= self.round_started;
            if self.probe_rtt_round_done {
                self.look_whether_rtt_probed(sender);
            }
        } else if flight <= LEAST_WINDOW {
            self.probe_rtt_done_at = Some(sender.now_micros + PROBE_RTT_MICROS);
            self.probe_rtt_round_done = false;
            self.round_ends_at = sender.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn look_whether_rtt_probed(&mut self, sender: &mut TcpSock) {
        if self.probe_rtt_done_at.is_none_or(|done| sender.now_micros <= done) {
            return;
        }
        self.least_rtt_at = sender.now_micros;
        sender.window = sender.window.max(self.window_before);
        if self.is_full {
            self.begin_cycle(sender);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
