//! Counters of a one-way flow: totals, first arrivals, and windows of time.

use super::transmission::Attempt;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters of a one-way flow, or sums over a group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct OneWayCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl OneWayCounts {
            /// Adds the counters of another flow.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Packets that departed.
    packets_sent,
    /// Packets that arrived, copies included.
    packets_received,
    /// Departures without any arrival.
    packets_lost,
    /// Departures of which a part arrived and a part was lost.
    packets_partly_lost,
    /// Departures without arrival when the capture ended, or that nobody could see arrive.
    packets_unjudged,
    /// Arrivals of packets that had arrived before.
    packets_duplicated,
    /// Arrivals whose departure the sender's capture misses.
    packets_departure_unseen,
    /// Departures that arrived in several packets.
    packets_cut,
    /// Arrivals that hold several departures.
    packets_merged,
    /// Departures with payload.
    data_packets_sent,
    /// Arrivals with payload.
    data_packets_received,
    /// Departures without payload.
    ack_packets_sent,
    /// Of these, those that did not arrive.
    ack_packets_lost,
    /// Bytes on the link of all departures.
    wire_bytes_sent,
    /// Bytes on the link of lost packets, or of lost parts.
    wire_bytes_lost,
    /// Payload bytes of all departures.
    payload_bytes_sent,
    /// Payload bytes of all arrivals.
    payload_bytes_received,
    /// Payload bytes of departures that arrived.
    payload_bytes_matched,
    /// Payload bytes of departures that did not arrive.
    payload_bytes_lost,
    /// Payload bytes that may have arrived or not.
    payload_bytes_unjudged,
    /// Payload bytes that had arrived before: copies by the network.
    payload_bytes_duplicated,
    /// Payload bytes of arrivals whose departure the sender's capture misses.
    payload_bytes_departure_unseen,
    /// Bytes that the receiver acknowledged and its capture misses.
    payload_bytes_arrival_unseen,
    /// Parts of departures that arrived in one packet each.
    ranges_received,
    /// Parts of departures that did not arrive.
    ranges_lost,
    /// Parts of departures that may have arrived or not.
    ranges_unjudged,
    /// Departures with old bytes before new ones.
    bundles_sent,
    /// Bundles lost.
    bundles_lost,
    /// Bundles that delivered old bytes first.
    bundle_hits,
    /// Bundles whose old bytes had all arrived before.
    bundle_misses,
    /// Old bytes in bundles.
    bundled_bytes_sent,
    /// Old bytes that bundles delivered first.
    bundled_bytes_hit,
    /// Old bytes of bundles that had arrived before.
    bundled_bytes_missed,
    /// Bytes that had been sent before.
    redundant_bytes_sent,
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
    length: Span,
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

    pub(super) const fn length(&self) -> Span {
        self.length
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
    fn windows_come_in_the_order_of_time_whatever_order_they_were_asked_in() {
        let mut timeline = Timeline::new(Span::from_millis(100));
        for millis in [0, 99, 100, 950, 100, 0, 20_000_000_000, 949] {
            count(&mut timeline, millis);
        }
        assert_eq!(lost_packets(&timeline), [(0, 3), (1, 2), (9, 2), (200_000_000, 1)]);
        assert_eq!((timeline.kept.len(), timeline.beyond()), (4, None));
    }

    #[test]
    fn the_last_instants_that_a_clock_can_show_have_a_window() {
        let mut timeline = Timeline::<u64>::new(Span::from_nanos(1));
        for at in [Instant::MAX, Instant::MAX, Instant::ZERO] {
            *timeline.at(ORIGIN, at, QueryKind::Outcome) += 1;
        }
        let last = u64::MAX - ORIGIN.as_nanos();
        assert_eq!(lost_packets(&timeline), [(0, 1), (last, 2)]);
    }

    #[test]
    fn windows_that_are_too_many_are_counted_together() {
        let mut timeline = Timeline::of_most(Span::from_millis(1), 3);
        for millis in [5, 1, 9, 4, 9, 7, 1] {
            count(&mut timeline, millis);
        }
        assert_eq!(lost_packets(&timeline), [(1, 2), (5, 1), (9, 2)]);
        assert_eq!(timeline.beyond(), Some(&2));
    }
}
