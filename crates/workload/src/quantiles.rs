//! A distribution that is known by some of its quantiles, and perhaps by its mean.
//!
//! Tables of recorded traffic give a few quantiles and a mean, not the law behind them. Of all laws
//! that have these quantiles and this mean, the one taken here is that of the greatest entropy: it
//! assumes nothing else. Between two neighbouring quantiles its density is proportional to
//! `exp(-decay * x)`, with one `decay` for all of it (Jaynes 1957; Cover and Thomas, "Elements of
//! Information Theory", §12.1). Where no mean is given, `decay` is zero: between two quantiles every
//! value is equally likely.
//!
//! All quantiles, the mean and the draw have closed forms; only `decay` is searched for, once, by
//! halving an interval. The functions come from a library in place of the system's, so that all
//! machines draw alike.

use serde::{Deserialize, Serialize};

/// Below this, the effect of `decay` times a segment's width is smaller than a float resolves.
const STRAIGHT: f64 = 1e-5;
/// Steps to enclose and to find the decay: more than a float has bits.
const DOUBLINGS: u32 = 200;
const HALVINGS: u32 = 128;

/// A distribution with given quantiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Stretches between neighbouring quantiles, in order; one or more.
    segments: Box<[Segment]>,
}

/// What lies between two neighbouring quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Segment {
    /// Share of all draws below this segment and in it.
    until: f64,
    /// Share of all draws in it.
    share: f64,
    /// Least value.
    least: f64,
    /// Greatest value less the least.
    width: f64,
    /// By how many powers of e the density falls from the least value to the greatest.
    fall: f64,
}

/// Why points are no distribution.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantilesError {
    /// The points do not go from 0 to 1, or shares or values do not rise.
    #[error(
        "quantiles go from the share 0 to the share 1, each share above the one before and no value \
         below the one before"
    )]
    NotRising,
    /// No distribution with these quantiles has this mean.
    #[error("with these quantiles the mean lies between {least} and {greatest}")]
    Mean {
        /// The mean lies above this.
        least: f64,
        /// The mean lies below this.
        greatest: f64,
    },
}

impl Quantiles {
    /// The distribution with the quantiles `points`, each a share of all draws and the value that
    /// this share does not exceed, from share 0 to share 1.
    ///
    /// # Errors
    /// Where the points are not in order.
    pub fn new(points: &[(f64, f64)]) -> Result<Self, QuantilesError> {
        let is_rising = points.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1);
        let ends = (points.first().map(|point| point.0), points.last().map(|point| point.0));
        if !is_rising || ends != (Some(0.0), Some(1.0)) {
            return Err(QuantilesError::NotRising);
        }
        let segment = |pair: &[(f64, f64)]| Segment {
            until: pair[1].0,
            share: pair[1].0 - pair[0].0,
            least: pair[0].1,
            width: pair[1].1 - pair[0].1,
            fall: 0.0,
        };
        Ok(Self { segments: points.windows(2).map(segment).collect() })
    }

    /// The same, with this mean.
    ///
    /// # Errors
    /// Where no distribution has both.
    pub fn with_mean(mut self, mean: f64) -> Result<Self, QuantilesError> {
        let least: f64 = self.segments.iter().map(|each| each.share * each.least).sum();
        let width: f64 = self.segments.iter().map(|each| each.share * each.width).sum();
        // A constant has its mean already.
        if width <= 0.0 && (mean - least).abs() <= f64::EPSILON * least {
            return Ok(self);
        }
        if !(least < mean && mean < least + width) {
            return Err(QuantilesError::Mean { least, greatest: least + width });
        }
        let decay = self.decay_for(mean);
        for segment in &mut self.segments {
            segment.fall = decay * segment.width;
        }
        Ok(self)
    }

    /// The decay that makes the mean this: the greater the decay, the smaller the mean.
    fn decay_for(&self, mean: f64) -> f64 {
        let exceeds = |decay: f64| self.mean_with(decay) > mean;
        let widest = self.segments.iter().map(|segment| segment.width).fold(0.0, f64::max);
        let (mut low, mut high) = (-1.0 / widest, 1.0 / widest);
        for _ in 0..DOUBLINGS {
            if exceeds(high) {
                (low, high) = (high, high * 2.0);
            } else if !exceeds(low) {
                (low, high) = (low * 2.0, low);
            } else {
                break;
            }
        }
        for _ in 0..HALVINGS {
            let middle = low.midpoint(high);
            if exceeds(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.midpoint(high)
    }

    fn mean_with(&self, decay: f64) -> f64 {
        let mean = |segment: &Segment| segment.share * segment.mean_with(decay * segment.width);
        self.segments.iter().map(mean).sum()
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.segments.iter().map(|segment| segment.share * segment.mean_with(segment.fall)).sum()
    }

    /// The value that this share of all draws does not exceed; shares outside 0 to 1 are taken as the
    /// nearest of these.
    #[inline]
    pub fn quantile(&self, share: f64) -> f64 {
        let place = self.segments.partition_point(|segment| segment.until < share);
        let segment = self.segments.get(place).unwrap_or(&self.segments[self.segments.len() - 1]);
        let inside = 1.0 - (segment.until - share) / segment.share;
        segment.least + segment.width * depth(inside.clamp(0.0, 1.0), segment.fall)
    }
}

impl Segment {
    fn mean_with(&self, fall: f64) -> f64 {
        self.least + self.width * middle(fall)
    }
}

/// How deep in a segment of width 1 the quantile `share` lies: the inverse of
/// `(1 - exp(-fall x)) / (1 - exp(-fall))`.
fn depth(share: f64, fall: f64) -> f64 {
    if fall.abs() < STRAIGHT {
        share
    } else if fall < 0.0 {
        1.0 - depth(1.0 - share, -fall)
    } else if fall < 1.0 {
        -libm::log1p(share * libm::expm1(-fall)) / fall
    } else {
        // The same, which keeps its digits where little of the density is left at the end.
        (-libm::log((1.0 - share) + share * libm::exp(-fall)) / fall).min(1.0)
    }
}

/// The mean of a segment of width 1.
fn middle(fall: f64) -> f64 {
    if fall.abs() < STRAIGHT {
        // The first terms of the series of what follows, which would lose its digits here.
        0.5 - fall / 12.0
    } else if fall < 0.0 {
        1.0 - middle(-fall)
    } else {
        1.0 / fall - 1.0 / libm::expm1(fall)
    }
}
