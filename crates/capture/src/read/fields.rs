//! Fields of capture files: byte order and timestamps.

use fairwind_units::Instant;

/// The byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    #[inline]
    pub(crate) const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Four 32-bit numbers in a row.
    #[inline]
    pub(crate) fn four(self, bytes: &[u8; 16]) -> [u32; 4] {
        let (numbers, _) = bytes.as_chunks::<4>();
        let numbers = [numbers[0], numbers[1], numbers[2], numbers[3]].map(u32::from_le_bytes);
        // One question instead of four.
        if self == Self::Little { numbers } else { numbers.map(u32::swap_bytes) }
    }

    /// The 16-bit number at a place, if it is there.
    pub(crate) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        bytes.get(at..)?.first_chunk().map(|number| self.u16(*number))
    }

    /// The 32-bit number at a place, if it is there.
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        bytes.get(at..)?.first_chunk().map(|number| self.u32(*number))
    }

    /// The 64-bit number at a place, if it is there.
    pub(crate) fn u64_at(self, bytes: &[u8], at: usize) -> Option<u64> {
        bytes.get(at..)?.first_chunk().map(|number| self.u64(*number))
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// How timestamps count (options `if_tsresol` and `if_tsoffset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    unit: Unit,
    /// Seconds to add, which may be negative.
    offset_seconds: i64,
}

/// What a timestamp counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// As many nanoseconds.
    Nanoseconds(u64),
    /// Number of parts in a second.
    PartsOfSecond(u128),
}

impl Default for Clock {
    /// Microseconds since 1970, which is meant where a file says nothing.
    fn default() -> Self {
        Self { unit: Unit::Nanoseconds(1_000), offset_seconds: 0 }
    }
}

impl Clock {
    /// The clock of a resolution: a power of ten, negated, or with the highest bit one of two.
    pub(crate) fn with_resolution(self, resolution: u8) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        let unit = if resolution & 0x80 != 0 {
            // More than 127 binary places are beyond the option's seven bits.
            Unit::PartsOfSecond(1 << exponent)
        } else if exponent <= 9 {
            Unit::Nanoseconds(10_u64.pow(9 - exponent))
        } else {
            // Finer than 10^-38 s, 64 bits hold no second that counts.
            Unit::PartsOfSecond(10_u128.checked_pow(exponent).unwrap_or(u128::MAX))
        };
        Self { unit, ..self }
    }

    /// The clock with this offset in seconds.
    pub(crate) fn with_offset(self, offset_seconds: i64) -> Self {
        Self { offset_seconds, ..self }
    }

    /// The instant of a timestamp, rounded down to nanoseconds; what lies before 1970 or beyond the last
    /// instant becomes the nearest that there is.
    #[inline]
    pub(crate) fn instant(self, timestamp: u64) -> Instant {
        let nanos = match self.unit {
            Unit::Nanoseconds(nanos) => timestamp.saturating_mul(nanos),
            Unit::PartsOfSecond(parts) => nanos_of(timestamp, parts),
        };
        if self.offset_seconds == 0 {
            return Instant::from_nanos(nanos);
        }
        let offset = self.offset_seconds.unsigned_abs().saturating_mul(NANOS_PER_SECOND);
        Instant::from_nanos(if self.offset_seconds < 0 {
            nanos.saturating_sub(offset)
        } else {
            nanos.saturating_add(offset)
        })
    }
}

#[cold]
fn nanos_of(timestamp: u64, parts: u128) -> u64 {
    let timestamp = u128::from(timestamp);
    let seconds = (timestamp / parts) * u128::from(NANOS_PER_SECOND);
    let rest = timestamp % parts;
    // The rest is below 2^64, so its product is below 2^94.
    let nanos = rest * u128::from(NANOS_PER_SECOND) / parts;
    u64::try_from(seconds + nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(resolution: u8, timestamp: u64) -> u64 {
        Clock::default().with_resolution(resolution).instant(timestamp).as_nanos()
    }

    #[test]
    fn powers_of_ten_count_parts_of_a_second() {
        assert_eq!(Clock::default().instant(1_500_000).as_nanos(), 1_500_000_000);
        assert_eq!(nanos(6, 1_500_000), 1_500_000_000);
        assert_eq!(nanos(9, 1_500_000_001), 1_500_000_001);
        assert_eq!(nanos(3, 1_500), 1_500_000_000);
        assert_eq!(nanos(0, 7), 7_000_000_000);
        assert_eq!(nanos(12, 1_500_000_001_999), 1_500_000_001);
        assert_eq!(nanos(127, u64::MAX), 0);
    }

    #[test]
    fn powers_of_two_count_parts_of_a_second() {
        assert_eq!(nanos(0x81, 3), 1_500_000_000);
        assert_eq!(nanos(0x8a, 1_024 + 512), 1_500_000_000);
        // 2^30 parts: one part is 0.93 ns.
        assert_eq!(nanos(0x9e, 3), 2);
        assert_eq!(nanos(0xbf, 1 << 63), 1_000_000_000);
        assert_eq!(nanos(0xc0, 1 << 63), 500_000_000);
        assert_eq!(nanos(0xff, u64::MAX), 0);
    }

    #[test]
    fn offsets_saturate_at_time_limits() {
        let clock = Clock::default();
        assert_eq!(clock.with_offset(2).instant(1_000_000).as_nanos(), 3_000_000_000);
        assert_eq!(clock.with_offset(-1).instant(1_500_000).as_nanos(), 500_000_000);
        assert_eq!(clock.with_offset(-5).instant(1_000_000).as_nanos(), 0);
        assert_eq!(clock.with_offset(i64::MIN).instant(1).as_nanos(), 0);
        assert_eq!(clock.with_offset(i64::MAX).instant(1), Instant::MAX);
        assert_eq!(clock.instant(u64::MAX), Instant::MAX);
    }
}
