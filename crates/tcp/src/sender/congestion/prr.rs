//! Window reduction: PRR (RFC 6937, RFC 9937), rate halving, CWR.
//!
//! Source: Linux `tcp_init_cwnd_reduction`, `tcp_cwnd_reduction`, `tcp_end_cwnd_reduction`,
//! `tcp_enter_cwr`, and `tcp_cwnd_down` of Linux 2.6.

use crate::config::WindowReduction;
use crate::sender::congestion::INFINITE_SSTHRESH;
use crate::sender::congestion::plugged::WindowEvent;
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::RecoveryState;
use fairwind_units::Instant;

#[derive(Debug, Default)]
pub(crate) struct Reduction {
    /// Window before it (`prior_cwnd`, RFC 6937 `RecoverFS`).
    window_before: u32,
    /// Segments delivered since (`prr_delivered`).
    delivered: u32,
    /// Segments sent since (`prr_out`).
    sent: u32,
    /// Half a segment of rate halving.
    half: bool,
}

impl Reduction {
    /// A reduction of this window in segments.
    fn new(window_before: u32) -> Self {
        Self { window_before, ..Self::default() }
    }

    /// Notes the window that a time-out reduces.
    pub(crate) fn note_window(&mut self, window: u32) {
        self.window_before = window;
    }

    pub(crate) fn window_before(&self) -> u32 {
        self.window_before
    }

    /// Segments delivered and sent since it began.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.delivered, self.sent)
    }

    /// Counts a segment sent during the reduction.
    pub(crate) fn on_sent(&mut self) {
        self.sent += 1;
    }
}

impl Sender {
    /// Sets the threshold and begins to reduce the window towards it.
    pub(crate) fn begin_reduction(&mut self) {
        self.recovery.set_end(self.send.next());
        self.tail_probe.clear();
        self.window.drop_credit();
        self.reduction = Reduction::new(self.window.segments);
        self.reduce_threshold();
        self.ecn.on_reduction();
        if self.config.loss.reduction == WindowReduction::Immediate {
            self.window.segments = self.window.slow_start_threshold;
        }
    }

    pub(crate) fn reduce_threshold(&mut self) {
        let flight = self.queue.outstanding();
        let ours = self.congestion.ssthresh(&self.window, self.config.reduction_base, flight);
        self.window.slow_start_threshold = self.plugged_ssthresh().unwrap_or(ours);
    }

    /// Enters CWR: the window falls to the threshold without a loss, once per round trip (Linux
    /// `tcp_enter_cwr`), after an echo of congestion (RFC 3168) or congestion in the host.
    pub(crate) fn reduce_window(&mut self) {
        self.undo.forbid();
        if matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Disorder) {
            self.undo.clear_marker();
            self.begin_reduction();
            self.enter(RecoveryState::Cwr);
        }
    }

    pub(crate) fn reduce_window_on_ack(&mut self, ack: &AckEvent, newly_lost: u32) {
        match self.config.loss.reduction {
            WindowReduction::Immediate => {}
            WindowReduction::RateHalving => self.halve_rate(ack),
            WindowReduction::Proportional | WindowReduction::ProportionalSafe => {
                self.proportional_rate_reduction(ack.delivered(), newly_lost, ack.flags());
            }
        }
    }

    /// PRR (RFC 9937 §6.2), in segments. Above the threshold, sent segments are to delivered ones
    /// as the threshold to the window. Below it, they equal the delivered ones, plus one while
    /// every acknowledgment advances and no further loss is found.
    pub(crate) fn proportional_rate_reduction(
        &mut self,
        delivered: u32,
        newly_lost: u32,
        flags: AckFlags,
    ) {
        if delivered == 0 || self.reduction.window_before() == 0 {
            return;
        }
        let in_flight = self.in_flight();
        let threshold = self.window.slow_start_threshold;
        let reduction = &mut self.reduction;
        reduction.delivered += delivered;
        let allowed = if in_flight > threshold {
            let shared = (u64::from(threshold) * u64::from(reduction.delivered))
                .div_ceil(u64::from(reduction.window_before));
            u32::try_from(shared).unwrap_or(u32::MAX).saturating_sub(reduction.sent)
        } else {
            let goes_well = match self.config.loss.reduction {
                WindowReduction::ProportionalSafe => {
                    flags.has(AckFlags::ADVANCED) && newly_lost == 0
                }
                _ => true,
            };
            let owed = reduction.delivered.saturating_sub(reduction.sent).max(delivered);
            (owed + u32::from(goes_well)).min(threshold - in_flight)
        };
        // The first retransmission is always sent.
        let allowed = allowed.max(u32::from(reduction.sent == 0));
        self.window.segments = (in_flight + allowed).max(1);
    }

    /// Rate halving: one segment less for every second acknowledgment with new information.
    fn halve_rate(&mut self, ack: &AckEvent) {
        let tells = AckFlags::ACKNOWLEDGED.and(AckFlags::SACKED).and(AckFlags::DSACKED);
        if !ack.has(tells) && (self.negotiated.has_sack() || ack.duplicates() == 0) {
            return;
        }
        let reduction = &mut self.reduction;
        let whole = reduction.half;
        reduction.half = !whole;
        if whole && self.window.segments > self.window.slow_start_threshold {
            self.window.segments -= 1;
        }
        self.window.segments = self.window.segments.min(self.in_flight() + 1).max(1);
    }

    /// The reduction is over: the window is the threshold, unless the reduction was taken back.
    pub(crate) fn end_reduction(&mut self, now: Instant) {
        if self.has_cong_control() {
            return;
        }
        let holds = self.recovery.state() == RecoveryState::Cwr || self.undo.marker().is_some();
        if holds && self.window.slow_start_threshold < INFINITE_SSTHRESH {
            self.fall_to_threshold(now);
        }
        self.notify_control(WindowEvent::Reduced);
    }

    fn fall_to_threshold(&mut self, now: Instant) {
        let threshold = self.window.slow_start_threshold;
        self.window.segments = match self.config.loss.reduction {
            WindowReduction::Immediate | WindowReduction::RateHalving => {
                self.window.segments.min(threshold)
            }
            WindowReduction::Proportional | WindowReduction::ProportionalSafe => threshold,
        };
        self.usage.on_reduction(now);
    }

    /// The threshold for an undo (Linux `tcp_current_ssthresh`).
    pub(crate) fn threshold_without_reduction(&self) -> u32 {
        if self.recovery.is_reducing() {
            self.window.slow_start_threshold
        } else {
            let three_quarters = (self.window.segments >> 1) + (self.window.segments >> 2);
            self.window.slow_start_threshold.max(three_quarters)
        }
    }
}
