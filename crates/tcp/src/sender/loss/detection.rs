//! Which segments are lost.
//!
//! Source: RFC 8985 §6 (by time), RFC 6675 §4 (by count), RFC 6582 (without SACK), RFC 5827 (early
//! retransmit); Linux `tcp_identify_packet_loss`, `tcp_newreno_mark_lost`, `tcp_rack_reo_wnd`, and
//! `tcp_time_to_recover`, `tcp_update_scoreboard` of Linux 3.16.

use super::Pending;
use crate::config::{EarlyRetransmit, LossDetection, WindowReduction};
use crate::sender::Sender;
use crate::sender::queue::Marks;
use crate::sender::{AckEvent, AckFlags};
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};

/// Timers of the kernel's recovery wait at least this long (`TCP_TIMEOUT_MIN_US`).
pub(super) const MIN_WAIT: Span = Span::from_millis(2);

impl Sender {
    /// Marks what this acknowledgment shows to be lost.
    pub(super) fn detect_losses(&mut self, ack: &mut AckEvent) {
        if self.queue.is_empty() {
            return;
        }
        if !self.negotiated.has_sack() {
            self.mark_loss_by_duplicate_acks(ack);
            return;
        }
        match self.config.loss.detection {
            LossDetection::Rack => self.mark_losses_by_rack(ack),
            LossDetection::Rfc6675 => self.mark_losses_by_count(ack),
            LossDetection::Forward => self.mark_losses_by_forward_ack(ack),
        }
        self.mark_lost_repairs(ack);
        if !self.recovery.is_repairing() && self.first_duplicate_suffices() && self.has_evidence() {
            self.queue.mark_lost(self.queue.first_index());
        }
    }

    #[inline]
    fn has_evidence(&self) -> bool {
        self.left_network() > 0
    }

    /// Without SACK only the oldest segment can be found lost: by duplicates, or by an
    /// acknowledgment of a part (RFC 6582 §3.2 step 5).
    fn mark_loss_by_duplicate_acks(&mut self, ack: &AckEvent) {
        let partial = ack.has(AckFlags::ADVANCED);
        let lost = match self.recovery.state() {
            RecoveryState::Recovery => partial,
            RecoveryState::Loss => false,
            _ => {
                self.duplicate_acks.count() >= self.reordering.threshold()
                    || self.early_retransmit_is_due(ack.now())
            }
        };
        let first = self.queue.first_index();
        if lost && !self.queue.get(first).marks().contains(Marks::LOST) {
            self.queue.mark_lost(first);
            if partial && self.reduces_at_once() {
                self.retransmissions.force();
            }
        }
    }

    fn mark_losses_by_rack(&mut self, ack: &mut AckEvent) {
        let retransmitted = self.queue.retransmitted();
        if self.rack.take_advanced()
            && let Some(wait) = self.detect_by_time(ack.now())
        {
            self.set_timer(Pending::Reordering, ack.now(), wait + MIN_WAIT);
            ack.remove(AckFlags::TIMER_DUE);
        }
        ack.add_if(retransmitted > self.queue.retransmitted(), AckFlags::REPAIR_LOST);
    }

    /// Whether time decides on what is lost.
    #[inline]
    pub(crate) fn judges_by_time(&self) -> bool {
        self.negotiated.has_sack() && self.config.loss.detection == LossDetection::Rack
    }

    /// Marks what time shows to be lost; gives how long to wait for what is late.
    pub(super) fn detect_by_time(&mut self, now: Instant) -> Option<Span> {
        let reordering_window = self.reordering_window();
        self.rack.detect(&mut self.queue, &self.scoreboard, reordering_window, now)
    }

    /// How long late segments are waited for: not at all where reordering was never seen and there
    /// is other evidence of loss (Linux `tcp_rack_reo_wnd`).
    fn reordering_window(&self) -> Span {
        if !self.reordering.is_seen() {
            let enough = self.config.loss.rack_duplicate_threshold
                && self.queue.sacked() >= self.reordering.threshold();
            if self.recovery.is_repairing() || enough {
                return Span::ZERO;
            }
        }
        let least = self.rtt.minimum().unwrap_or(Span::MAX);
        self.rack.reordering_window(least, self.rtt.smoothed().unwrap_or(Span::ZERO))
    }

    fn mark_losses_by_count(&mut self, ack: &AckEvent) {
        let enough = self.queue.sacked() >= self.reordering.threshold();
        if !self.recovery.is_repairing() && (enough || self.early_retransmit_is_due(ack.now())) {
            self.queue.mark_lost(self.queue.first_index());
        }
        if ack.has(AckFlags::SACKED) && (enough || self.recovery.is_repairing()) {
            self.scoreboard.mark_losses(&mut self.queue, self.reordering.threshold());
        }
    }

    /// Forward acknowledgment, until reordering is seen.
    fn mark_losses_by_forward_ack(&mut self, ack: &AckEvent) {
        if self.reordering.is_seen() {
            self.mark_losses_by_count(ack);
            return;
        }
        let first = self.queue.first_index();
        let reach = self.scoreboard.highest(&self.queue).map_or(0, |highest| highest + 1 - first);
        let threshold = self.reordering.threshold();
        let enough = reach > u64::from(threshold);
        if !self.recovery.is_repairing() && (enough || self.early_retransmit_is_due(ack.now())) {
            self.queue.mark_lost(first);
        }
        if ack.has(AckFlags::SACKED) && (enough || self.recovery.is_repairing()) {
            self.scoreboard.mark_losses_behind(&mut self.queue, threshold);
        }
    }

    /// With two or three segments outstanding and nothing new to send, all but one of them selectively
    /// acknowledged are enough evidence (RFC 5827 §3.1); it may have to wait a little.
    fn early_retransmit_is_due(&mut self, now: Instant) -> bool {
        let outstanding = self.queue.outstanding();
        let holds = self.config.loss.early_retransmit != EarlyRetransmit::Off
            && outstanding < 4
            && self.left_network() + 1 == outstanding
            && self.left_network() > 0
            && self.written.unsent() == 0
            && self.queue.retransmitted() == 0
            && !self.reordering.is_seen();
        if !holds {
            return false;
        }
        if self.config.loss.early_retransmit == EarlyRetransmit::Immediate {
            return true;
        }
        // Linux `tcp_pause_early_retransmit`.
        let pause = (self.rtt.smoothed().unwrap_or_default() / 4).max(MIN_WAIT);
        if self.rto.due() <= now + pause {
            return true;
        }
        self.set_timer(Pending::EarlyRetransmit, now, pause);
        false
    }

    /// The window falls without regard to what is in flight, so that the first retransmission might
    /// find no room.
    #[inline]
    pub(super) fn reduces_at_once(&self) -> bool {
        !self.reduces_in_proportion()
    }

    pub(super) fn reduces_in_proportion(&self) -> bool {
        matches!(
            self.config.loss.reduction,
            WindowReduction::Proportional | WindowReduction::ProportionalSafe
        )
    }
}
