//! What tables tell of a distribution: taken from it once, however many columns show it.

use crate::distribution::Distribution;
use crate::formula::{mean, rank, seconds};

/// The percentiles that some columns show, ascending.
pub(super) struct Percentiles(Vec<f64>);

impl Percentiles {
    /// These percentiles, in any order.
    pub(super) fn new(percentiles: impl IntoIterator<Item = f64>) -> Self {
        let mut ascending: Vec<f64> = percentiles.into_iter().collect();
        ascending.sort_by(f64::total_cmp);
        ascending.dedup();
        Self(ascending)
    }

    /// Where summaries that were taken with these percentiles have `percentile`.
    pub(super) fn place(&self, percentile: f64) -> Place {
        let found = self.0.iter().position(|known| known.total_cmp(&percentile).is_eq());
        Place(found.expect("columns show percentiles that were asked for"))
    }
}

/// The place of one percentile.
#[derive(Clone, Copy)]
pub(super) struct Place(usize);

/// One distribution, as it stands in a row.
pub(super) struct Summary {
    pub(super) count: u64,
    pub(super) minimum: Option<u64>,
    pub(super) mean: Option<f64>,
    pub(super) maximum: Option<u64>,
    /// For each percentile the smallest value that so many per cent of the samples do not exceed; none
    /// where there are no samples.
    values: Vec<u64>,
}

impl Summary {
    pub(super) fn of<const UNIT_BITS: u32>(
        distribution: &Distribution<UNIT_BITS>,
        percentiles: &Percentiles,
    ) -> Self {
        let count = distribution.count();
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
    pub(super) fn percentile(&self, place: Place) -> Option<u64> {
        self.values.get(place.0).copied()
    }

    /// The mean of times, in seconds.
    pub(super) fn mean_s(&self) -> Option<f64> {
        self.mean.map(|nanos| nanos / 1e9)
    }

    /// The percentile of times, in seconds.
    pub(super) fn percentile_s(&self, place: Place) -> Option<f64> {
        self.percentile(place).map(seconds)
    }

    /// The maximum of times, in seconds.
    pub(super) fn maximum_s(&self) -> Option<f64> {
        self.maximum.map(seconds)
    }
}
