//! Which SACK blocks are believed, and what duplicate ones tell.
//!
//! Source: RFC 2018, RFC 2883; Linux `tcp_sacktag_write_queue`, `tcp_is_sackblock_valid`,
//! `tcp_check_dsack`, `tcp_dsack_seen`.

use super::Delivery;
use crate::sender::Sender;
use crate::sender::queue::Marks;
use crate::sender::scoreboard::SackUpdate;
use crate::state::RecoveryState;
use fairwind_units::Instant;
use fairwind_wire::{SackBlock, SackBlocks, Segment, SequenceNumber};

impl Sender {
    /// Takes the SACK blocks of a segment; `oldest_before` is what was unacknowledged before it.
    /// Returns what they told, and of the segment that was sent last of those they report: how many
    /// had been delivered before that.
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
        let mut believed = SackBlocks::EMPTY;
        let mut explained = None;
        for (place, &block) in (0..).zip(blocks.as_slice()) {
            let is_duplicate = place == 0 && duplicate;
            if !self.is_sack_block_valid(block, is_duplicate)
                || !block.right.is_after(oldest_before)
            {
                continue;
            }
            if is_duplicate {
                self.explain_repetitions(block, &mut update);
                explained = Some(block);
            }
            if block.right.is_after(self.send.oldest_unacked()) {
                believed.push(block);
            }
        }
        let delivered = self.mark_blocks(believed, &mut update, echo, now);
        if let Some(block) = explained {
            self.forget_repetitions(block);
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
        let least_rtt = self.rtt.minimum();
        let mut delivery = Delivery::new(Some(&mut self.rack), now, least_rtt, echo);
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
        let teaches = self.recovery.state() != RecoveryState::Loss || self.undo.from().is_some();
        if let Some(lowest) = update.reordered_from()
            && teaches
        {
            let highest = self.highest_sacked();
            self.update_reordering(lowest, highest);
        }
    }

    /// Whether a block can be true. The oldest unacknowledged segment is never reported, and a
    /// duplicate may lie below it as far back as the repair that may be taken back.
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
        let Some(from) = self.undo.from().filter(|_| is_duplicate) else { return false };
        !block.right.is_after(oldest)
            && (!block.left.is_before(from)
                || block.right.is_after(from)
                    && !block.left.is_before(block.right - self.peer_window.largest()))
    }

    /// The first block reports a duplicate if it lies below the acknowledgment, or within the second
    /// one (RFC 2883 §4). Returns whether it does, and is plausible.
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
        let repeated = self.count_repetitions(*first, update);
        if repeated == 0 {
            return false;
        }
        let undo = &mut self.undo;
        if let Some(from) = undo.from()
            && !first.right.is_after(oldest_before)
            && first.right.is_after(from)
        {
            undo.explain(repeated);
        }
        true
    }

    /// How many segments a plausible report covers: not more than were ever sent again.
    fn count_repetitions(&mut self, block: SackBlock, update: &mut SackUpdate) -> u32 {
        if !block.left.is_before(block.right) {
            return 0;
        }
        let bytes = block.right.distance_from(block.left);
        if bytes > self.peer_window.largest() || self.bundles.explain(block) {
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

    /// Outstanding segments that a report of a duplicate covers and that were sent again: one
    /// transmission of each is explained.
    #[cold]
    fn explain_repetitions(&mut self, block: SackBlock, update: &mut SackUpdate) {
        let mut buffer = 0..0;
        let mut repeated = false;
        for index in self.covered_by(block) {
            let sent = *self.queue.get(index);
            if !buffer.contains(&index) {
                buffer = self.queue.joined_around(index);
                repeated = self.queue.is_any_retransmitted(buffer.clone());
            }
            if !repeated {
                continue;
            }
            if self.undo.from().is_some_and(|from| sent.end().is_after(from)) {
                self.undo.explain(1);
            }
            if sent.marks().contains(Marks::SACKED) {
                update.note_reordered(sent.sequence());
            }
        }
    }

    /// Their retransmissions are not under way any more.
    #[cold]
    fn forget_repetitions(&mut self, block: SackBlock) {
        if !block.right.is_after(self.send.oldest_unacked()) {
            return;
        }
        for index in self.covered_by(block) {
            self.queue.forget_retransmission(index);
        }
    }

    /// Absolute indices of the outstanding segments wholly within a block.
    fn covered_by(&self, block: SackBlock) -> std::ops::Range<u64> {
        let mut start = self.queue.index_of(block.left);
        let end = self.queue.index_of(block.right);
        while start < end && self.queue.get(start).sequence().is_before(block.left) {
            start += 1;
        }
        start..end
    }
}
