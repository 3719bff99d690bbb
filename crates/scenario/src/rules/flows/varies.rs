//! Rules about quantities that vary: their distribution is possible, and draws are large enough.

use crate::rules::Rules;
use crate::{Distribution, Quantile, Varying};
use fairwind_units::{ByteCount, Ratio, Span};
use std::fmt::Display;

/// A quantity that is drawn as a number.
pub(super) trait Number: Copy + Ord + Display {
    /// The number, in the unit that it is drawn in.
    fn number(self) -> u64;
    /// The quantity of this number.
    fn of(number: u64) -> Self;
}

impl Number for ByteCount {
    fn number(self) -> u64 {
        self.get()
    }
    fn of(number: u64) -> Self {
        Self::new(number)
    }
}

impl Number for Span {
    fn number(self) -> u64 {
        self.as_nanos()
    }
    fn of(number: u64) -> Self {
        Self::from_nanos(number)
    }
}

impl Number for u32 {
    fn number(self) -> u64 {
        self.into()
    }
    fn of(number: u64) -> Self {
        Self::try_from(number).unwrap_or(Self::MAX)
    }
}

/// A quantity is `least` or more, and its distribution is possible.
pub(super) fn varies<T: Number>(rules: &mut Rules<'_>, key: &str, varying: &Varying<T>, least: T) {
    let distribution = match varying {
        Varying::Constant(value) => return at_least(rules, key, *value, least),
        Varying::Drawn(distribution) => distribution,
    };
    let (min_key, max_key) = (format!("{key}.min"), format!("{key}.max"));
    match distribution {
        Distribution::Uniform { min, max } => {
            if in_order(rules, (&min_key, *min), (&max_key, *max)) {
                at_least(rules, &max_key, *max, least);
            }
        }
        Distribution::Normal { mean, .. } | Distribution::Exponential { mean } => {
            at_least(rules, &format!("{key}.mean"), *mean, least);
        }
        Distribution::Pareto { min, .. } => is_positive(rules, &min_key, *min),
        Distribution::BoundedPareto { min, max, .. } => {
            is_positive(rules, &min_key, *min);
            in_order(rules, (&min_key, *min), (&max_key, *max));
        }
        Distribution::Lognormal { mean, min, max, .. } => {
            is_positive(rules, &format!("{key}.mean"), *mean);
            let is_in_order = match (min, max) {
                (Some(min), Some(max)) => in_order(rules, (&min_key, *min), (&max_key, *max)),
                _ => true,
            };
            if let Some(max) = max.filter(|_| is_in_order) {
                at_least(rules, &max_key, max, least);
            }
        }
        Distribution::Empirical { quantiles, mean } => {
            let quantiles_key = format!("{key}.quantiles");
            if !rise(rules, &quantiles_key, quantiles) {
                return;
            }
            if let Some(mean) = mean {
                mean_is_possible(rules, key, quantiles, *mean);
            }
            // Smaller draws are made the least one; not all of them may be.
            if let Some((index, largest)) = quantiles.iter().enumerate().next_back() {
                at_least(rules, &format!("{quantiles_key}[{index}].value"), largest.value, least);
            }
        }
    }
}

fn at_least<T: Number>(rules: &mut Rules<'_>, key: &str, value: T, least: T) {
    if value < least {
        rules.broken(key, format!("it must be {least} or more"));
    }
}

fn is_positive<T: Number>(rules: &mut Rules<'_>, key: &str, value: T) {
    if value.number() == 0 {
        rules.broken(key, "it must be more than nothing");
    }
}

/// Whether the greatest value is no less than the least.
fn in_order<T: Number>(rules: &mut Rules<'_>, min: (&str, T), max: (&str, T)) -> bool {
    if max.1 < min.1 {
        rules.report(&[max.0, min.0], format!("it must be {} or more", min.1), None);
    }
    max.1 >= min.1
}

/// Whether quantiles go from the smallest value to the largest.
fn rise<T: Number>(rules: &mut Rules<'_>, key: &str, quantiles: &[Quantile<T>]) -> bool {
    let ends = [quantiles.first(), quantiles.last()].map(|end| end.map(|end| end.share));
    if quantiles.len() < 2 || ends != [Some(Ratio::ZERO), Some(Ratio::ONE)] {
        let hint = "the smallest value has the share \"0 %\", the largest \"100 %\"";
        let rule = "quantiles go from the smallest value to the largest";
        rules.broken_with_hint(&[key], rule, hint);
        return false;
    }
    for (index, pair) in quantiles.windows(2).enumerate() {
        let item = format!("{key}[{}]", index + 1);
        if pair[1].share <= pair[0].share {
            let rule = format!("it must be above the share before, {}", pair[0].share);
            rules.broken(&format!("{item}.share"), rule);
            return false;
        }
        if pair[1].value < pair[0].value {
            let rule = format!("it must be no less than the value before, {}", pair[0].value);
            rules.broken(&format!("{item}.value"), rule);
            return false;
        }
    }
    true
}

/// The mean lies between those of the two extremes: all draws as small, or as large, as the quantiles
/// allow.
fn mean_is_possible<T: Number>(
    rules: &mut Rules<'_>,
    key: &str,
    quantiles: &[Quantile<T>],
    mean: T,
) {
    let billion = u128::from(Ratio::ONE.as_parts_per_billion());
    let (mut smallest, mut largest) = (0, 0);
    for pair in quantiles.windows(2) {
        let share =
            u128::from(pair[1].share.as_parts_per_billion() - pair[0].share.as_parts_per_billion());
        smallest += share * u128::from(pair[0].value.number());
        largest += share * u128::from(pair[1].value.number());
    }
    let whole = u128::from(mean.number()) * billion;
    let is_possible = smallest < whole && whole < largest || smallest == whole && whole == largest;
    if !is_possible {
        let quantity = |number| T::of(u64::try_from(number).unwrap_or(u64::MAX));
        let rule = format!(
            "with these quantiles the mean lies between {} and {}",
            quantity(smallest / billion),
            quantity(largest.div_ceil(billion)),
        );
        rules.report(&[&format!("{key}.mean"), &format!("{key}.quantiles")], rule, None);
    }
}
