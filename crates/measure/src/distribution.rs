//! A distribution in little memory: a histogram of two significant digits, and exact extremes, sum
//! and count.
//!
//! Quantiles come from the histogram and are at most 1/128 (0.8 %) above the sample that they stand
//! for, or half the resolution where that is more (512 ns for times: 1 us is the smallest that is told
//! apart). Mean, minimum, maximum and count are exact.
//!
//! Memory: nothing before the first sample, then 256 bytes for each doubling of the range, that is
//! 4 kB up to a second. While a distribution has few samples, 16-bit counters are enough.
//!
//! Cost per sample: one histogram slot and four additions or comparisons.

use crate::formula;
use hdrhistogram::{Counter, Histogram};

/// As many samples as a 16-bit counter holds, were they all in one slot.
const FEW: u64 = 65_535;

const SIGNIFICANT_DIGITS: u8 = 2;

#[derive(Debug, Clone)]
enum Slots {
    None,
    Few(Histogram<u16>),
    Many(Histogram<u32>),
    Merged(Histogram<u64>),
}

/// What is known of a set of samples.
#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    count: u64,
    sum: u128,
    minimum: u64,
    maximum: u64,
    resolution: u64,
    slots: Slots,
}

/// One slot of the histogram that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Smallest value that falls into it.
    pub(crate) lower: u64,
    /// Smallest value above it.
    pub(crate) upper: u64,
    /// Samples in it.
    pub(crate) count: u64,
}

impl Distribution {
    /// Of times in nanoseconds, told apart down to a microsecond.
    pub(crate) const fn of_times() -> Self {
        Self::with_resolution(1_000)
    }

    /// Of whole numbers, exact up to 255.
    pub(crate) const fn of_counts() -> Self {
        Self::with_resolution(1)
    }

    const fn with_resolution(resolution: u64) -> Self {
        Self { count: 0, sum: 0, minimum: u64::MAX, maximum: 0, resolution, slots: Slots::None }
    }

    /// Every sample of `parts`, which are of times.
    pub(crate) fn merged_times(parts: &[&Self]) -> Self {
        let mut merged = Self::of_times();
        for part in parts {
            merged.count += part.count;
            merged.sum += part.sum;
            merged.minimum = merged.minimum.min(part.minimum);
            merged.maximum = merged.maximum.max(part.maximum);
        }
        let mut slots: Histogram<u64> = merged.copied(merged.maximum);
        for slot in parts.iter().flat_map(|part| part.slots()) {
            slots.record_n(slot.lower, slot.count).expect("it reaches up to the maximum");
        }
        if merged.count > 0 {
            merged.slots = Slots::Merged(slots);
        }
        merged
    }

    /// Adds one sample.
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
        let stored = match &mut self.slots {
            Slots::Few(few) if self.count <= FEW => few.record(value).is_ok(),
            Slots::Many(many) => many.record(value).is_ok(),
            _ => false,
        };
        if !stored {
            self.record_with_more_room(value);
        }
    }

    /// Makes the histogram long and wide enough for `value`, the newest sample, and stores it.
    #[cold]
    fn record_with_more_room(&mut self, value: u64) {
        // Twice what is needed now, so that a slowly growing value does not come here each time.
        let highest = self.maximum.saturating_mul(2);
        self.slots = match (&self.slots, self.count) {
            (Slots::Merged(_), _) => Slots::Merged(self.copied(highest)),
            (_, count) if count <= FEW => Slots::Few(self.copied(highest)),
            _ => Slots::Many(self.copied(highest)),
        };
        let stored = match &mut self.slots {
            Slots::None => false,
            Slots::Few(few) => few.record(value).is_ok(),
            Slots::Many(many) => many.record(value).is_ok(),
            Slots::Merged(merged) => merged.record(value).is_ok(),
        };
        debug_assert!(stored, "the new histogram covers the value that it was made for");
    }

    /// The slots as they are, in a histogram up to `highest`, with counters that hold them.
    fn copied<T: Counter + TryFrom<u64>>(&self, highest: u64) -> Histogram<T> {
        let highest = highest.max(self.resolution * 2);
        let mut copy = Histogram::new_with_bounds(self.resolution, highest, SIGNIFICANT_DIGITS)
            .expect("the bounds are at least a factor of two apart");
        for slot in self.slots() {
            let Ok(count) = T::try_from(slot.count) else {
                unreachable!("counters are chosen to hold every count");
            };
            copy.record_n(slot.lower, count).expect("the copy reaches at least as far");
        }
        copy
    }

    /// The slots that are not empty, in ascending order.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        match &self.slots {
            Slots::None => Vec::new(),
            Slots::Few(few) => slots_of(few),
            Slots::Many(many) => slots_of(many),
            Slots::Merged(merged) => slots_of(merged),
        }
    }

    /// Number of samples.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest sample.
    pub(crate) fn minimum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.minimum)
    }

    /// The largest sample.
    pub(crate) fn maximum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.maximum)
    }

    /// The mean, in the samples' unit.
    pub(crate) fn mean(&self) -> Option<f64> {
        formula::mean(self.sum, self.count)
    }

    /// The smallest value that at least `percentile` per cent of the samples do not exceed, up to the
    /// width of its slot and never outside the extremes.
    pub(crate) fn percentile(&self, percentile: f64) -> Option<u64> {
        let value = match &self.slots {
            Slots::None => return None,
            Slots::Few(few) => few.value_at_percentile(percentile),
            Slots::Many(many) => many.value_at_percentile(percentile),
            Slots::Merged(merged) => merged.value_at_percentile(percentile),
        };
        Some(value.clamp(self.minimum, self.maximum))
    }
}

fn slots_of<T: Counter>(histogram: &Histogram<T>) -> Vec<Slot> {
    histogram
        .iter_recorded()
        .map(|step| Slot {
            lower: histogram.lowest_equivalent(step.value_iterated_to()),
            upper: histogram.next_non_equivalent(step.value_iterated_to()),
            count: step.count_since_last_iteration(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_slot_is_narrower_than_a_hundredth_of_its_values(
            values in proptest::collection::vec(0_u64..1 << 45, 1..50), shift in 0_u32..45,
        ) {
            let mut times = Distribution::of_times();
            let mut counts = Distribution::of_counts();
            for value in values.iter().map(|value| value >> shift) {
                times.record(value);
                counts.record(value);
                let slot_of = |distribution: &Distribution| {
                    distribution.slots().into_iter().find(|slot| (slot.lower..slot.upper).contains(&value))
                };
                let slot = slot_of(&times).expect("the value has a slot");
                prop_assert!(slot.upper - slot.lower <= (value / 100).max(512));
                let slot = slot_of(&counts).expect("the value has a slot");
                prop_assert!(slot.upper - slot.lower <= (value / 100).max(1));
            }
            let samples: u64 = times.slots().iter().map(|slot| slot.count).sum();
            prop_assert_eq!(samples, times.count());
        }
    }

    #[test]
    fn more_samples_than_sixteen_bits_hold_are_kept_while_the_range_grows() {
        let mut times = Distribution::of_times();
        for _ in 0..FEW {
            times.record(5_000);
        }
        times.record(5_000);
        times.record(5_000_000_000);
        let counts: Vec<u64> = times.slots().iter().map(|slot| slot.count).collect();
        assert_eq!(counts, [FEW + 1, 1]);
        let merged = Distribution::merged_times(&[&times, &Distribution::of_times(), &times]);
        let counts: Vec<u64> = merged.slots().iter().map(|slot| slot.count).collect();
        assert_eq!(counts, [2 * (FEW + 1), 2]);
        assert_eq!((merged.minimum(), merged.maximum()), (Some(5_000), Some(5_000_000_000)));
    }

    #[test]
    fn nothing_has_no_extremes_no_mean_and_no_percentiles() {
        let nothing = Distribution::merged_times(&[&Distribution::of_times()]);
        assert_eq!((nothing.minimum(), nothing.maximum()), (None, None));
        assert_eq!((nothing.mean(), nothing.percentile(50.0)), (None, None));
    }
}
