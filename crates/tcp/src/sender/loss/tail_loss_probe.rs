//! Tail loss probes, and which of the timers of repair runs.
//!
//! Source: RFC 8985 §7, RFC 6298 §5; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`, `tcp_rearm_rto`.
//!
//! As in Linux one timer serves for the time-out, the probe and late segments: the earliest that
//! makes sense is the only one, and the next is set when it runs out.

use super::detection::MIN_WAIT;
use crate::config::TailLossProbe;
use crate::event::Event;
use crate::sender::Sender;
use crate::sender::queue::Purpose;
use crate::sender::{AckEvent, AckFlags};
use crate::state::{RecoveryState, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// What the timer of repair is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The retransmission time-out.
    Retransmission,
    /// A tail loss probe.
    Probe,
    /// Segments that may be late and not lost.
    Reordering,
    /// An early retransmit that waits for late segments.
    EarlyRetransmit,
}

/// The tail loss probe.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// Number after all that was sent when it was; `None` when it is not outstanding
    /// (`tlp_high_seq`).
    pub(crate) end: Option<SequenceNumber>,
    /// It was a retransmission, not new data.
    pub(crate) retransmitted: bool,
    /// It is to be sent.
    pub(crate) due: bool,
}

/// Least wait for a probe, and what is allowed for a delayed acknowledgment (Linux 3.10).
const LEAST_PROBE_WAIT: Span = Span::from_millis(10);
const DELAYED_ACK_ALLOWANCE: Span = Span::from_millis(200);

impl Sender {
    pub(super) fn set_timer(&mut self, pending: Pending, now: Instant, wait: Span) {
        self.timers.pending = pending;
        self.timers.retransmission.set(now, wait);
    }

    /// Sets the timer after an acknowledgment of data.
    #[inline]
    pub(crate) fn schedule_retransmission(&mut self, now: Instant) {
        let timeout = self.backoff.timeout;
        if !self.schedule_tail_probe(timeout, now) {
            self.rearm_rto(now);
        }
    }

    /// Sets the time-out anew, or stops it where nothing is outstanding. After a probe or late
    /// segments it counts from when the oldest segment was sent.
    #[inline]
    pub(crate) fn rearm_rto(&mut self, now: Instant) {
        let Some(oldest) = self.queue.front() else {
            self.timers.retransmission.stop();
            self.timers.pending = Pending::Retransmission;
            return;
        };
        let timeout = self.backoff.timeout;
        let wait = match self.timers.pending {
            Pending::Retransmission => timeout,
            _ => (oldest.transmitted_at + timeout).saturating_since(now).max(Span::from_micros(1)),
        };
        self.set_timer(Pending::Retransmission, now, wait + self.pacing_delay(now));
    }

    /// New data has been sent, `first` if nothing was outstanding.
    #[inline]
    pub(crate) fn on_new_data_sent(&mut self, first: bool, now: Instant) {
        // Before the handshake is over, the timer is the SYN-ACK's.
        let opening = self.state == State::SynReceived;
        if first && !opening || !self.timers.retransmission.is_set() {
            self.rearm_rto(now);
        }
        if self.recovery.is_reducing() {
            self.recovery.reduction.on_sent();
        }
    }

    /// A run of new data has been sent.
    #[inline]
    pub(crate) fn schedule_tail_probe_after_sending(&mut self, now: Instant) {
        if let Some(oldest) = self.queue.front()
            && self.config.loss.tail_loss_probe != TailLossProbe::Off
            && self.state != State::SynReceived
        {
            let left = (oldest.transmitted_at + self.backoff.timeout).saturating_since(now);
            if !self.schedule_tail_probe(left, now) && self.timers.pending == Pending::Probe {
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
            || !matches!(self.recovery.state, RecoveryState::Open | RecoveryState::WindowReduced)
        {
            return false;
        }
        let wait = match (rule, self.rtt.smoothed()) {
            (TailLossProbe::Linux3_10, None) => return false,
            (TailLossProbe::Linux3_10, Some(_)) if self.may_send_more() => return false,
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

    fn may_send_more(&self) -> bool {
        self.window.segments > self.in_flight() && self.queue.unsent > 0
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
        self.recovery.probe.due = self.recovery.probe.end.is_none();
        self.rearm_rto(now);
    }

    /// The probe is on its way: from now on the time-out counts.
    pub(crate) fn on_tail_probe_sent(&mut self, purpose: Option<Purpose>, now: Instant) {
        self.recovery.probe.due = false;
        self.recovery.probe.retransmitted = purpose.is_some();
        self.recovery.probe.end = Some(self.send.next);
        self.timers.pending = Pending::Retransmission;
        self.rearm_rto(now);
        self.events.push_back(Event::TailLossProbe);
    }

    /// Follows an acknowledgment while the probe is outstanding: if it filled a hole, there was a
    /// loss, and the window is reduced (RFC 8985 §7.4.2).
    #[cold]
    pub(crate) fn on_ack_after_tail_probe(&mut self, ack: &AckEvent) {
        let Some(end) = self.recovery.probe.end else { return };
        let acknowledged = self.send.oldest_unacked;
        if acknowledged.is_before(end) {
            return;
        }
        let duplicate =
            !ack.has(AckFlags::ADVANCED.and(AckFlags::NOT_DUPLICATE).and(AckFlags::SACKED));
        if !self.recovery.probe.retransmitted || ack.has(AckFlags::PROBE_REPEATED) {
            self.recovery.probe.end = None;
        } else if acknowledged.is_after(end) {
            self.begin_reduction();
            self.enter(RecoveryState::WindowReduced);
            self.end_reduction(ack.now);
            self.enter_open_or_disorder();
        } else if duplicate {
            self.recovery.probe.end = None;
        }
    }
}
