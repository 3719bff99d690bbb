//! Reductions that were needless are taken back.
//!
//! Source: RFC 3522 (Eifel detection by timestamps), RFC 3708 (by D-SACK), RFC 4015 (response);
//! Linux `tcp_may_undo`, `tcp_packet_delayed`, `tcp_undo_cwnd_reduction`, `tcp_try_undo_...`.

use crate::sender::{AckEvent, Sender};
use crate::state::RecoveryState;
use crate::timers::is_earlier;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// What is needed to take a reduction back.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// Oldest unacknowledged number when it began (`undo_marker`); `None` where there is nothing to
    /// take back.
    from: Option<SequenceNumber>,
    /// Retransmissions since, of which the peer has not said that they arrived in vain
    /// (`undo_retrans`); `None` before the first.
    unexplained: Option<u32>,
    /// Threshold before it (`prior_ssthresh`); 0 where the reduction must stand.
    threshold: u32,
    /// Reading of the timestamp clock at the first retransmission (`retrans_stamp`).
    first_stamp: Option<u32>,
}

impl Undo {
    getters! {
        /// Oldest unacknowledged number when the reduction began, if it can be undone.
        from: Option<SequenceNumber>,
        threshold: u32,
    }

    /// Notes a retransmission that was sent when the timestamp clock read `stamp`.
    pub(crate) fn on_retransmitted(&mut self, stamp: u32) {
        self.note_stamp(stamp);
        self.unexplained = Some(self.unexplained.unwrap_or(0) + 1);
    }

    /// `segments` retransmissions arrived in vain.
    pub(super) fn explain(&mut self, segments: u32) {
        if let Some(left) = self.unexplained.filter(|&left| left > 0) {
            self.unexplained = Some(left.saturating_sub(segments));
        }
    }

    /// Begins to account for retransmissions, of which `out` are under way (Linux `tcp_init_undo`).
    pub(crate) fn begin(&mut self, oldest_unacked: SequenceNumber, out: u32) {
        self.from = Some(oldest_unacked);
        self.unexplained = (out > 0).then_some(out);
    }

    /// There is nothing to undo.
    pub(crate) fn disarm(&mut self) {
        self.from = None;
    }

    /// The reduction must stand.
    pub(crate) fn forbid(&mut self) {
        self.threshold = 0;
    }

    /// The reduction may be undone; the threshold comes back to this one.
    pub(crate) fn allow(&mut self, threshold: u32) {
        self.threshold = threshold;
    }

    /// There is nothing to undo, and the reduction must stand.
    pub(crate) fn clear(&mut self) {
        self.disarm();
        self.forbid();
    }

    /// Notes the reading of the timestamp clock at the first retransmission.
    pub(crate) fn note_stamp(&mut self, stamp: u32) {
        self.first_stamp.get_or_insert(stamp);
    }

    /// The first retransmission of an earlier recovery does not matter any more.
    pub(crate) fn forget_first_stamp(&mut self) {
        self.first_stamp = None;
    }

    /// Every retransmission arrived in vain.
    fn is_explained(&self) -> bool {
        self.unexplained == Some(0)
    }
}

impl Sender {
    /// Begins to keep account of retransmissions (Linux `tcp_init_undo`).
    pub(super) fn init_undo(&mut self) {
        let probed = self.tail_probe.is_retransmission_outstanding();
        let out = self.queue.retransmitted() + u32::from(probed);
        self.undo.begin(self.send.oldest_unacked(), out);
    }

    /// The first retransmission of an earlier repair says nothing of this one.
    pub(super) fn forget_first_stamp_if_repaired(&mut self) {
        if !self.is_any_retransmitted() {
            self.undo.forget_first_stamp();
        }
    }

    /// Whether what was acknowledged is an original, delayed and not lost (Linux
    /// `tcp_packet_delayed`).
    fn is_delayed(&self, ack: &AckEvent) -> bool {
        match self.undo.first_stamp {
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
            && undo.from.is_some()
            && (undo.is_explained() || self.is_delayed(ack))
    }

    /// Brings back the window and the threshold from before the reduction.
    pub(super) fn undo_reduction(&mut self, losses: Losses, now: Instant) {
        if losses == Losses::Forgotten {
            self.queue.forget_losses();
            self.queue.retransmit_from_front();
            self.scoreboard.unsettle(&self.queue);
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
        self.undo.disarm();
        // Losses are looked for anew.
        self.rack.look_again();
        if losses == Losses::Forgotten {
            self.rack.reconsider(&self.queue);
        }
    }

    /// At the end of a repair. Returns whether the state stays: without SACK it does until more is
    /// acknowledged, or else repetitions could be taken for new duplicates (RFC 6582 §3.2).
    pub(crate) fn try_undo_recovery(&mut self, ack: &AckEvent) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(Losses::Kept, ack.now());
        } else {
            self.rack.on_repair_ended(false);
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
            self.forget_first_stamp_if_repaired();
        }
        holds
    }

    /// A part is acknowledged, but by an original: there was reordering. Returns whether nothing more
    /// is to be done while retransmissions are on their way.
    pub(super) fn try_undo_partial(&mut self, ack: &AckEvent) -> bool {
        let undoes = self.config.loss.undo && self.undo.from.is_some();
        if !undoes || !self.is_delayed(ack) {
            return false;
        }
        let highest = self.highest_sacked();
        self.update_reordering(ack.oldest_before(), highest);
        if self.queue.retransmitted() > 0 {
            return true;
        }
        self.forget_first_stamp_if_repaired();
        self.undo_reduction(Losses::Forgotten, ack.now());
        self.enter_open_or_disorder();
        false
    }

    /// All retransmissions arrived in vain.
    pub(super) fn try_undo_by_dsack(&mut self, now: Instant) -> bool {
        let undo = &self.undo;
        let needless = self.config.loss.undo && undo.from.is_some() && undo.is_explained();
        if needless {
            self.rack.on_repair_ended(true);
            self.undo_reduction(Losses::Kept, now);
        }
        needless
    }

    /// After a time-out: it was spurious, by the account or as `proven` by new data that arrived.
    pub(super) fn try_undo_loss(&mut self, ack: &AckEvent, proven: bool) -> bool {
        if !(self.may_undo(ack) || proven && self.config.loss.undo) {
            return false;
        }
        self.undo_reduction(Losses::Forgotten, ack.now());
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

/// What becomes of segments marked lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Losses {
    /// They are not lost.
    Forgotten,
    /// They stay marked.
    Kept,
}
