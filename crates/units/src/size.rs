//! Sizes in bytes.

use crate::text::{Grammar, Unit, quantity_text};
use std::ops::{Add, AddAssign, Mul, Sub};

const SIZE: Grammar = Grammar {
    quantity: "size",
    example: "1500 B",
    base: "one byte",
    units: &[
        Unit { spellings: &["GiB"], whole: true, factor: 1 << 30 },
        Unit { spellings: &["GB"], whole: false, factor: 1_000_000_000 },
        Unit { spellings: &["MiB"], whole: true, factor: 1 << 20 },
        Unit { spellings: &["MB"], whole: false, factor: 1_000_000 },
        Unit { spellings: &["KiB"], whole: true, factor: 1 << 10 },
        Unit { spellings: &["kB", "KB"], whole: false, factor: 1_000 },
        Unit { spellings: &["B", "bytes", "byte"], whole: false, factor: 1 },
    ],
    bare: None,
    prefixes: "",
    largest_printed: 0,
};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteCount(u64);

impl ByteCount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `bytes` bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number itself.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self - other`, or zero where `other` is larger.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for ByteCount {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for ByteCount {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for ByteCount {
    type Output = Self;
    /// # Panics
    /// In debug builds, where `other` is larger.
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for ByteCount {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

quantity_text!(ByteCount, SIZE, r"^\s*[0-9_.]+\s*(GiB|GB|MiB|MB|KiB|kB|KB|B|bytes?)\s*$");
