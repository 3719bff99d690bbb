//! Reassembly of out-of-order data, and the SACK blocks that report it (RFC 2018, RFC 2883).
//!
//! Source: Linux 6.18 `tcp_data_queue_ofo`, `tcp_ofo_queue`, `tcp_sack_new_ofo_skb`,
//! `tcp_sack_remove`, `tcp_dsack_set`, `tcp_dsack_extend`.

use crate::ranges::Ranges;
use fairwind_wire::{SackBlock, SackBlocks, SequenceNumber};
use std::collections::VecDeque;

/// Number of blocks that compressed acknowledgments may report (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

/// Received ranges above the next expected sequence number.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    ranges: Ranges,
    /// Bytes of memory that the packets of each range take.
    memory: VecDeque<u32>,
    /// Ranges by last growth, the most recent first (RFC 2018 §4).
    recent: Vec<SackBlock>,
    /// Duplicate data to report once by D-SACK.
    duplicate: Option<SackBlock>,
}

/// Result of inserting an out-of-order segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Insertion {
    /// The first part of it that was there already.
    duplicate: Option<SackBlock>,
    /// All of it was present: it is dropped.
    is_covered: bool,
}

/// Data that is no longer out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Advance {
    /// End of the data without a hole.
    reach: SequenceNumber,
    /// Bytes of memory of the packets in question.
    memory: u32,
    /// The part of the segment that was present before.
    duplicate: Option<SackBlock>,
}

impl Insertion {
    getters! {
        duplicate: Option<SackBlock>,
        is_covered: bool,
    }
}

impl Advance {
    getters! {
        reach: SequenceNumber,
        memory: u32,
        duplicate: Option<SackBlock>,
    }
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// End of the out-of-order data.
    pub(crate) fn end(&self) -> Option<SequenceNumber> {
        self.ranges.back().map(|range| range.right)
    }

    /// Adds `left..right`, which lies above the next expected number, in a packet of `memory` bytes
    /// of memory.
    pub(crate) fn insert(
        &mut self,
        left: SequenceNumber,
        right: SequenceNumber,
        memory: u32,
        whole_blocks: bool,
    ) -> Insertion {
        let block = SackBlock { left, right };
        let union = self.ranges.union_with(block);
        let mut insertion = Insertion { duplicate: None, is_covered: false };
        let places = union.places();
        for range in places.clone().filter_map(|place| self.ranges.get(place)) {
            let shared =
                SackBlock { left: left.later(range.left), right: right.earlier(range.right) };
            if shared.left.is_before(shared.right) && insertion.duplicate.is_none() {
                insertion.duplicate = Some(shared);
                insertion.is_covered = shared == block;
            }
        }
        self.report_first(if whole_blocks { union.merged() } else { block });
        if insertion.is_covered {
            return insertion;
        }
        let joined: u32 = self.memory.drain(places.clone()).sum();
        self.memory.insert(places.start, joined.saturating_add(memory));
        self.ranges.join(&union);
        insertion
    }

    /// Whether `block` needs an immediate report: it continues none of the two blocks reported first.
    /// The reported block that it continues, if any, already includes it (Linux
    /// `TCP_SACK_BLOCKS_EXPECTED`).
    pub(crate) fn is_unexpected(&mut self, block: SackBlock) -> bool {
        match self.recent.iter().position(|known| touches(*known, block)) {
            Some(place) => {
                self.recent[place] = joined(self.recent[place], block);
                place >= EXPECTED_BLOCKS
            }
            None => self.recent.len() >= EXPECTED_BLOCKS,
        }
    }

    /// Moves the reported block that `block` continues to the front, extended, or inserts `block`
    /// there.
    fn report_first(&mut self, block: SackBlock) {
        let mut first = block;
        if let Some(place) = self.recent.iter().position(|known| touches(*known, block)) {
            first = joined(self.recent.remove(place), block);
        }
        self.recent.retain(|known| {
            let part = touches(*known, first);
            if part {
                first = joined(*known, first);
            }
            !part
        });
        self.recent.truncate(SackBlocks::CAPACITY - 1);
        self.recent.insert(0, first);
    }

    /// Advances to `next`; the present segment begins at `before`.
    pub(crate) fn advance(&mut self, before: SequenceNumber, next: SequenceNumber) -> Advance {
        let mut advance = Advance { reach: next, memory: 0, duplicate: None };
        while let Some(front) = self.ranges.front().copied() {
            if front.left.is_after(advance.reach) {
                break;
            }
            let shared =
                SackBlock { left: front.left.later(before), right: front.right.earlier(next) };
            if shared.left.is_before(shared.right) && advance.duplicate.is_none() {
                advance.duplicate = Some(shared);
            }
            advance.reach = advance.reach.later(front.right);
            advance.memory += self.memory.pop_front().unwrap_or_default();
            self.ranges.pop_front();
        }
        let reach = advance.reach;
        if self.ranges.is_empty() {
            self.recent.clear();
        } else {
            self.recent.retain(|block| block.left.is_after(reach));
        }
        advance
    }

    /// Drops the furthest range above `sequence`; returns its memory. The dropped data is not
    /// reported any more (Linux `tcp_prune_ofo_queue`).
    #[cold]
    pub(crate) fn prune(&mut self, sequence: SequenceNumber) -> Option<u32> {
        let last = self.ranges.back()?;
        if sequence.is_after(last.left) {
            return None;
        }
        self.ranges.pop_back();
        self.recent.clear();
        self.memory.pop_back()
    }

    /// Forgets everything; returns the memory that it took.
    pub(crate) fn clear(&mut self) -> u32 {
        self.ranges.clear();
        self.recent.clear();
        self.memory.drain(..).sum()
    }

    /// Notes a duplicate for the next acknowledgment, or extends the noted one.
    pub(crate) fn note_duplicate(&mut self, block: SackBlock) {
        let noted = self.duplicate.get_or_insert(block);
        if touches(*noted, block) {
            *noted = joined(*noted, block);
        }
    }

    /// Start of the duplicate to report.
    #[inline]
    pub(crate) fn duplicate(&self) -> Option<SequenceNumber> {
        self.duplicate.map(|block| block.left)
    }

    /// Forgets the duplicate of the segment before.
    pub(crate) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    pub(crate) fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.recent.is_empty()
    }

    /// Blocks to report, a duplicate included.
    pub(crate) fn block_count(&self) -> usize {
        usize::from(self.duplicate.is_some()) + self.recent.len()
    }

    pub(crate) fn furthest_reported(&self) -> Option<SequenceNumber> {
        self.recent.iter().map(|block| block.right).reduce(SequenceNumber::later)
    }

    /// The blocks to report, at most `room`: a duplicate first, if there is one.
    pub(crate) fn sack_blocks(&self, room: usize) -> SackBlocks {
        self.duplicate.iter().chain(&self.recent).take(room).copied().collect()
    }
}

/// Whether two blocks overlap or follow each other.
fn touches(one: SackBlock, other: SackBlock) -> bool {
    one.left.is_at_or_before(other.right) && other.left.is_at_or_before(one.right)
}

fn joined(one: SackBlock, other: SackBlock) -> SackBlock {
    SackBlock { left: one.left.earlier(other.left), right: one.right.later(other.right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(left: u32, right: u32) -> SackBlock {
        SackBlock { left: SequenceNumber::new(left), right: SequenceNumber::new(right) }
    }

    fn insert(reassembly: &mut Reassembly, left: u32, right: u32) {
        reassembly.insert(SequenceNumber::new(left), SequenceNumber::new(right), 2304, true);
    }

    #[test]
    fn the_most_recent_block_is_reported_first() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, 200, 300);
        insert(&mut reassembly, 400, 500);
        insert(&mut reassembly, 600, 700);
        insert(&mut reassembly, 300, 350);
        let blocks = reassembly.sack_blocks(3);
        assert_eq!(blocks.as_slice(), [block(200, 350), block(600, 700), block(400, 500)]);
        assert_eq!(reassembly.sack_blocks(1).as_slice(), [block(200, 350)]);
    }

    #[test]
    fn a_filled_hole_joins_its_neighbours() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, 200, 300);
        insert(&mut reassembly, 400, 500);
        insert(&mut reassembly, 300, 400);
        assert_eq!(reassembly.sack_blocks(4).as_slice(), [block(200, 500)]);
        let advance = reassembly.advance(SequenceNumber::new(100), SequenceNumber::new(200));
        assert_eq!((advance.reach, advance.memory), (SequenceNumber::new(500), 3 * 2304));
        assert!(reassembly.is_empty() && reassembly.sack_blocks(4).is_empty());
    }

    #[test]
    fn advance_stops_at_next_hole_across_wrap() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, u32::MAX - 9, 10);
        insert(&mut reassembly, 20, 30);
        let next = SequenceNumber::new(u32::MAX - 9);
        assert_eq!(reassembly.advance(next - 10, next).reach, SequenceNumber::new(10));
        assert_eq!(reassembly.sack_blocks(4).as_slice(), [block(20, 30)]);
    }
}
