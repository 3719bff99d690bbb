//! Which of the outstanding segments the receiver holds already (RFC 6675 §3, §4).
//!
//! Source: RFC 2018, RFC 6675 §4 (`Update`, `IsLost`).
//! Differs: losses are counted in segments, not in bytes above `(DupThresh - 1) * SMSS`; for
//! full-sized segments that is the same.
//! Cost: proportional to what a block newly covers and to the logarithm of the number of holes,
//! never to the window: ranges known already are skipped, and the pointer below which losses are
//! settled only moves forward.

use crate::ranges::Ranges;
use crate::send_queue::{Marks, SendQueue};
use fairwind_units::Instant;
use fairwind_wire::{SackBlock, SackBlocks, SequenceNumber};

/// What the SACK blocks of one ACK told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Update {
    /// Segments newly known to have arrived.
    pub(crate) newly_sacked: u32,
    /// When the youngest of them that was sent only once was sent.
    pub(crate) sent_once_at: Option<Instant>,
}

/// The received ranges above the cumulative acknowledgment.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ranges: Ranges,
    /// Below this absolute index every segment is either selectively acknowledged or marked lost.
    settled_below: u64,
    /// Selectively acknowledged segments at or above it.
    sacked_above: u32,
}

impl Scoreboard {
    /// Takes the blocks of one ACK into account.
    pub(crate) fn update(
        &mut self,
        queue: &mut SendQueue,
        blocks: &SackBlocks,
        oldest_unacked: SequenceNumber,
        next: SequenceNumber,
    ) -> Update {
        let mut update = Update::default();
        for &block in blocks.as_slice() {
            let valid = block.left.is_before(block.right)
                && block.left.is_at_or_after(oldest_unacked)
                && block.right.is_at_or_before(next);
            if valid {
                self.add(queue, block, &mut update);
            }
        }
        update
    }

    fn add(&mut self, queue: &mut SendQueue, block: SackBlock, update: &mut Update) {
        let union = self.ranges.union_with(block);
        if let Some(known) = self.ranges.get(union.places.start)
            && known.left.is_at_or_before(block.left)
            && known.right.is_at_or_after(block.right)
        {
            return;
        }
        // Between the ranges known so far lies what is news.
        let mut gap_left = block.left;
        for place in union.places.clone() {
            let Some(&known) = self.ranges.get(place) else { break };
            if gap_left.is_before(known.left) {
                self.mark(queue, gap_left, known.left, union.merged, update);
            }
            gap_left = gap_left.later(known.right);
        }
        if gap_left.is_before(block.right) {
            self.mark(queue, gap_left, block.right, union.merged, update);
        }
        self.ranges.join(&union);
    }

    /// Marks the segments that overlap `left..right` and lie wholly in `merged`.
    fn mark(
        &mut self,
        queue: &mut SendQueue,
        left: SequenceNumber,
        right: SequenceNumber,
        merged: SackBlock,
        update: &mut Update,
    ) {
        let mut index = queue.index_of(left);
        while index < queue.end_index() {
            let sent = *queue.get(index);
            if sent.sequence.is_at_or_after(right) {
                break;
            }
            let covered = sent.sequence.is_at_or_after(merged.left)
                && sent.end().is_at_or_before(merged.right);
            if covered && queue.mark_sacked(index) {
                update.newly_sacked += 1;
                self.sacked_above += u32::from(index >= self.settled_below);
                if sent.transmissions == 1 {
                    update.sent_once_at = Some(sent.transmitted_at);
                }
            }
            index += 1;
        }
    }

    /// Marks every segment lost that has `threshold` selectively acknowledged ones above it
    /// (RFC 6675 §4, `IsLost`).
    pub(crate) fn mark_losses(&mut self, queue: &mut SendQueue, threshold: u32) {
        while self.sacked_above >= threshold && self.settled_below < queue.end_index() {
            if queue.get(self.settled_below).marks.contains(Marks::SACKED) {
                if self.sacked_above == threshold {
                    break;
                }
                self.sacked_above -= 1;
            } else {
                queue.mark_lost(self.settled_below);
            }
            self.settled_below += 1;
        }
    }

    /// Follows a cumulative acknowledgment: to be called before the queue forgets the segments.
    #[inline]
    pub(crate) fn before_acknowledge(&mut self, queue: &SendQueue, acknowledged: SequenceNumber) {
        if self.ranges.is_empty() {
            return;
        }
        let mut index = self.settled_below.max(queue.first_index());
        while self.sacked_above > 0 && index < queue.end_index() {
            let sent = queue.get(index);
            if sent.end().is_after(acknowledged) {
                break;
            }
            self.sacked_above -= u32::from(sent.marks.contains(Marks::SACKED));
            index += 1;
        }
        self.settled_below = self.settled_below.max(index);
        self.ranges.forget_before(acknowledged);
    }

    /// Follows the queue after a cumulative acknowledgment.
    #[inline]
    pub(crate) fn after_acknowledge(&mut self, queue: &SendQueue) {
        self.settled_below = self.settled_below.max(queue.first_index());
    }

    /// Absolute index after the highest segment known to have arrived, if any is.
    pub(crate) fn highest(&self, queue: &SendQueue) -> Option<u64> {
        self.ranges.back().map(|range| queue.index_of(range.left.later(range.right - 1)))
    }

    /// Everything is lost or held by the receiver: after a time-out.
    pub(crate) fn settle_all(&mut self, queue: &SendQueue) {
        self.settled_below = queue.end_index();
        self.sacked_above = 0;
    }

    /// Follows the removal of one segment at or after `index` by collapsing.
    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.settled_below > index + 1 {
            self.settled_below -= 1;
        }
    }

    /// Recounts what is kept, as [`SendQueue::is_consistent`] does, and compares.
    pub(crate) fn is_consistent(&self, queue: &SendQueue) -> bool {
        const LONGEST_RECOUNTED: u32 = 128;
        if queue.outstanding() > LONGEST_RECOUNTED {
            return true;
        }
        let is_sacked = |index: u64| queue.get(index).marks.contains(Marks::SACKED);
        let is_lost = |index: u64| queue.get(index).marks.contains(Marks::LOST);
        let (first, end) = (queue.first_index(), queue.end_index());
        let above = (self.settled_below.max(first)..end).filter(|&index| is_sacked(index)).count();
        let unsettled = (first..self.settled_below).find(|&at| !is_sacked(at) && !is_lost(at));
        usize::try_from(self.sacked_above) == Ok(above)
            && self.settled_below <= end
            && unsettled.is_none()
    }

    /// Forgets all that the receiver said it holds.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.sacked_above = 0;
    }
}
