//! Instants and spans of time, in whole nanoseconds.

use crate::text::{Grammar, Unit, quantity_text};
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const TIME: Grammar = Grammar {
    quantity: "time",
    example: "20 ms",
    base: "one nanosecond",
    units: &[
        Unit { spellings: &["h", "hours", "hour"], whole: false, factor: 3_600_000_000_000 },
        Unit { spellings: &["min", "minutes", "minute"], whole: false, factor: 60_000_000_000 },
        Unit { spellings: &["s", "seconds", "second"], whole: false, factor: 1_000_000_000 },
        Unit { spellings: &["ms"], whole: false, factor: 1_000_000 },
        Unit { spellings: &["us", "µs"], whole: false, factor: 1_000 },
        Unit { spellings: &["ns"], whole: false, factor: 1 },
    ],
    bare: None,
    prefixes: "",
    // `90 s` is read faster than `1.5 min`.
    largest_printed: 2,
};

/// A length of time in nanoseconds, zero or more, up to 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span there is.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of `seconds` seconds.
    #[inline]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// The nearest span to `seconds`; negative or non-finite values give zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is the documented meaning"
    )]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round().max(0.0) as u64)
    }

    /// Whole nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded down.
    #[inline]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for tables and formulas.
    #[expect(clippy::cast_precision_loss, reason = "a report's seconds need no more than 53 bits")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether this is no time at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero where `other` is longer.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, or the longest span where that overflows.
    #[inline]
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    /// # Panics
    /// In debug builds, where `other` is longer; use [`Span::saturating_sub`] where that may be.
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Span {
    type Output = Self;
    #[inline]
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// A point in time: nanoseconds since the experiment began (virtual runs), since the run's own
/// origin (real runs) or since the epoch (captures).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);
    /// Later than everything: the deadline of a timer that is not set.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `millis` milliseconds after the origin.
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// The instant `seconds` seconds after the origin.
    #[inline]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// Nanoseconds since the origin.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for tables.
    pub fn as_secs_f64(self) -> f64 {
        Span(self.0).as_secs_f64()
    }

    /// Time since `earlier`, or zero where `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Time since the origin.
    #[inline]
    pub const fn since_origin(self) -> Span {
        Span(self.0)
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Span;
    /// # Panics
    /// In debug builds, where `earlier` is later; use [`Instant::saturating_since`] where that may be.
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

/// As the time since the origin.
impl serde::Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.since_origin().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Instant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Span::deserialize(deserializer).map(|span| Self::ZERO + span)
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Span(self.0).fmt(f)
    }
}

quantity_text!(Span, TIME, r"^\s*[0-9_.]+\s*(h|hours?|min|minutes?|s|seconds?|ms|us|µs|ns)\s*$");
