//! Token buckets, and the token bucket filter (tc-tbf(8)).
//!
//! Tokens are whole numbers, so nothing is lost to rounding, however often a bucket is filled. As in the kernel, the next
//! packet is held outside the child while its tokens are missing.

use super::discipline::{
    BuildChild, DequeueResult, PeekableChild, QueueActions, QueueDiscipline, QueuedPacket,
};
use crate::{Backlog, DropReason};
use fairwind_qdisc::Qdisc;
use fairwind_units::{BitRate, Instant, Span};

/// Billionths of a bit per byte.
const PER_BYTE: i64 = 8_000_000_000;
/// Tokens of the largest bucket, half a gigabyte; an equal debt does not overflow.
const MOST_TOKENS: i64 = i64::MAX / 2;

/// A token bucket. Tokens are counted in billionths of a bit, so a rate times nanoseconds is a whole number of them.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    bits_per_second: i64,
    capacity: i64,
    /// Negative while in debt.
    tokens: i64,
    /// When it was last filled.
    filled: Instant,
    /// Tick of the shaper's clock; zero for an exact clock.
    granularity: Span,
}

impl TokenBucket {
    /// A full bucket of `bytes`, at most half a gigabyte.
    pub(crate) fn new(rate: BitRate, bytes: u64, granularity: Span) -> Self {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let capacity = bytes.saturating_mul(PER_BYTE).min(MOST_TOKENS);
        let bits_per_second = i64::try_from(rate.as_bits_per_second()).unwrap_or(i64::MAX).max(1);
        Self { bits_per_second, capacity, tokens: capacity, filled: Instant::ZERO, granularity }
    }

    /// Whether it can hold enough for `bytes`.
    pub(crate) fn can_hold(&self, bytes: u32) -> bool {
        i64::from(bytes) <= self.capacity / PER_BYTE
    }

    /// Adds the tokens due by `now`.
    pub(crate) fn fill(&mut self, now: Instant) {
        let seen = self.tick_before(now);
        if seen <= self.filled {
            return;
        }
        let elapsed = i64::try_from(seen.saturating_since(self.filled).as_nanos());
        let brought = elapsed.unwrap_or(i64::MAX).saturating_mul(self.bits_per_second);
        self.tokens = self.tokens.saturating_add(brought).min(self.capacity);
        self.filled = seen;
    }

    /// Whether it is in debt.
    pub(crate) fn is_in_debt(&self) -> bool {
        self.tokens < 0
    }

    /// Whether it has enough for `bytes`, as of the last filling.
    pub(crate) fn has(&self, bytes: u32) -> bool {
        // The product may exceed what any bucket holds.
        i64::from(bytes).checked_mul(PER_BYTE).is_some_and(|needed| self.tokens >= needed)
    }

    /// When it has enough for `bytes`, not before the last filling.
    ///
    /// # Panics
    /// If it can never [hold](TokenBucket::can_hold) that many.
    pub(crate) fn ready_at(&self, bytes: u32) -> Instant {
        assert!(self.can_hold(bytes), "what never fits was refused");
        let missing = i64::from(bytes).saturating_mul(PER_BYTE).saturating_sub(self.tokens).max(0);
        let nanos = missing / self.bits_per_second + i64::from(missing % self.bits_per_second > 0);
        let wait = Span::from_nanos(nanos.unsigned_abs());
        self.tick_from(self.filled + wait)
    }

    /// Takes the tokens of `bytes`, going into debt if there are fewer.
    pub(crate) fn take(&mut self, bytes: u32) {
        self.tokens = self.tokens.saturating_sub(i64::from(bytes).saturating_mul(PER_BYTE));
    }

    /// The last tick at or before `now`.
    fn tick_before(&self, now: Instant) -> Instant {
        match self.granularity.as_nanos() {
            0 => now,
            tick => Instant::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    /// The first tick at or after `instant`.
    fn tick_from(&self, instant: Instant) -> Instant {
        match self.granularity.as_nanos() {
            0 => instant,
            tick => Instant::from_nanos(instant.as_nanos().div_ceil(tick).saturating_mul(tick)),
        }
    }
}

/// Default bucket of the peak rate in bytes: a full Ethernet packet.
const PEAK_BYTES: u64 = 1500;

/// A shaper.
pub(super) struct Tbf {
    buckets: Vec<TokenBucket>,
    child: PeekableChild,
}

impl Tbf {
    pub(super) fn new(tbf: &fairwind_qdisc::Tbf, seed: u64, build: &BuildChild<'_>) -> Self {
        let peak = tbf.peak_rate.map(|rate| {
            TokenBucket::new(rate, tbf.mtu_bytes.unwrap_or(PEAK_BYTES), tbf.granularity)
        });
        let queue = Qdisc::Bfifo { limit_bytes: tbf.limit_bytes };
        let child = tbf.child.as_deref().unwrap_or(&queue);
        let rate = TokenBucket::new(tbf.rate, tbf.burst_bytes, tbf.granularity);
        Self {
            buckets: std::iter::once(rate).chain(peak).collect(),
            child: PeekableChild::new(build(child, seed)),
        }
    }
}

impl QueueDiscipline for Tbf {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if !self.buckets.iter().all(|bucket| bucket.can_hold(arrival.bytes())) {
            return Err(DropReason::QueueFull);
        }
        self.child.enqueue(now, arrival, actions)
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        let waiting = match self.child.peek(now, actions) {
            DequeueResult::Packet(waiting) => waiting,
            other => return other,
        };
        let bytes = waiting.bytes();
        let mut ready = now;
        for bucket in &mut self.buckets {
            bucket.fill(now);
            if !bucket.has(bytes) {
                ready = ready.max(bucket.ready_at(bytes));
            }
        }
        if ready > now {
            return DequeueResult::NotBefore(ready);
        }
        self.buckets.iter_mut().for_each(|bucket| bucket.take(bytes));
        self.child.take(now, actions);
        DequeueResult::Packet(waiting)
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(granularity: Span) -> TokenBucket {
        TokenBucket::new(BitRate::from_bits_per_second(12_000_000), 1500, granularity)
    }

    #[test]
    fn tokens_accrue_independent_of_polling() {
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
    fn coarse_clock_updates_tokens_at_ticks() {
        let mut bucket = bucket(Span::from_millis(4));
        bucket.take(1500);
        assert_eq!(bucket.ready_at(1500), Instant::from_millis(4));
        bucket.fill(Instant::from_nanos(3_999_999));
        assert_eq!(bucket.ready_at(1500), Instant::from_millis(4));
        bucket.fill(Instant::from_millis(4));
        assert_eq!(bucket.ready_at(1500), Instant::from_millis(4));
    }
}
