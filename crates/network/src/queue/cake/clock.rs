//! When the next packet may leave at a rate: a clock that every packet puts forward, so nothing is saved up for bursts.

use fairwind_units::{BitRate, ByteCount, Instant};

/// A virtual clock (CAKE's "deficit mode").
#[derive(Debug, Clone)]
pub(super) struct Clock {
    rate: BitRate,
    next: Instant,
    /// Parts of a nanosecond beyond `next`, in units of one by the rate.
    remainder: u64,
}

impl Clock {
    pub(super) fn new(rate: BitRate) -> Self {
        let rate = BitRate::from_bits_per_second(rate.as_bits_per_second().max(1));
        Self { rate, next: Instant::ZERO, remainder: 0 }
    }

    /// When the next packet may leave.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Something waits from `now` on where nothing did: what was not used is forfeited.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.next < now {
            self.next = now;
            self.remainder = 0;
        }
    }

    /// A packet that costs `bytes` leaves.
    pub(super) fn charge(&mut self, bytes: u64) {
        let (nanos, remainder) = self.rate.serialisation(ByteCount::new(bytes), self.remainder);
        self.next += fairwind_units::Span::from_nanos(nanos);
        self.remainder = remainder;
    }

    /// As [`charge`](Clock::charge), for a rate that may be exceeded: what is sent beyond it is not held against later
    /// packets.
    pub(super) fn charge_at_most(&mut self, now: Instant, bytes: u64) {
        if self.next < now {
            self.charge(bytes);
            return;
        }
        let mut from_now = Self { rate: self.rate, next: now, remainder: 0 };
        from_now.charge(bytes);
        if self.next < from_now.next {
            *self = from_now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_put_it_forward_by_exactly_their_time() {
        // 7 bit/s: a byte takes 1 142 857 142 6/7 ns; seven of them eight seconds.
        let mut clock = Clock::new(BitRate::from_bits_per_second(7));
        clock.charge(1);
        assert_eq!(clock.next(), Instant::from_nanos(1_142_857_142));
        for _ in 0..6 {
            clock.charge(1);
        }
        assert_eq!(clock.next(), Instant::from_secs(8));
    }

    #[test]
    fn idleness_saves_nothing_up_and_borrowing_costs_nothing_later() {
        let mut clock = Clock::new(BitRate::from_bits_per_second(12_000_000));
        clock.begin(Instant::from_secs(5));
        assert_eq!(clock.next(), Instant::from_secs(5));
        // Ten packets at once at a rate that may be exceeded count as one.
        for _ in 0..10 {
            clock.charge_at_most(Instant::from_secs(5), 1500);
        }
        assert_eq!(clock.next(), Instant::from_millis(5001));
    }
}
