//! SACK scoreboard: outstanding segments that the receiver holds (RFC 2018, RFC 6675 §3, §4).
//!
//! Source: RFC 2018, RFC 2883, RFC 6675 §4 (`SackUpdate`, `IsLost`); Linux `tcp_sacktag_write_queue`.
//! Differs: losses are counted in segments, not in bytes above `(DupThresh - 1) * SMSS`; for
//! full-sized segments that is the same. Two blocks that touch within a segment cover it together.
//! Cost: proportional to the segments that a block newly covers and to the logarithm of the number of
//! holes, never to the window. Known ranges are skipped, and `settled_below` only moves forward.

use crate::ranges::Ranges;
use crate::sender::AckFlags;
use crate::sender::queue::{SendQueue, Sent, SentFlags};
use fairwind_units::Instant;
use fairwind_wire::{SackBlock, SequenceNumber};

/// Segments that the SACK blocks of one acknowledgment newly report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SackUpdate {
    /// Segments that are newly selectively acknowledged.
    newly_sacked: u32,
    /// Segments in D-SACKs.
    dsacked: u32,
    /// A D-SACK reports the tail loss probe.
    probe_dsacked: bool,
    /// Transmission times of the lowest and the highest newly reported segment that was sent once.
    sent_once_at: Option<(Instant, Instant)>,
    /// One of those was sent before the recovery point.
    original_before_recovery: bool,
    /// Lowest segment that arrived out of order.
    reordered_from: Option<SequenceNumber>,
}

impl SackUpdate {
    getters! {
        sent_once_at: Option<(Instant, Instant)>,
        reordered_from: Option<SequenceNumber>,
    }

    #[inline]
    pub(crate) fn flags(&self) -> AckFlags {
        let mut flags = AckFlags::default();
        flags.add_if(self.newly_sacked > 0, AckFlags::SACKED);
        flags.add_if(self.dsacked > 0, AckFlags::DSACKED);
        flags.add_if(self.probe_dsacked, AckFlags::PROBE_DSACKED);
        flags.add_if(self.original_before_recovery, AckFlags::ORIGINAL_ACKNOWLEDGED);
        flags
    }

    pub(crate) fn note_probe(&mut self, is_probe: bool) {
        self.probe_dsacked = is_probe;
    }

    /// Counts the segments of a plausible D-SACK.
    pub(crate) fn count_dsack(&mut self, segments: u32) {
        self.dsacked += segments;
    }

    /// Segments that this acknowledgment reports as delivered, duplicates included.
    pub(crate) fn delivered(&self) -> u32 {
        self.newly_sacked + self.dsacked
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
    /// End of the highest reported segment; valid while one is reported.
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

    /// Adds a valid block. Calls `on_sacked` for each segment that it newly covers; `recovery_end` is the
    /// recovery point.
    pub(crate) fn add<F: FnMut(&Sent)>(
        &mut self,
        queue: &mut SendQueue,
        block: SackBlock,
        recovery_end: SequenceNumber,
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
        let mut marker = BlockMarker { merged: union.merged(), recovery_end, update, on_sacked };
        // The gaps between known ranges are new.
        let mut gap_left = block.left;
        for place in union.places() {
            let Some(&known) = self.ranges.get(place) else { break };
            if gap_left.is_before(known.left) {
                self.mark(queue, gap_left, known.left, &mut marker);
            }
            gap_left = gap_left.later(known.right);
        }
        if gap_left.is_before(block.right) {
            self.mark(queue, gap_left, block.right, &mut marker);
        }
        self.ranges.join(&union);
    }

    /// Marks the segments that overlap `left..right` and are wholly covered.
    fn mark<F: FnMut(&Sent)>(
        &mut self,
        queue: &mut SendQueue,
        left: SequenceNumber,
        right: SequenceNumber,
        marker: &mut BlockMarker<'_, F>,
    ) {
        let mut index = queue.index_of(left);
        while index < queue.end_index() {
            let sent = *queue.get(index);
            if sent.sequence().is_at_or_after(right) {
                break;
            }
            let covered = sent.sequence().is_at_or_after(marker.merged.left)
                && sent.end().is_at_or_before(marker.merged.right);
            if covered && !sent.flags().contains(SentFlags::SACKED) {
                let highest = (queue.sacked() > 0).then_some(self.highest_end);
                marker.note(&sent, highest);
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
            if queue.get(self.settled_below).flags().contains(SentFlags::SACKED) {
                if self.sacked_above == threshold {
                    break;
                }
                self.sacked_above -= 1;
            } else {
                self.mark_lost_once(queue);
            }
            self.settled_below += 1;
        }
    }

    /// Marks every segment lost that is `distance` or more segments below the highest reported one (FACK).
    pub(crate) fn mark_losses_below_fack(&mut self, queue: &mut SendQueue, distance: u32) {
        let Some(highest) = self.highest(queue) else { return };
        while self.settled_below + u64::from(distance) <= highest {
            if queue.get(self.settled_below).flags().contains(SentFlags::SACKED) {
                self.sacked_above -= 1;
            } else {
                self.mark_lost_once(queue);
            }
            self.settled_below += 1;
        }
    }

    /// Marks an original transmission lost; counting cannot detect lost retransmissions.
    fn mark_lost_once(&self, queue: &mut SendQueue) {
        if !queue.get(self.settled_below).flags().contains(SentFlags::LOST) {
            queue.mark_lost(self.settled_below);
        }
    }

    /// Adopts a cumulative acknowledgment, before the queue drops the segments.
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
            self.sacked_above -= u32::from(sent.flags().contains(SentFlags::SACKED));
            index += 1;
        }
        self.settled_below = self.settled_below.max(index);
        self.ranges.forget_before(acknowledged);
    }

    /// Adopts the front of the queue, after a cumulative acknowledgment.
    pub(crate) fn after_acknowledge(&mut self, queue: &SendQueue) {
        self.settled_below = self.settled_below.max(queue.first_index());
    }

    /// Absolute index of the highest selectively acknowledged segment.
    pub(crate) fn highest(&self, queue: &SendQueue) -> Option<u64> {
        self.ranges.back().map(|range| queue.index_of(range.left.later(range.right - 1)))
    }

    /// Settles every segment as lost or selectively acknowledged, after a time-out.
    pub(crate) fn settle_all(&mut self, queue: &SendQueue) {
        self.settled_below = queue.end_index();
        self.sacked_above = 0;
    }

    /// Restarts the search for losses at the oldest segment, after an undo.
    pub(crate) fn restart_scan(&mut self, queue: &SendQueue) {
        self.settled_below = queue.first_index();
        self.sacked_above = queue.sacked();
    }

    /// Adopts the merge of the segment after `index` into it.
    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.settled_below > index + 1 {
            self.settled_below -= 1;
        }
    }

    /// Recounts the segments, as [`SendQueue::is_consistent`] does, and compares.
    pub(crate) fn is_consistent(&self, queue: &SendQueue) -> bool {
        const MAX_RECOUNTED: u32 = 128;
        if queue.outstanding() > MAX_RECOUNTED {
            return true;
        }
        let is_sacked = |index: u64| queue.get(index).flags().contains(SentFlags::SACKED);
        let (first, end) = (queue.first_index(), queue.end_index());
        let above = (self.settled_below.max(first)..end).filter(|&index| is_sacked(index)).count();
        usize::try_from(self.sacked_above) == Ok(above) && self.settled_below <= end
    }

    /// Clears the scoreboard, after the receiver has reneged.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.sacked_above = 0;
    }
}

/// Notes the segments that one block newly covers.
struct BlockMarker<'a, F> {
    /// The block, merged with the known ranges that touch it.
    merged: SackBlock,
    recovery_end: SequenceNumber,
    update: &'a mut SackUpdate,
    on_sacked: F,
}

impl<F: FnMut(&Sent)> BlockMarker<'_, F> {
    /// Notes one newly reported segment; `highest` is the end of the highest one before it.
    fn note(&mut self, sent: &Sent, highest: Option<SequenceNumber>) {
        self.update.newly_sacked += 1;
        (self.on_sacked)(sent);
        if sent.is_retransmitted() {
            return;
        }
        if highest.is_some_and(|highest| sent.sequence().is_before(highest)) {
            self.update.note_reordered(sent.sequence());
        }
        self.update.original_before_recovery |= sent.end().is_at_or_before(self.recovery_end);
        let first = self.update.sent_once_at.map_or(sent.transmitted_at(), |(first, _)| first);
        self.update.sent_once_at = Some((first, sent.transmitted_at()));
    }
}
