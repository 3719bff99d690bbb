//! Steps 1, 2 and 4: is the segment acceptable at all? (RFC 9293 §3.10.7.4, RFC 7323 §5.3, RFC 5961)
//!
//! Source: Linux 6.18 `tcp_validate_incoming`, `tcp_sequence`, `tcp_send_dupack`.

use crate::connection::Connection;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// Whether the segment is to be processed further; it is answered here if not.
    #[inline]
    pub(super) fn is_acceptable(&mut self, segment: &Segment, now: Instant) -> bool {
        if self.is_half_open() {
            return self.is_acceptable_when_half_open(segment, now);
        }
        if self.is_old_by_timestamp(segment, now) {
            self.on_old(segment, now);
            return false;
        }
        if !self.is_in_window(segment) && !self.is_simultaneous_opening(segment) {
            self.on_out_of_window(segment, now);
            return false;
        }
        if segment.flags.intersects(Flags::RST | Flags::SYN) {
            return self.check_control(segment, now);
        }
        true
    }

    /// The segment must overlap the receive window.
    #[inline]
    fn is_in_window(&self, segment: &Segment) -> bool {
        if self.counts_memory() {
            self.is_in_window_announced(segment)
        } else {
            self.is_in_window_offered(segment)
        }
    }

    #[inline]
    fn is_in_window_offered(&self, segment: &Segment) -> bool {
        let (next, offered) = (self.receive.next, self.receive.offered);
        if segment.sequence == next {
            return next.is_at_or_before(offered);
        }
        segment.end().is_at_or_after(next)
            && segment.sequence.is_at_or_before(offered)
            && (segment.sequence_length() == 0
                || segment.end().is_after(next) && segment.sequence.is_before(offered))
    }

    /// Linux takes what lies behind the last ACK, and does not look at what reaches beyond the window
    /// while nothing waits to be read.
    fn is_in_window_announced(&self, segment: &Segment) -> bool {
        if segment.end().is_before(self.receive.last_acknowledged) {
            return false;
        }
        let edge = self.receive.next + self.announced_window();
        segment.end().is_at_or_before(edge)
            || segment.sequence.is_at_or_before(edge) && self.buffer.is_empty()
    }

    /// The peer's SYN-ACK after both ends sent SYN at once repeats its SYN, which has been taken
    /// (RFC 9293 §3.5, figure 7).
    pub(super) fn is_simultaneous_opening(&self, segment: &Segment) -> bool {
        self.state == State::SynReceived
            && segment.flags.contains(Flags::SYN | Flags::ACK)
            && segment.end() == self.receive.next
            && segment.acknowledgment == self.send.next
    }

    /// An acknowledgment answers it, unless it is a reset (RFC 9293 §3.10.7.4).
    #[cold]
    fn on_out_of_window(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::RST) {
            if self.is_reset_behind_fin(segment) {
                self.be_reset();
            }
        } else if self.state == State::SynReceived && segment.flags.contains(Flags::SYN) {
            // Both opened at once, and our SYN-ACK was lost.
            self.ahead.set_syn(true);
        } else if segment.flags.contains(Flags::SYN) {
            self.challenge(now);
        } else {
            self.reject(segment, now);
        }
    }

    /// Answers an unacceptable segment: not too often where it carries no data.
    #[cold]
    pub(super) fn reject(&mut self, segment: &Segment, now: Instant) {
        let has_data = segment.sequence_length() > 0 && !segment.flags.contains(Flags::SYN);
        if !has_data && self.is_answered_too_often(now) {
            return;
        }
        let next = self.receive.next;
        if segment.sequence_length() > 0 && segment.sequence.is_before(next) {
            self.acknowledge_quickly();
            self.note_duplicate(segment.sequence, segment.end().earlier(next));
        }
        self.acknowledger.now = true;
    }

    /// Whether an answer to something unacceptable was given a short while ago; if not, this is one.
    pub(super) fn is_answered_too_often(&mut self, now: Instant) -> bool {
        let interval = self.config.receiving.rejection_interval;
        if self.rejected_at.is_some_and(|last| now.saturating_since(last) < interval) {
            return true;
        }
        self.rejected_at = Some(now);
        false
    }

    /// A challenge ACK: whoever really has lost track will answer by a reset (RFC 5961 §3, §7).
    #[cold]
    pub(super) fn challenge(&mut self, now: Instant) {
        if !self.is_answered_too_often(now) && self.may_challenge(now) {
            self.acknowledger.now = true;
        }
    }

    /// Counts a challenge, of which there are so many in a second (Linux `tcp_send_challenge_ack`,
    /// which counts those of all connections and varies the number at random).
    fn may_challenge(&mut self, now: Instant) -> bool {
        let Some(limit) = self.config.receiving.challenge_limit else { return true };
        let second = now.as_nanos() / 1_000_000_000;
        let (counted, challenges) = &mut self.challenges;
        if *counted != second {
            (*counted, *challenges) = (second, 0);
        }
        *challenges += 1;
        *challenges <= limit
    }
}
