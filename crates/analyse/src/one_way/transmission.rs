//! Transmissions: packets with payload under way, their missing ranges, and the budget for searching them.

use fairwind_capture::Packet;
use fairwind_units::Instant;
use std::collections::BTreeMap;

/// What tells the copies of a range apart.
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

/// Which sending of its bytes a packet was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Some of its bytes are new; old ones before them are a bundle (RDB).
    First,
    /// All of its bytes had been sent before: their so manieth retransmission.
    Again(u8),
}

/// Bytes on their way, in stream places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) start: u64,
    pub(super) end: u64,
    /// From here on nothing of it has arrived.
    pub(super) arrived_to: u64,
    pub(super) at: Instant,
    /// Its number among the packets of its group that left at the same tap.
    pub(super) ticket: u64,
    /// Its number among the transmissions of its passage.
    pub(super) order: u32,
    pub(super) wire_bytes: u32,
    /// Bytes before `arrived_to` that have not arrived.
    pub(super) gap_bytes: u32,
    /// Bytes at its beginning that had been sent before.
    pub(super) old_bytes: u32,
    pub(super) mark: TransmissionMark,
    pub(super) copy: Attempt,
    /// How often its new bytes were sent again.
    pub(super) repeats: u8,
    /// Its fate is known; it is kept for the instant at which its bytes were first sent.
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

    /// The first of its bytes that had not been sent before.
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

/// What has come of one transmission in one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchedPiece {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The transmission, as it was when this came.
    pub(super) of: Transmission,
    /// Nothing of the transmission is missing now.
    pub(super) is_whole: bool,
}

/// What one transmission has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) at: Instant,
    pub(super) ticket: u64,
    /// Place of the first byte that did not arrive.
    pub(super) start: u64,
    /// Nothing of it arrived.
    pub(super) is_whole: bool,
    /// Bytes that did not arrive.
    pub(super) payload_bytes: u64,
    /// Those of them that had not been sent before.
    pub(super) new_bytes: u64,
    /// Into how many packets the network had cut them.
    pub(super) ranges: u64,
    /// What each of these had beside its payload.
    pub(super) header_bytes: u64,
    /// It is a bundle, whose old bytes were lost with it.
    pub(super) is_bundle: bool,
}

/// The gaps of all transmissions of a direction.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingRanges {
    /// Behind the last byte, by the transmission's order and the first byte.
    ends: BTreeMap<(u32, u64), u64>,
}

impl MissingRanges {
    /// A gap of the transmission `order`, which has none there yet.
    pub(super) fn add(&mut self, order: u32, start: u64, end: u64) {
        if start < end {
            self.ends.insert((order, start), end);
        }
    }

    /// The gap of a transmission in which the byte at `offset_of` is missing: its first byte, and behind its last.
    pub(super) fn around(&self, order: u32, place: u64) -> Option<(u64, u64)> {
        let (&(_, start), &end) = self.ends.range((order, 0)..=(order, place)).next_back()?;
        (place < end).then_some((start, end))
    }

    /// Where the first gap of a transmission begins behind `offset_of`.
    pub(super) fn next_beginning(&self, order: u32, place: u64) -> Option<u64> {
        let from = (order, place.checked_add(1)?);
        self.ends.range(from..=(order, u64::MAX)).next().map(|(&(_, start), _)| start)
    }

    /// Bytes have come that lie within one gap.
    pub(super) fn fill(&mut self, order: u32, start: u64, end: u64) {
        let Some(gap) = self.around(order, start).filter(|gap| end <= gap.1) else { return };
        self.ends.remove(&(order, gap.0));
        self.add(order, gap.0, start);
        self.add(order, end, gap.1);
    }

    /// Takes the gaps of a transmission out, in the order of their bytes.
    pub(super) fn take(&mut self, order: u32, mut taken: impl FnMut(u64, u64)) {
        while let Some((&(order, start), &end)) =
            self.ends.range((order, 0)..=(order, u64::MAX)).next()
        {
            taken(start, end);
            self.ends.remove(&(order, start));
        }
    }
}

/// Steps that a departure pays for.
pub(super) const FOR_DEPARTURE: u32 = 1 << 12;
/// Steps that an arrival which is searched for pays for.
pub(super) const FOR_SEARCH: u32 = 1 << 10;
/// Steps that can be saved up: some ten milliseconds.
const MOST: u32 = 1 << 22;

/// The steps that are left.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchBudget {
    left: u32,
    /// How many departures have paid.
    paid: u32,
    /// All that was ever spent.
    #[cfg(test)]
    pub(super) spent: u64,
}

impl SearchBudget {
    /// A search begins, after so many departures.
    pub(super) fn begin(&mut self, departures: u32) {
        let new = departures.wrapping_sub(self.paid);
        self.paid = departures;
        let earned = new.saturating_mul(FOR_DEPARTURE).saturating_add(FOR_SEARCH);
        self.left = self.left.saturating_add(earned).min(MOST);
    }

    /// The steps that may still be taken.
    pub(super) fn left(&self) -> usize {
        usize::try_from(self.left).unwrap_or(usize::MAX)
    }

    /// So many steps were taken.
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
    fn a_gap_is_filled_from_either_end_or_cut_in_two() {
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
    fn what_is_missing_is_found_by_its_place() {
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
