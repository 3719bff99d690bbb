//! Lost retransmissions, found by reach.
//!
//! Source: Linux 2.6 `tcp_sacktag_write_queue` (what it calls a lost retransmission). Whatever is sent for the first
//! time after a repair lies behind everything that had been sent when the repair was; so once something there is
//! reported to have arrived, the repair has been overtaken, and is lost. Without forward acknowledgment, and where reordering
//! was seen, the report has to lie as many segments further as prove a loss.
//! Differs: those kernels go through all that is outstanding for each acknowledgment; here repairs wait in the order
//! in which they were sent, which is also that of what had been sent by then, so that only the oldest is looked at.
//! Parameters: [`LostRetransmissions`](crate::LostRetransmissions).
//! Cost: constant per repair.

use super::Moment;
use crate::config::{LossDetection, LostRetransmissions};
use crate::sender::Sender;
use crate::sender::queue::{Marks, Sent};
use crate::sender::{AckEvent, AckFlags};
use crate::state::RecoveryState;
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;

/// Retransmissions of one recovery that nothing has overtaken yet, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct LostRetransmits {
    under_way: VecDeque<Retransmission>,
}

/// One segment that was sent again.
#[derive(Debug, Clone, Copy)]
struct Retransmission {
    sequence: SequenceNumber,
    sent: Moment,
    /// End of all that had been sent by then.
    behind: SequenceNumber,
}

impl LostRetransmits {
    /// Takes the oldest one whose `behind` lies `distance` or more below `reached`.
    fn next_overtaken(&mut self, reached: SequenceNumber, distance: u32) -> Option<Retransmission> {
        let oldest = self.under_way.front()?;
        let is_overtaken = reached.is_at_or_after(oldest.behind + distance);
        is_overtaken.then(|| self.under_way.pop_front()).flatten()
    }

    /// A lost segment has been sent again.
    #[inline]
    fn push(&mut self, retransmission: Retransmission) {
        self.under_way.push_back(retransmission);
    }

    /// Another recovery begins.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.under_way.clear();
    }
}

impl Sender {
    /// Whether reach tells of lost repairs; time does so by itself.
    #[inline]
    fn judges_repairs_by_reach(&self) -> bool {
        self.config.loss.lost_retransmissions == LostRetransmissions::ByReach
            && self.config.loss.detection != LossDetection::Rack
            && self.negotiated.has_sack()
            && self.recovery.state() == RecoveryState::Recovery
    }

    /// A lost segment has been sent again.
    #[inline]
    pub(crate) fn note_repair(&mut self, sent: &Sent) {
        if self.judges_repairs_by_reach() {
            let behind = self.send.next();
            let retransmission =
                Retransmission { sequence: sent.sequence(), sent: sent.moment(), behind };
            self.lost_retransmits.push(retransmission);
        }
    }

    /// Marks repairs lost that something sent after them has overtaken.
    pub(super) fn mark_lost_repairs(&mut self, ack: &AckEvent) {
        if !ack.has(AckFlags::SACKED) || !self.judges_repairs_by_reach() {
            return;
        }
        let reached = self.highest_sacked();
        let counts_reach = self.config.loss.detection == LossDetection::Forward;
        let distance = if counts_reach && !self.reordering.is_seen() {
            1
        } else {
            self.reordering.threshold().saturating_mul(self.segment_bytes)
        };
        while let Some(repair) = self.lost_retransmits.next_overtaken(reached, distance) {
            if repair.sequence.is_before(self.send.oldest_unacked()) {
                continue;
            }
            let index = self.queue.index_of(repair.sequence);
            if index >= self.queue.end_index() {
                continue;
            }
            let sent = self.queue.get(index);
            let is_under_way = sent.marks().contains(Marks::RETRANSMITTED)
                && sent.sequence() == repair.sequence
                && sent.moment() == repair.sent;
            if is_under_way {
                self.queue.mark_lost(index);
            }
        }
    }
}
