//! What has arrived ahead of its turn, and the SACK blocks that report it (RFC 2018).

use crate::ranges::Ranges;
use fairwind_wire::{SackBlock, SackBlocks, SequenceNumber};

/// Received ranges above the next expected sequence number.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    ranges: Ranges,
    /// The ranges that grew last, the most recent first (RFC 2018 §4).
    recent: Vec<SackBlock>,
}

impl Reassembly {
    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds `left..right`, which lies above the next expected number.
    pub(crate) fn insert(&mut self, left: SequenceNumber, right: SequenceNumber) {
        let union = self.ranges.union_with(SackBlock { left, right });
        self.report_first(union.merged);
        self.ranges.join(&union);
    }

    /// Puts `merged` first among the reported ranges, in place of those that it swallowed.
    fn report_first(&mut self, merged: SackBlock) {
        self.recent.retain(|block| {
            block.right.is_before(merged.left) || block.left.is_after(merged.right)
        });
        self.recent.truncate(SackBlocks::CAPACITY - 1);
        self.recent.insert(0, merged);
    }

    /// Everything up to `next` has arrived: returns how far it now reaches without a hole.
    pub(crate) fn advance(&mut self, next: SequenceNumber) -> SequenceNumber {
        let mut reach = next;
        while let Some(front) = self.ranges.front() {
            if front.left.is_after(reach) {
                break;
            }
            reach = reach.later(front.right);
            self.ranges.pop_front();
        }
        self.recent.retain(|block| block.right.is_after(reach));
        reach
    }

    /// The blocks to report, at most `room` of them.
    #[inline]
    pub(crate) fn sack_blocks(&self, room: usize) -> SackBlocks {
        if self.recent.is_empty() {
            return SackBlocks::EMPTY;
        }
        self.recent.iter().take(room).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(left: u32, right: u32) -> SackBlock {
        SackBlock { left: SequenceNumber::new(left), right: SequenceNumber::new(right) }
    }

    fn insert(reassembly: &mut Reassembly, left: u32, right: u32) {
        reassembly.insert(SequenceNumber::new(left), SequenceNumber::new(right));
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
        assert_eq!(reassembly.advance(SequenceNumber::new(200)), SequenceNumber::new(500));
        assert!(reassembly.is_empty() && reassembly.sack_blocks(4).is_empty());
    }

    #[test]
    fn advancing_stops_at_the_next_hole_and_across_the_wrap() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, u32::MAX - 9, 10);
        insert(&mut reassembly, 20, 30);
        let reach = reassembly.advance(SequenceNumber::new(u32::MAX - 9));
        assert_eq!(reach, SequenceNumber::new(10));
        assert_eq!(reassembly.sack_blocks(4).as_slice(), [block(20, 30)]);
    }
}
