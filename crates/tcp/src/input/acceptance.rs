//! Steps 1: is the segment acceptable at all? (RFC 9293 §3.10.7.4, RFC 7323 §5.3)

use crate::connection::Connection;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// PAWS: a segment with an older timestamp than the last one is an old duplicate.
    #[inline]
    pub(super) fn check_timestamps(&mut self, segment: &Segment) -> bool {
        if !self.negotiated.timestamps || segment.flags.contains(Flags::RST) {
            return true;
        }
        match segment.options.timestamps {
            Some(stamps) if is_older(stamps.value, self.receive.recent_timestamp) => {
                self.acknowledger.on_disorder(&self.config, self.offered_window());
                false
            }
            _ => true,
        }
    }

    /// The segment must overlap the receive window; otherwise it is answered by an ACK and dropped.
    #[inline]
    pub(super) fn check_sequence(&mut self, segment: &Segment, now: Instant) -> bool {
        let (next, offered) = (self.receive.next, self.receive.offered);
        let acceptable = segment.end().is_at_or_after(next)
            && segment.sequence.is_at_or_before(offered)
            && (segment.sequence_length() == 0
                || segment.end().is_after(next) && segment.sequence.is_before(offered)
                || segment.sequence == next);
        if acceptable || self.is_simultaneous_opening(segment) {
            return true;
        }
        self.on_unacceptable(segment, now);
        false
    }

    /// The peer's SYN-ACK after both ends sent SYN at once repeats its SYN, which has been taken
    /// (RFC 9293 §3.5, figure 7).
    pub(super) fn is_simultaneous_opening(&self, segment: &Segment) -> bool {
        self.state == State::SynReceived
            && segment.flags.contains(Flags::SYN | Flags::ACK)
            && segment.end() == self.receive.next
            && segment.acknowledgment == self.send.next
    }

    #[cold]
    fn on_unacceptable(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.acknowledger.on_disorder(&self.config, self.offered_window());
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            self.timers.time_wait = now + self.config.time_wait;
        }
        // A repeated SYN of a half-open connection: our SYN-ACK was lost (RFC 9293 §3.10.7.4).
        if self.state == State::SynReceived && segment.flags.contains(Flags::SYN) {
            self.acknowledger.now = false;
            self.syn_due = true;
        }
    }

    /// Remembers the timestamp to echo (RFC 7323 §4.3).
    #[inline]
    pub(super) fn note_timestamp(&mut self, segment: &Segment) {
        if let Some(stamps) = segment.options.timestamps
            && self.negotiated.timestamps
            && segment.sequence.is_at_or_before(self.receive.last_acknowledged)
            && !is_older(stamps.value, self.receive.recent_timestamp)
        {
            self.receive.recent_timestamp = stamps.value;
        }
    }
}

/// Whether one timestamp is older than another, modulo 2^32.
#[inline]
fn is_older(value: u32, reference: u32) -> bool {
    reference.wrapping_sub(value).wrapping_sub(1) < 0x7fff_ffff
}
