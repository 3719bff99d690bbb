//! Frequency of an event with correlated draws, as in netem.
//!
//! A draw is `x' = (1 - c) u + c x` with `u` uniform between 0 and 1 (tc-netem(8): "an approximation"), and what has the
//! probability `p` happens where `x < p`. Such an `x` gathers around 1/2, the more the larger `c`, so that it is below a
//! small `p` far less often than in `p` of the draws. With `F` the distribution of `x` and `G` its integral,
//!
//! ```text
//! F(x) = c / (1 - c) * (G(x / c) - G((x - 1 + c) / c))
//! ```
//!
//! which is solved by repetition on points at equal ratios, since it is small `x` that matter.

use fairwind_units::Ratio;

const POINTS: u32 = 1200;
const MOST_ROUNDS: u32 = 1000;

/// Distance below the probability at which the points begin: smaller values have no weight.
const DEPTH: f64 = 64.0;

/// Correlations above this leave nothing near the ends; the points would be too coarse for them.
const LARGEST: f64 = 0.99;

/// The share of the draws that are below `probability`.
pub(crate) fn share(probability: Ratio, correlation: Ratio) -> Ratio {
    let (p, c) = (fraction(probability), fraction(correlation));
    if c <= 0.0 || p <= 0.0 || p >= 1.0 {
        return probability;
    }
    // The distribution is symmetric about a half.
    let is_above = p > 0.5;
    let tail = if is_above { 1.0 - p } else { p };
    let below = if c > LARGEST { 0.0 } else { Distribution::solve(tail, c).below(tail) };
    let share = if is_above { 1.0 - below } else { below };
    nearest(share)
}

/// The nearest share, found by halving: there is no exact conversion of fractions to whole numbers.
fn nearest(share: f64) -> Ratio {
    let (mut low, mut high) = (0, Ratio::ONE.as_parts_per_billion());
    while low < high {
        let middle = low.midpoint(high);
        if fraction(Ratio::from_parts_per_billion(middle)) + 0.5e-9 < share {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ratio::from_parts_per_billion(low)
}

fn fraction(ratio: Ratio) -> f64 {
    ratio.as_f64()
}

/// The distribution of draws and its integral, at points of equal ratios up to 1.
struct Distribution {
    correlation: f64,
    points: Vec<f64>,
    integral: Vec<f64>,
}

impl Distribution {
    fn solve(tail: f64, correlation: f64) -> Self {
        let least = (tail / DEPTH).ln();
        let points = (0..=POINTS).map(|n| (least * (1.0 - f64::from(n) / f64::from(POINTS))).exp());
        let points: Vec<f64> = points.collect();
        // To begin with, as without correlation.
        let integral = points.iter().map(|x| x * x / 2.0).collect();
        let mut solution = Self { correlation, points, integral };
        for _ in 0..MOST_ROUNDS {
            if solution.refine() < 1e-9 {
                break;
            }
        }
        solution
    }

    /// Puts the distribution into its equation once; by how much the integral changes at most, relative to itself.
    fn refine(&mut self) -> f64 {
        let values: Vec<f64> = self.points.iter().map(|x| self.below(*x)).collect();
        let mut sum = 0.0;
        let mut integral = vec![0.0];
        for (x, f) in self.points.windows(2).zip(values.windows(2)) {
            sum += (x[1] - x[0]) * (f[0] + f[1]) / 2.0;
            integral.push(sum);
        }
        // The mean is 1/2 whatever the correlation, and so is the integral.
        let whole = sum.max(f64::MIN_POSITIVE) * 2.0;
        for value in &mut integral {
            *value /= whole;
        }
        let change = |(new, old): (&f64, &f64)| (new - old).abs() / new.max(f64::MIN_POSITIVE);
        let changes = integral.iter().zip(&self.integral).skip(1).map(change);
        let greatest = changes.fold(0.0, f64::max);
        self.integral = integral;
        greatest
    }

    /// The share of the draws below `x`.
    fn below(&self, x: f64) -> f64 {
        let c = self.correlation;
        let between = self.integral_to(x / c) - self.integral_to((x - 1.0 + c) / c);
        (between * c / (1.0 - c)).clamp(0.0, 1.0)
    }

    fn integral_to(&self, x: f64) -> f64 {
        if x >= 1.0 {
            return 0.5 + (x - 1.0);
        }
        let next = self.points.partition_point(|point| *point < x);
        let Some(before) = next.checked_sub(1) else { return 0.0 };
        let (low, high) = (self.points[before], self.points[next]);
        let (from, to) = (self.integral[before], self.integral[next]);
        from + (to - from) * (x - low) / (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of(probability: &str, correlation: &str) -> f64 {
        fraction(share(probability.parse().unwrap(), correlation.parse().unwrap()))
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 0.02, "{value} instead of {expected}");
    }

    #[test]
    fn correlated_ratio_uses_new_part_of_draw() {
        // Between c and 1 - c: (p - c / 2) / (1 - c).
        close(share_of("30 %", "10 %"), 0.25 / 0.9);
        close(share_of("50 %", "50 %"), 0.5);
        close(share_of("90 %", "10 %"), 0.85 / 0.9);
    }

    #[test]
    fn uncorrelated_ratio_is_unchanged() {
        close(share_of("2 %", "0 %"), 0.02);
        close(share_of("100 %", "25 %"), 1.0);
    }

    #[test]
    fn correlation_of_25_per_cent_reduces_loss() {
        // F(0.02) = G(0.08) / 3, and so on, on an even grid of 100 000 points, and six million draws by themselves had 0.005 %.
        close(share_of("2 %", "25 %"), 0.000_057_06);
    }
}
