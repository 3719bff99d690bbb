//! Outstanding data: a ring of adjacent ranges that are not acknowledged in order.
//!
//! Cost: new data is pushed at the end, acknowledged data popped at the front. Only retransmissions and SACK
//! blocks search for their range, by binary search. A range is split where a retransmission or a SACK block
//! begins or ends within it, so that segments joined by offload are distinguished as far as needed.
//!
//! Memory: 48 bytes per range, at most [`MOST_RANGES`].

use fairwind_measure::Ring;
use fairwind_units::Instant;
use std::ops::Range;

/// Limit of ranges; beyond it the oldest are dropped. A hundred megabytes in full-sized segments.
const MOST_RANGES: usize = 1 << 16;

/// Limit while nothing is acknowledged, as when only one direction was captured.
const MOST_UNANSWERED: usize = 1 << 10;

/// Limit beyond which ranges are not split: so many splits come from selective acknowledgments of single bytes,
/// not from losses.
const MOST_CUT: usize = 1 << 13;

/// A range of outstanding data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SentRange {
    /// Offset behind its last byte; it begins where the one before ends.
    pub(super) end: u64,
    /// First transmission seen.
    pub(super) first_at: Instant,
    /// Last transmission seen.
    pub(super) last_at: Instant,
    /// Timestamp of the last transmission (`TSval`), 0 without.
    pub(super) stamp: u32,
    /// IPv4 identification of the last transmission, 0 without.
    pub(super) identification: u16,
    /// Retransmissions.
    pub(super) repeats: u16,
    /// Full-sized packets in it.
    pub(super) packets: u16,
    /// Number of the last repair episode that retransmitted it, 0 for none.
    pub(super) episode: u16,
    /// Its marks.
    pub(super) marks: Marks,
}

impl SentRange {
    /// Whether it was sent once in a segment, and otherwise only in bundles.
    #[inline]
    pub(super) fn went_once_by_itself(&self) -> bool {
        self.repeats == 0 && self.marks == Marks::BUNDLED
    }
}

/// Marks of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks(u8);

impl Marks {
    /// Selectively acknowledged.
    pub(super) const SACKED: Self = Self(1);
    /// Not seen at the tap: lost by the capture, or on the path before the tap.
    pub(super) const MISSING: Self = Self(2);
    /// Sent in a bundle, too.
    pub(super) const BUNDLED: Self = Self(4);

    #[inline]
    pub(super) const fn contains(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    #[inline]
    pub(super) const fn set(&mut self, mark: Self) {
        self.0 |= mark.0;
    }

    #[inline]
    pub(super) const fn clear(&mut self, mark: Self) {
        self.0 &= !mark.0;
    }
}

/// Ring of outstanding ranges.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Outstanding {
    /// Where the oldest range begins.
    front: u64,
    /// Full-sized packets in all ranges.
    packets: u64,
    ring: Ring<SentRange>,
}

impl Outstanding {
    /// No outstanding data; the first range will begin at `offset`.
    pub(super) fn from_offset(offset: u64) -> Self {
        Self { front: offset, ring: Ring::new(), packets: 0 }
    }

    /// Packets outstanding, as if offload had joined none.
    #[inline]
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Ranges outstanding.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    #[inline]
    pub(super) fn oldest(&self) -> Option<&SentRange> {
        self.ring.front()
    }

    /// Prefetches the oldest range.
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        self.ring.first_place().map_or(0, |sent| sent.end)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&SentRange> {
        self.ring.get(index)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut SentRange> {
        self.ring.get_mut(index)
    }

    /// Where the range `index` begins.
    #[inline]
    pub(super) fn start_of(&self, index: usize) -> u64 {
        index
            .checked_sub(1)
            .and_then(|before| self.ring.get(before))
            .map_or(self.front, |sent| sent.end)
    }

    /// Drops all ranges; the next one begins at `offset`.
    pub(super) fn restart(&mut self, offset: u64) {
        self.ring.clear();
        self.packets = 0;
        self.front = offset;
    }

    /// Adds a range at the end. If that exceeds the limit, drops the oldest and returns the offset behind it.
    #[inline]
    pub(super) fn push(&mut self, sent: SentRange, has_acked_data: bool) -> Option<u64> {
        self.packets += u64::from(sent.packets);
        self.ring.push_back(sent);
        let most = if has_acked_data { MOST_RANGES } else { MOST_UNANSWERED };
        if self.ring.len() > most { self.forget_oldest() } else { None }
    }

    #[cold]
    fn forget_oldest(&mut self) -> Option<u64> {
        let oldest = *self.ring.front()?;
        self.ring.pop_front();
        self.packets = self.packets.saturating_sub(u64::from(oldest.packets));
        self.front = oldest.end;
        Some(oldest.end)
    }

    /// Removes ranges before `offset`; passes each with its beginning to `taken`.
    #[inline]
    pub(super) fn acknowledge(&mut self, offset: u64, mut taken: impl FnMut(u64, &SentRange)) {
        let Self { front, packets, ring } = self;
        let mut packets_taken = 0;
        ring.pop_front_while(|oldest| {
            if oldest.end > offset {
                return false;
            }
            taken(*front, oldest);
            *front = oldest.end;
            packets_taken += u64::from(oldest.packets);
            true
        });
        *packets = packets.saturating_sub(packets_taken);
        *front = (*front).max(offset);
    }

    /// Index of the range of `offset`; the number of ranges if it lies behind all.
    #[inline]
    pub(super) fn index_of(&self, offset: u64) -> usize {
        match self.ring.front() {
            Some(oldest) if offset < oldest.end => 0,
            _ => self.ring.partition_point(|sent| sent.end <= offset),
        }
    }

    /// The ranges from `start` to before `end`, split at both. Parts outside the ring are left out; so are
    /// partial ranges when there are too many to split.
    pub(super) fn isolate(&mut self, start: u64, end: u64) -> Range<usize> {
        if self.ring.len() >= MOST_CUT {
            return self.within(start, end);
        }
        let first = self.cut(start.max(self.front), 0);
        let behind = self.cut(end.max(self.front), first);
        first..behind.max(first)
    }

    /// Clears all SACK marks.
    pub(super) fn discard_sack(&mut self) {
        for index in 0..self.ring.len() {
            if let Some(sent) = self.ring.get_mut(index) {
                sent.marks.clear(Marks::SACKED);
            }
        }
    }

    /// Marks ranges as one packet: the sender has joined them (Linux `tcp_retrans_try_collapse`).
    pub(super) fn join(&mut self, range: &Range<usize>) {
        for index in range.clone() {
            if let Some(sent) = self.ring.get_mut(index) {
                let packets = u16::from(index == range.start);
                self.packets =
                    (self.packets + u64::from(packets)).saturating_sub(sent.packets.into());
                sent.packets = packets;
            }
        }
    }

    /// The ranges that lie completely within `start` to before `end`.
    #[cold]
    fn within(&self, start: u64, end: u64) -> Range<usize> {
        let around = self.index_of(start);
        let first = around + usize::from(self.start_of(around) < start);
        first..self.index_of(end).max(first)
    }

    /// The first range at or behind `offset`, after splitting the one it lies in. Often `near` ends there.
    fn cut(&mut self, offset: u64, near: usize) -> usize {
        let index = match self.ring.get(near) {
            Some(sent) if sent.end == offset => return near + 1,
            _ => self.index_of(offset),
        };
        let start = self.start_of(index);
        if start >= offset {
            return index;
        }
        let Some(whole) = self.ring.get_mut(index) else { return index };
        let before = whole.packets;
        let mut head = *whole;
        head.end = offset;
        head.packets = share(whole.packets, offset - start, whole.end - start);
        whole.packets = whole.packets.saturating_sub(head.packets).max(1);
        let parts = u64::from(head.packets) + u64::from(whole.packets);
        self.packets = (self.packets + parts).saturating_sub(u64::from(before));
        self.ring.insert(index, head);
        index + 1
    }
}

/// The share of `bytes` of `all` in `packets`, at least one.
fn share(packets: u16, bytes: u64, all: u64) -> u16 {
    let part = u64::from(packets) * bytes / all.max(1);
    u16::try_from(part).unwrap_or(u16::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of ten bytes each, from 0 on.
    fn ranges(many: usize) -> Outstanding {
        let mut outstanding = Outstanding::from_offset(0);
        for end in (10..).step_by(10).take(many) {
            outstanding.push(SentRange { end, packets: 1, ..SentRange::default() }, true);
        }
        outstanding
    }

    #[test]
    fn range_is_split_at_part_boundaries() {
        let mut outstanding = ranges(3);
        assert_eq!(outstanding.isolate(13, 17), 2..3);
        assert_eq!((outstanding.start_of(2), outstanding.ring.len()), (13, 5));
    }

    #[test]
    fn single_byte_sacks_keep_ranges_bounded() {
        let mut outstanding = ranges(100_000 / 10);
        for start in (1..99_000).step_by(3) {
            assert_eq!(outstanding.isolate(start, start + 1), {
                let place = usize::try_from(start.div_ceil(10)).unwrap();
                place..place
            });
        }
        assert_eq!(outstanding.ring.len(), 10_000);
        assert_eq!(outstanding.isolate(15, 40), 2..4);
        assert_eq!(outstanding.isolate(20, 45), 2..4);
        let mut few = ranges(4);
        for start in (0..40).step_by(2) {
            few.isolate(start, start + 1);
        }
        assert_eq!(few.ring.len(), 40);
    }
}
