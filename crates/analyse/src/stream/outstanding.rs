//! What was sent and is not acknowledged in order: a ring of ranges that touch each other.
//!
//! Cost: new data is pushed at the end, acknowledged data popped at the front. Only what is sent again,
//! and selective acknowledgments, look for their place by binary search. A range is cut where a
//! repetition or a selective acknowledgment begins or ends within it, so that segments which an offload
//! engine has joined are told apart as far as it matters.
//!
//! Memory: 48 bytes for each range, at most [`MOST_RANGES`] of them.

use fairwind_measure::Ring;
use fairwind_units::Instant;
use std::ops::Range;

/// More ranges are not kept; the oldest are forgotten. A hundred megabytes in full-sized segments.
const MOST_RANGES: usize = 1 << 16;

/// So many are kept while nobody acknowledges, as when only one direction was captured.
const MOST_UNANSWERED: usize = 1 << 10;

/// Where there are more ranges, none is cut: what cuts more of them is no loss of segments, but somebody who
/// acknowledges selectively byte by byte.
const MOST_CUT: usize = 1 << 13;

/// A range of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SentRange {
    /// Offset behind it; it begins where the one before it ends.
    pub(super) end: u64,
    /// When it was first seen.
    pub(super) first_at: Instant,
    /// When it was last seen.
    pub(super) last_at: Instant,
    /// Timestamp of the last transmission (`TSval`), 0 without.
    pub(super) stamp: u32,
    /// IPv4 identification of the last transmission, 0 without.
    pub(super) identification: u16,
    /// How often it was sent again.
    pub(super) repeats: u16,
    /// Packets of full size that it takes.
    pub(super) packets: u16,
    /// Number of the episode of repair in which it was last sent again, 0 for none.
    pub(super) episode: u16,
    /// What is known of it.
    pub(super) marks: Marks,
}

impl SentRange {
    /// It has gone by itself once, and in bundles since.
    #[inline]
    pub(super) fn went_once_by_itself(&self) -> bool {
        self.repeats == 0 && self.marks == Marks::BUNDLED
    }
}

/// What is known of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks(u8);

impl Marks {
    /// It was selectively acknowledged.
    pub(super) const SACKED: Self = Self(1);
    /// It was never seen: the capture, or the path before the tap, lost it.
    pub(super) const MISSING: Self = Self(2);
    /// It was sent in a bundle, too.
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

/// The ring.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Outstanding {
    /// Where the oldest range begins.
    front: u64,
    /// Packets of full size that all ranges take.
    packets: u64,
    ring: Ring<SentRange>,
}

impl Outstanding {
    /// Nothing is outstanding, and the first range will begin at `offset`.
    pub(super) fn from_offset(offset: u64) -> Self {
        Self { front: offset, ring: Ring::new(), packets: 0 }
    }

    /// Packets outstanding, had none been joined.
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

    /// Reads where the oldest range is, for whoever calls it in advance.
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

    /// Nothing is outstanding, and the next range begins at `offset`.
    pub(super) fn restart(&mut self, offset: u64) {
        self.ring.clear();
        self.packets = 0;
        self.front = offset;
    }

    /// Adds a range at the end. Where there is no room for it the oldest is forgotten, and the offset
    /// behind that is given.
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

    /// Takes off what lies before `offset`, and hands out each range that ends there with its beginning.
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

    /// The range in which `offset` lies; the number of ranges where it lies behind all.
    #[inline]
    pub(super) fn index_of(&self, offset: u64) -> usize {
        match self.ring.front() {
            Some(oldest) if offset < oldest.end => 0,
            _ => self.ring.partition_point(|sent| sent.end <= offset),
        }
    }

    /// The ranges from `start` to before `end`, cut where that lies within one. What lies outside the
    /// ring is left out; so is what lies partly within, where there are too many ranges to cut more.
    pub(super) fn isolate(&mut self, start: u64, end: u64) -> Range<usize> {
        if self.ring.len() >= MOST_CUT {
            return self.within(start, end);
        }
        let first = self.cut(start.max(self.front), 0);
        let behind = self.cut(end.max(self.front), first);
        first..behind.max(first)
    }

    /// Nothing counts as selectively acknowledged any more.
    pub(super) fn discard_sack(&mut self) {
        for index in 0..self.ring.len() {
            if let Some(sent) = self.ring.get_mut(index) {
                sent.marks.clear(Marks::SACKED);
            }
        }
    }

    /// The sender has joined what it had sent in several packets, so that it is one now (Linux
    /// `tcp_retrans_try_collapse`).
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

    /// The ranges that lie within `start` to before `end` as a whole.
    #[cold]
    fn within(&self, start: u64, end: u64) -> Range<usize> {
        let around = self.index_of(start);
        let first = around + usize::from(self.start_of(around) < start);
        first..self.index_of(end).max(first)
    }

    /// The first range that begins at `offset` or behind it, after cutting the one in which it lies; often the
    /// range `near` ends there.
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

/// The part of `packets` that `bytes` of `all` take, at least one.
fn share(packets: u16, bytes: u64, all: u64) -> u16 {
    let part = u64::from(packets) * bytes / all.max(1);
    u16::try_from(part).unwrap_or(u16::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many ranges of ten bytes, from 0 on.
    fn ranges(many: usize) -> Outstanding {
        let mut outstanding = Outstanding::from_offset(0);
        for end in (10..).step_by(10).take(many) {
            outstanding.push(SentRange { end, packets: 1, ..SentRange::default() }, true);
        }
        outstanding
    }

    #[test]
    fn a_range_is_cut_where_a_part_of_it_begins_and_ends() {
        let mut outstanding = ranges(3);
        assert_eq!(outstanding.isolate(13, 17), 2..3);
        assert_eq!((outstanding.start_of(2), outstanding.ring.len()), (13, 5));
    }

    #[test]
    fn selective_acknowledgments_of_single_bytes_make_no_more_and_more_ranges() {
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
