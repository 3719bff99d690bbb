//! Disjoint ranges of sequence space, in order.

use fairwind_wire::{SackBlock, SequenceNumber};
use std::collections::VecDeque;
use std::ops::Range;

/// Disjoint ranges that do not touch, in sequence order.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    ranges: VecDeque<SackBlock>,
}

/// The ranges that a new block overlaps or touches, and their union with it.
#[derive(Debug)]
pub(crate) struct Union {
    /// Places of the ranges that become one.
    places: Range<usize>,
    merged: SackBlock,
}

impl Union {
    /// Places of the ranges that become one.
    pub(crate) fn places(&self) -> Range<usize> {
        self.places.clone()
    }

    pub(crate) fn merged(&self) -> SackBlock {
        self.merged
    }
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&SackBlock> {
        self.ranges.front()
    }

    pub(crate) fn back(&self) -> Option<&SackBlock> {
        self.ranges.back()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&SackBlock> {
        self.ranges.get(place)
    }

    pub(crate) fn pop_front(&mut self) {
        self.ranges.pop_front();
    }

    pub(crate) fn pop_back(&mut self) {
        self.ranges.pop_back();
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.right.distance_from(range.left))).sum()
    }

    /// The range that holds `sequence`.
    pub(crate) fn covering(&self, sequence: SequenceNumber) -> Option<&SackBlock> {
        let place = self.ranges.partition_point(|range| range.right.is_at_or_before(sequence));
        self.ranges.get(place).filter(|range| range.left.is_at_or_before(sequence))
    }

    /// The union of `block` with the ranges that it touches.
    pub(crate) fn union_with(&self, block: SackBlock) -> Union {
        let start = self.ranges.partition_point(|range| range.right.is_before(block.left));
        let end = self.ranges.partition_point(|range| range.left.is_at_or_before(block.right));
        let mut merged = block;
        if start < end {
            merged.left = block.left.earlier(self.ranges[start].left);
            merged.right = block.right.later(self.ranges[end - 1].right);
        }
        Union { places: start..end.max(start), merged }
    }

    pub(crate) fn join(&mut self, union: &Union) {
        let Range { start, end } = union.places.clone();
        if start == end {
            self.ranges.insert(start, union.merged);
            return;
        }
        self.ranges[start] = union.merged;
        if end - start > 1 {
            self.ranges.drain(start + 1..end);
        }
    }

    /// Forgets everything before `sequence`.
    pub(crate) fn forget_before(&mut self, sequence: SequenceNumber) {
        while let Some(front) = self.ranges.front_mut() {
            if front.right.is_after(sequence) {
                front.left = front.left.later(sequence);
                return;
            }
            self.ranges.pop_front();
        }
    }
}
