//! Rates in bits per second, and the exact time that bytes take at one.

use crate::text::{Grammar, Unit, quantity_text};
use crate::{ByteCount, Span};

const RATE: Grammar = Grammar {
    quantity: "rate",
    example: "10 Mbit/s",
    base: "one bit per second",
    units: &[
        Unit { spellings: &["Gbit/s", "Gbps", "Gbit"], whole: false, factor: 1_000_000_000 },
        Unit { spellings: &["Mbit/s", "Mbps", "Mbit"], whole: false, factor: 1_000_000 },
        Unit { spellings: &["kbit/s", "kbps", "kbit"], whole: false, factor: 1_000 },
        Unit { spellings: &["bit/s", "bps", "bit"], whole: false, factor: 1 },
    ],
    bare: None,
    prefixes: "GMk",
    largest_printed: 0,
};

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

impl BitRate {
    /// `bits` bits per second.
    #[inline]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    #[inline]
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Time that `size` takes at this rate, rounded down to a nanosecond; [`Span::MAX`] at rate 0.
    ///
    /// A link that must be exact in the long run keeps the remainder, see
    /// [`BitRate::serialisation`].
    pub fn serialisation_time(self, size: ByteCount) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        Span::from_nanos(self.serialisation(size, 0).0)
    }

    /// Nanoseconds that `size` takes at this rate, and what is left of a nanosecond in units of
    /// `1 / rate` ns, when `remainder` of them were left over from before.
    ///
    /// # Panics
    /// At rate 0.
    #[inline]
    pub fn serialisation(self, size: ByteCount, remainder: u64) -> (u64, u64) {
        // 8e9 bits x nanoseconds per byte: 64 bits hold it up to 2.3 GB, more takes the wide path.
        match size.get().checked_mul(8_000_000_000).and_then(|work| work.checked_add(remainder)) {
            Some(work) => (work / self.0, work % self.0),
            None => self.serialisation_wide(size, remainder),
        }
    }

    #[cold]
    fn serialisation_wide(self, size: ByteCount, remainder: u64) -> (u64, u64) {
        let work = u128::from(size.get()) * 8_000_000_000 + u128::from(remainder);
        let nanos = u64::try_from(work / u128::from(self.0)).unwrap_or(u64::MAX);
        let left = u64::try_from(work % u128::from(self.0)).unwrap_or_default();
        (nanos, left)
    }

    /// Bytes that this rate carries in `span`, rounded down: the bandwidth-delay product of a path.
    pub fn bytes_in(self, span: Span) -> ByteCount {
        let bits = u128::from(self.0) * u128::from(span.as_nanos());
        ByteCount::new(u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX))
    }
}

quantity_text!(BitRate, RATE, r"^\s*[0-9_.]+\s*([GgMmKk]?(bit/s|bps|bit))\s*$");
