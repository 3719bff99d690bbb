//! Quantities that are the same each time, or drawn from a distribution.

use crate::quantiles::Quantiles;
use fairwind_units::Span;
use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// No draw is larger: a pebibyte, or thirteen days. Heavy tails have no end, but numbers have.
const LARGEST: f64 = 1_125_899_906_842_624.0;
/// Draws from within bounds before the nearest bound is taken.
const ATTEMPTS: u32 = 1000;

/// Where an application's sizes and pauses come from. Values are bytes or nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Pareto: a share `(least / x)^shape` of all draws is larger than `x`.
    Pareto {
        /// Least value.
        least: f64,
        /// The smaller, the heavier the tail; with 1 or less there is no mean.
        shape: f64,
    },
    /// Any other.
    Other(Box<OtherLaw>),
}

/// The laws that need more numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OtherLaw {
    /// A Pareto distribution cut off at both ends (its law given that a draw falls between them).
    BoundedPareto {
        /// Least value.
        least: f64,
        /// Greatest value.
        greatest: f64,
        /// The smaller, the heavier the tail.
        shape: f64,
    },
    /// Lognormal: the logarithm is normal. What falls outside the bounds is drawn anew.
    Lognormal {
        /// Mean of the natural logarithm.
        location: f64,
        /// Standard deviation of the natural logarithm.
        scale: f64,
        /// Least value.
        least: f64,
        /// Greatest value.
        greatest: f64,
    },
    /// Given by quantiles.
    Quantiles(Quantiles),
    /// What another law draws, less the same each time.
    Less {
        /// The other law.
        law: Sampler,
        /// What its draws are reduced by.
        by: f64,
    },
}

impl Sampler {
    /// The lognormal law with this mean and standard deviation of the quantity itself, before it is cut
    /// off at the bounds; `greatest` is a very large number where there is no such bound.
    pub fn lognormal(mean: f64, deviation: f64, least: f64, greatest: Option<f64>) -> Self {
        let ratio = deviation / mean;
        let variance = libm::log1p(ratio * ratio);
        let location = libm::log(mean) - variance / 2.0;
        let scale = variance.sqrt();
        let greatest = greatest.unwrap_or(LARGEST);
        Self::Other(Box::new(OtherLaw::Lognormal { location, scale, least, greatest }))
    }

    /// A Pareto distribution cut off at both ends.
    pub fn bounded_pareto(least: f64, greatest: f64, shape: f64) -> Self {
        Self::Other(Box::new(OtherLaw::BoundedPareto { least, greatest, shape }))
    }

    /// The law with these quantiles.
    pub fn quantiles(quantiles: Quantiles) -> Self {
        Self::Other(Box::new(OtherLaw::Quantiles(quantiles)))
    }

    /// What this law draws less `by`, at least 1 where that is asked for: for example the payload of packets when their
    /// lengths are known with their headers.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds below 2^53")]
    pub fn less(self, by: u64) -> Self {
        Self::Other(Box::new(OtherLaw::Less { law: self, by: by as f64 }))
    }

    /// Draws a whole number, at least 1.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the value is at least 1"
    )]
    pub fn draw(&self, random: &mut impl Rng) -> u64 {
        if let Self::Constant(value) = self {
            return (*value).max(1);
        }
        self.draw_number(random).round().max(1.0) as u64
    }

    /// Draws a whole number that may be none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the value is at least 0"
    )]
    pub(crate) fn draw_count(&self, random: &mut impl Rng) -> u64 {
        if let Self::Constant(value) = self {
            return *value;
        }
        self.draw_number(random).round().max(0.0) as u64
    }

    #[inline]
    fn draw_number(&self, random: &mut impl Rng) -> f64 {
        match self {
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
            Self::Constant(_) | Self::Pareto { .. } | Self::Other(_) => self.draw_heavy(random),
        }
    }

    /// Draws a time that may be none.
    #[inline]
    pub(crate) fn draw_time(&self, random: &mut impl Rng) -> u64 {
        if *self == Self::Constant(0) { 0 } else { self.draw(random) }
    }

    /// The time, which may be none, that a generator of this seed draws first.
    pub fn time_of_seed(&self, seed: u64) -> Span {
        Span::from_nanos(self.draw_time(&mut Pcg64Mcg::seed_from_u64(seed)))
    }

    #[inline(never)]
    #[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds below 2^53")]
    fn draw_heavy(&self, random: &mut impl Rng) -> f64 {
        let value = match self {
            Self::Pareto { least, shape } => pareto(*least, *shape, 0.0, random),
            Self::Other(law) => law.draw(random),
            Self::Constant(value) => *value as f64,
            // The others are drawn where they are asked for.
            _ => 0.0,
        };
        value.min(LARGEST)
    }
}

impl OtherLaw {
    fn draw(&self, random: &mut impl Rng) -> f64 {
        match self {
            Self::BoundedPareto { least, greatest, shape } => {
                let beyond = libm::pow(least / greatest, *shape);
                pareto(*least, *shape, beyond, random).min(*greatest)
            }
            Self::Lognormal { location, scale, least, greatest } => {
                let mut value = *least;
                for _ in 0..ATTEMPTS {
                    let standard: f64 = StandardNormal.sample(random);
                    value = libm::exp(location + scale * standard);
                    if (*least..=*greatest).contains(&value) {
                        break;
                    }
                }
                value.clamp(*least, *greatest)
            }
            Self::Quantiles(quantiles) => quantiles.quantile(random.random::<f64>()),
            Self::Less { law, by } => law.draw_number(random) - by,
        }
    }
}

/// A Pareto draw, given that it does not fall into the `beyond`, a share of all draws, that are the largest.
fn pareto(least: f64, shape: f64, beyond: f64, random: &mut impl Rng) -> f64 {
    let larger = 1.0 - random.random::<f64>() * (1.0 - beyond);
    least * libm::pow(larger, -1.0 / shape)
}
