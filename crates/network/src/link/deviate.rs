//! By how much a delay differs from its mean.
//!
//! Source: tc-netem(8); the tables there hold quantiles in deviations from the mean, 8192 to one. Ours come from the
//! distributions' definitions.

use fairwind_qdisc::{Jitter, JitterDistribution};
use std::sync::OnceLock;

/// What counts as one deviation in a table.
const TABLE_SCALE: i128 = 8192;
/// Entries of our own tables.
const ENTRIES: u32 = 4096;
/// No entry of a table is further from the mean, in deviations: what 16 bits hold.
const FURTHEST: f64 = 4.0;
/// Shape of the Pareto distribution: the least whole number with a variance.
const SHAPE: f64 = 3.0;

/// A distribution of deviations.
pub(super) struct Deviate {
    deviation_nanos: i128,
    /// Quantiles at equal distances; none for the uniform distribution.
    table: Option<Vec<i32>>,
}

impl Deviate {
    pub(super) fn new(jitter: &Jitter) -> Self {
        let table = match jitter.distribution {
            JitterDistribution::Uniform => None,
            JitterDistribution::Normal => Some(Tables::get().normal.clone()),
            JitterDistribution::Pareto => Some(Tables::get().pareto.clone()),
            JitterDistribution::Paretonormal => Some(Tables::get().paretonormal.clone()),
            JitterDistribution::Table => Some(jitter.table.clone()),
        };
        Self { deviation_nanos: jitter.deviation.as_nanos().into(), table }
    }

    /// Nanoseconds to add to the mean for a uniform `draw`.
    pub(super) fn nanos(&self, draw: u32) -> i128 {
        match &self.table {
            None => ((i128::from(draw) * 2 * self.deviation_nanos) >> 32) - self.deviation_nanos,
            Some(table) => {
                let place = (u64::from(draw) * u64::try_from(table.len()).unwrap_or(1)) >> 32;
                let entry = usize::try_from(place).ok().and_then(|place| table.get(place));
                self.deviation_nanos * i128::from(entry.copied().unwrap_or(0)) / TABLE_SCALE
            }
        }
    }
}

/// The tables that have a name, made once.
struct Tables {
    normal: Vec<i32>,
    pareto: Vec<i32>,
    paretonormal: Vec<i32>,
}

impl Tables {
    fn get() -> &'static Self {
        static TABLES: OnceLock<Tables> = OnceLock::new();
        TABLES.get_or_init(Self::make)
    }

    fn make() -> Self {
        // Quantiles in the middles of equal shares.
        let shares = (0..ENTRIES).map(|entry| (f64::from(entry) + 0.5) / f64::from(ENTRIES));
        let (normal, pareto): (Vec<f64>, Vec<f64>) =
            shares.map(|share| (normal(share), pareto(share))).unzip();
        let pairs = normal.iter().zip(&pareto);
        let mixed: Vec<f64> = pairs.map(|(normal, pareto)| 0.25 * normal + 0.75 * pareto).collect();
        // A common factor gives the mix the deviation of one.
        let squares: f64 = mixed.iter().map(|value| value * value).sum();
        let deviation = (squares / f64::from(ENTRIES)).sqrt();
        let entries =
            |values: &[f64], scale: f64| values.iter().map(|v| entry(v / scale)).collect();
        Self {
            normal: entries(&normal, 1.0),
            pareto: entries(&pareto, 1.0),
            paretonormal: entries(&mixed, deviation),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "within four times 8192")]
fn entry(deviations: f64) -> i32 {
    (deviations.clamp(-FURTHEST, FURTHEST) * 8192.0).round() as i32
}

/// Quantile of Pareto's law with mean 0 and deviation 1.
fn pareto(share: f64) -> f64 {
    let mean = SHAPE / (SHAPE - 1.0);
    let variance = SHAPE / ((SHAPE - 1.0).powi(2) * (SHAPE - 2.0));
    ((1.0 - share).powf(-1.0 / SHAPE) - mean) / variance.sqrt()
}

/// Quantile of the standard normal distribution, by bisection of its distribution function: tables are made once.
fn normal(share: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_below(middle) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Share of the standard normal distribution below `x`, by the series of its density's integral.
fn normal_below(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && odd < 2000.0 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::{Ratio, Span};

    /// Mean, deviation and 95th percentile of a distribution, in milliseconds, with a deviation of 10 ms.
    fn moments(distribution: JitterDistribution) -> [f64; 3] {
        moments_of(distribution, Vec::new())
    }

    fn moments_of(distribution: JitterDistribution, table: Vec<i32>) -> [f64; 3] {
        let jitter = Jitter {
            deviation: Span::from_millis(10),
            distribution,
            table,
            correlation: Ratio::ZERO,
            keep_order: false,
        };
        let deviate = Deviate::new(&jitter);
        let draws: u32 = 1 << 16;
        let mut values: Vec<f64> = (0..draws)
            .map(|draw| i32::try_from(deviate.nanos(draw << 16)).map(f64::from).unwrap() / 1e6)
            .collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / f64::from(draws);
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        [mean, (variance / f64::from(draws)).sqrt(), values[62_259]]
    }

    fn assert_near(got: [f64; 3], expected: [f64; 3]) {
        for (got, expected) in got.into_iter().zip(expected) {
            assert!((got - expected).abs() < 0.15, "{got} of {expected}");
        }
    }

    #[test]
    fn uniform_jitter_is_even_between_its_bounds() {
        assert_near(moments(JitterDistribution::Uniform), [0.0, 10.0 / 3.0_f64.sqrt(), 9.0]);
    }

    #[test]
    fn normal_jitter_has_its_deviation_and_quantiles() {
        assert_near(moments(JitterDistribution::Normal), [0.0, 10.0, 16.45]);
        assert!((normal(0.975) - 1.959_964).abs() < 1e-6 && (normal(0.5)).abs() < 1e-9);
    }

    #[test]
    fn pareto_jitter_has_a_heavy_tail_that_the_table_ends() {
        // The 95th percentile of 1 / (1 - u)^(1/3) is 2.714; less 1.5 over 0.866 deviations.
        let [mean, deviation, high] = moments(JitterDistribution::Pareto);
        assert!((high - 14.02).abs() < 0.15, "{high}");
        // Cut off at four deviations: what lies beyond is 0.4 % of the packets.
        assert!((-0.8..=0.0).contains(&mean), "{mean}");
        assert!((7.0..10.0).contains(&deviation), "{deviation}");
    }

    #[test]
    fn a_recorded_table_is_taken_as_it_is() {
        let table = vec![-8192, 0, 8192, 16_384];
        let [mean, _, high] = moments_of(JitterDistribution::Table, table);
        assert!((mean - 5.0).abs() < 0.01 && (high - 20.0).abs() < 0.01);
    }
}
