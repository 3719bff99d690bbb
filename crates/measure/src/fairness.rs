//! How evenly a share is spread over those who compete.
//!
//! Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for
//! Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984: `(sum x)^2 / (n sum x^2)`, one
//! where all are equal and `1/n` where one has everything.

use crate::formula;

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
            let (smallest, largest) =
                (formula::real(others.smallest) * unit, formula::real(others.largest) * unit);
            self.members += others.members;
            self.minimum = Some(self.minimum.map_or(smallest, |known| known.min(smallest)));
            self.maximum = Some(self.maximum.map_or(largest, |known| known.max(largest)));
            self.sum += formula::real_sum(others.sum) * unit;
            self.squares += formula::real_sum(others.squares) * unit * unit;
        }
        self
    }

    /// Jain's index; `None` where nobody has anything.
    pub(crate) fn jain_index(&self) -> Option<f64> {
        let members = formula::real(self.members);
        (self.squares > 0.0).then(|| self.sum * self.sum / (members * self.squares))
    }

    /// The mean share; `None` where nobody competes.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.members > 0).then(|| self.sum / formula::real(self.members))
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
        assert_eq!((fairness.jain_index(), fairness.minimum_to_maximum()), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn one_of_four_with_everything_has_index_a_quarter() {
        let fairness = Fairness::among(&[0.0, 8.0, 0.0, 0.0]);
        assert_eq!((fairness.jain_index(), fairness.minimum_to_maximum()), (Some(0.25), Some(0.0)));
    }

    #[test]
    fn shares_of_one_two_three_have_index_six_sevenths() {
        // (1 + 2 + 3)^2 / (3 x (1 + 4 + 9)) = 36 / 42
        let fairness = Fairness::among(&[1.0, 2.0, 3.0]);
        assert!((fairness.jain_index().unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert!((fairness.minimum_to_maximum().unwrap() - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn who_competes_no_more_counts_as_those_who_do() {
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
    fn nobody_with_anything_has_no_index() {
        let fairness = Fairness::among(&[0.0, 0.0]);
        assert_eq!((fairness.jain_index(), fairness.minimum_to_maximum()), (None, None));
        assert_eq!(Fairness::among(&[]).jain_index(), None);
    }
}
