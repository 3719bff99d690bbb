//! Counters of a one-way flow: totals, first arrivals, and windows of time.

use super::transmission::Attempt;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters of one passage, or sums of them over a group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct OneWayCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl OneWayCounts {
            /// Adds the counters of another passage.
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
    /// Departures of which nothing arrived.
    packets_lost,
    /// Departures that were cut on the way, and of which a part arrived and a part was lost.
    packets_partly_lost,
    /// Departures of which nothing had arrived when nobody watched any more.
    packets_unjudged,
    /// Arrivals of packets that had arrived before.
    packets_duplicated,
    /// Arrivals whose departure is not in the sender's capture.
    packets_departure_unseen,
    /// Departures that arrived in more than one packet, or part by part.
    packets_cut,
    /// Arrivals that hold more than one departure.
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
    /// Bytes on the link of lost packets, or of the lost ones of those that a departure was cut into.
    wire_bytes_lost,
    /// Payload bytes of all departures.
    payload_bytes_sent,
    /// Payload bytes of all arrivals.
    payload_bytes_received,
    /// Payload bytes of departures that arrived.
    payload_bytes_matched,
    /// Payload bytes of departures that did not arrive.
    payload_bytes_lost,
    /// Payload bytes that had not arrived when nobody watched any more.
    payload_bytes_unjudged,
    /// Payload bytes of arrivals that had arrived before: copies that the network made.
    payload_bytes_duplicated,
    /// Payload bytes of arrivals whose departure is not in the sender's capture.
    payload_bytes_departure_unseen,
    /// Bytes that the receiver acknowledged, though the receiver's capture does not have them.
    payload_bytes_arrival_unseen,
    /// Stretches of departures that arrived in one packet each.
    ranges_received,
    /// Stretches of departures that did not arrive.
    ranges_lost,
    /// Stretches of departures of which nobody can know.
    ranges_unjudged,
    /// Departures that carried old bytes before new ones.
    bundles_sent,
    /// Bundles lost.
    bundles_lost,
    /// Bundles of which old bytes came by them first.
    bundle_hits,
    /// Bundles that arrived when all their old bytes had.
    bundle_misses,
    /// Old bytes in bundles.
    bundled_bytes_sent,
    /// Old bytes in bundles that came by them first.
    bundled_bytes_hit,
    /// Old bytes in bundles that arrived when they had arrived before.
    bundled_bytes_missed,
    /// Bytes that had been sent before, in any packet.
    redundant_bytes_sent,
}

/// Retransmissions that are told apart; later ones count as the last of them.
const REPEATS: usize = 8;

/// Ranges, and bytes in them, that came first by one kind of transmission.
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

/// By what transmission bytes came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstArrivals {
    /// By the packet in which they were sent first.
    pub original: FirstArrival,
    /// As the old bytes of a packet with new ones (RDB).
    pub bundle: FirstArrival,
    /// By the first, second, ... retransmission; the last place counts all later ones.
    pub retransmissions: [FirstArrival; REPEATS],
}

impl FirstArrivals {
    /// `bytes` in one range came first by `copy`, as new ones of it (`is_new`) or as old ones.
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

    /// Each kind with its name and what retransmission it is.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, Option<u64>, FirstArrival)> {
        let first = [("original", None, self.original), ("bundle", None, self.bundle)];
        let retransmitted = (1..).zip(self.retransmissions);
        let retransmitted =
            retransmitted.map(|(repeat, came)| ("retransmission", Some(repeat), came));
        first.into_iter().chain(retransmitted).filter(|(.., came)| came.ranges > 0)
    }
}

/// What departed in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossWindow {
    /// Packets.
    pub packets_sent: u64,
    /// Payload bytes.
    pub bytes_sent: u64,
    /// Payload bytes that had been sent before.
    pub old_bytes_sent: u64,
    /// Ranges whose fate is known.
    pub ranges_sent: u64,
    /// Packets of which nothing arrived.
    pub packets_lost: u64,
    /// Payload bytes that did not arrive.
    pub bytes_lost: u64,
    /// Those of them that had been sent before.
    pub old_bytes_lost: u64,
    /// Ranges that did not arrive.
    pub ranges_lost: u64,
}

/// Windows that are kept at most: with windows of 100 ms more than a day without a pause.
const MOST: usize = 1 << 20;

/// Windows of one length.
#[derive(Debug, Clone)]
pub(super) struct Timeline<T> {
    length: Span,
    most: usize,
    /// Where each window is kept, by its number.
    offsets: BTreeMap<u64, usize>,
    /// The windows in the order in which they came. Behind [`Self::most`] one for all that came later.
    kept: Vec<T>,
    /// The windows that were asked for last, of each occasion.
    recent: [Recent; 2],
}

#[derive(Debug, Clone, Copy)]
struct Recent {
    from: Instant,
    to: Instant,
    place: usize,
}

/// For what a window is asked for: instants of each of these go on with time.
#[derive(Debug, Clone, Copy)]
pub(super) enum QueryKind {
    /// Something departs.
    Departure,
    /// It becomes known what has become of it.
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

    /// The window of `at`; windows count from `origin`.
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
        // Nothing is before the first window.
        let from = if number == 0 { Instant::ZERO } else { origin + self.length * number };
        let to = origin + self.length.saturating_mul(number.saturating_add(1));
        self.recent[recent] = Recent { from, to, place };
    }

    /// Where the window is kept, or is to be.
    fn offset_of(&mut self, number: u64) -> usize {
        let next = self.offsets.len();
        if next < self.most {
            return *self.offsets.entry(number).or_insert(next);
        }
        self.offsets.get(&number).copied().unwrap_or(self.most)
    }

    /// The windows that are kept, in the order of time, each with its number.
    pub(super) fn windows(&self) -> impl Iterator<Item = (u64, &T)> {
        self.offsets.iter().filter_map(|(&number, &place)| Some((number, self.kept.get(place)?)))
    }

    /// What came in windows that are too many to be kept.
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
