//! Floating-point formulas: means, rates, ranks and fairness. Everything else is counted in integers.

use fairwind_units::Span;

/// `count` as a real number; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a table's number needs no more than 53 bits")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// A sum of whole numbers as a real number; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a table's number needs no more than 53 bits")]
pub(crate) fn real_sum(sum: u128) -> f64 {
    sum as f64
}

/// `sum / count`, or `None` of nothing.
pub(crate) fn mean(sum: u128, count: u64) -> Option<f64> {
    (count > 0).then(|| real_sum(sum) / real(count))
}

/// `part / whole`; `None` if `whole` is zero.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| real(part) / real(whole))
}

/// Bits per second that `bytes` in `time` are, or `None` in no time.
pub(crate) fn bits_per_second(bytes: u64, time: Span) -> Option<f64> {
    (!time.is_zero()).then(|| real(bytes) * 8.0 / time.as_secs_f64())
}

/// Time-weighted mean of an amount; `weighted` is its sum over packets of (amount x nanoseconds).
pub(crate) fn time_weighted(weighted: u128, time: Span) -> Option<f64> {
    mean(weighted, time.as_nanos())
}

/// Nanoseconds as seconds.
pub fn seconds(nanos: u64) -> f64 {
    Span::from_nanos(nanos).as_secs_f64()
}

/// The rank, counted from 1, of the smallest of `count` samples that `percentile` per cent do not
/// exceed; `None` of nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is no more than the count, and above zero"
)]
pub(crate) fn rank(percentile: f64, count: u64) -> Option<u64> {
    // Percentiles are decimals and ranks of whole samples: what rounding adds must not make a rank more.
    let rank = percentile * real(count) / 100.0 * (1.0 - 4.0 * f64::EPSILON);
    (count > 0).then(|| (rank.ceil() as u64).clamp(1, count))
}

/// Shares of those who do not compete any more, in whole units: all that is kept of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shares {
    members: u64,
    sum: u128,
    squares: u128,
    smallest: u64,
    largest: u64,
}

impl Shares {
    /// Adds one share.
    pub(crate) fn add(&mut self, share: u64) {
        let square = u128::from(share) * u128::from(share);
        self.smallest = if self.members == 0 { share } else { self.smallest.min(share) };
        self.largest = self.largest.max(share);
        self.members += 1;
        self.sum = self.sum.saturating_add(u128::from(share));
        self.squares = self.squares.saturating_add(square);
    }
}

/// Fairness among some shares.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Fairness {
    /// How many compete.
    pub(crate) members: u64,
    /// The smallest share.
    pub(crate) minimum: Option<f64>,
    /// The largest share.
    pub(crate) maximum: Option<f64>,
    sum: f64,
    squares: f64,
}

impl Fairness {
    /// Fairness among `shares`, which are zero or more.
    pub(crate) fn among(shares: &[f64]) -> Self {
        Self {
            members: u64::try_from(shares.len()).unwrap_or(u64::MAX),
            minimum: shares.iter().copied().reduce(f64::min),
            maximum: shares.iter().copied().reduce(f64::max),
            sum: shares.iter().sum(),
            squares: shares.iter().map(|share| share * share).sum(),
        }
    }

    /// Fairness among those shares as well, each unit of which is `unit` here.
    pub(crate) fn and(mut self, others: &Shares, unit: f64) -> Self {
        if others.members > 0 {
            let (smallest, largest) = (real(others.smallest) * unit, real(others.largest) * unit);
            self.members += others.members;
            self.minimum = Some(self.minimum.map_or(smallest, |known| known.min(smallest)));
            self.maximum = Some(self.maximum.map_or(largest, |known| known.max(largest)));
            self.sum += real_sum(others.sum) * unit;
            self.squares += real_sum(others.squares) * unit * unit;
        }
        self
    }

    /// Jain's index; `None` if all shares are 0.
    pub(crate) fn jain_index(&self) -> Option<f64> {
        let members = real(self.members);
        (self.squares > 0.0).then(|| self.sum * self.sum / (members * self.squares))
    }

    /// The mean share; `None` without competitors.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.members > 0).then(|| self.sum / real(self.members))
    }

    /// The smallest share over the largest; `None` if all shares are 0.
    pub(crate) fn minimum_to_maximum(&self) -> Option<f64> {
        let (minimum, maximum) = self.minimum.zip(self.maximum)?;
        (maximum > 0.0).then(|| minimum / maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_is_exact_on_samples() {
        for count in (1..=400).chain([1_000, 123_000, 7_000_000, 3_000_000_000]) {
            for tenths in 1_u32..=1000 {
                let exact = (u64::from(tenths) * count).div_ceil(1000);
                assert_eq!(rank(f64::from(tenths) / 10.0, count), Some(exact), "{tenths} {count}");
            }
        }
    }

    #[test]
    fn equal_shares_have_index_one() {
        let fairness = Fairness::among(&[5.0; 4]);
        assert_eq!((fairness.jain_index(), fairness.minimum_to_maximum()), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn jain_index_of_one_of_four_is_quarter() {
        let fairness = Fairness::among(&[0.0, 8.0, 0.0, 0.0]);
        assert_eq!((fairness.jain_index(), fairness.minimum_to_maximum()), (Some(0.25), Some(0.0)));
    }

    #[test]
    fn jain_index_of_1_2_3_is_six_sevenths() {
        // (1 + 2 + 3)^2 / (3 x (1 + 4 + 9)) = 36 / 42
        let fairness = Fairness::among(&[1.0, 2.0, 3.0]);
        assert!((fairness.jain_index().unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert!((fairness.minimum_to_maximum().unwrap() - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn retired_flows_count_in_fairness() {
        let mut gone = Shares::default();
        gone.add(1);
        gone.add(3);
        // In units of a half: 0.5 and 1.5 beside 1, as one, three and two are.
        let fairness = Fairness::among(&[1.0]).and(&gone, 0.5);
        assert!((fairness.jain_index().unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!((fairness.minimum, fairness.maximum), (Some(0.5), Some(1.5)));
        assert_eq!((fairness.members, fairness.mean()), (3, Some(1.0)));
        assert_eq!(Fairness::among(&[2.0]).and(&Shares::default(), 1.0), Fairness::among(&[2.0]));
    }

    #[test]
    fn zero_goodput_has_no_jain_index() {
        let fairness = Fairness::among(&[0.0, 0.0]);
        assert_eq!((fairness.jain_index(), fairness.minimum_to_maximum()), (None, None));
        assert_eq!(Fairness::among(&[]).jain_index(), None);
    }
}
