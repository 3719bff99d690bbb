//! How evenly a share is spread over those who compete.
//!
//! Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for
//! Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984: `(sum x)^2 / (n sum x^2)`, one
//! where all are equal and `1/n` where one has everything.

use crate::formula;

/// Fairness among some shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fairness {
    /// How many compete.
    pub(crate) members: usize,
    /// Jain's index; `None` where nobody has anything.
    pub(crate) jain_index: Option<f64>,
    /// The smallest share.
    pub(crate) minimum: Option<f64>,
    /// The largest share.
    pub(crate) maximum: Option<f64>,
}

impl Fairness {
    /// Fairness among `shares`, which are zero or more.
    pub(crate) fn among(shares: &[f64]) -> Self {
        let sum: f64 = shares.iter().sum();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let members = formula::real(u64::try_from(shares.len()).unwrap_or(u64::MAX));
        Self {
            members: shares.len(),
            jain_index: (squares > 0.0).then(|| sum * sum / (members * squares)),
            minimum: shares.iter().copied().reduce(f64::min),
            maximum: shares.iter().copied().reduce(f64::max),
        }
    }

    /// The smallest share over the largest; `None` where nobody has anything.
    pub(crate) fn minimum_to_maximum(&self) -> Option<f64> {
        let (minimum, maximum) = self.minimum.zip(self.maximum)?;
        (maximum > 0.0).then(|| minimum / maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_have_index_one() {
        let fairness = Fairness::among(&[5.0; 4]);
        assert_eq!((fairness.jain_index, fairness.minimum_to_maximum()), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn one_of_four_with_everything_has_index_a_quarter() {
        let fairness = Fairness::among(&[0.0, 8.0, 0.0, 0.0]);
        assert_eq!((fairness.jain_index, fairness.minimum_to_maximum()), (Some(0.25), Some(0.0)));
    }

    #[test]
    fn shares_of_one_two_three_have_index_six_sevenths() {
        // (1 + 2 + 3)^2 / (3 x (1 + 4 + 9)) = 36 / 42
        let fairness = Fairness::among(&[1.0, 2.0, 3.0]);
        assert!((fairness.jain_index.unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert!((fairness.minimum_to_maximum().unwrap() - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn nobody_with_anything_has_no_index() {
        let fairness = Fairness::among(&[0.0, 0.0]);
        assert_eq!((fairness.jain_index, fairness.minimum_to_maximum()), (None, None));
        assert_eq!(Fairness::among(&[]).jain_index, None);
    }
}
