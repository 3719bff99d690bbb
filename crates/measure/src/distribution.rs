//! A distribution in little memory: a histogram of two significant digits, exact extremes and sum.
//!
//! Quantiles come from the histogram and are at most 1/128 (0.8 %) above the sample that they stand
//! for, or half the resolution where that is more (512 ns for times: 1 us is the smallest that is told
//! apart). Mean, minimum, maximum and count are exact.
//!
//! Memory: nothing before the first sample, then the counters of the range in use.
//!
//! Cost per sample: one counter, one addition, two comparisons. The number of samples is counted when
//! it is asked for.

use crate::formula;
use crate::histogram::{Histogram, Slot};

/// Of times in nanoseconds, told apart down to a microsecond: units of 512 ns.
pub type Times = Distribution<9>;

/// Of whole numbers, exact up to 255.
pub type Counts = Distribution<0>;

/// What is known of a set of samples, in units of 2^`UNIT_BITS`.
///
/// ```
/// use fairwind_measure::Counts;
///
/// let mut sizes = Counts::new();
/// sizes.record(100);
/// sizes.record_many(200, 3);
/// assert_eq!((sizes.count(), sizes.mean()), (4, Some(175.0)));
/// assert_eq!([25.0, 26.0].map(|percentile| sizes.percentile(percentile)), [Some(100), Some(200)]);
/// ```
#[derive(Debug, Clone)]
pub struct Distribution<const UNIT_BITS: u32> {
    sum: u128,
    minimum: u64,
    maximum: u64,
    histogram: Histogram<UNIT_BITS>,
}

impl<const UNIT_BITS: u32> Distribution<UNIT_BITS> {
    /// Of no samples yet.
    pub fn new() -> Self {
        Self { sum: 0, minimum: u64::MAX, maximum: 0, histogram: Histogram::new() }
    }

    /// Adds every sample of `other`.
    pub fn add(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
        self.histogram.add(&other.histogram);
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.sum += u128::from(value);
        // Seldom the case, so that mostly nothing is stored.
        if value < self.minimum {
            self.minimum = value;
        }
        if value > self.maximum {
            self.maximum = value;
        }
        self.histogram.record(value);
    }

    /// Adds `weight` samples of `value` at once, or one of that weight: a latency counts for each of
    /// its bytes, say.
    pub fn record_many(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        self.sum = self.sum.saturating_add(u128::from(value) * u128::from(weight));
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
        self.histogram.record_many(value, weight);
    }

    /// The slots that are not empty, in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.histogram.slots()
    }

    /// Number of samples, counted over the slots.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Whether there are no samples.
    pub const fn is_empty(&self) -> bool {
        self.minimum > self.maximum
    }

    /// The smallest sample.
    pub fn minimum(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.minimum)
    }

    /// The largest sample.
    pub fn maximum(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.maximum)
    }

    /// The sum of the samples.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean of the samples, exact but for rounding.
    pub fn mean(&self) -> Option<f64> {
        formula::mean(self.sum, self.count())
    }

    /// The sample that `percentile` per cent of the samples do not exceed, above 0 and up to 100: at most
    /// 1/128 above it, and never outside the extremes. [`Summary`](crate::Summary) takes several at once.
    pub fn percentile(&self, percentile: f64) -> Option<u64> {
        let rank = formula::rank(percentile, self.count())?;
        self.values_of_ranks(&[rank]).first().copied()
    }

    /// The sample of each of `ranks`, which ascend from 1 to the number of samples, up to the width of
    /// its slot and never outside the extremes.
    pub(crate) fn values_of_ranks(&self, ranks: &[u64]) -> Vec<u64> {
        let mut values = self.histogram.values_of_ranks(ranks);
        for value in &mut values {
            *value = (*value).clamp(self.minimum, self.maximum);
        }
        values
    }
}

impl<const UNIT_BITS: u32> Default for Distribution<UNIT_BITS> {
    /// Of no samples.
    fn default() -> Self {
        Self::new()
    }
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
            let mut times = Times::new();
            let mut counts = Counts::new();
            for value in values.iter().map(|value| value >> shift) {
                times.record(value);
                counts.record(value);
                let has_value = |slot: &Slot| (slot.lower..slot.upper).contains(&value);
                let slot = times.slots().find(has_value).expect("the value has a slot");
                prop_assert!(slot.upper - slot.lower <= (value / 100).max(512));
                let slot = counts.slots().find(has_value).expect("the value has a slot");
                prop_assert!(slot.upper - slot.lower <= (value / 100).max(1));
            }
            let samples: u64 = times.slots().map(|slot| slot.count).sum();
            prop_assert_eq!(samples, times.count());
        }
    }

    #[test]
    fn more_samples_than_sixteen_bits_hold_are_kept_while_the_range_grows() {
        let few = 65_535;
        let mut times = Times::new();
        for _ in 0..few {
            times.record(5_000);
        }
        times.record(5_000);
        times.record(5_000_000_000);
        let counts: Vec<u64> = times.slots().map(|slot| slot.count).collect();
        assert_eq!(counts, [few + 1, 1]);
        let mut merged = Times::new();
        for part in [&times, &Times::new(), &times] {
            merged.add(part);
        }
        let counts: Vec<u64> = merged.slots().map(|slot| slot.count).collect();
        assert_eq!(counts, [2 * (few + 1), 2]);
        assert_eq!((merged.minimum(), merged.maximum()), (Some(5_000), Some(5_000_000_000)));
    }

    #[test]
    fn nothing_has_no_extremes() {
        let mut nothing = Times::new();
        nothing.add(&Times::new());
        nothing.record_many(5, 0);
        assert_eq!((nothing.minimum(), nothing.maximum()), (None, None));
        assert_eq!((nothing.sum(), nothing.count()), (0, 0));
    }
}
