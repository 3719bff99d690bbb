//! A quantity that is the same each time, or is drawn anew from a distribution.

use serde::{Deserialize, Serialize};

/// A quantity that is constant, or drawn anew each time from a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Varying<T> {
    /// The same each time.
    Constant(T),
    /// Drawn anew each time.
    Drawn(Distribution<T>),
}

/// A distribution that quantities are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution<T> {
    /// Every value between two bounds is equally likely.
    Uniform {
        /// Smallest value that is drawn.
        min: T,
        /// Largest value that is drawn.
        max: T,
    },
    /// The normal distribution; what would be below zero is drawn as zero.
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
}

impl<T: Copy + Ord> Varying<T> {
    /// Largest value that certainly occurs or may be drawn: `None` where there is no bound.
    pub fn largest(&self) -> Option<T> {
        match *self {
            Self::Constant(value) => Some(value),
            Self::Drawn(Distribution::Uniform { max, .. }) => Some(max),
            Self::Drawn(_) => None,
        }
    }

    /// The value itself, the lower bound, or the mean of a distribution without one.
    pub fn smallest_or_mean(&self) -> T {
        match *self {
            Self::Constant(value) => value,
            Self::Drawn(Distribution::Uniform { min, .. }) => min,
            Self::Drawn(Distribution::Normal { mean, .. } | Distribution::Exponential { mean }) => {
                mean
            }
        }
    }
}
