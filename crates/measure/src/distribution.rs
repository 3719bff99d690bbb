//! Distributions in little memory: a histogram of two significant digits, exact extremes and sum; and their summaries.
//!
//! Quantiles come from the histogram and are at most 1/128 (0.8 %) above the sample that they stand
//! for, or half the resolution where that is more (512 ns for times: 1 us is the smallest that is distinguished
//! apart). Mean, minimum, maximum and count are exact.
//!
//! Where distributions are many, samples may wait until there are so many that counting them at once pays
//! ([`Distribution::record_deferred`]): what a sample changes is then one line of memory, though the histogram and
//! what else is known lie outside the nearest caches. Readers take pending samples into account.
//!
//! Memory: 128 bytes, and as soon as samples have been counted the counters of the range in use.
//!
//! Cost per sample: one counter, one addition, two comparisons, and one store if it waits. The number of
//! samples is counted when it is asked for.

use crate::formula;
use crate::formula::{rank, seconds};
use crate::histogram::{Bucket, Histogram};
use std::borrow::Cow;

/// Of times in nanoseconds, with a resolution of a microsecond: units of 512 ns.
pub type Times = Distribution<9>;

/// Of whole numbers, exact up to 255.
pub type Counts = Distribution<0>;

/// Samples that wait at most: with their number they fill one line of memory.
const MOST_WAITING: usize = 15;

/// Summary of a set of samples, in units of 2^`UNIT_BITS`.
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
    waiting: PendingSamples,
    /// Of the samples that do not wait.
    counted: CountedSamples<UNIT_BITS>,
}

/// Samples that are not counted yet. Those that do not fit into 32 bits, 4.3 seconds for times, never wait.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
struct PendingSamples {
    count: u32,
    samples: [u32; MOST_WAITING],
}

/// Summary of counted samples.
#[derive(Debug, Clone)]
struct CountedSamples<const UNIT_BITS: u32> {
    sum: u128,
    minimum: u64,
    maximum: u64,
    histogram: Histogram<UNIT_BITS>,
}

impl PendingSamples {
    const NONE: Self = Self { count: 0, samples: [0; MOST_WAITING] };

    /// Takes a sample; false where there is no room for it.
    #[inline]
    fn take(&mut self, value: u64) -> bool {
        let place = usize::try_from(self.count).unwrap_or(MOST_WAITING);
        if let (Ok(value), Some(sample)) = (u32::try_from(value), self.samples.get_mut(place)) {
            *sample = value;
            self.count += 1;
            return true;
        }
        false
    }

    fn samples(&self) -> &[u32] {
        let count = usize::try_from(self.count).unwrap_or(MOST_WAITING);
        self.samples.get(..count).unwrap_or(&self.samples)
    }
}

impl<const UNIT_BITS: u32> CountedSamples<UNIT_BITS> {
    fn new() -> Self {
        Self { sum: 0, minimum: u64::MAX, maximum: 0, histogram: Histogram::new() }
    }

    fn add(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
        self.histogram.add(&other.histogram);
    }

    #[inline]
    fn record_one(&mut self, value: u64) {
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

    fn record(&mut self, value: u64, weight: u64) {
        self.sum = self.sum.saturating_add(u128::from(value) * u128::from(weight));
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
        self.histogram.record_many(value, weight);
    }

    #[inline]
    fn record_all(&mut self, samples: &[u32]) {
        let (mut sum, mut minimum, mut maximum) = (0, u32::MAX, 0);
        for &value in samples {
            sum += u64::from(value);
            minimum = minimum.min(value);
            maximum = maximum.max(value);
        }
        if !samples.is_empty() {
            self.sum = self.sum.saturating_add(sum.into());
            self.minimum = self.minimum.min(minimum.into());
            self.maximum = self.maximum.max(maximum.into());
            self.histogram.record_all(samples);
        }
    }
}

impl<const UNIT_BITS: u32> Distribution<UNIT_BITS> {
    /// Of no samples yet.
    pub fn new() -> Self {
        Self { waiting: PendingSamples::NONE, counted: CountedSamples::new() }
    }

    /// Prefetches the memory that the next sample changes.
    #[inline]
    pub const fn prefetch(&self) -> u32 {
        self.waiting.count
    }

    /// Adds every sample of `other`.
    pub fn add(&mut self, other: &Self) {
        self.counted.add(&other.counted);
        self.counted.record_all(other.waiting.samples());
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counted.record_one(value);
    }

    /// Adds one sample, which may wait to be counted: for one distribution of many, which is not near. Where it
    /// is near, [`record`](Self::record) takes less.
    #[inline]
    pub fn record_deferred(&mut self, value: u64) {
        if !self.waiting.take(value) {
            self.count_waiting_and(value);
        }
    }

    /// Counts what waits, and `value`.
    #[inline(never)]
    fn count_waiting_and(&mut self, value: u64) {
        match self.waiting.samples().try_into() {
            // Of a known number, which is quicker.
            Ok::<&[u32; MOST_WAITING], _>(samples) => self.counted.record_all(samples),
            Err(_) => self.counted.record_all(self.waiting.samples()),
        }
        self.waiting.count = 0;
        if !self.waiting.take(value) {
            self.counted.record_one(value);
        }
    }

    /// Adds `weight` samples of `value` at once, or one of that weight: a latency counts for each of
    /// its bytes, say.
    pub fn record_many(&mut self, value: u64, weight: u64) {
        if weight > 0 {
            self.counted.record(value, weight);
        }
    }

    /// The summary including pending samples.
    fn all(&self) -> Cow<'_, CountedSamples<UNIT_BITS>> {
        let waiting = self.waiting.samples();
        let mut all = Cow::Borrowed(&self.counted);
        if !waiting.is_empty() {
            all.to_mut().record_all(waiting);
        }
        all
    }

    /// The slots that are not empty, in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = Bucket> + use<UNIT_BITS> {
        self.all().histogram.slots().collect::<Vec<Bucket>>().into_iter()
    }

    /// Number of samples, counted over the slots.
    pub fn count(&self) -> u64 {
        self.counted.histogram.count() + u64::from(self.waiting.count)
    }

    /// Whether there are no samples.
    pub const fn is_empty(&self) -> bool {
        self.waiting.count == 0 && self.counted.minimum > self.counted.maximum
    }

    /// The smallest sample.
    pub fn minimum(&self) -> Option<u64> {
        let waiting = self.waiting.samples().iter().copied().min();
        let minimum = waiting.map_or(u64::MAX, u64::from).min(self.counted.minimum);
        (!self.is_empty()).then_some(minimum)
    }

    /// The largest sample.
    pub fn maximum(&self) -> Option<u64> {
        let waiting = self.waiting.samples().iter().copied().max();
        let maximum = waiting.map_or(0, u64::from).max(self.counted.maximum);
        (!self.is_empty()).then_some(maximum)
    }

    /// The largest sample that was counted since the last call, or 0; samples to come are compared with `from` on. The
    /// caller restores the overall maximum at the end.
    pub(crate) const fn swap_maximum(&mut self, from: u64) -> u64 {
        std::mem::replace(&mut self.counted.maximum, from)
    }

    /// The sum of the samples.
    pub fn sum(&self) -> u128 {
        let waiting: u64 = self.waiting.samples().iter().map(|&value| u64::from(value)).sum();
        self.counted.sum.saturating_add(waiting.into())
    }

    /// The mean of the samples, exact but for rounding.
    pub fn mean(&self) -> Option<f64> {
        formula::mean(self.sum(), self.count())
    }

    /// The sample that `percentile` per cent of the samples do not exceed, above 0 and up to 100: at most
    /// 1/128 above it, and never outside the extremes. [`Summary`](crate::Summary) takes several at once.
    pub fn percentile(&self, percentile: f64) -> Option<u64> {
        let rank = rank(percentile, self.count())?;
        self.values_of_ranks(&[rank]).first().copied()
    }

    /// The sample of each of `ranks`, which ascend from 1 to the number of samples, up to the width of
    /// its slot and never outside the extremes.
    pub(crate) fn values_of_ranks(&self, ranks: &[u64]) -> Vec<u64> {
        if self.counted.minimum > self.counted.maximum {
            return self.values_of_few(ranks);
        }
        let all = self.all();
        let mut values = all.histogram.values_of_ranks(ranks);
        for value in &mut values {
            *value = (*value).clamp(all.minimum, all.maximum);
        }
        values
    }

    /// The same where all samples wait, without a histogram: connections of a few packets are many.
    fn values_of_few(&self, ranks: &[u64]) -> Vec<u64> {
        let mut sorted = self.waiting.samples;
        let Some(sorted) = sorted.get_mut(..self.waiting.samples().len()) else {
            return Vec::new();
        };
        sorted.sort_unstable();
        let Some(&mut maximum) = sorted.last_mut() else { return Vec::new() };
        let sample = |&rank: &u64| {
            let place = usize::try_from(rank.saturating_sub(1)).ok()?;
            Some(u64::from(*sorted.get(place)?))
        };
        let largest_alike = Histogram::<UNIT_BITS>::largest_alike;
        ranks
            .iter()
            .filter_map(sample)
            .map(|value| largest_alike(value).min(maximum.into()))
            .collect()
    }
}

impl<const UNIT_BITS: u32> Default for Distribution<UNIT_BITS> {
    /// Of no samples.
    fn default() -> Self {
        Self::new()
    }
}

/// The percentiles that some columns show, ascending.
#[derive(Debug, Clone)]
pub struct Percentiles(Vec<f64>);

impl Percentiles {
    /// These percentiles, above 0 and up to 100, in any order.
    pub fn new(percentiles: impl IntoIterator<Item = f64>) -> Self {
        let mut ascending: Vec<f64> = percentiles.into_iter().collect();
        ascending.sort_by(f64::total_cmp);
        ascending.dedup();
        Self(ascending)
    }

    /// Where summaries that were taken with these percentiles have `percentile`.
    ///
    /// # Panics
    /// Where it is none of them.
    pub fn place(&self, percentile: f64) -> PercentileIndex {
        let found = self.0.iter().position(|known| known.total_cmp(&percentile).is_eq());
        PercentileIndex(found.expect("columns show percentiles that were asked for"))
    }
}

/// The place of one percentile.
#[derive(Debug, Clone, Copy)]
pub struct PercentileIndex(usize);

/// What percentiles are called in columns, before the unit: `p50`, `p99_9`.
pub fn percentile_name(percentile: f64) -> String {
    format!("p{percentile}").replace('.', "_")
}

/// Summary of a distribution in a table row.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Samples.
    pub count: u64,
    /// The smallest sample.
    pub minimum: Option<u64>,
    /// The mean of the samples.
    pub mean: Option<f64>,
    /// The largest sample.
    pub maximum: Option<u64>,
    /// For each percentile the smallest value that this share of the samples does not exceed; none
    /// where there are no samples.
    values: Vec<u64>,
}

impl Summary {
    /// What `distribution` is, with these percentiles.
    pub fn of<const UNIT_BITS: u32>(
        distribution: &Distribution<UNIT_BITS>,
        percentiles: &Percentiles,
    ) -> Self {
        let count = distribution.count();
        if count == 0 {
            return Self::default();
        }
        let ranks: Vec<u64> =
            percentiles.0.iter().filter_map(|&percentile| rank(percentile, count)).collect();
        Self {
            count,
            minimum: distribution.minimum(),
            mean: formula::mean(distribution.sum(), count),
            maximum: distribution.maximum(),
            values: distribution.values_of_ranks(&ranks),
        }
    }

    /// The value of the percentile at `place`; `None` where there are no samples.
    pub fn percentile(&self, place: PercentileIndex) -> Option<u64> {
        self.values.get(place.0).copied()
    }

    /// The smallest of times, in seconds.
    pub fn minimum_s(&self) -> Option<f64> {
        self.minimum.map(seconds)
    }

    /// The mean of times, in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        self.mean.map(|nanos| nanos / 1e9)
    }

    /// The percentile of times, in seconds.
    pub fn percentile_s(&self, place: PercentileIndex) -> Option<f64> {
        self.percentile(place).map(seconds)
    }

    /// The maximum of times, in seconds.
    pub fn maximum_s(&self) -> Option<f64> {
        self.maximum.map(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slot_width_is_below_one_per_cent(
            values in proptest::collection::vec(0_u64..1 << 45, 1..50), shift in 0_u32..45,
        ) {
            let mut times = Times::new();
            let mut counts = Counts::new();
            for value in values.iter().map(|value| value >> shift) {
                times.record(value);
                counts.record(value);
                let has_value = |slot: &Bucket| (slot.lower..slot.upper).contains(&value);
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
    fn counts_exceed_16_bits_while_range_grows() {
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

    proptest! {
        #[test]
        fn pending_samples_equal_counted_ones(
            samples in proptest::collection::vec(0_u64..1 << 34, 1..50), shift in 0_u32..34,
            are_late in proptest::collection::vec(proptest::bool::weighted(0.9), 50),
        ) {
            let mut sorted: Vec<u64> = samples.iter().map(|sample| sample >> shift).collect();
            let (mut times, mut histogram) = (Times::new(), Histogram::<9>::new());
            for (&sample, is_late) in sorted.iter().zip(are_late) {
                if is_late { times.record_deferred(sample) } else { times.record(sample) }
                histogram.record_many(sample, 1);
            }
            let count = u64::try_from(sorted.len()).unwrap();
            sorted.sort_unstable();
            let (minimum, maximum) = (sorted[0], sorted[sorted.len() - 1]);
            prop_assert_eq!((times.minimum(), times.maximum()), (Some(minimum), Some(maximum)));
            prop_assert_eq!(times.sum(), sorted.iter().map(|&sample| u128::from(sample)).sum());
            prop_assert_eq!((times.count(), times.is_empty()), (count, false));
            prop_assert!(times.slots().eq(histogram.slots()));
            let ranks: Vec<u64> = (1..=count).collect();
            let mut expected = histogram.values_of_ranks(&ranks);
            for value in &mut expected {
                *value = (*value).clamp(minimum, maximum);
            }
            prop_assert_eq!(times.values_of_ranks(&ranks), expected);
        }
    }

    #[test]
    fn a_sample_changes_one_line_of_memory() {
        assert_eq!((size_of::<PendingSamples>(), align_of::<PendingSamples>()), (64, 64));
        assert_eq!(size_of::<Times>(), 128);
    }

    #[test]
    fn empty_distribution_has_no_extremes() {
        let mut nothing = Times::new();
        nothing.add(&Times::new());
        nothing.record_many(5, 0);
        assert_eq!((nothing.minimum(), nothing.maximum()), (None, None));
        assert_eq!((nothing.sum(), nothing.count()), (0, 0));
    }

    #[test]
    fn a_summary_has_the_samples_of_its_ranks() {
        let mut counts = Counts::new();
        (1..=200).for_each(|value| counts.record(value));
        let percentiles = Percentiles::new([99.0, 0.5, 50.0]);
        let summary = Summary::of(&counts, &percentiles);
        let values = [0.5, 50.0, 99.0].map(|at| summary.percentile(percentiles.place(at)));
        assert_eq!(values, [Some(1), Some(100), Some(198)]);
        assert_eq!((summary.count, summary.mean), (200, Some(100.5)));
        assert_eq!((summary.minimum, summary.maximum), (Some(1), Some(200)));
    }

    #[test]
    fn names_of_percentiles_have_no_dot() {
        assert_eq!([50.0, 99.9].map(percentile_name), ["p50", "p99_9"]);
    }
}
