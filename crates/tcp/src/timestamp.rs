//! The clock of the timestamps option (RFC 7323 §5.4).

use fairwind_units::Instant;

/// Milliseconds, beginning at 1 because an echo of 0 means that there is none.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the timestamp clock wraps")]
pub(crate) fn timestamp_at(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// Whether one reading of the clock is earlier than another, modulo 2^32.
#[inline]
pub(crate) fn is_earlier(reading: u32, reference: u32) -> bool {
    reference.wrapping_sub(reading).wrapping_sub(1) < 0x7fff_ffff
}
