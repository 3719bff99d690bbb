//! Tail loss probe (RFC 8985 §7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`).
//!
//! The probe shares the retransmission timer, which `timeout` arms.

use super::Pending;
use super::detection::MIN_WAIT;
use crate::config::TailLossProbe;
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
            && self.config.loss.tail_loss_probe != TailLossProbe::Off
            && self.state != State::SynReceived
        {
            let left = (oldest.transmitted_at() + self.rto.timeout()).saturating_since(now);
            if !self.schedule_tail_probe(left, now) && self.rto.pending() == Pending::Probe {
                self.rearm_rto(now);
            }
        }
    }

    /// Arms the timer for a probe, if one makes sense; `timeout_left` bounds the wait. Returns whether it did.
    #[inline]
    pub(super) fn schedule_tail_probe(&mut self, timeout_left: Span, now: Instant) -> bool {
        let rule = self.config.loss.tail_loss_probe;
        if rule == TailLossProbe::Off
            || self.queue.is_empty()
            || !self.negotiated.has_sack()
            || !matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Cwr)
        {
            return false;
        }
        let wait = match (rule, self.rtt.smoothed()) {
            (TailLossProbe::Linux3_10, None) => return false,
            (TailLossProbe::Linux3_10, Some(_))
                if self.window.segments() > self.in_flight() && self.written.unsent() > 0 =>
            {
                return false;
            }
            (TailLossProbe::Linux3_10, Some(smoothed)) => self.probe_wait_3_10(smoothed),
            (_, None) => self.config.initial_rto,
            (_, Some(smoothed)) if self.queue.outstanding() == 1 => {
                self.probe_round_trips(smoothed) + self.probe_ack_delay(self.config.minimum_rto)
            }
            (_, Some(smoothed)) => self.probe_round_trips(smoothed) + MIN_WAIT,
        };
        let wait = if timeout_left.is_zero() { wait } else { wait.min(timeout_left) };
        self.arm_for(Pending::Probe, now, wait + self.pacing_delay(now));
        true
    }

    /// The round trips that a probe waits (RFC 8985 §7.2: two).
    #[inline]
    fn probe_round_trips(&self, smoothed: Span) -> Span {
        if self.fast_path.has_usual_constants() {
            smoothed * 2
        } else {
            self.recovery_constants().probe_factor.of(smoothed)
        }
    }

    /// The allowance for a delayed acknowledgment; `usual` if none is set.
    #[inline]
    fn probe_ack_delay(&self, usual: Span) -> Span {
        if self.fast_path.has_usual_constants() {
            usual
        } else {
            self.recovery_constants().probe_ack_delay.unwrap_or(usual)
        }
    }

    fn probe_wait_3_10(&self, smoothed: Span) -> Span {
        let delayed = smoothed + smoothed / 2 + self.probe_ack_delay(DELAYED_ACK_ALLOWANCE);
        let wait = self.probe_round_trips(smoothed);
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
