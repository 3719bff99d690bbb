//! Messages at a constant rate.

use fairwind_units::{BitRate, ByteCount, Instant, Span};
use serde::{Deserialize, Serialize};

/// Messages of one size at a rate that is exact in the long run: what is left of a nanosecond after one
/// interval counts in the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    message_bytes: u64,
    /// Bytes that count towards the rate.
    counted: ByteCount,
    rate: BitRate,
    /// What is left of a nanosecond, in units of `1 / rate` nanoseconds.
    remainder: u64,
}

impl Pace {
    /// Messages of `message_bytes`, each of which counts as `counted` bytes (headers included, for
    /// example) towards `rate`; a rate of zero is taken as one bit per second.
    pub fn new(message_bytes: u64, counted: ByteCount, rate: BitRate) -> Self {
        let rate = BitRate::from_bits_per_second(rate.as_bits_per_second().max(1));
        Self { message_bytes: message_bytes.max(1), counted, rate, remainder: 0 }
    }

    /// Bytes of a message.
    pub(crate) const fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Time from a message to the next one, at least a nanosecond.
    pub(crate) fn next_interval(&mut self) -> Span {
        let (nanos, remainder) = self.rate.serialisation(self.counted, self.remainder);
        self.remainder = remainder;
        Span::from_nanos(nanos.max(1))
    }
}

/// Writes messages at a constant rate, without end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Steady {
    pace: Pace,
    next: Instant,
}

impl Steady {
    /// An application that keeps this pace.
    pub fn new(pace: Pace) -> Self {
        Self { pace, next: Instant::MAX }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = now;
    }

    pub(crate) fn end(&mut self) {
        self.next = Instant::MAX;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.next
    }

    /// The message that is due at `now`; the next is due an interval after this one was.
    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.next > now {
            return None;
        }
        self.next += self.pace.next_interval();
        Some(self.pace.message_bytes())
    }
}
