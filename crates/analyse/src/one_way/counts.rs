//! Counters of a one-way flow: totals, first arrivals, and windows of time.

use super::transmission::Attempt;
use fairwind_measure::DefinitionLine;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

macro_rules! counts {
    ($($name:ident, $unit:literal, $definition:literal;)*) => {
        /// Counters of a one-way flow, or sums over a group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct OneWayCounts {
            $(#[doc = $definition] pub $name: u64,)*
        }

        impl OneWayCounts {
            /// Definitions of the counters as columns.
            pub(super) const DEFINITIONS: &[DefinitionLine] =
                &[$((stringify!($name), $unit, $definition),)*];

            /// The counters in the order of columns.
            pub(super) const COLUMNS: &[(&str, fn(&Self) -> u64)] =
                &[$((stringify!($name), |counts| counts.$name),)*];

            /// Adds the counters of another flow.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    packets_sent, "packets", "Packets of any kind in the direction of the flow's data, in the capture near their sender.";
    packets_received, "packets", "These packets in the capture near their receiver, copies included.";
    packets_lost, "packets", "Packets that left and of which nothing arrived within the loss wait of the settings. At the end of the captures a packet counts as lost if a later one arrived, or if the rest of the capture is longer than twice the longest delay.";
    packets_partly_lost, "packets", "Packets that the network card segmented on the way and of which a part arrived and a part was lost.";
    packets_unjudged, "packets", "Packets with an unknown fate: in flight when the captures ended, sent before the receiver's capture began, or acknowledged but missing in it.";
    packets_duplicated, "packets", "Packets that left once and arrived again: copies made by the network.";
    packets_departure_unseen, "packets", "Packets that arrived and are missing in the sender's capture.";
    packets_cut, "packets", "Packets that left as one and arrived as several: segmentation offload behind the sender's tap, or a device that segments on the way.";
    packets_merged, "packets", "Packets that left as several and arrived as one: receive offload before the receiver's tap, or a device that merges on the way.";
    data_packets_sent, "packets", "Packets with payload that left.";
    data_packets_received, "packets", "Packets with payload that arrived, copies included.";
    ack_packets_sent, "packets", "Packets without payload of the other direction, where they left: acknowledgments, and packets that set up or end the connection.";
    ack_packets_lost, "packets", "Of these, the ones that did not arrive.";
    wire_bytes_sent, "B", "Bytes on the link of the packets that left.";
    wire_bytes_lost, "B", "Bytes on the link of lost packets. If a packet was segmented on the way, each lost part counts with its header.";
    payload_bytes_sent, "B", "Payload bytes that left; sent = matched + lost + unjudged.";
    payload_bytes_received, "B", "Payload bytes that arrived; received = matched + duplicated + departure unseen.";
    payload_bytes_matched, "B", "Payload bytes that left and arrived.";
    payload_bytes_lost, "B", "Payload bytes that left and did not arrive, whether sent for the first time or again.";
    payload_bytes_unjudged, "B", "Payload bytes with an unknown fate.";
    payload_bytes_duplicated, "B", "Payload bytes that arrived more often than they left.";
    payload_bytes_departure_unseen, "B", "Payload bytes that arrived for the first time and are missing in the sender's capture.";
    payload_bytes_arrival_unseen, "B", "Payload bytes that the receiver acknowledged and that are missing in its capture.";
    ranges_received, "ranges", "Byte ranges of sent packets that arrived in one packet each: the packets that the network carried, independent of offload at the taps.";
    ranges_lost, "ranges", "Byte ranges of sent packets that did not arrive; a packet that is segmented on the way counts once for each segment.";
    ranges_unjudged, "ranges", "Byte ranges of sent packets with an unknown fate.";
    bundles_sent, "packets", "Packets that carry bytes sent before, ahead of new ones: redundant data bundling (RDB).";
    bundles_lost, "packets", "Of these, the ones that were lost.";
    bundle_hits, "packets", "Bundles with old bytes that had not arrived before, because the packet that carried them was lost or late.";
    bundle_misses, "packets", "Bundles with old bytes that had all arrived before.";
    bundled_bytes_sent, "B", "Old bytes in bundles.";
    bundled_bytes_hit, "B", "Old bytes that arrived first in a bundle.";
    bundled_bytes_missed, "B", "Old bytes in bundles that had arrived before.";
    redundant_bytes_sent, "B", "Bytes that had been sent before, in bundles and retransmissions.";
}

impl OneWayCounts {
    /// (Packets sent - packets received) by packets sent.
    #[expect(clippy::cast_precision_loss, reason = "a table's number needs no more than 53 bits")]
    pub(super) fn packet_balance(&self) -> Option<f64> {
        let (sent, received) = (self.packets_sent as f64, self.packets_received as f64);
        (self.packets_sent > 0).then(|| (sent - received) / sent)
    }
}

/// Retransmissions counted separately; later ones count with the last.
const REPEATS: usize = 8;

/// Ranges and bytes that arrived first in one kind of transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstArrival {
    /// Ranges.
    pub ranges: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl FirstArrival {
    const fn add(&mut self, other: Self) {
        self.ranges += other.ranges;
        self.bytes += other.bytes;
    }
}

/// First arrivals by kind of transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstArrivals {
    /// In the original packet.
    pub original: FirstArrival,
    /// As old bytes of a bundle (RDB).
    pub bundle: FirstArrival,
    /// In the first, second, ... retransmission; the last entry counts all later ones.
    pub retransmissions: [FirstArrival; REPEATS],
}

impl FirstArrivals {
    /// Counts a range of `bytes` that arrived first in `copy`, as new or old bytes of it.
    #[inline]
    pub(super) fn count(&mut self, copy: Attempt, is_new: bool, bytes: u64) {
        let came = match copy {
            Attempt::First if is_new => &mut self.original,
            Attempt::First => &mut self.bundle,
            Attempt::Again(repeat) => {
                let place = usize::from(repeat).clamp(1, REPEATS) - 1;
                &mut self.retransmissions[place]
            }
        };
        came.add(FirstArrival { ranges: 1, bytes });
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.original.add(other.original);
        self.bundle.add(other.bundle);
        for (sum, more) in self.retransmissions.iter_mut().zip(other.retransmissions) {
            sum.add(more);
        }
    }

    /// Each kind with its name and the number of the retransmission.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, Option<u64>, FirstArrival)> {
        let first = [("original", None, self.original), ("bundle", None, self.bundle)];
        let retransmitted = (1..).zip(self.retransmissions);
        let retransmitted =
            retransmitted.map(|(repeat, came)| ("retransmission", Some(repeat), came));
        first.into_iter().chain(retransmitted).filter(|(.., came)| came.ranges > 0)
    }
}

/// Departures and losses in one window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossWindow {
    /// Packets.
    pub packets_sent: u64,
    /// Payload bytes.
    pub bytes_sent: u64,
    /// Payload bytes that had been sent before.
    pub old_bytes_sent: u64,
    /// Ranges that arrived or were lost.
    pub ranges_sent: u64,
    /// Packets without any arrival.
    pub packets_lost: u64,
    /// Payload bytes that did not arrive.
    pub bytes_lost: u64,
    /// Of these, bytes that had been sent before.
    pub old_bytes_lost: u64,
    /// Ranges that did not arrive.
    pub ranges_lost: u64,
}

/// Limit of windows: more than a day without a pause, with windows of 100 ms.
const MOST: usize = 1 << 20;

/// A value for each window of time that has one.
///
/// A timestamp that leaps makes one more window, not millions: memory is bounded by packets, and by [`MOST`].
/// Cost: a comparison while instants stay within a window, otherwise a search.
#[derive(Debug, Clone)]
pub(super) struct Timeline<T> {
    pub(super) length: Span,
    most: usize,
    /// Index in `kept` of each window, by number.
    offsets: BTreeMap<u64, usize>,
    /// Values in the order of creation. After [`Self::most`] windows, one value for all others.
    kept: Vec<T>,
    /// The last window of each query kind.
    recent: [Recent; 2],
}

#[derive(Debug, Clone, Copy)]
struct Recent {
    from: Instant,
    to: Instant,
    place: usize,
}

/// Kind of a query; instants of each kind ascend mostly.
#[derive(Debug, Clone, Copy)]
pub(super) enum QueryKind {
    /// A departure.
    Departure,
    /// Its outcome: arrived or lost.
    Outcome,
}

impl<T: Default> Timeline<T> {
    pub(super) const fn new(length: Span) -> Self {
        Self::of_most(length, MOST)
    }

    const fn of_most(length: Span, most: usize) -> Self {
        let nothing = Recent { from: Instant::ZERO, to: Instant::ZERO, place: 0 };
        Self { length, most, offsets: BTreeMap::new(), kept: Vec::new(), recent: [nothing; 2] }
    }

    /// The value of the window of `at`; windows count from `origin`.
    #[inline]
    pub(super) fn at(&mut self, origin: Instant, at: Instant, query: QueryKind) -> &mut T {
        let recent = match query {
            QueryKind::Departure => 0,
            QueryKind::Outcome => 1,
        };
        let known = self.recent[recent];
        if !(known.from..known.to).contains(&at) {
            self.find(origin, at, recent);
        }
        &mut self.kept[self.recent[recent].place]
    }

    #[cold]
    fn find(&mut self, origin: Instant, at: Instant, recent: usize) {
        let length = self.length.as_nanos().max(1);
        let number = at.saturating_since(origin).as_nanos() / length;
        let place = self.offset_of(number);
        if place >= self.kept.len() {
            self.kept.resize_with(place + 1, T::default);
        }
        // The first window includes all earlier instants.
        let from = if number == 0 { Instant::ZERO } else { origin + self.length * number };
        let to = origin + self.length.saturating_mul(number.saturating_add(1));
        self.recent[recent] = Recent { from, to, place };
    }

    /// Index of a window, existing or new.
    fn offset_of(&mut self, number: u64) -> usize {
        let next = self.offsets.len();
        if next < self.most {
            return *self.offsets.entry(number).or_insert(next);
        }
        self.offsets.get(&number).copied().unwrap_or(self.most)
    }

    /// The windows with their numbers, in the order of time.
    pub(super) fn windows(&self) -> impl Iterator<Item = (u64, &T)> {
        self.offsets.iter().filter_map(|(&number, &place)| Some((number, self.kept.get(place)?)))
    }

    /// The value of windows beyond the limit.
    pub(super) fn beyond(&self) -> Option<&T> {
        self.kept.get(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Instant = Instant::from_secs(1_000);

    fn count(timeline: &mut Timeline<u64>, millis: u64) {
        let at = ORIGIN + Span::from_millis(millis);
        *timeline.at(ORIGIN, at, QueryKind::Departure) += 1;
    }

    fn lost_packets(timeline: &Timeline<u64>) -> Vec<(u64, u64)> {
        timeline.windows().map(|(number, &count)| (number, count)).collect()
    }

    #[test]
    fn windows_are_sorted_by_time() {
        let mut timeline = Timeline::new(Span::from_millis(100));
        for millis in [0, 99, 100, 950, 100, 0, 20_000_000_000, 949] {
            count(&mut timeline, millis);
        }
        assert_eq!(lost_packets(&timeline), [(0, 3), (1, 2), (9, 2), (200_000_000, 1)]);
        assert_eq!((timeline.kept.len(), timeline.beyond()), (4, None));
    }

    #[test]
    fn last_instants_of_clock_have_a_window() {
        let mut timeline = Timeline::<u64>::new(Span::from_nanos(1));
        for at in [Instant::MAX, Instant::MAX, Instant::ZERO] {
            *timeline.at(ORIGIN, at, QueryKind::Outcome) += 1;
        }
        let last = u64::MAX - ORIGIN.as_nanos();
        assert_eq!(lost_packets(&timeline), [(0, 1), (last, 2)]);
    }

    #[test]
    fn excess_windows_are_merged() {
        let mut timeline = Timeline::of_most(Span::from_millis(1), 3);
        for millis in [5, 1, 9, 4, 9, 7, 1] {
            count(&mut timeline, millis);
        }
        assert_eq!(lost_packets(&timeline), [(1, 2), (5, 1), (9, 2)]);
        assert_eq!(timeline.beyond(), Some(&2));
    }
}
