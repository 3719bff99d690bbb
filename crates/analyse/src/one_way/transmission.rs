//! Transmissions: packets with payload under way, their missing ranges, and the budget for searching them.

use fairwind_capture::Packet;
use fairwind_units::Instant;
use std::collections::BTreeMap;

/// Fields that distinguish the copies of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TransmissionMark {
    /// `TSval` (RFC 7323 §3.2).
    pub(super) stamp: Option<u32>,
    /// Identification of the IPv4 header.
    pub(super) identification: Option<u16>,
}

impl TransmissionMark {
    #[inline]
    pub(super) fn of(packet: &Packet) -> Self {
        Self {
            stamp: packet.segment.options.timestamps.map(|stamps| stamps.value),
            identification: packet.identification,
        }
    }

    /// Whether both have a time stamp, and different ones.
    #[inline]
    pub(super) fn differs_in_stamp(self, other: Self) -> bool {
        matches!((self.stamp, other.stamp), (Some(one), Some(two)) if one != two)
    }
}

/// Attempt at sending the bytes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Some bytes are new; old ones before them make it a bundle (RDB).
    First,
    /// All bytes are old: number of the retransmission.
    Again(u8),
}

/// A packet with payload, from its departure on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Offset from which on nothing has arrived.
    pub(super) arrived_to: u64,
    pub(super) at: Instant,
    /// Its number among the departures of its group at the tap.
    pub(super) ticket: u64,
    /// Its number among the transmissions of its flow.
    pub(super) order: u32,
    pub(super) wire_bytes: u32,
    /// Missing bytes before `arrived_to`.
    pub(super) gap_bytes: u32,
    /// Old bytes at its beginning.
    pub(super) old_bytes: u32,
    pub(super) mark: TransmissionMark,
    pub(super) copy: Attempt,
    /// Retransmissions of its new bytes.
    pub(super) repeats: u8,
    /// Its outcome is known; kept for the instant of the first sending.
    pub(super) is_settled: bool,
}

impl Transmission {
    /// Bytes that have not arrived.
    #[inline]
    pub(super) fn missing_bytes(&self) -> u64 {
        (self.end - self.arrived_to) + u64::from(self.gap_bytes)
    }

    /// Whether nothing of it has arrived.
    #[inline]
    pub(super) const fn is_untouched(&self) -> bool {
        self.arrived_to == self.start
    }

    #[inline]
    pub(super) const fn payload_bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Its first new byte.
    #[inline]
    pub(super) fn new_from(&self) -> u64 {
        self.start + u64::from(self.old_bytes)
    }

    /// Whether it carries old bytes before new ones.
    #[inline]
    pub(super) fn is_bundle(&self) -> bool {
        self.copy == Attempt::First && self.old_bytes > 0
    }
}

/// The part of a transmission that arrived in one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchedPiece {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The transmission before this arrival.
    pub(super) of: Transmission,
    /// Whether nothing of it is missing now.
    pub(super) is_whole: bool,
}

/// Loss of one transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) at: Instant,
    pub(super) ticket: u64,
    /// Offset of the first lost byte.
    pub(super) start: u64,
    /// Whether nothing of it arrived.
    pub(super) is_whole: bool,
    /// Lost bytes.
    pub(super) payload_bytes: u64,
    /// Of these, new ones.
    pub(super) new_bytes: u64,
    /// Packets in the network that carried them.
    pub(super) ranges: u64,
    /// Header bytes of each.
    pub(super) header_bytes: u64,
    /// Whether it is a bundle.
    pub(super) is_bundle: bool,
}

/// Missing ranges of all transmissions of a direction.
///
/// Cost: a search in a tree, however many ranges there are.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingRanges {
    /// End of each range, by the transmission's order and the first byte.
    ends: BTreeMap<(u32, u64), u64>,
}

impl MissingRanges {
    /// Adds a missing range of a transmission.
    pub(super) fn add(&mut self, order: u32, start: u64, end: u64) {
        if start < end {
            self.ends.insert((order, start), end);
        }
    }

    /// The missing range that holds the byte at `place`.
    pub(super) fn around(&self, order: u32, place: u64) -> Option<(u64, u64)> {
        let (&(_, start), &end) = self.ends.range((order, 0)..=(order, place)).next_back()?;
        (place < end).then_some((start, end))
    }

    /// The beginning of the first missing range behind `place`.
    pub(super) fn next_beginning(&self, order: u32, place: u64) -> Option<u64> {
        let from = (order, place.checked_add(1)?);
        self.ends.range(from..=(order, u64::MAX)).next().map(|(&(_, start), _)| start)
    }

    /// Removes bytes that lie within one missing range.
    pub(super) fn fill(&mut self, order: u32, start: u64, end: u64) {
        let Some(gap) = self.around(order, start).filter(|gap| end <= gap.1) else { return };
        self.ends.remove(&(order, gap.0));
        self.add(order, gap.0, start);
        self.add(order, end, gap.1);
    }

    /// Removes and passes the missing ranges of a transmission.
    pub(super) fn take(&mut self, order: u32, mut taken: impl FnMut(u64, u64)) {
        while let Some((&(order, start), &end)) =
            self.ends.range((order, 0)..=(order, u64::MAX)).next()
        {
            taken(start, end);
            self.ends.remove(&(order, start));
        }
    }
}

/// Search steps that a departure allows.
pub(super) const FOR_DEPARTURE: u32 = 1 << 12;
/// Search steps that a searched arrival allows.
pub(super) const FOR_SEARCH: u32 = 1 << 10;
/// Limit of steps: some ten milliseconds.
const MOST: u32 = 1 << 22;

/// Budget of search steps.
///
/// Captures can be made in which every arrival consists of many pieces of thousands of retransmissions. So each
/// packet adds some steps, and searches end when the budget is used up. Ordinary captures need a few steps per
/// packet, or a few hundred with many retransmissions under way.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchBudget {
    left: u32,
    /// Departures counted so far.
    paid: u32,
    /// Steps ever spent.
    #[cfg(test)]
    pub(super) spent: u64,
}

impl SearchBudget {
    /// A search begins after `departures` departures.
    pub(super) fn begin(&mut self, departures: u32) {
        let new = departures.wrapping_sub(self.paid);
        self.paid = departures;
        let earned = new.saturating_mul(FOR_DEPARTURE).saturating_add(FOR_SEARCH);
        self.left = self.left.saturating_add(earned).min(MOST);
    }

    /// Steps that are left.
    pub(super) fn left(&self) -> usize {
        usize::try_from(self.left).unwrap_or(usize::MAX)
    }

    /// Spends steps.
    pub(super) fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        #[cfg(test)]
        {
            self.spent += u64::try_from(steps).unwrap_or(u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps_of(gaps: &MissingRanges, order: u32) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        gaps.clone().take(order, |start, end| found.push((start, end)));
        found
    }

    #[test]
    fn gap_is_filled_from_either_end_or_split() {
        let mut gaps = MissingRanges::default();
        gaps.add(7, 100, 200);
        gaps.add(8, 0, 1_000);
        gaps.fill(7, 140, 160);
        assert_eq!(gaps_of(&gaps, 7), [(100, 140), (160, 200)]);
        gaps.fill(7, 100, 110);
        gaps.fill(7, 190, 200);
        gaps.fill(7, 110, 140);
        assert_eq!(gaps_of(&gaps, 7), [(160, 190)]);
        assert_eq!(gaps_of(&gaps, 8), [(0, 1_000)], "of another transmission");
    }

    #[test]
    fn missing_range_is_found_by_offset() {
        let mut gaps = MissingRanges::default();
        gaps.add(1, 100, 200);
        gaps.add(1, 300, 400);
        let around = [99, 100, 199, 200, 350].map(|place| gaps.around(1, place));
        assert_eq!(around, [None, Some((100, 200)), Some((100, 200)), None, Some((300, 400))]);
        let next = [0, 99, 100, 299, 300].map(|place| gaps.next_beginning(1, place));
        assert_eq!(next, [Some(100), Some(100), Some(300), Some(300), None]);
        assert_eq!((gaps.around(2, 150), gaps.next_beginning(u32::MAX, u64::MAX)), (None, None));
    }
}
