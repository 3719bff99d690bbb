//! Quantities that are the same each time, or drawn from a distribution.

use rand::{Rng, RngExt as _};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

/// Where an application's sizes and pauses come from. Values are bytes or nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Sampler {
    /// The same each time.
    Constant(u64),
    /// Uniform between the two, both included after rounding.
    Uniform {
        /// Least value.
        least: f64,
        /// Greatest value.
        greatest: f64,
    },
    /// Normal; what falls below the least becomes the least.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Exponential; what falls below the least becomes the least.
    Exponential {
        /// Mean.
        mean: f64,
    },
}

impl Sampler {
    /// Draws a whole number, at least 1.
    #[inline]
    pub fn draw(&self, random: &mut impl Rng) -> u64 {
        self.draw_from(1, random)
    }

    /// Draws a whole number, at least `least`.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the value is at least 0"
    )]
    pub(crate) fn draw_from(&self, least: u64, random: &mut impl Rng) -> u64 {
        let value = match *self {
            Self::Constant(value) => return value.max(least),
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
        (value.round().max(0.0) as u64).max(least)
    }
}
