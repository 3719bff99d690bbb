//! Protection against wrapped sequence numbers, and the timestamp that is echoed (RFC 7323 §4.3, §5).
//!
//! Source: Linux 6.18 `tcp_paws_check`, `tcp_disordered_ack_check`, `tcp_replace_ts_recent`.

use crate::config::OvertakenAcks;
use crate::connection::Connection;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// Whether the segment is an old duplicate, by its timestamp.
    #[inline]
    pub(super) fn is_old_by_timestamp(&self, segment: &Segment, now: Instant) -> bool {
        let Some(stamps) = segment.options.timestamps.filter(|_| self.negotiated.timestamps) else {
            return false;
        };
        let age = age(self.receive.recent_timestamp, stamps.value);
        age > 0 && !segment.flags.contains(Flags::RST) && self.is_too_old(segment, age, now)
    }

    #[cold]
    fn is_too_old(&self, segment: &Segment, age: i32, now: Instant) -> bool {
        age > self.config.receiving.stamps.tolerated_ticks
            && !self.is_stamp_forgotten(now)
            && self.receive.recent_timestamp != 0
            && !self.is_disordered_ack(segment, age)
    }

    /// Nothing was heard for so long that the peer's clock may have wrapped.
    #[inline]
    fn is_stamp_forgotten(&self, now: Instant) -> bool {
        now.saturating_since(self.receive.stamped_at) >= self.config.receiving.stamps.life
    }

    /// An ACK that was overtaken by another, as happens where paths are not equally long: not a sign
    /// of age.
    fn is_disordered_ack(&self, segment: &Segment, age: i32) -> bool {
        let replay = self.backoff.timeout.as_millis() * 12 / 10;
        self.config.receiving.stamps.overtaken_acks != OvertakenAcks::Refused
            && segment.flags.contains(Flags::ACK)
            && segment.sequence_length() == 0
            && segment.sequence == self.receive.next
            && segment.acknowledgment == self.send.oldest_unacked
            && !self.may_update_window(segment, self.scaled_window(segment))
            && u64::from(age.unsigned_abs()) <= replay
    }

    /// Answers an old duplicate; an old ACK may just be forgotten.
    #[cold]
    pub(super) fn on_old(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::SYN) {
            self.challenge(now);
            return;
        }
        let drops = self.config.receiving.stamps.overtaken_acks == OvertakenAcks::TakenOrDropped;
        let is_old_ack = drops
            && segment.flags.contains(Flags::ACK)
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
                || self.is_stamp_forgotten(now)
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
