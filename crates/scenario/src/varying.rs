//! A quantity that is the same each time, or is drawn anew from a distribution.

use fairwind_units::Ratio;
use serde::{Deserialize, Serialize};

/// A quantity that is constant, or drawn anew each time from a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Varying<T> {
    /// The same each time.
    Constant(T),
    /// Drawn anew each time.
    Drawn(Distribution<T>),
}

/// A distribution that quantities are drawn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution<T> {
    /// Every value between two bounds is equally likely.
    Uniform {
        /// Smallest value that is drawn.
        min: T,
        /// Largest value that is drawn.
        max: T,
    },
    /// The normal distribution; negative draws become zero.
    Normal {
        /// Mean.
        mean: T,
        /// Standard deviation.
        deviation: T,
    },
    /// The exponential distribution.
    Exponential {
        /// Mean.
        mean: T,
    },
    /// The Pareto distribution: a share `(min / x) ^ shape` of all draws is larger than `x`. No draw is
    /// larger than 2^50, which is a pebibyte or 13 days.
    Pareto {
        /// Smallest value that is drawn.
        min: T,
        /// How heavy the tail is: the smaller, the heavier. The mean is `min * shape / (shape - 1)`; with 1 or
        /// less it is infinite.
        #[schemars(range(min = 0.5, max = 100.0))]
        shape: f64,
    },
    /// A Pareto distribution of which only the part between two bounds is drawn.
    BoundedPareto {
        /// Smallest value that is drawn.
        min: T,
        /// Largest value that is drawn.
        max: T,
        /// How heavy the tail is: the smaller, the heavier.
        #[schemars(range(min = 0.01, max = 100.0))]
        shape: f64,
    },
    /// The lognormal distribution; values outside the bounds are drawn again.
    Lognormal {
        /// Mean, without bounds.
        mean: T,
        /// Standard deviation, without bounds.
        deviation: T,
        /// Smallest value that is drawn; default: no bound.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<T>,
        /// Largest value that is drawn; default: no bound.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<T>,
    },
    /// A distribution known by its quantiles: a measured one, for example.
    Empirical {
        /// The quantiles, from the smallest value (`0 %`) to the largest (`100 %`). Without a mean every
        /// value between two neighbours is equally likely.
        quantiles: Vec<Quantile<T>>,
        /// The mean, which determines the distribution between the quantiles.
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<T>,
    },
}

/// What a share of all draws does not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantile<T> {
    /// The share: `50 %` for the median.
    pub share: Ratio,
    /// The value.
    pub value: T,
}

impl<T: Copy + Ord> Varying<T> {
    /// Largest value that certainly occurs or may be drawn: `None` where there is no bound.
    pub fn largest(&self) -> Option<T> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Drawn(
                Distribution::Uniform { max, .. } | Distribution::BoundedPareto { max, .. },
            ) => Some(*max),
            Self::Drawn(Distribution::Lognormal { max, .. }) => *max,
            Self::Drawn(Distribution::Empirical { quantiles, .. }) => {
                quantiles.last().map(|last| last.value)
            }
            Self::Drawn(_) => None,
        }
    }

    /// The value itself, the lower bound, or the mean of a distribution without one; `None` for a table
    /// of quantiles without any.
    pub fn smallest_or_mean(&self) -> Option<T> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Drawn(
                Distribution::Uniform { min, .. }
                | Distribution::Pareto { min, .. }
                | Distribution::BoundedPareto { min, .. },
            ) => Some(*min),
            Self::Drawn(Distribution::Normal { mean, .. } | Distribution::Exponential { mean }) => {
                Some(*mean)
            }
            Self::Drawn(Distribution::Lognormal { mean, min, .. }) => Some(min.unwrap_or(*mean)),
            Self::Drawn(Distribution::Empirical { quantiles, .. }) => {
                quantiles.first().map(|first| first.value)
            }
        }
    }
}
