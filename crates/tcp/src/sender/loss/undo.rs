//! Undo of spurious window reductions.
//!
//! Source: RFC 3522 (Eifel detection by timestamps), RFC 3708 (by D-SACK), RFC 4015 (response);
//! Linux `tcp_may_undo`, `tcp_packet_delayed`, `tcp_undo_cwnd_reduction`, `tcp_try_undo_...`.

use crate::sender::{AckEvent, Sender};
use crate::state::RecoveryState;
use crate::timers::is_earlier;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// State for undoing a window reduction.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// Oldest unacknowledged number when the reduction began (`undo_marker`); `None` if there is nothing
    /// to undo.
    marker: Option<SequenceNumber>,
    /// Retransmissions since then that no D-SACK has shown to be spurious (`undo_retrans`); `None`
    /// before the first.
    retransmissions: Option<u32>,
    /// Threshold before the reduction (`prior_ssthresh`); 0 if it must not come back.
    threshold: u32,
    /// Reading of the timestamp clock at the first retransmission (`retrans_stamp`).
    retransmit_stamp: Option<u32>,
}

impl Undo {
    getters! {
        marker: Option<SequenceNumber>,
        threshold: u32,
    }

    /// Counts a retransmission, sent when the timestamp clock read `stamp`.
    pub(crate) fn on_retransmitted(&mut self, stamp: u32) {
        self.note_retransmit_stamp(stamp);
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    /// Counts retransmissions that a D-SACK shows to be spurious.
    pub(super) fn on_dsack(&mut self, segments: u32) {
        if let Some(left) = self.retransmissions.filter(|&left| left > 0) {
            self.retransmissions = Some(left.saturating_sub(segments));
        }
    }

    /// Begins to count retransmissions, of which `out` are in flight (Linux `tcp_init_undo`).
    pub(crate) fn begin(&mut self, oldest_unacked: SequenceNumber, out: u32) {
        self.marker = Some(oldest_unacked);
        self.retransmissions = (out > 0).then_some(out);
    }

    /// Leaves nothing to undo.
    pub(crate) fn clear_marker(&mut self) {
        self.marker = None;
    }

    /// Forbids to restore the threshold.
    pub(crate) fn forbid(&mut self) {
        self.threshold = 0;
    }

    /// Allows an undo, which restores this threshold.
    pub(crate) fn allow(&mut self, threshold: u32) {
        self.threshold = threshold;
    }

    /// Leaves nothing to undo, and forbids to restore the threshold.
    pub(crate) fn clear(&mut self) {
        self.clear_marker();
        self.forbid();
    }

    /// Notes the reading of the timestamp clock at the first retransmission.
    pub(crate) fn note_retransmit_stamp(&mut self, stamp: u32) {
        self.retransmit_stamp.get_or_insert(stamp);
    }

    /// Forgets the first retransmission.
    pub(crate) fn clear_retransmit_stamp(&mut self) {
        self.retransmit_stamp = None;
    }

    /// Whether D-SACKs have shown every retransmission to be spurious.
    fn are_all_spurious(&self) -> bool {
        self.retransmissions == Some(0)
    }
}

impl Sender {
    /// Begins to count retransmissions (Linux `tcp_init_undo`).
    pub(super) fn init_undo(&mut self) {
        let probed = self.tail_probe.is_retransmission_outstanding();
        let out = self.queue.retransmitted() + u32::from(probed);
        self.undo.begin(self.send.oldest_unacked(), out);
    }

    /// Forgets the first retransmission of an earlier recovery (Linux `tcp_retrans_stamp_cleanup`).
    pub(super) fn cleanup_retransmit_stamp(&mut self) {
        if !self.is_any_retransmitted() {
            self.undo.clear_retransmit_stamp();
        }
    }

    /// Whether the acknowledged segment is an original transmission that was delayed, not lost (Linux
    /// `tcp_packet_delayed`).
    fn is_packet_delayed(&self, ack: &AckEvent) -> bool {
        match self.undo.retransmit_stamp {
            Some(stamp) => ack.echo().is_some_and(|echo| is_earlier(echo, stamp)),
            None => {
                self.negotiated.has_sack()
                    || self.send.oldest_unacked().is_before(self.recovery.end())
            }
        }
    }

    pub(super) fn may_undo(&self, ack: &AckEvent) -> bool {
        let undo = &self.undo;
        self.config.loss.undo
            && undo.marker.is_some()
            && (undo.are_all_spurious() || self.is_packet_delayed(ack))
    }

    /// Restores the window and the threshold from before the reduction (Linux
    /// `tcp_undo_cwnd_reduction`).
    pub(super) fn undo_reduction(&mut self, lost_marks: LostMarks, now: Instant) {
        if lost_marks == LostMarks::Cleared {
            self.queue.clear_losses();
            self.queue.retransmit_from_front();
            self.scoreboard.restart_scan(&self.queue);
        }
        let before = self.undo.threshold();
        if before > 0 {
            let ours = self.window.segments().max(self.reduction.window_before());
            let window = self.plugged_undo().unwrap_or(ours);
            self.window.set_segments(window);
            if before > self.window.threshold() {
                self.window.set_threshold(before);
                self.ecn.on_undo();
            }
        }
        self.usage.on_reduction(now);
        self.undo.clear_marker();
        self.rack.force_detection();
        if lost_marks == LostMarks::Cleared {
            self.rack.restart_scan(&self.queue);
        }
    }

    /// Undoes the reduction at the end of a recovery, if it was spurious. Returns whether the state stays:
    /// without SACK, until more is acknowledged, because late duplicates could trigger another fast
    /// retransmit (RFC 6582 §3.2).
    pub(crate) fn try_undo_recovery(&mut self, ack: &AckEvent) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(LostMarks::Kept, ack.now());
        } else {
            self.rack.on_recovery_ended(false);
        }
        if self.must_hold_state() {
            return true;
        }
        self.enter(RecoveryState::Open);
        self.recovery.set_reneged(false);
        false
    }

    fn must_hold_state(&mut self) -> bool {
        let holds =
            self.send.oldest_unacked() == self.recovery.end() && !self.negotiated.has_sack();
        if holds {
            self.cleanup_retransmit_stamp();
        }
        holds
    }

    /// Undoes the reduction if a partial acknowledgment is for an original transmission, which shows
    /// reordering. Returns whether to wait for the retransmissions in flight.
    pub(super) fn try_undo_partial(&mut self, ack: &AckEvent) -> bool {
        let undoes = self.config.loss.undo && self.undo.marker.is_some();
        if !undoes || !self.is_packet_delayed(ack) {
            return false;
        }
        let highest = self.highest_sacked();
        self.update_reordering(ack.oldest_before(), highest);
        if self.queue.retransmitted() > 0 {
            return true;
        }
        self.cleanup_retransmit_stamp();
        self.undo_reduction(LostMarks::Cleared, ack.now());
        self.enter_open_or_disorder();
        false
    }

    /// Undoes the reduction if D-SACKs show all retransmissions to be spurious.
    pub(super) fn try_undo_by_dsack(&mut self, now: Instant) -> bool {
        let undo = &self.undo;
        let spurious = self.config.loss.undo && undo.marker.is_some() && undo.are_all_spurious();
        if spurious {
            self.rack.on_recovery_ended(true);
            self.undo_reduction(LostMarks::Kept, now);
        }
        spurious
    }

    /// Undoes a time-out if it was spurious; `proven` by F-RTO.
    pub(super) fn try_undo_loss(&mut self, ack: &AckEvent, proven: bool) -> bool {
        if !(self.may_undo(ack) || proven && self.config.loss.undo) {
            return false;
        }
        self.undo_reduction(LostMarks::Cleared, ack.now());
        self.rto.on_progress();
        if self.must_hold_state() {
            return true;
        }
        if proven || self.negotiated.has_sack() {
            self.enter(RecoveryState::Open);
            self.recovery.set_reneged(false);
        }
        true
    }
}

/// Treatment of LOST flags at an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LostMarks {
    /// The segments are no longer marked lost.
    Cleared,
    /// The segments stay marked.
    Kept,
}
