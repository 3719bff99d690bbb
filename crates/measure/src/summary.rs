//! What tables tell of a distribution: taken from it once, however many columns show it.

use crate::distribution::Distribution;
use crate::formula::{mean, rank, seconds};

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

/// One distribution, as it stands in a row.
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
    /// For each percentile the smallest value that so many per cent of the samples do not exceed; none
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
            mean: mean(distribution.sum(), count),
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
    use crate::distribution::Counts;

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
