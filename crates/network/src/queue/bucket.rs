//! Tokens that come at a rate, as whole numbers: nothing is lost to rounding, however often somebody looks.

use fairwind_units::{BitRate, Instant, Span};

/// Billionths of a bit in a byte: what a rate in bits per second brings in eight billion nanoseconds.
const PER_BYTE: i128 = 8_000_000_000;

/// A token bucket. Tokens are counted in billionths of a bit, so a rate times nanoseconds is a whole number of them.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    bits_per_second: i128,
    capacity: i128,
    /// Less than none where more was taken than there was.
    tokens: i128,
    /// Up to when tokens have come.
    filled: Instant,
    /// Time between two looks of the shaper at its clock; zero for a clock that is exact.
    granularity: Span,
}

impl Bucket {
    /// A full bucket of `bytes`.
    pub(crate) fn new(rate: BitRate, bytes: u64, granularity: Span) -> Self {
        let capacity = i128::from(bytes) * PER_BYTE;
        let bits_per_second = i128::from(rate.as_bits_per_second()).max(1);
        Self { bits_per_second, capacity, tokens: capacity, filled: Instant::ZERO, granularity }
    }

    /// Whether it ever holds enough for `bytes`.
    pub(crate) fn can_hold(&self, bytes: u32) -> bool {
        i128::from(bytes) * PER_BYTE <= self.capacity
    }

    /// Lets the tokens come that are due by `now`.
    pub(crate) fn fill(&mut self, now: Instant) {
        let seen = self.tick_before(now);
        let elapsed = i128::from(seen.saturating_since(self.filled).as_nanos());
        let brought = elapsed.saturating_mul(self.bits_per_second);
        self.tokens = self.tokens.saturating_add(brought).min(self.capacity);
        self.filled = self.filled.max(seen);
    }

    /// When there is enough for `bytes`, reckoned from the last filling; not before that.
    ///
    /// # Panics
    /// Where it never [holds](Bucket::can_hold) so many.
    pub(crate) fn ready_at(&self, bytes: u32) -> Instant {
        let needed = i128::from(bytes) * PER_BYTE;
        assert!(needed <= self.capacity, "what never fits was refused");
        let missing = (needed - self.tokens).max(0);
        let nanos = (missing + self.bits_per_second - 1) / self.bits_per_second;
        let wait = Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.tick_from(self.filled + wait)
    }

    /// Takes the tokens of `bytes`, on credit where there are fewer.
    pub(crate) fn take(&mut self, bytes: u32) {
        self.tokens -= i128::from(bytes) * PER_BYTE;
    }

    /// The last instant at or before `now` at which the shaper looked at its clock.
    fn tick_before(&self, now: Instant) -> Instant {
        match self.granularity.as_nanos() {
            0 => now,
            tick => Instant::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    /// The first instant at or after `instant` at which it does.
    fn tick_from(&self, instant: Instant) -> Instant {
        match self.granularity.as_nanos() {
            0 => instant,
            tick => Instant::from_nanos(instant.as_nanos().div_ceil(tick).saturating_mul(tick)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(granularity: Span) -> Bucket {
        Bucket::new(BitRate::from_bits_per_second(12_000_000), 1500, granularity)
    }

    #[test]
    fn tokens_come_at_the_rate_however_often_somebody_looks() {
        let mut seldom = bucket(Span::ZERO);
        let mut often = seldom.clone();
        for bucket in [&mut seldom, &mut often] {
            bucket.take(1500);
            assert_eq!(bucket.ready_at(1500), Instant::from_millis(1));
            assert_eq!(bucket.ready_at(1), Instant::from_nanos(667));
        }
        for nanos in 0..1000 {
            often.fill(Instant::from_nanos(nanos));
        }
        assert_eq!(often.ready_at(1500), seldom.ready_at(1500));
    }

    #[test]
    fn no_more_than_the_bucket_holds_is_kept() {
        let mut bucket = bucket(Span::ZERO);
        bucket.fill(Instant::from_secs(3600));
        bucket.take(1500);
        assert_eq!(bucket.ready_at(1500), Instant::from_secs(3600) + Span::from_millis(1));
        assert!(bucket.can_hold(1500) && !bucket.can_hold(1501));
    }

    #[test]
    fn with_a_coarse_clock_tokens_are_seen_at_its_ticks_only() {
        let mut bucket = bucket(Span::from_millis(4));
        bucket.take(1500);
        assert_eq!(bucket.ready_at(1500), Instant::from_millis(4));
        bucket.fill(Instant::from_nanos(3_999_999));
        assert_eq!(bucket.ready_at(1500), Instant::from_millis(4));
        bucket.fill(Instant::from_millis(4));
        assert_eq!(bucket.ready_at(1500), Instant::from_millis(4));
    }
}
