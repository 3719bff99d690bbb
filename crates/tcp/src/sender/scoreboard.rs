//! Which of the outstanding segments the receiver holds already (RFC 2018, RFC 6675 §3, §4).
//!
//! Source: RFC 2018, RFC 2883, RFC 6675 §4 (`SackUpdate`, `IsLost`); Linux `tcp_sacktag_write_queue`.
//! Differs: losses are counted in segments, not in bytes above `(DupThresh - 1) * SMSS`; for
//! full-sized segments that is the same. Two blocks that touch within a segment cover it together.
//! Cost: proportional to what a block newly covers and to the logarithm of the number of holes,
//! never to the window: ranges known already are skipped, and the pointer below which losses are
//! settled only moves forward.

use crate::ranges::Ranges;
use crate::sender::AckFlags;
use crate::sender::queue::{Marks, SendQueue, Sent};
use fairwind_units::Instant;
use fairwind_wire::{SackBlock, SequenceNumber};

/// What the SACK blocks of one ACK told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SackUpdate {
    /// Segments newly known to have arrived.
    newly_sacked: u32,
    /// Segments that arrived though the receiver had them already (D-SACK).
    repeated: u32,
    /// A repetition that was reported is the one of the tail loss probe.
    probe_repeated: bool,
    /// When the lowest and the highest newly reported segment that were sent only once were sent.
    sent_once_at: Option<(Instant, Instant)>,
    /// One of those had been sent before the repair began (or the last state was entered).
    original_of_repair: bool,
    /// Lowest segment that arrived after one that was sent later.
    reordered_from: Option<SequenceNumber>,
}

impl SackUpdate {
    getters! {
        sent_once_at: Option<(Instant, Instant)>,
        reordered_from: Option<SequenceNumber>,
    }

    /// The facts for the acknowledgment.
    #[inline]
    pub(crate) fn flags(&self) -> AckFlags {
        let mut flags = AckFlags::default();
        flags.add_if(self.newly_sacked > 0, AckFlags::SACKED);
        flags.add_if(self.repeated > 0, AckFlags::REPEATED);
        flags.add_if(self.probe_repeated, AckFlags::PROBE_REPEATED);
        flags.add_if(self.original_of_repair, AckFlags::ORIGINAL_ACKNOWLEDGED);
        flags
    }

    pub(crate) fn note_probe(&mut self, is_probe: bool) {
        self.probe_repeated = is_probe;
    }

    /// A plausible D-SACK covers so many segments.
    pub(crate) fn count_dsack(&mut self, segments: u32) {
        self.repeated += segments;
    }

    /// Segments that this ACK says have arrived, one way or another.
    pub(crate) fn delivered(&self) -> u32 {
        self.newly_sacked + self.repeated
    }

    pub(crate) fn note_reordered(&mut self, sequence: SequenceNumber) {
        let lowest = self.reordered_from.map_or(sequence, |known| known.earlier(sequence));
        self.reordered_from = Some(lowest);
    }
}

/// The received ranges above the cumulative acknowledgment.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ranges: Ranges,
    /// End of the highest segment that was reported while any is.
    highest_end: SequenceNumber,
    /// Below this absolute index every segment is either selectively acknowledged or marked lost.
    settled_below: u64,
    /// Selectively acknowledged segments at or above it.
    sacked_above: u32,
}

impl Scoreboard {
    /// Bytes that are selectively acknowledged; costs as much as there are holes.
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.ranges.bytes()
    }

    /// Takes one valid block into account; `repair_end` is the last number that was sent when the
    /// state of recovery changed last. Hands over the segments that it newly covers.
    pub(crate) fn add<F: FnMut(&Sent)>(
        &mut self,
        queue: &mut SendQueue,
        block: SackBlock,
        repair_end: SequenceNumber,
        update: &mut SackUpdate,
        on_sacked: F,
    ) {
        let union = self.ranges.union_with(block);
        if let Some(known) = self.ranges.get(union.places().start)
            && known.left.is_at_or_before(block.left)
            && known.right.is_at_or_after(block.right)
        {
            return;
        }
        let mut ack = News { merged: union.merged(), repair_end, update, on_sacked };
        // Between the ranges known so far lies what is news.
        let mut gap_left = block.left;
        for place in union.places() {
            let Some(&known) = self.ranges.get(place) else { break };
            if gap_left.is_before(known.left) {
                self.mark(queue, gap_left, known.left, &mut ack);
            }
            gap_left = gap_left.later(known.right);
        }
        if gap_left.is_before(block.right) {
            self.mark(queue, gap_left, block.right, &mut ack);
        }
        self.ranges.join(&union);
    }

    /// Marks the segments that overlap `left..right` and are wholly covered.
    fn mark<F: FnMut(&Sent)>(
        &mut self,
        queue: &mut SendQueue,
        left: SequenceNumber,
        right: SequenceNumber,
        ack: &mut News<'_, F>,
    ) {
        let mut index = queue.index_of(left);
        while index < queue.end_index() {
            let sent = *queue.get(index);
            if sent.sequence().is_at_or_after(right) {
                break;
            }
            let covered = sent.sequence().is_at_or_after(ack.merged.left)
                && sent.end().is_at_or_before(ack.merged.right);
            if covered && !sent.marks().contains(Marks::SACKED) {
                let highest = (queue.sacked() > 0).then_some(self.highest_end);
                ack.note(&sent, highest);
                self.highest_end = highest.map_or(sent.end(), |known| known.later(sent.end()));
                queue.mark_sacked(index);
                self.sacked_above += u32::from(index >= self.settled_below);
            }
            index += 1;
        }
    }

    /// End of the highest segment reported, or `oldest_unacked` while none is (Linux
    /// `tcp_highest_sack_seq`).
    #[inline]
    pub(crate) fn highest_end(
        &self,
        queue: &SendQueue,
        oldest_unacked: SequenceNumber,
    ) -> SequenceNumber {
        if queue.sacked() == 0 { oldest_unacked } else { self.highest_end }
    }

    /// Absolute index after the segments that the range around `sequence` covers.
    pub(crate) fn skip_range(&self, queue: &SendQueue, index: u64) -> u64 {
        let sequence = queue.get(index).sequence();
        match self.ranges.covering(sequence) {
            Some(range) => queue.index_of(range.right).max(index + 1),
            None => index + 1,
        }
    }

    /// Marks every segment lost that has `threshold` selectively acknowledged ones above it
    /// (RFC 6675 §4, `IsLost`).
    pub(crate) fn mark_losses(&mut self, queue: &mut SendQueue, threshold: u32) {
        while self.sacked_above >= threshold && self.settled_below < queue.end_index() {
            if queue.get(self.settled_below).marks().contains(Marks::SACKED) {
                if self.sacked_above == threshold {
                    break;
                }
                self.sacked_above -= 1;
            } else {
                self.mark_unless_repaired(queue);
            }
            self.settled_below += 1;
        }
    }

    /// Marks every segment lost that is more than `distance` segments below the highest one that
    /// was reported (forward acknowledgment).
    pub(crate) fn mark_losses_behind(&mut self, queue: &mut SendQueue, distance: u32) {
        let Some(highest) = self.highest(queue) else { return };
        while self.settled_below + u64::from(distance) <= highest {
            if queue.get(self.settled_below).marks().contains(Marks::SACKED) {
                self.sacked_above -= 1;
            } else {
                self.mark_unless_repaired(queue);
            }
            self.settled_below += 1;
        }
    }

    /// Counting says nothing of retransmissions, so it cannot find one lost.
    fn mark_unless_repaired(&self, queue: &mut SendQueue) {
        if !queue.get(self.settled_below).marks().contains(Marks::LOST) {
            queue.mark_lost(self.settled_below);
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
            self.sacked_above -= u32::from(sent.marks().contains(Marks::SACKED));
            index += 1;
        }
        self.settled_below = self.settled_below.max(index);
        self.ranges.forget_before(acknowledged);
    }

    /// Follows the queue after a cumulative acknowledgment.
    pub(crate) fn after_acknowledge(&mut self, queue: &SendQueue) {
        self.settled_below = self.settled_below.max(queue.first_index());
    }

    /// Absolute index of the highest segment known to have arrived, if any is.
    pub(crate) fn highest(&self, queue: &SendQueue) -> Option<u64> {
        self.ranges.back().map(|range| queue.index_of(range.left.later(range.right - 1)))
    }

    /// Everything is lost or held by the receiver: after a time-out.
    pub(crate) fn settle_all(&mut self, queue: &SendQueue) {
        self.settled_below = queue.end_index();
        self.sacked_above = 0;
    }

    /// Losses have been taken back: they are to be looked for from the oldest segment on.
    pub(crate) fn unsettle(&mut self, queue: &SendQueue) {
        self.settled_below = queue.first_index();
        self.sacked_above = queue.sacked();
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
        let is_sacked = |index: u64| queue.get(index).marks().contains(Marks::SACKED);
        let (first, end) = (queue.first_index(), queue.end_index());
        let above = (self.settled_below.max(first)..end).filter(|&index| is_sacked(index)).count();
        usize::try_from(self.sacked_above) == Ok(above) && self.settled_below <= end
    }

    /// Forgets all that the receiver said it holds.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.sacked_above = 0;
    }
}

/// Where the news of one block goes.
struct News<'a, F> {
    /// The block, and all that was known before and touches it.
    merged: SackBlock,
    repair_end: SequenceNumber,
    update: &'a mut SackUpdate,
    on_sacked: F,
}

impl<F: FnMut(&Sent)> News<'_, F> {
    /// Notes one segment reported for the first time; `highest` is the end of the highest one so far.
    fn note(&mut self, sent: &Sent, highest: Option<SequenceNumber>) {
        self.update.newly_sacked += 1;
        (self.on_sacked)(sent);
        if sent.is_retransmitted() {
            return;
        }
        if highest.is_some_and(|highest| sent.sequence().is_before(highest)) {
            self.update.note_reordered(sent.sequence());
        }
        self.update.original_of_repair |= sent.end().is_at_or_before(self.repair_end);
        let first = self.update.sent_once_at.map_or(sent.transmitted_at(), |(first, _)| first);
        self.update.sent_once_at = Some((first, sent.transmitted_at()));
    }
}
