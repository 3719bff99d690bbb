//! Recovery states and the transitions between them.
//!
//! Source: Linux `tcp_fastretrans_alert`, `tcp_enter_recovery`, `tcp_try_to_open`,
//! `tcp_try_keep_open`, `tcp_check_sack_reneging`.

use super::{Pending, Transmission};
use crate::sender::queue::Sent;
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::{Event, RecoveryState};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Minimum time before a suspected reneging is treated as a time-out.
const MIN_RENEGING_WAIT: Span = Span::from_millis(10);

#[derive(Debug)]
pub(crate) struct Recovery {
    state: RecoveryState,
    /// Recovery point: the state may end when this is acknowledged (`high_seq`; RFC 6675
    /// `RecoveryPoint`).
    end: SequenceNumber,
    /// The receiver has reneged in this recovery.
    has_reneged: bool,
}

impl Recovery {
    getters! {
        state: RecoveryState,
        /// The number whose acknowledgment may end the state.
        end: SequenceNumber,
        has_reneged: bool,
    }

    pub(crate) fn new(initial: SequenceNumber) -> Self {
        Self { state: RecoveryState::Open, end: initial, has_reneged: false }
    }

    /// Changes the state; the congestion control is notified before.
    pub(crate) fn set_state(&mut self, state: RecoveryState) {
        self.state = state;
    }

    pub(crate) fn set_end(&mut self, end: SequenceNumber) {
        self.end = end;
    }

    pub(crate) fn set_reneged(&mut self, reneged: bool) {
        self.has_reneged = reneged;
    }

    /// Whether lost segments are being retransmitted.
    pub(crate) fn is_recovering(&self) -> bool {
        matches!(self.state, RecoveryState::Recovery | RecoveryState::Loss)
    }

    /// Whether the window is on its way down to the threshold (Linux `tcp_in_cwnd_reduction`).
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, RecoveryState::Recovery | RecoveryState::Cwr)
    }
}

impl Sender {
    /// Segments believed to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        let gone = self.sacked_out() + self.queue.lost();
        (self.queue.outstanding() + self.queue.retransmitted()).saturating_sub(gone)
    }

    /// Outstanding segments that have left the network: selectively acknowledged, or one per duplicate
    /// ACK (`sacked_out`).
    pub(crate) fn sacked_out(&self) -> u32 {
        self.queue.sacked() + self.duplicate_acks.count()
    }

    /// Segments that count against the window for new data: without limited transmit, duplicate ACKs do
    /// not make room before recovery (RFC 3042).
    #[inline]
    pub(crate) fn in_flight_for_new_data(&self) -> u32 {
        if self.config.limited_transmit || self.recovery.is_recovering() {
            self.in_flight()
        } else {
            self.queue.outstanding()
        }
    }

    /// Whether an outstanding segment was retransmitted (Linux `tcp_any_retrans_done`).
    pub(crate) fn is_any_retransmitted(&self) -> bool {
        self.queue.retransmitted() > 0 || self.queue.front().is_some_and(Sent::is_retransmitted)
    }

    /// A segment at `lowest` arrived after one that ends at `highest`.
    #[cold]
    pub(crate) fn update_reordering(&mut self, lowest: SequenceNumber, highest: SequenceNumber) {
        if lowest.is_before(highest) {
            let segments = highest.distance_from(lowest).div_ceil(self.segment_bytes);
            self.reordering.on_reordering(segments);
        }
    }

    /// End of the highest segment that was selectively acknowledged.
    #[inline]
    pub(crate) fn highest_sacked(&self) -> SequenceNumber {
        if self.negotiated.has_sack() {
            self.scoreboard.highest_end(&self.queue, self.send.oldest_unacked())
        } else {
            self.send.oldest_unacked()
        }
    }

    /// Counts duplicate ACKs without SACK. Returns how many segments arrived.
    pub(crate) fn count_duplicate_acks(&mut self, duplicates: u32) -> u32 {
        let arrived = self.duplicate_acks.add(duplicates, &self.queue, &mut self.reordering);
        self.deliveries.add(arrived, false);
        arrived
    }

    /// Whether an acknowledgment needs a closer look (Linux `tcp_ack_is_dubious`).
    #[inline]
    pub(crate) fn is_dubious(&self, flags: AckFlags) -> bool {
        !flags.has(AckFlags::NOT_DUPLICATE)
            || flags.has(AckFlags::SUSPICIOUS)
            || self.recovery.state() != RecoveryState::Open
    }

    /// Runs the recovery state machine for one acknowledgment (Linux `tcp_fastretrans_alert`).
    pub(crate) fn update_recovery_state(&mut self, ack: &mut AckEvent) {
        if ack.has(AckFlags::CONGESTION_ECHOED) {
            self.undo.forbid();
        }
        if self.is_reneging(ack) {
            return;
        }
        if self.recovery.state() == RecoveryState::Open {
            self.undo.clear_retransmit_stamp();
        } else if self.send.oldest_unacked().is_at_or_after(self.recovery.end())
            && self.try_leave_state(ack)
        {
            return;
        }
        let goes_on = match self.recovery.state() {
            RecoveryState::Recovery => self.on_ack_in_recovery_state(ack),
            RecoveryState::Loss => self.on_ack_in_loss_state(ack),
            _ => self.on_ack_in_other_state(ack),
        };
        if goes_on {
            self.retransmissions.set_due(Transmission::Lost);
        }
    }

    /// Leaves the state once its recovery point is acknowledged. Returns whether the acknowledgment needs
    /// no further processing.
    fn try_leave_state(&mut self, ack: &AckEvent) -> bool {
        match self.recovery.state() {
            // The segment with CWR must have been acknowledged (RFC 3168).
            RecoveryState::Cwr if self.send.oldest_unacked() != self.recovery.end() => {
                self.end_reduction(ack.now());
                self.enter(RecoveryState::Open);
            }
            RecoveryState::Recovery => {
                if !self.negotiated.has_sack() {
                    self.duplicate_acks.reset();
                }
                // The undo leaves the state; the window is that of recovery until then.
                let undone_or_held = self.try_undo_recovery(ack);
                if undone_or_held {
                    return true;
                }
                self.end_reduction(ack.now());
            }
            _ => {}
        }
        false
    }

    /// Handles an acknowledgment in the state. Like its siblings, returns whether retransmissions are due.
    fn on_ack_in_recovery_state(&mut self, ack: &mut AckEvent) -> bool {
        if !ack.has(AckFlags::ADVANCED) {
            if !self.negotiated.has_sack() {
                ack.count_delivered(self.count_duplicate_acks(ack.duplicates()));
            }
        } else if self.try_undo_partial(ack) {
            return false;
        }
        if self.try_undo_by_dsack(ack.now()) {
            self.try_open_state(ack);
        }
        self.detect_losses(ack);
        if self.recovery.state() == RecoveryState::Recovery {
            return true;
        }
        // The reduction was undone. If a segment is still marked lost, another recovery begins.
        let lost = self.queue.lost() > 0;
        if lost {
            self.enter_recovery(ack.has(AckFlags::CONGESTION_ECHOED));
        }
        lost
    }

    fn on_ack_in_loss_state(&mut self, ack: &mut AckEvent) -> bool {
        self.process_loss_ack(ack);
        self.detect_losses(ack);
        if self.recovery.state() == RecoveryState::Open || ack.has(AckFlags::LOST_RETRANSMISSION) {
            self.on_ack_in_other_state(ack)
        } else {
            // `process_loss_ack` has decided what is due.
            false
        }
    }

    fn on_ack_in_other_state(&mut self, ack: &mut AckEvent) -> bool {
        if !self.negotiated.has_sack() {
            if ack.has(AckFlags::ADVANCED) {
                self.duplicate_acks.reset();
            }
            ack.count_delivered(self.count_duplicate_acks(ack.duplicates()));
        }
        if matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Disorder) {
            self.try_undo_by_dsack(ack.now());
        }
        self.detect_losses(ack);
        if self.queue.lost() == 0 {
            self.try_open_state(ack);
            return false;
        }
        if self.mtu_search.is_some()
            && matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Disorder)
            && self.is_mtu_probe_lost()
        {
            // The probe was too large for the path: no sign of congestion.
            self.retransmit_too_large(ack.now());
            return true;
        }
        self.enter_recovery(ack.has(AckFlags::CONGESTION_ECHOED));
        true
    }

    /// Enters fast recovery (RFC 5681 §3.2 step 2, RFC 6675 §5 step 4).
    pub(super) fn enter_recovery(&mut self, echoed: bool) {
        self.cleanup_retransmit_stamp();
        self.usage.remember_limit();
        self.undo.forbid();
        self.init_undo();
        if !self.recovery.is_reducing() {
            if !echoed {
                self.undo.allow(self.threshold_without_reduction());
            }
            self.begin_reduction();
        }
        self.enter(RecoveryState::Recovery);
        self.retransmissions.begin_recovery(!self.uses_prr(), self.queue.first_index());
        self.outstanding_retransmits.clear();
        self.events.push_back(Event::FastRetransmit);
    }

    fn try_open_state(&mut self, ack: &AckEvent) {
        self.cleanup_retransmit_stamp();
        if ack.has(AckFlags::CONGESTION_ECHOED) {
            self.reduce_window();
        }
        if self.recovery.state() != RecoveryState::Cwr {
            self.enter_open_or_disorder();
        }
    }

    /// Enters Disorder while a segment is selectively acknowledged, lost or retransmitted; else Open.
    pub(super) fn enter_open_or_disorder(&mut self) {
        let disorder = self.sacked_out() + self.queue.lost() > 0 || self.is_any_retransmitted();
        let state = if disorder { RecoveryState::Disorder } else { RecoveryState::Open };
        if self.recovery.state() != state {
            self.enter(state);
            self.recovery.set_end(self.send.next());
        }
    }

    /// Whether the receiver has reneged: the oldest segment had been selectively acknowledged and still
    /// is not acknowledged. Shortens the time-out.
    fn is_reneging(&mut self, ack: &mut AckEvent) -> bool {
        if !(ack.has(AckFlags::RENEGED) && ack.has(AckFlags::ADVANCED)) {
            return false;
        }
        let wait = (self.rtt.smoothed().unwrap_or_default() / 2).max(MIN_RENEGING_WAIT);
        self.arm_for(Pending::Retransmission, ack.now(), wait);
        ack.remove(AckFlags::TIMER_DUE);
        true
    }

    /// Makes room in the window for the first retransmission of a recovery that a timer begins.
    fn allow_first_retransmission(&mut self, lost: u32) {
        if self.uses_prr() && !self.has_cong_control() {
            self.proportional_rate_reduction(1, lost, AckFlags::default());
        }
    }

    /// Handles the end of the RACK reordering timer (Linux `tcp_rack_reo_timeout`).
    pub(crate) fn on_reordering_deadline(&mut self, now: Instant) {
        let in_flight = self.in_flight();
        let losses = self.queue.losses();
        self.rack_detect_losses(now);
        if in_flight != self.in_flight() {
            if self.recovery.state() != RecoveryState::Recovery {
                self.enter_recovery(false);
                self.allow_first_retransmission(self.queue.losses().wrapping_sub(losses));
            }
            self.retransmissions.set_due(Transmission::Lost);
        }
        if self.rto.pending() != Pending::Retransmission {
            self.rearm_rto(now);
        }
    }

    /// Handles the end of the early-retransmit delay (Linux 3.16 `tcp_resume_early_retransmit`).
    pub(crate) fn on_early_retransmit_deadline(&mut self, now: Instant) {
        self.rearm_rto(now);
        if self.recovery.state() == RecoveryState::Disorder && !self.queue.is_empty() {
            self.queue.mark_lost(self.queue.first_index());
            self.enter_recovery(false);
            self.allow_first_retransmission(1);
            self.retransmissions.set_due(Transmission::Lost);
        }
    }
}
