//! Sequence numbers: 32 bits that wrap (RFC 9293 §3.4).

use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number.
///
/// It has no total order, because numbers wrap: use [`is_before`] and [`is_after`], which are right
/// for numbers less than 2^31 apart.
///
/// [`is_before`]: SequenceNumber::is_before
/// [`is_after`]: SequenceNumber::is_after
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SequenceNumber(u32);

impl SequenceNumber {
    /// The number with these 32 bits.
    #[inline]
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// The 32 bits.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whether this number is before `other` (RFC 9293: `<` modulo 2^32).
    #[inline]
    pub const fn is_before(self, other: Self) -> bool {
        other.0.wrapping_sub(self.0).wrapping_sub(1) < 0x7fff_ffff
    }

    /// Whether this number is after `other`.
    #[inline]
    pub const fn is_after(self, other: Self) -> bool {
        other.is_before(self)
    }

    /// Whether this number is `other` or before it.
    #[inline]
    pub const fn is_at_or_before(self, other: Self) -> bool {
        !other.is_before(self)
    }

    /// Whether this number is `other` or after it.
    #[inline]
    pub const fn is_at_or_after(self, other: Self) -> bool {
        !self.is_before(other)
    }

    /// Distance from `earlier` to this number, modulo 2^32.
    #[inline]
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The later of the two.
    #[inline]
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// The earlier of the two.
    #[inline]
    #[must_use]
    pub const fn earlier(self, other: Self) -> Self {
        if self.is_before(other) { self } else { other }
    }
}

impl Add<u32> for SequenceNumber {
    type Output = Self;
    #[inline]
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for SequenceNumber {
    #[inline]
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for SequenceNumber {
    type Output = Self;
    #[inline]
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

impl std::fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
