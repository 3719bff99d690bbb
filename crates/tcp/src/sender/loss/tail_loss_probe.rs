//! Tail loss probe (RFC 8985 §7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`).
//!
//! The probe shares the retransmission timer, which `timeout` arms.

use super::Pending;
use super::detection::MIN_WAIT;
use crate::config::{RecoveryConstants, TailLossProbe};
use crate::sender::fast_path::ProbeTiming;
use crate::sender::queue::RetransmitReason;
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::{Event, RecoveryState, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

#[derive(Debug, Default)]
pub(crate) struct TailProbe {
    /// SND.NXT when the probe was sent (`tlp_high_seq`); `None` while no probe is outstanding.
    end: Option<SequenceNumber>,
    /// The probe was a retransmission, not new data.
    retransmitted: bool,
    due: bool,
}

impl TailProbe {
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    pub(crate) fn set_due(&mut self, due: bool) {
        self.due = due;
    }

    pub(crate) fn is_outstanding(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn is_retransmission_outstanding(&self) -> bool {
        self.end.is_some() && self.retransmitted
    }

    pub(crate) fn ends_at(&self, end: SequenceNumber) -> bool {
        self.end == Some(end)
    }

    /// Forgets the outstanding probe.
    pub(crate) fn clear(&mut self) {
        self.end = None;
    }
}

/// Minimum wait for a probe, and the allowance for a delayed acknowledgment (Linux 3.10).
const MIN_PROBE_WAIT: Span = Span::from_millis(10);
const DELAYED_ACK_ALLOWANCE: Span = Span::from_millis(200);

impl Sender {
    #[inline]
    pub(crate) fn schedule_tail_probe_after_sending(&mut self, now: Instant) {
        if let Some(oldest) = self.queue.front()
            && self.fast_path.probe_timing() != ProbeTiming::Off
            && self.state != State::SynReceived
        {
            let left = (oldest.transmitted_at() + self.rto.timeout()).saturating_since(now);
            if !self.schedule_tail_probe(left, now) && self.rto.pending() == Pending::Probe {
                self.rearm_rto(now);
            }
        }
    }

    /// Arms the timer for a probe, if one makes sense; `timeout_left` bounds the wait. Returns whether it did.
    #[expect(clippy::inline_always, reason = "1 % of the instructions per acknowledgment")]
    #[inline(always)]
    pub(super) fn schedule_tail_probe(&mut self, timeout_left: Span, now: Instant) -> bool {
        let timing = self.fast_path.probe_timing();
        if timing == ProbeTiming::Off
            || self.queue.is_empty()
            || !self.negotiated.has_sack()
            || !matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Cwr)
        {
            return false;
        }
        let wait = match (timing, self.rtt.smoothed()) {
            (ProbeTiming::Rfc8985, None) => self.config.initial_rto,
            (ProbeTiming::Rfc8985, Some(smoothed)) if self.queue.outstanding() == 1 => {
                smoothed * 2 + self.config.minimum_rto
            }
            (ProbeTiming::Rfc8985, Some(smoothed)) => smoothed * 2 + MIN_WAIT,
            (ProbeTiming::Linux3_10, Some(smoothed)) if !self.may_send_unsent() => {
                self.probe_wait_3_10(smoothed, smoothed * 2, DELAYED_ACK_ALLOWANCE)
            }
            (ProbeTiming::Linux3_10 | ProbeTiming::Off, _) => return false,
            (ProbeTiming::General, smoothed) => match self.general_probe_wait(smoothed) {
                Some(wait) => wait,
                None => return false,
            },
        };
        let wait = if timeout_left.is_zero() { wait } else { wait.min(timeout_left) };
        self.arm_for(Pending::Probe, now, wait + self.pacing_delay(now));
        true
    }

    /// Whether data waits that the window has room for.
    fn may_send_unsent(&self) -> bool {
        self.window.segments() > self.in_flight() && self.written.unsent() > 0
    }

    /// The wait for a probe with any constants; `None` for no probe.
    #[cold]
    #[inline(never)]
    fn general_probe_wait(&self, smoothed: Option<Span>) -> Option<Span> {
        let RecoveryConstants { probe_factor, probe_ack_delay, .. } = *self.recovery_constants();
        let wait = smoothed.map(|smoothed| probe_factor.of(smoothed));
        if self.config.loss.tail_loss_probe == TailLossProbe::Linux3_10 {
            let (smoothed, wait) = smoothed.zip(wait).filter(|_| !self.may_send_unsent())?;
            let allowance = probe_ack_delay.unwrap_or(DELAYED_ACK_ALLOWANCE);
            return Some(self.probe_wait_3_10(smoothed, wait, allowance));
        }
        let Some(wait) = wait else { return Some(self.config.initial_rto) };
        let is_single = self.queue.outstanding() == 1;
        let allowance = probe_ack_delay.unwrap_or(self.config.minimum_rto);
        Some(wait + if is_single { allowance } else { MIN_WAIT })
    }

    /// The `wait` for a probe, and for one segment at least one and a half round trips and the `allowance`.
    fn probe_wait_3_10(&self, smoothed: Span, wait: Span, allowance: Span) -> Span {
        let delayed = smoothed + smoothed / 2 + allowance;
        let wait = if self.queue.outstanding() == 1 { wait.max(delayed) } else { wait };
        wait.max(MIN_PROBE_WAIT)
    }

    /// Handles the probe timer; at most one probe is outstanding.
    pub(crate) fn on_tail_probe_deadline(&mut self, now: Instant) {
        if self.queue.is_empty() {
            return;
        }
        self.tail_probe.set_due(!self.tail_probe.is_outstanding());
        self.rearm_rto(now);
    }

    /// Records a probe that was sent, and arms the RTO.
    pub(crate) fn on_tail_probe_sent(&mut self, reason: Option<RetransmitReason>, now: Instant) {
        self.tail_probe =
            TailProbe { end: Some(self.send.next()), retransmitted: reason.is_some(), due: false };
        self.rto.set_pending(Pending::Retransmission);
        self.rearm_rto(now);
        self.events.push_back(Event::TailLossProbe);
    }

    /// Handles an acknowledgment while the probe is outstanding: if the probe filled a hole, there was a
    /// loss, and the window is reduced (RFC 8985 §7.4.2; Linux `tcp_process_tlp_ack`).
    #[cold]
    pub(crate) fn on_ack_after_tail_probe(&mut self, ack: &AckEvent) {
        let Some(end) = self.tail_probe.end else { return };
        let acknowledged = self.send.oldest_unacked();
        if acknowledged.is_before(end) {
            return;
        }
        let duplicate =
            !ack.has(AckFlags::ADVANCED.and(AckFlags::NOT_DUPLICATE).and(AckFlags::SACKED));
        if !self.tail_probe.retransmitted || ack.has(AckFlags::PROBE_DSACKED) {
            self.tail_probe.clear();
        } else if acknowledged.is_after(end) {
            self.begin_reduction();
            self.enter(RecoveryState::Cwr);
            self.end_reduction(ack.now());
            self.enter_open_or_disorder();
        } else if duplicate {
            self.tail_probe.clear();
        }
    }
}
