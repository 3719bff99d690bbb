//! Service curves of two linear pieces, in the units and with the rounding of Linux `sch_hfsc.c`.
//!
//! Times are ticks of 64 ns, slopes fixed-point numbers: bytes per tick times 2^24, and ticks per byte times 2^14.

use fairwind_qdisc::ServiceCurve;
use fairwind_units::Instant;

const NANOS_PER_TICK: u64 = 64;
const TICKS_PER_SECOND: u64 = 1_000_000_000 / NANOS_PER_TICK;
const SLOPE_SHIFT: u32 = 24;
const INVERSE_SHIFT: u32 = 14;

/// Tick of the experiment's beginning: the discipline has been there for an hour, so that no curve remembers its making.
const BEGINNING: u64 = 3600 * TICKS_PER_SECOND;

/// The tick that `now` falls into.
pub(super) fn tick_of(now: Instant) -> u64 {
    BEGINNING + now.as_nanos() / NANOS_PER_TICK
}

/// When a tick begins.
pub(super) fn instant_of(tick: u64) -> Instant {
    Instant::from_nanos(tick.saturating_sub(BEGINNING).saturating_mul(NANOS_PER_TICK))
}

/// `value * factor / 2^shift`, rounded down.
fn scaled(value: u64, factor: u64, shift: u32) -> u64 {
    let product = (u128::from(value) * u128::from(factor)) >> shift;
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// A slope, and its inverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slope {
    bytes: u64,
    /// `None` where there is no slope.
    ticks: Option<u64>,
}

impl Slope {
    fn new(bytes_per_second: u64) -> Self {
        let ticks = || (TICKS_PER_SECOND << INVERSE_SHIFT).div_ceil(bytes_per_second);
        Self {
            bytes: (bytes_per_second << SLOPE_SHIFT).div_ceil(TICKS_PER_SECOND),
            ticks: (bytes_per_second > 0).then(ticks),
        }
    }

    fn bytes_in(self, ticks: u64) -> u64 {
        scaled(ticks, self.bytes, SLOPE_SHIFT)
    }

    fn ticks_for(self, bytes: u64) -> u64 {
        match self.ticks {
            _ if bytes == 0 => 0,
            Some(ticks) => scaled(bytes, ticks, INVERSE_SHIFT),
            None => u64::MAX,
        }
    }
}

/// A curve from the origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    first: Slope,
    second: Slope,
    /// Where the second piece begins: ticks, and bytes.
    bend_ticks: u64,
    bend_bytes: u64,
}

impl Shape {
    pub(super) fn new(curve: &ServiceCurve) -> Self {
        let slope = |rate: fairwind_units::BitRate| Slope::new(rate.as_bits_per_second() / 8);
        let (first, second) = (slope(curve.m1), slope(curve.m2));
        let bend_ticks = curve.d.as_micros().saturating_mul(TICKS_PER_SECOND).div_ceil(1_000_000);
        Self { first, second, bend_ticks, bend_bytes: first.bytes_in(bend_ticks) }
    }

    fn is_concave(&self) -> bool {
        self.first.bytes > self.second.bytes
    }
}

/// A curve that begins at a time and an amount of service (`runtime_sc`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    shape: Shape,
    ticks: u64,
    bytes: u64,
    bend_ticks: u64,
    bend_bytes: u64,
}

impl Curve {
    pub(super) fn new(shape: Shape, ticks: u64, bytes: u64) -> Self {
        let Shape { bend_ticks, bend_bytes, .. } = shape;
        Self { shape, ticks, bytes, bend_ticks, bend_bytes }
    }

    /// When it reaches so many bytes.
    pub(super) fn ticks_at(&self, bytes: u64) -> u64 {
        let Some(above) = bytes.checked_sub(self.bytes) else { return self.ticks };
        if above > self.bend_bytes {
            let second = self.shape.second.ticks_for(above - self.bend_bytes);
            return self.ticks.saturating_add(self.bend_ticks).saturating_add(second);
        }
        let first = match self.bend_bytes {
            0 => self.bend_ticks,
            _ => self.shape.first.ticks_for(above),
        };
        self.ticks.saturating_add(first)
    }

    /// Bytes that it has reached by then.
    fn bytes_at(&self, ticks: u64) -> u64 {
        let after = ticks.saturating_sub(self.ticks);
        let Some(beyond) = after.checked_sub(self.bend_ticks).filter(|beyond| *beyond > 0) else {
            return self.bytes.saturating_add(self.shape.first.bytes_in(after));
        };
        let bend = self.bytes.saturating_add(self.bend_bytes);
        bend.saturating_add(self.shape.second.bytes_in(beyond))
    }

    /// Makes it the smaller one of itself and the curve that begins anew at this point.
    pub(super) fn lower_to(&mut self, ticks: u64, bytes: u64) {
        let now = self.bytes_at(ticks);
        if !self.shape.is_concave() {
            if now >= bytes {
                (self.ticks, self.bytes) = (ticks, bytes);
            }
            return;
        }
        if now <= bytes {
            return;
        }
        let fresh = Self::new(self.shape, ticks, bytes);
        if self.bytes_at(ticks + fresh.bend_ticks) >= bytes + fresh.bend_bytes {
            *self = fresh;
            return;
        }
        // They cross: the fresh one's first piece holds until there.
        let difference = self.shape.first.bytes - self.shape.second.bytes;
        let mut bend_ticks = scaled(now - bytes, 1 << SLOPE_SHIFT, 0) / difference;
        bend_ticks += (self.ticks + self.bend_ticks).saturating_sub(ticks);
        let bend_bytes = self.shape.first.bytes_in(bend_ticks);
        *self = Self { ticks, bytes, bend_ticks, bend_bytes, ..*self };
    }

    /// What a class may be given early: all of a concave curve; of a convex one a line, so that its later slope is
    /// prepared for.
    pub(super) fn eligible(&self) -> Self {
        if self.shape.is_concave() {
            return *self;
        }
        Self { bend_ticks: 0, bend_bytes: 0, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::{BitRate, Span};

    fn curve(m1: u64, micros: u64, m2: u64) -> Curve {
        let rate = |bytes: u64| BitRate::from_bits_per_second(bytes * 8);
        let curve = ServiceCurve { m1: rate(m1), d: Span::from_micros(micros), m2: rate(m2) };
        Curve::new(Shape::new(&curve), 0, 0)
    }

    fn micros(ticks: u64) -> u64 {
        ticks * 64 / 1000
    }

    #[test]
    fn concave_curve_is_fast_first() {
        // 10 000 bytes in 10 ms at 1 MB/s, then 100 kB/s.
        let curve = curve(1_000_000, 10_000, 100_000);
        assert_eq!(micros(curve.ticks_at(5_000)), 5_000);
        assert_eq!(micros(curve.ticks_at(10_000)), 10_000);
        assert_eq!(micros(curve.ticks_at(11_000)), 20_000);
    }

    #[test]
    fn convex_curve_waits_first() {
        let curve = curve(0, 10_000, 100_000);
        assert_eq!(micros(curve.ticks_at(0)), 10_000);
        assert_eq!(micros(curve.ticks_at(1_000)), 20_000);
        assert_eq!(micros(curve.eligible().ticks_at(1_000)), 10_000);
    }

    #[test]
    fn pause_lets_a_concave_curve_be_fast_again() {
        let mut curve = curve(1_000_000, 10_000, 100_000);
        // 10 000 bytes were sent in 10 ms; after a second of rest the burst is there again, and no more.
        let second = TICKS_PER_SECOND;
        curve.lower_to(second, 10_000);
        assert_eq!(micros(curve.ticks_at(20_000)), 1_010_000);
        assert_eq!(micros(curve.ticks_at(21_000)), 1_020_000);
    }

    #[test]
    fn curves_that_cross_keep_the_smaller_one() {
        let mut curve = curve(1_000_000, 10_000, 100_000);
        // At 20 ms the curve stands at 11 000 bytes; only 8 000 were sent. The fresh curve has 8 000 + 1 byte/us and meets the
        // old one where 8 000 + x = 11 000 + x / 10.
        let at = TICKS_PER_SECOND / 50;
        curve.lower_to(at, 8_000);
        let meets = 8_000 + 3_000 * 10 / 9;
        assert_eq!(micros(curve.ticks_at(10_000)), 22_000);
        let old = 10_000 + (meets + 1_000 - 10_000) * 10;
        assert!(micros(curve.ticks_at(meets + 1_000)).abs_diff(old) <= 20);
    }

    #[test]
    fn rests_do_not_lower_a_curve_that_was_exceeded() {
        let mut curve = curve(1_000_000, 10_000, 100_000);
        let before = curve.ticks_at(30_000);
        curve.lower_to(1_000, 30_000);
        assert_eq!(curve.ticks_at(30_000), before);
    }
}
