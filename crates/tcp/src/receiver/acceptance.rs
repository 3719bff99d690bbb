//! Acceptability of a segment: receive window, RST, timestamps (PAWS).
//!
//! Source: RFC 9293 §3.10.7.4, RFC 7323 §4.3 and §5, RFC 5961 §3; Linux 6.18 `tcp_sequence`,
//! `tcp_reset_check`, `tcp_paws_check`, `tcp_disordered_ack_check`, `tcp_replace_ts_recent`.

use super::Receiver;
use crate::config::DisorderedAcks;
use crate::state::State;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};

impl Receiver {
    /// Whether the segment overlaps the receive window.
    #[inline]
    pub(crate) fn is_in_window(&self, segment: &Segment) -> bool {
        if self.counts_memory() {
            self.is_in_announced_window(segment)
        } else {
            self.is_in_offered_window(segment)
        }
    }

    #[inline]
    fn is_in_offered_window(&self, segment: &Segment) -> bool {
        let (next, offered) = (self.space.next, self.space.offered);
        if segment.sequence == next {
            return next.is_at_or_before(offered);
        }
        segment.end().is_at_or_after(next)
            && segment.sequence.is_at_or_before(offered)
            && (segment.sequence_length() == 0
                || segment.end().is_after(next) && segment.sequence.is_before(offered))
    }

    /// Linux accepts data after the last ACK, and ignores the part beyond the window while nothing
    /// is unread. A FIN may lie beyond the window.
    fn is_in_announced_window(&self, segment: &Segment) -> bool {
        if segment.end().is_before(self.space.last_acknowledged) {
            return false;
        }
        let edge = if self.config.receiving.takes_ever_offered {
            self.space.offered.later(self.space.next)
        } else {
            self.space.next + self.announced_window()
        };
        let fin = u32::from(segment.flags.contains(Flags::FIN));
        (segment.end() - fin).is_at_or_before(edge)
            || segment.sequence.is_at_or_before(edge) && self.buffer.is_empty()
    }

    pub(crate) fn is_in_first_window(&self, segment: &Segment) -> bool {
        let next = self.space.next;
        let edge = next + self.acceptance_window();
        segment.sequence == next
            || segment.end().is_after(next) && segment.sequence.is_before(edge)
            || segment.sequence == edge && segment.sequence_length() == 0
    }

    /// Whether a segment lies in the window of a connection that waits for the peer's FIN.
    pub(crate) fn is_in_closing_window(&self, segment: &Segment) -> bool {
        let next = self.space.next;
        let edge = next + self.acceptance_window();
        segment.sequence == next || segment.end().is_after(next) && segment.sequence.is_before(edge)
    }

    /// Whether a reset has exactly the next number. Linux also accepts one at the right edge of
    /// out-of-order data (the peer may have sent that much), and one before the FIN that it has received.
    pub(crate) fn is_reset_exact(&self, segment: &Segment, state: State) -> bool {
        let at = segment.sequence;
        at == self.space.next
            || self.is_reset_before_fin(segment, state)
            || self.config.receiving.reset_at_edges
                && self.reassembly.furthest_reported() == Some(at)
    }

    pub(crate) fn is_reset_before_fin(&self, segment: &Segment, state: State) -> bool {
        self.config.receiving.reset_at_edges
            && segment.sequence + 1 == self.space.next
            && matches!(state, State::CloseWait | State::LastAck | State::Closing)
    }

    /// Age of the segment's timestamp in ticks, if it is older than the latest one.
    #[inline]
    pub(crate) fn timestamp_age(&self, segment: &Segment) -> Option<i32> {
        let stamps = segment.options.timestamps.filter(|_| self.negotiated.has_timestamps())?;
        let age = age(self.space.recent_timestamp, stamps.value);
        if age <= 0 || segment.flags.contains(Flags::RST) {
            return None;
        }
        Some(age)
    }

    /// Whether a segment with a timestamp that is `age` ticks too old is an old duplicate (PAWS).
    #[cold]
    pub(crate) fn is_too_old(
        &self,
        segment: &Segment,
        age: i32,
        rto: Span,
        oldest_unacked: SequenceNumber,
        now: Instant,
    ) -> bool {
        age > self.config.receiving.stamps.tolerated_ticks
            && !self.is_timestamp_expired(now)
            && self.space.recent_timestamp != 0
            && !self.is_disordered_ack(segment, age, rto, oldest_unacked)
    }

    /// Whether the peer was silent so long that its clock may have wrapped.
    fn is_timestamp_expired(&self, now: Instant) -> bool {
        now.saturating_since(self.space.stamped_at) >= self.config.receiving.stamps.life
    }

    /// A pure ACK that another one overtook: not an old duplicate.
    fn is_disordered_ack(
        &self,
        segment: &Segment,
        age: i32,
        rto: Span,
        oldest_unacked: SequenceNumber,
    ) -> bool {
        let replay = rto.as_millis() * 12 / 10;
        self.config.receiving.stamps.disordered_acks != DisorderedAcks::Refused
            && segment.flags.contains(Flags::ACK)
            && segment.sequence_length() == 0
            && segment.sequence == self.space.next
            && segment.acknowledgment == oldest_unacked
            && u64::from(age.unsigned_abs()) <= replay
    }

    /// Whether an old duplicate is a pure ACK that is dropped without an answer.
    #[cold]
    pub(crate) fn drops_old_ack(&self, segment: &Segment) -> bool {
        self.config.receiving.stamps.disordered_acks == DisorderedAcks::TakenOrDropped
            && segment.flags.contains(Flags::ACK)
            && segment.sequence_length() == 0
            && segment.sequence.is_before(self.space.next)
    }

    /// Notes the timestamp to echo (RFC 7323 §4.3).
    #[inline]
    pub(crate) fn note_timestamp(&mut self, segment: &Segment, now: Instant) -> bool {
        if let Some(stamps) = segment.options.timestamps
            && self.negotiated.has_timestamps()
            && segment.sequence.is_at_or_before(self.space.last_acknowledged)
            && (age(self.space.recent_timestamp, stamps.value) <= 0
                || self.is_timestamp_expired(now)
                || self.space.recent_timestamp == 0)
        {
            let is_new = age(self.space.recent_timestamp, stamps.value) < 0;
            self.space.recent_timestamp = stamps.value;
            self.space.stamped_at = now;
            return is_new;
        }
        false
    }

    /// Whether the segment's timestamp is older than the latest one; a reset is never old.
    pub(crate) fn is_older(&self, segment: &Segment) -> bool {
        self.timestamp_age(segment).is_some()
    }

    /// Whether a SYN is later than everything received: a later number, or a later timestamp (RFC
    /// 6191).
    pub(crate) fn is_later_syn(&self, segment: &Segment) -> bool {
        let later = segment.options.timestamps.is_some_and(|stamps| {
            self.negotiated.has_timestamps() && age(self.space.recent_timestamp, stamps.value) < 0
        });
        !self.is_older(segment) && (segment.sequence.is_after(self.space.next) || later)
    }
}

/// Age of `value` relative to `recent`, modulo 2^32.
#[inline]
fn age(recent: u32, value: u32) -> i32 {
    recent.wrapping_sub(value).cast_signed()
}
