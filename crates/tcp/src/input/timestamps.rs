//! Protection against wrapped sequence numbers, and the timestamp that is echoed (RFC 7323 §4.3, §5).
//!
//! Source: Linux 6.18 `tcp_paws_check`, `tcp_disordered_ack_check`, `tcp_replace_ts_recent`.

use crate::connection::Connection;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// After so long without news a timestamp says nothing any more (`TCP_PAWS_WRAP`: the time in which
/// a clock of microseconds wraps; RFC 7323 §5.5 would have 24 days, for one of milliseconds).
const TIMESTAMP_LIFE: Span = Span::from_secs(2147);
/// A timestamp may be older by one tick (`TCP_PAWS_WINDOW`).
const TOLERATED_AGE: i32 = 1;

impl Connection {
    /// Whether the segment is an old duplicate, by its timestamp.
    #[inline]
    pub(super) fn is_old_by_timestamp(&self, segment: &Segment, now: Instant) -> bool {
        let Some(stamps) = segment.options.timestamps.filter(|_| self.negotiated.timestamps) else {
            return false;
        };
        let tolerated = if self.counts_memory() { TOLERATED_AGE } else { 0 };
        let age = age(self.receive.recent_timestamp, stamps.value);
        age > tolerated && !segment.flags.contains(Flags::RST) && self.is_too_old(segment, age, now)
    }

    #[cold]
    fn is_too_old(&self, segment: &Segment, age: i32, now: Instant) -> bool {
        let forgotten = now.saturating_since(self.receive.stamped_at) >= TIMESTAMP_LIFE;
        !forgotten && self.receive.recent_timestamp != 0 && !self.is_disordered_ack(segment, age)
    }

    /// An ACK that was overtaken by another, as happens where paths are not equally long: not a sign
    /// of age.
    fn is_disordered_ack(&self, segment: &Segment, age: i32) -> bool {
        let may_update_window = segment.acknowledgment.is_after(self.send.oldest_unacked)
            || segment.sequence.is_after(self.send.window_set_by)
            || segment.sequence == self.send.window_set_by
                && self.scaled_window(segment) > self.send.window;
        let replay = self.backoff.timeout.as_millis() * 12 / 10;
        segment.flags.contains(Flags::ACK)
            && segment.sequence_length() == 0
            && segment.sequence == self.receive.next
            && segment.acknowledgment == self.send.oldest_unacked
            && !may_update_window
            && u64::from(age.unsigned_abs()) <= replay
    }

    /// Answers an old duplicate; an old ACK is just forgotten.
    #[cold]
    pub(super) fn on_old(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::SYN) {
            self.challenge(now);
            return;
        }
        let is_old_ack = segment.flags.contains(Flags::ACK)
            && segment.sequence_length() == 0
            && segment.sequence.is_before(self.receive.next);
        if !is_old_ack {
            self.reject(segment, now);
        }
    }

    /// Remembers the timestamp to echo (RFC 7323 §4.3).
    #[inline]
    pub(super) fn note_timestamp(&mut self, segment: &Segment, now: Instant) {
        if let Some(stamps) = segment.options.timestamps
            && self.negotiated.timestamps
            && segment.sequence.is_at_or_before(self.receive.last_acknowledged)
            && (age(self.receive.recent_timestamp, stamps.value) <= 0
                || now.saturating_since(self.receive.stamped_at) >= TIMESTAMP_LIFE
                || self.receive.recent_timestamp == 0)
        {
            self.receive.recent_timestamp = stamps.value;
            self.receive.stamped_at = now;
        }
    }
}

/// How much older `value` is than `recent`, modulo 2^32.
#[inline]
pub(super) fn age(recent: u32, value: u32) -> i32 {
    recent.wrapping_sub(value).cast_signed()
}
