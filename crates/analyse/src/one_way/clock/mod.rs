//! The clocks of two captures: how far apart they are, and how one drifts against the other.

mod drift;
mod offset;

pub(super) use drift::DelayFloor;
pub use drift::{ClockDrift, ClockModel};
pub use offset::{ClockOffset, ClockOffsetEstimator, DepartureTaps};

use fairwind_units::Instant;

/// Nanoseconds from `earlier` to `later`; below zero where it is the other way round.
#[inline]
pub(super) const fn signed_since(later: Instant, earlier: Instant) -> i64 {
    later.as_nanos().wrapping_sub(earlier.as_nanos()).cast_signed()
}
