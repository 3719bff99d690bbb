//! SACK processing: validation of blocks, D-SACK.
//!
//! Source: RFC 2018, RFC 2883; Linux `tcp_sacktag_write_queue`, `tcp_is_sackblock_valid`,
//! `tcp_check_dsack`, `tcp_dsack_seen`.

use super::AckDelivery;
use crate::sender::Sender;
use crate::sender::queue::SentFlags;
use crate::sender::scoreboard::SackUpdate;
use crate::state::RecoveryState;
use fairwind_units::Instant;
use fairwind_wire::{SackBlock, SackBlocks, Segment, SequenceNumber};

impl Sender {
    /// Marks the segments that the SACK blocks of an acknowledgment report; `oldest_before` was the oldest
    /// unacknowledged number before it. Returns the update, and the `delivered_before` of the latest segment
    /// that is newly reported.
    pub(crate) fn mark_sacks(
        &mut self,
        segment: &Segment,
        oldest_before: SequenceNumber,
        echo: Option<u32>,
        now: Instant,
    ) -> (SackUpdate, u32) {
        let mut update = SackUpdate::default();
        let blocks = segment.options.sack;
        let duplicate = self.check_dsack(segment, &blocks, oldest_before, &mut update);
        let too_old = segment.acknowledgment.is_before(oldest_before)
            && oldest_before.distance_from(segment.acknowledgment) > self.peer_window.largest();
        if too_old || self.queue.is_empty() {
            return (update, 0);
        }
        let mut valid = SackBlocks::EMPTY;
        let mut dsack = None;
        for (place, &block) in (0..).zip(blocks.as_slice()) {
            let is_duplicate = place == 0 && duplicate;
            if !self.is_sack_block_valid(block, is_duplicate)
                || !block.right.is_after(oldest_before)
            {
                continue;
            }
            if is_duplicate {
                self.count_spurious_retransmissions(block, &mut update);
                dsack = Some(block);
            }
            if block.right.is_after(self.send.oldest_unacked()) {
                valid.push(block);
            }
        }
        let delivered = self.mark_blocks(valid, &mut update, echo, now);
        if let Some(block) = dsack {
            self.clear_retransmissions_in(block);
        }
        self.note_reordering(&update);
        (update, delivered)
    }

    /// Marks what `blocks` cover, from the lowest to the highest.
    fn mark_blocks(
        &mut self,
        blocks: SackBlocks,
        update: &mut SackUpdate,
        echo: Option<u32>,
        now: Instant,
    ) -> u32 {
        let min_rtt = self.rtt.minimum();
        let mut delivery = AckDelivery::new(Some(&mut self.rack), now, min_rtt, echo);
        let oldest = self.send.oldest_unacked();
        let mut sorted = [SackBlock::default(); SackBlocks::CAPACITY];
        let count = blocks.as_slice().len();
        sorted[..count].copy_from_slice(blocks.as_slice());
        sorted[..count].sort_unstable_by_key(|block| block.left.distance_from(oldest));
        for &block in &sorted[..count] {
            let end = self.recovery.end();
            self.scoreboard
                .add(&mut self.queue, block, end, update, |sent| delivery.on_sacked(sent));
        }
        let delivered_at_sending = delivery.delivered_at_sending();
        if !self.fast_path.is_plain() {
            let latest_delivered = delivery.latest_delivered();
            self.note_latest_delivered(latest_delivered);
        }
        delivered_at_sending
    }

    fn note_reordering(&mut self, update: &SackUpdate) {
        let counts = self.recovery.state() != RecoveryState::Loss || self.undo.marker().is_some();
        if let Some(lowest) = update.reordered_from()
            && counts
        {
            let highest = self.highest_sacked();
            self.update_reordering(lowest, highest);
        }
    }

    /// Whether a block is valid (Linux `tcp_is_sackblock_valid`). A D-SACK may lie below the oldest
    /// unacknowledged number, back to the undo marker.
    fn is_sack_block_valid(&self, block: SackBlock, is_duplicate: bool) -> bool {
        let (oldest, next) = (self.send.oldest_unacked(), self.send.next());
        if block.right.is_after(next)
            || !block.left.is_before(block.right)
            || !block.left.is_before(next)
        {
            return false;
        }
        if block.left.is_after(oldest) {
            return true;
        }
        let Some(marker) = self.undo.marker().filter(|_| is_duplicate) else { return false };
        !block.right.is_after(oldest)
            && (!block.left.is_before(marker)
                || block.right.is_after(marker)
                    && !block.left.is_before(block.right - self.peer_window.largest()))
    }

    /// Whether the first block is a plausible D-SACK: it lies below the acknowledgment, or within the second
    /// block (RFC 2883 §4).
    fn check_dsack(
        &mut self,
        segment: &Segment,
        blocks: &SackBlocks,
        oldest_before: SequenceNumber,
        update: &mut SackUpdate,
    ) -> bool {
        let (first, second) = match blocks.as_slice() {
            [] => return false,
            [first] => (first, None),
            [first, second, ..] => (first, Some(second)),
        };
        let within = |outer: &SackBlock| {
            !first.right.is_after(outer.right) && !first.left.is_before(outer.left)
        };
        let reports = first.left.is_before(segment.acknowledgment) || second.is_some_and(within);
        if !reports {
            return false;
        }
        let duplicates = self.count_dsack_segments(*first, update);
        if duplicates == 0 {
            return false;
        }
        let undo = &mut self.undo;
        if let Some(marker) = undo.marker()
            && !first.right.is_after(oldest_before)
            && first.right.is_after(marker)
        {
            undo.on_dsack(duplicates);
        }
        true
    }

    /// Segments that a plausible D-SACK covers; 0 if there are more than were ever retransmitted.
    fn count_dsack_segments(&mut self, block: SackBlock, update: &mut SackUpdate) -> u32 {
        if !block.left.is_before(block.right) {
            return 0;
        }
        let bytes = block.right.distance_from(block.left);
        if bytes > self.peer_window.largest() || self.bundles.covers_dsack(block) {
            return 0;
        }
        let full = self.segment_bytes;
        let segments = bytes.div_ceil(full);
        let is_probe = bytes <= full && self.tail_probe.ends_at(block.right);
        update.note_probe(is_probe);
        self.stats.on_dsack(segments);
        if self.stats.has_more_dsacks_than_retransmissions() {
            return 0;
        }
        if self.reordering.is_seen() && !is_probe {
            self.rack.note_dsack();
        }
        update.count_dsack(segments);
        segments
    }

    /// Counts one spurious retransmission for each retransmitted outstanding segment in a D-SACK.
    #[cold]
    fn count_spurious_retransmissions(&mut self, block: SackBlock, update: &mut SackUpdate) {
        let mut buffer = 0..0;
        let mut retransmitted = false;
        for index in self.covered_by(block) {
            let sent = *self.queue.get(index);
            if !buffer.contains(&index) {
                buffer = self.queue.coalesced_around(index);
                retransmitted = self.queue.is_any_retransmitted(buffer.clone());
            }
            if !retransmitted {
                continue;
            }
            if self.undo.marker().is_some_and(|marker| sent.end().is_after(marker)) {
                self.undo.on_dsack(1);
            }
            if sent.flags().contains(SentFlags::SACKED) {
                update.note_reordered(sent.sequence());
            }
        }
    }

    /// Clears the RETRANSMITTED flag of the segments within a D-SACK.
    #[cold]
    fn clear_retransmissions_in(&mut self, block: SackBlock) {
        if !block.right.is_after(self.send.oldest_unacked()) {
            return;
        }
        for index in self.covered_by(block) {
            self.queue.clear_retransmitted(index);
        }
    }

    /// Absolute indices of the outstanding segments that lie wholly within a block.
    fn covered_by(&self, block: SackBlock) -> std::ops::Range<u64> {
        let mut start = self.queue.index_of(block.left);
        let end = self.queue.index_of(block.right);
        while start < end && self.queue.get(start).sequence().is_before(block.left) {
            start += 1;
        }
        start..end
    }
}
