//! Tail loss probes, and which of the timers of repair runs.
//!
//! Source: RFC 8985 §7, RFC 6298 §5; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`, `tcp_rearm_rto`.
//!
//! As in Linux one timer serves for the time-out, the probe and late segments: the earliest that
//! makes sense is the only one, and the next is set when it runs out.

use super::Pending;
use super::detection::MIN_WAIT;
use crate::config::TailLossProbe;
use crate::sender::queue::Purpose;
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::{Event, RecoveryState, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// The tail loss probe.
#[derive(Debug, Default)]
pub(crate) struct TailProbe {
    /// Number after everything that was sent when it was; `None` when it is not outstanding
    /// (`tlp_high_seq`).
    end: Option<SequenceNumber>,
    /// It was a retransmission, not new data.
    retransmitted: bool,
    /// It is to be sent.
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

    /// It is no longer outstanding.
    pub(crate) fn clear(&mut self) {
        self.end = None;
    }
}

/// Least wait for a probe, and what is allowed for a delayed acknowledgment (Linux 3.10).
const LEAST_PROBE_WAIT: Span = Span::from_millis(10);
const DELAYED_ACK_ALLOWANCE: Span = Span::from_millis(200);

impl Sender {
    pub(super) fn set_timer(&mut self, pending: Pending, now: Instant, wait: Span) {
        self.rto.set_pending(pending);
        self.rto.arm(now, wait);
    }

    /// Sets the timer after an acknowledgment of data.
    #[inline]
    pub(crate) fn schedule_retransmission(&mut self, now: Instant) {
        let timeout = self.rto.timeout();
        if !self.schedule_tail_probe(timeout, now) {
            self.rearm_rto(now);
        }
    }

    /// Sets the time-out anew, or stops it where nothing is outstanding. After a probe or late
    /// segments it counts from when the oldest segment was sent.
    #[inline]
    pub(crate) fn rearm_rto(&mut self, now: Instant) {
        let Some(oldest) = self.queue.front() else {
            self.rto.stop();
            self.rto.set_pending(Pending::Retransmission);
            return;
        };
        let timeout = self.rto.timeout();
        let wait = match self.rto.pending() {
            Pending::Retransmission => timeout,
            _ => {
                (oldest.transmitted_at() + timeout).saturating_since(now).max(Span::from_micros(1))
            }
        };
        self.set_timer(Pending::Retransmission, now, wait + self.pacing_delay(now));
    }

    /// New data has been sent, `first` if nothing was outstanding.
    #[inline]
    pub(crate) fn on_new_data_sent(&mut self, first: bool, now: Instant) {
        // Before the handshake is over, the timer is the SYN-ACK's.
        let opening = self.state == State::SynReceived;
        if first && !opening || !self.rto.is_armed() {
            self.rearm_rto(now);
        }
        if first {
            // One timer serves both in Linux (`tcp_rearm_rto`): nothing waits for a window any more.
            self.persist.stop();
        }
        if self.recovery.is_reducing() {
            self.reduction.on_sent();
        }
    }

    /// A run of new data has been sent.
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

    /// Sets the timer for a probe, if one makes sense; `timeout_left` bounds the wait.
    #[inline]
    fn schedule_tail_probe(&mut self, timeout_left: Span, now: Instant) -> bool {
        let rule = self.config.loss.tail_loss_probe;
        if rule == TailLossProbe::Off
            || self.queue.is_empty()
            || !self.negotiated.has_sack()
            || !matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::WindowReduced)
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
                smoothed * 2 + self.config.minimum_rto
            }
            (_, Some(smoothed)) => smoothed * 2 + MIN_WAIT,
        };
        let wait = if timeout_left.is_zero() { wait } else { wait.min(timeout_left) };
        self.set_timer(Pending::Probe, now, wait + self.pacing_delay(now));
        true
    }

    fn probe_wait_3_10(&self, smoothed: Span) -> Span {
        let delayed = smoothed + smoothed / 2 + DELAYED_ACK_ALLOWANCE;
        let wait = smoothed * 2;
        let wait = if self.queue.outstanding() == 1 { wait.max(delayed) } else { wait };
        wait.max(LEAST_PROBE_WAIT)
    }

    /// Time for a probe: one at most is outstanding.
    pub(crate) fn on_tail_probe_deadline(&mut self, now: Instant) {
        if self.queue.is_empty() {
            return;
        }
        self.tail_probe.set_due(!self.tail_probe.is_outstanding());
        self.rearm_rto(now);
    }

    /// The probe is on its way: from now on the time-out counts.
    pub(crate) fn on_tail_probe_sent(&mut self, purpose: Option<Purpose>, now: Instant) {
        self.tail_probe =
            TailProbe { end: Some(self.send.next()), retransmitted: purpose.is_some(), due: false };
        self.rto.set_pending(Pending::Retransmission);
        self.rearm_rto(now);
        self.events.push_back(Event::TailLossProbe);
    }

    /// Follows an acknowledgment while the probe is outstanding: if it filled a hole, there was a
    /// loss, and the window is reduced (RFC 8985 §7.4.2).
    #[cold]
    pub(crate) fn on_ack_after_tail_probe(&mut self, ack: &AckEvent) {
        let Some(end) = self.tail_probe.end else { return };
        let acknowledged = self.send.oldest_unacked();
        if acknowledged.is_before(end) {
            return;
        }
        let duplicate =
            !ack.has(AckFlags::ADVANCED.and(AckFlags::NOT_DUPLICATE).and(AckFlags::SACKED));
        if !self.tail_probe.retransmitted || ack.has(AckFlags::PROBE_REPEATED) {
            self.tail_probe.clear();
        } else if acknowledged.is_after(end) {
            self.begin_reduction();
            self.enter(RecoveryState::WindowReduced);
            self.end_reduction(ack.now());
            self.enter_open_or_disorder();
        } else if duplicate {
            self.tail_probe.clear();
        }
    }
}
