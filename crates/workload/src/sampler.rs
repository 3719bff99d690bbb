//! Quantities that are the same each time, or drawn from a distribution.

use rand::{Rng, RngExt as _};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

/// Where an application's sizes and pauses come from. Values are bytes or nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Sampler {
    /// The same each time, at least 1.
    Constant(u64),
    /// Uniform between the two, both included after rounding.
    Uniform {
        /// Least value.
        least: f64,
        /// Greatest value.
        greatest: f64,
    },
    /// Normal; what falls below 1 becomes 1.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Exponential; what falls below 1 becomes 1.
    Exponential {
        /// Mean.
        mean: f64,
    },
}

impl Sampler {
    /// Draws a whole number, at least 1.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the value is at least 1"
    )]
    pub fn draw(&self, random: &mut impl Rng) -> u64 {
        let value = match *self {
            Self::Constant(value) => return value.max(1),
            Self::Uniform { least, greatest } => {
                least + random.random::<f64>() * (greatest - least)
            }
            Self::Normal { mean, deviation } => {
                let standard: f64 = StandardNormal.sample(random);
                mean + deviation * standard
            }
            Self::Exponential { mean } => {
                let standard: f64 = Exp1.sample(random);
                mean * standard
            }
        };
        value.round().max(1.0) as u64
    }

    /// Draws a time that may be none: the same as [`draw`](Self::draw), but that a constant zero is zero.
    pub(crate) fn draw_time(&self, random: &mut impl Rng) -> u64 {
        if *self == Self::Constant(0) { 0 } else { self.draw(random) }
    }
}
