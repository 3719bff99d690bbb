//! Service curves of two linear pieces, and how a scenario writes them.
//!
//! Source: tc-hfsc(7).

use fairwind_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Serialize};

/// Bytes that a class is to get in a time, since it has something to send: of two linear pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCurve {
    /// Slope of the first piece.
    pub m1: BitRate,
    /// Length of the first piece, in whole microseconds; zero for a line.
    pub d: Span,
    /// Slope of the second piece.
    pub m2: BitRate,
}

impl ServiceCurve {
    /// A line.
    pub const fn linear(rate: BitRate) -> Self {
        Self { m1: BitRate::from_bits_per_second(0), d: Span::ZERO, m2: rate }
    }

    /// The curve that brings `umax_bytes` within `dmax`, and `rate` in the long run, as `tc` computes it.
    pub fn for_delay(umax_bytes: u64, dmax: Span, rate: BitRate) -> Self {
        // Whole bytes per second, rounded up.
        let work = u128::from(umax_bytes) * 1_000_000_000;
        let bytes = if dmax.is_zero() { 0 } else { work.div_ceil(dmax.as_nanos().into()) };
        let fast = BitRate::from_bits_per_second(u64::try_from(bytes * 8).unwrap_or(u64::MAX));
        if fast > rate {
            return Self { m1: fast, d: dmax, m2: rate };
        }
        let d = dmax.saturating_sub(rate.serialisation_time(ByteCount::new(umax_bytes)));
        let d = Span::from_micros(1).saturating_mul(d.as_nanos().div_ceil(1000));
        Self { m1: BitRate::from_bits_per_second(0), d, m2: rate }
    }
}

/// A service curve: a rate, or a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ServiceCurveInput {
    /// A rate that does not change.
    Rate(BitRate),
    /// Two pieces, or a delay.
    Pieces(ServiceCurvePieces),
}

/// A service curve of two linear pieces: `m1` for a time `d`, then `m2`. Or `umax` bytes within `dmax`, then `rate`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceCurvePieces {
    /// Rate of the first piece; default: 0.
    pub m1: Option<BitRate>,
    /// Length of the first piece; default: 0, there is only the second.
    pub d: Option<Span>,
    /// Rate of the second piece.
    pub m2: Option<BitRate>,
    /// Bytes that are to be sent within `dmax`.
    pub umax: Option<ByteCount>,
    /// Time in which `umax` bytes are to be sent.
    pub dmax: Option<Span>,
    /// Rate in the long run, with `umax` and `dmax`.
    pub rate: Option<BitRate>,
}

impl ServiceCurveInput {
    /// The key of which `part` of the curve (m1, d or m2) was made; `None` for a rate.
    pub(crate) fn written_part<'k>(&self, part: &'k str) -> Option<&'k str> {
        match (self, part) {
            (Self::Rate(_), _) => None,
            (Self::Pieces(pieces), "m1") if pieces.rate.is_some() => Some("umax"),
            (Self::Pieces(pieces), "d") if pieces.rate.is_some() => Some("dmax"),
            (Self::Pieces(pieces), "m2") if pieces.rate.is_some() => Some("rate"),
            (Self::Pieces(_), part) => Some(part),
        }
    }

    /// The curve; or what is wrong.
    pub(crate) fn curve(&self) -> Result<ServiceCurve, &'static str> {
        match self {
            Self::Rate(rate) => Ok(ServiceCurve::linear(*rate)),
            Self::Pieces(pieces) => pieces.curve(),
        }
    }
}

impl ServiceCurvePieces {
    /// The curve; or what is wrong.
    pub(crate) fn curve(&self) -> Result<ServiceCurve, &'static str> {
        let by_slopes = self.m1.is_some() || self.d.is_some() || self.m2.is_some();
        let by_delay = self.umax.is_some() || self.dmax.is_some() || self.rate.is_some();
        match (by_slopes, by_delay, self.m2, self.rate) {
            (true, true, ..) => Err("it has either m1, d and m2, or umax, dmax and rate"),
            (true, false, Some(m2), _) => Ok(ServiceCurve {
                m1: self.m1.unwrap_or(BitRate::from_bits_per_second(0)),
                d: self.d.unwrap_or_default(),
                m2,
            }),
            (false, true, _, Some(_)) if self.umax.is_some() && self.dmax.is_none() => {
                Err("umax needs dmax, the time in which so many bytes are to be sent")
            }
            (false, true, _, Some(rate)) => Ok(ServiceCurve::for_delay(
                self.umax.map_or(0, ByteCount::get),
                self.dmax.unwrap_or_default(),
                rate,
            )),
            _ => Err("it needs m2, or rate"),
        }
    }
}
