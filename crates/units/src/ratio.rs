//! Shares and probabilities in parts per billion.

use crate::UnitError;
use crate::text::{Grammar, Unit, quantity_text};

const RATIO: Grammar = Grammar {
    quantity: "share",
    example: "2 %",
    base: "one part per billion",
    units: &[
        Unit { spellings: &["%", "percent"], whole: false, factor: 10_000_000 },
        Unit { spellings: &["ppm"], whole: false, factor: 1_000 },
        Unit { spellings: &["ppb"], whole: false, factor: 1 },
    ],
    // "1" could be all of it or one in a hundred.
    bare: None,
    prefixes: "",
    largest_printed: 0,
};

/// How many times something is: the same, but a number says all.
const MULTIPLE: Grammar = Grammar { bare: Some(1_000_000_000), ..RATIO };

/// A share in parts per billion: a loss probability, a fraction of a queue. May exceed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1_000_000_000);

    /// `parts` parts per billion.
    #[inline]
    pub const fn from_parts_per_billion(parts: u64) -> Self {
        Self(parts)
    }

    /// Reads how many times something is, where a number needs no unit: `2`, `0.5`, `50 %`.
    ///
    /// # Errors
    /// Where `text` is no such number.
    pub fn of_multiple(text: &str) -> Result<Self, UnitError> {
        MULTIPLE.parse(text).map(Self)
    }

    /// Parts per billion.
    #[inline]
    pub const fn as_parts_per_billion(self) -> u64 {
        self.0
    }

    /// As a fraction of one.
    #[expect(clippy::cast_precision_loss, reason = "a share has at most 30 significant bits")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This share of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        let share = u128::from(whole) * u128::from(self.0) / 1_000_000_000;
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Whether an event of this probability happens, given a uniformly random `draw`.
    #[inline]
    pub const fn happens(self, draw: u32) -> bool {
        ((draw as u64 * 1_000_000_000) >> 32) < self.0
    }
}

quantity_text!(Ratio, RATIO, r"^\s*[0-9_.]+\s*(%|percent|ppm|ppb)\s*$");
