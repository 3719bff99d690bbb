//! Histogram with slots as wide as the values allow.
//!
//! Source: the logarithmic-linear slots of G. Tene's `HdrHistogram`. Up to 256 units each unit has its
//! own slot; behind that each doubling is cut into 128 slots of equal width, so that a slot is never
//! wider than 1/128 of the values in it. A slot's number needs a shift and the position of a bit.
//!
//! Memory: the counters between the smallest and the largest slot in use, with some room on both
//! sides: 256 bytes for each doubling between them while 16-bit counters suffice, then 1 kB.

/// Each doubling has 2^7 slots.
const DOUBLING_BITS: u32 = 7;

/// Slots of one doubling.
const DOUBLING_SLOTS: usize = 1 << DOUBLING_BITS;

/// Free slots that are made below a value that lies below all before it.
const ROOM_BELOW: usize = DOUBLING_SLOTS / 4;

/// Free slots that are made above a value that lies above all before it: latencies grow.
const ROOM_ABOVE: usize = DOUBLING_SLOTS;

/// Counters that are summed at once.
const STRETCH: usize = 16;

/// Counters that are looked at together for whether any of them has counted.
const SPARSE_STRETCH: usize = 32;

/// One slot of the histogram that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value that falls into it.
    pub lower: u64,
    /// Smallest value above it.
    pub upper: u64,
    /// Samples in it, or their weight.
    pub count: u64,
}

/// Counters of consecutive slots.
#[derive(Debug, Clone)]
enum Counters {
    Narrow(Box<[u16]>),
    Wide(Box<[u64]>),
}

/// A histogram with the unit 2^`UNIT_BITS`: no slot is narrower.
#[derive(Debug, Clone)]
pub(crate) struct Histogram<const UNIT_BITS: u32> {
    /// Number of the slot that the first counter belongs to.
    first: usize,
    counters: Counters,
}

impl<const UNIT_BITS: u32> Histogram<UNIT_BITS> {
    /// Of nothing yet.
    pub(crate) fn new() -> Self {
        Self { first: 0, counters: Counters::Narrow(Box::default()) }
    }

    /// Counts `value`.
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        let slot = slot_of(value >> UNIT_BITS);
        if !self.count_in(slot) {
            self.count_with_more_room(slot);
        }
    }

    /// Counts each of `values`.
    pub(crate) fn record_all(&mut self, mut values: &[u32]) {
        loop {
            let counted = self.count_first(values);
            let Some((&value, rest)) = values.get(counted..).and_then(<[u32]>::split_first) else {
                return;
            };
            self.count_with_more_room(slot_of(u64::from(value) >> UNIT_BITS));
            values = rest;
        }
    }

    /// Counts the first of `values`, as many as have a counter with room; gives how many these were.
    #[inline]
    fn count_first(&mut self, values: &[u32]) -> usize {
        let first = self.first;
        let places =
            values.iter().map(|&value| slot_of(u64::from(value) >> UNIT_BITS).wrapping_sub(first));
        match &mut self.counters {
            Counters::Narrow(counters) => {
                for (counted, place) in places.enumerate() {
                    match counters.get_mut(place) {
                        Some(counter) if *counter < u16::MAX => *counter += 1,
                        _ => return counted,
                    }
                }
            }
            Counters::Wide(counters) => {
                for (counted, place) in places.enumerate() {
                    let Some(counter) = counters.get_mut(place) else { return counted };
                    *counter += 1;
                }
            }
        }
        values.len()
    }

    /// Counts a value of `slot`; false where the slot has no counter, or one that is full.
    #[inline]
    fn count_in(&mut self, slot: usize) -> bool {
        let place = slot.wrapping_sub(self.first);
        match &mut self.counters {
            Counters::Narrow(counters) => {
                if let Some(counter) = counters.get_mut(place)
                    && *counter < u16::MAX
                {
                    *counter += 1;
                    return true;
                }
            }
            Counters::Wide(counters) => {
                if let Some(counter) = counters.get_mut(place) {
                    *counter += 1;
                    return true;
                }
            }
        }
        false
    }

    #[cold]
    fn count_with_more_room(&mut self, slot: usize) {
        if !self.make_room(slot) {
            self.widen();
        }
        let is_counted = self.count_in(slot);
        debug_assert!(is_counted, "the room was made for it");
    }

    /// Sees to it that `slot` has a counter; false where it has had one.
    fn make_room(&mut self, slot: usize) -> bool {
        let covered = self.first..self.first + self.len();
        if covered.contains(&slot) {
            return false;
        }
        if covered.is_empty() {
            self.cover(slot.saturating_sub(ROOM_BELOW), slot + ROOM_ABOVE);
        } else if slot < covered.start {
            self.cover(slot.saturating_sub(ROOM_BELOW), covered.end);
        } else {
            self.cover(covered.start, slot + ROOM_ABOVE);
        }
        true
    }

    /// Counters for the slots from `first` to before `end`, which include those there are.
    fn cover(&mut self, first: usize, end: usize) {
        let before = self.first.saturating_sub(first);
        self.first = first;
        match &mut self.counters {
            Counters::Narrow(counters) => *counters = within(counters, before, end - first),
            Counters::Wide(counters) => *counters = within(counters, before, end - first),
        }
    }

    fn widen(&mut self) {
        if let Counters::Narrow(counters) = &self.counters {
            self.counters = Counters::Wide(counters.iter().map(|&count| count.into()).collect());
        }
    }

    /// Counts `value` as often as `count` says.
    pub(crate) fn record_many(&mut self, value: u64, count: u64) {
        let slot = slot_of(value >> UNIT_BITS);
        self.make_room(slot);
        let place = slot - self.first;
        if let Counters::Narrow(counters) = &mut self.counters {
            let sum = u64::from(counters[place]).saturating_add(count);
            if let Ok(sum) = u16::try_from(sum) {
                counters[place] = sum;
                return;
            }
            self.widen();
        }
        if let Counters::Wide(counters) = &mut self.counters {
            counters[place] = counters[place].saturating_add(count);
        }
    }

    /// Counts everything that `other` has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        if other.len() == 0 {
            return;
        }
        let end = other.first + other.len();
        if self.len() == 0 {
            self.cover(other.first, end);
        } else if other.first < self.first || end > self.first + self.len() {
            self.cover(self.first.min(other.first), end.max(self.first + self.len()));
        }
        self.widen();
        if let Counters::Wide(sum) = &mut self.counters {
            let sum = &mut sum[other.first - self.first..];
            match &other.counters {
                Counters::Narrow(counters) => add_narrow(sum, counters),
                Counters::Wide(counters) => add_counters(sum, counters),
            }
        }
    }

    /// Number of values counted.
    pub(crate) fn count(&self) -> u64 {
        match &self.counters {
            Counters::Narrow(counters) => sum_narrow(counters),
            Counters::Wide(counters) => sum_wide(counters),
        }
    }

    /// The slots that are not empty, in ascending order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Bucket> {
        let (narrow, wide): (&[u16], &[u64]) = match &self.counters {
            Counters::Narrow(counters) => (counters, &[]),
            Counters::Wide(counters) => (&[], counters),
        };
        let counts = narrow.iter().map(|&count| u64::from(count)).chain(wide.iter().copied());
        (self.first..).zip(counts).filter(|&(_, count)| count > 0).map(|(slot, count)| Bucket {
            lower: Self::lower_bound(slot),
            upper: Self::lower_bound(slot + 1),
            count,
        })
    }

    /// For each of `ranks`, which ascend from 1 to the number of values, the largest value of the slot
    /// in which the value of that rank lies; the smallest value has rank 1. One pass over the slots.
    pub(crate) fn values_of_ranks(&self, ranks: &[u64]) -> Vec<u64> {
        let places = match &self.counters {
            Counters::Narrow(counters) => places_of_ranks(counters, ranks, sum_narrow),
            Counters::Wide(counters) => places_of_ranks(counters, ranks, sum_wide),
        };
        places.into_iter().map(|place| Self::lower_bound(self.first + place + 1) - 1).collect()
    }

    /// The largest value that falls into the slot of `value`.
    pub(crate) fn largest_alike(value: u64) -> u64 {
        Self::lower_bound(slot_of(value >> UNIT_BITS) + 1) - 1
    }

    /// The smallest value of `slot`; of the slot behind the last one, the largest value there is.
    fn lower_bound(slot: usize) -> u64 {
        let slot = u64::try_from(slot).expect("it was made of fewer bits");
        let doublings = (slot >> DOUBLING_BITS).saturating_sub(1);
        let units = u128::from(slot - (doublings << DOUBLING_BITS));
        let bound = units << (doublings + u64::from(UNIT_BITS));
        u64::try_from(bound).unwrap_or(u64::MAX)
    }

    const fn len(&self) -> usize {
        match &self.counters {
            Counters::Narrow(counters) => counters.len(),
            Counters::Wide(counters) => counters.len(),
        }
    }
}

/// The slot of a value of `units`: as many of its leading bits as tell 128 or more slots apart, behind
/// the slots of all smaller doublings.
#[inline]
fn slot_of(units: u64) -> usize {
    let doublings = (units | (1 << DOUBLING_BITS)).ilog2() - DOUBLING_BITS;
    let slot = (u64::from(doublings) << DOUBLING_BITS) + (units >> doublings);
    usize::try_from(slot).expect("64 doublings have some thousand slots")
}

/// `counters` with `before` empty ones before them, and as many behind as `length` leaves.
fn within<Count: Copy + Default>(counters: &[Count], before: usize, length: usize) -> Box<[Count]> {
    let mut more = vec![Count::default(); length];
    more[before..before + counters.len()].copy_from_slice(counters);
    more.into()
}

/// Adds counters of which most stretches are empty.
fn add_narrow(sum: &mut [u64], counters: &[u16]) {
    let (stretches, rest) = counters.as_chunks::<SPARSE_STRETCH>();
    let (sums, sum_of_rest) = sum.split_at_mut(stretches.len() * SPARSE_STRETCH);
    for (sum, stretch) in sums.chunks_exact_mut(SPARSE_STRETCH).zip(stretches) {
        if stretch.iter().fold(0, |bits, count| bits | count) != 0 {
            add_counters(sum, stretch);
        }
    }
    add_counters(sum_of_rest, rest);
}

fn add_counters<Count: Copy + Into<u64>>(sum: &mut [u64], counters: &[Count]) {
    for (sum, &count) in sum.iter_mut().zip(counters) {
        *sum = sum.saturating_add(count.into());
    }
}

fn sum_narrow(counters: &[u16]) -> u64 {
    // Some thousand counters of 16 bits add up to less than 2^32, and 32 bits are quicker to add; so are
    // stretches of known length.
    let (stretches, rest) = counters.as_chunks::<STRETCH>();
    let sum = |counters: &[u16]| counters.iter().map(|&count| u32::from(count)).sum::<u32>();
    u64::from(stretches.iter().map(|stretch| sum(stretch)).sum::<u32>() + sum(rest))
}

fn sum_wide(counters: &[u64]) -> u64 {
    counters.iter().fold(0, |sum, &count| sum.saturating_add(count))
}

/// The place of the counter in which each of the ascending `ranks` lies.
fn places_of_ranks<Count: Copy + Into<u64>>(
    counters: &[Count],
    ranks: &[u64],
    sum: impl Fn(&[Count]) -> u64,
) -> Vec<usize> {
    let mut places = Vec::with_capacity(ranks.len());
    let mut ranks = ranks.iter().copied().peekable();
    let mut counted: u64 = 0;
    for (stretch, first) in counters.chunks(STRETCH).zip((0..).step_by(STRETCH)) {
        // Most stretches hold none of the ranks, and a plain sum is quick.
        let behind = counted.saturating_add(sum(stretch));
        if ranks.peek().is_some_and(|&rank| rank <= behind) {
            for (place, &count) in (first..).zip(stretch) {
                counted = counted.saturating_add(count.into());
                while ranks.next_if(|&rank| rank <= counted).is_some() {
                    places.push(place);
                }
            }
        }
        counted = behind;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the library of the same design makes of `values`: its slots, and the values of `ranks`.
    fn reference<const UNIT_BITS: u32>(values: &[u64], ranks: &[u64]) -> (Vec<Bucket>, Vec<u64>) {
        let mut reference =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1 << UNIT_BITS, 1 << 60, 2).unwrap();
        for &value in values {
            reference.record(value).unwrap();
        }
        let slot = |value, count| Bucket {
            lower: reference.lowest_equivalent(value),
            upper: reference.next_non_equivalent(value),
            count,
        };
        let slots: Vec<Bucket> = reference
            .iter_recorded()
            .map(|step| slot(step.value_iterated_to(), step.count_since_last_iteration()))
            .collect();
        let mut ascending = values.to_vec();
        ascending.sort_unstable();
        let value_of = |&rank: &u64| {
            reference.highest_equivalent(ascending[usize::try_from(rank).unwrap() - 1])
        };
        let values = ranks.iter().map(value_of).collect();
        (slots, values)
    }

    fn histogram_of<const UNIT_BITS: u32>(values: &[u64]) -> Histogram<UNIT_BITS> {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record_many(value, 1);
        }
        histogram
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec((0_u64..1 << 56, 0_u32..56), 1..60)
            .prop_map(|pairs| pairs.into_iter().map(|(value, shift)| value >> shift).collect())
    }

    fn assert_is_as_the_reference<const UNIT_BITS: u32>(values: &[u64]) {
        let ranks: Vec<u64> = (1..=values.len() as u64).collect();
        let histogram = histogram_of::<UNIT_BITS>(values);
        let found = (histogram.slots().collect(), histogram.values_of_ranks(&ranks));
        assert_eq!(found, reference::<UNIT_BITS>(values, &ranks));
    }

    proptest! {
        #[test]
        fn histogram_matches_reference(values in values()) {
            assert_is_as_the_reference::<0>(&values);
            assert_is_as_the_reference::<1>(&values);
            assert_is_as_the_reference::<9>(&values);
        }

        #[test]
        fn adding_histograms_sums_counts(
            parts in proptest::collection::vec(values(), 0..4),
        ) {
            let histograms: Vec<_> = parts.iter().map(|part| histogram_of::<9>(part)).collect();
            let all = histogram_of::<9>(&parts.concat());
            let mut sum = Histogram::<9>::new();
            for histogram in &histograms {
                sum.add(histogram);
            }
            prop_assert!(sum.slots().eq(all.slots()));
        }

        #[test]
        fn bulk_count_equals_single_counts(
            values in proptest::collection::vec((0_u64..1 << 40, 0_u64..5), 0..40),
        ) {
            let mut at_once = Histogram::<9>::new();
            let mut often = Histogram::<9>::new();
            for (value, count) in values {
                at_once.record_many(value, count);
                (0..count).for_each(|_| often.record_many(value, 1));
            }
            prop_assert!(at_once.slots().eq(often.slots()));
        }
    }

    proptest! {
        #[test]
        fn batch_count_equals_single_counts(
            values in proptest::collection::vec((0..=u32::MAX, 0_u32..32), 0..200),
            // More than fit into a narrow counter.
            before in prop_oneof![Just(0), Just(70_000)],
        ) {
            let values: Vec<u32> = values.into_iter().map(|(value, shift)| value >> shift).collect();
            let mut together = Histogram::<9>::new();
            together.record_many(5_000, before);
            for _ in 0..400 {
                together.record_all(&values);
            }
            let mut singly = Histogram::<9>::new();
            singly.record_many(5_000, before);
            for &value in &values {
                singly.record_many(value.into(), 400);
            }
            prop_assert!(together.slots().eq(singly.slots()));
        }
    }

    #[test]
    fn largest_value_has_a_slot() {
        let histogram = histogram_of::<0>(&[u64::MAX]);
        let slots: Vec<Bucket> = histogram.slots().collect();
        let width = 1 << (64 - DOUBLING_BITS - 1);
        assert_eq!(slots, [Bucket { lower: u64::MAX - width + 1, upper: u64::MAX, count: 1 }]);
    }

    #[test]
    fn memory_covers_used_range_only() {
        // Two seconds in units of 512 ns are 14 doublings above the first 256 slots.
        let histogram = histogram_of::<9>(&[1_000_000_000, 2_000_000_000, 1_500_000_000]);
        assert!(histogram.len() <= 3 * DOUBLING_SLOTS, "{} slots", histogram.len());
        assert!(matches!(histogram.counters, Counters::Narrow(_)));
    }
}
