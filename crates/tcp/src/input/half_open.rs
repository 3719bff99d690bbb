//! A handshake that was begun by the peer and is not over (SYN-RECEIVED).
//!
//! Source: RFC 9293 §3.10.7.4; Linux 6.18 `tcp_check_req`.

use crate::connection::Connection;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

/// The bits that tell a SYN from everything else.
const KIND: u16 = Flags::SYN.bits() | Flags::ACK.bits() | Flags::RST.bits() | Flags::FIN.bits();

impl Connection {
    /// Whether the connection waits for the last segment of a handshake that the peer began.
    #[inline]
    pub(super) fn is_half_open(&self) -> bool {
        self.state == State::SynReceived && self.is_passive
    }

    /// Whether the segment may end the handshake; it is answered here if not.
    #[cold]
    pub(super) fn is_acceptable_when_half_open(&mut self, segment: &Segment, now: Instant) -> bool {
        let old = self.is_old_by_timestamp(segment, now);
        if segment.sequence == self.receive.initial
            && segment.flags.bits() & KIND == Flags::SYN.bits()
            && !old
        {
            self.answer_repeated_syn(now);
            return false;
        }
        let rst = segment.flags.contains(Flags::RST);
        let foreign = segment.flags.contains(Flags::ACK)
            && !self.is_early()
            && segment.acknowledgment != self.send.initial + 1;
        if foreign {
            if !rst {
                self.ahead.reset(Self::reset_for(segment));
            }
            return false;
        }
        if old || !self.is_in_first_window(segment) {
            if !rst && !self.is_answered_too_often(now) {
                self.acknowledger.now = true;
            }
            return false;
        }
        self.check_control_when_half_open(segment) && !self.is_deferred(segment)
    }

    /// Our SYN-ACK was lost, it seems: again, and the timer starts anew.
    fn answer_repeated_syn(&mut self, now: Instant) {
        if self.is_answered_too_often(now) {
            return;
        }
        self.ahead.set_syn(true);
        self.timers.retransmission.set(now, self.backoff.timeout);
    }

    fn is_in_first_window(&self, segment: &Segment) -> bool {
        let next = self.receive.next;
        let edge = next + self.acceptance_window();
        segment.sequence == next
            || segment.end().is_after(next) && segment.sequence.is_before(edge)
            || segment.sequence == edge && segment.sequence_length() == 0
    }

    /// A reset anywhere in the window ends the attempt, another SYN does so with a reset.
    fn check_control_when_half_open(&mut self, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::RST) {
            self.be_reset();
            return false;
        }
        if segment.flags.contains(Flags::SYN) && segment.sequence != self.receive.initial {
            self.reset_by(segment);
            return false;
        }
        segment.flags.contains(Flags::ACK)
    }

    /// A bare ACK is not enough where the application waits for data (`TCP_DEFER_ACCEPT`), for a
    /// while.
    fn is_deferred(&mut self, segment: &Segment) -> bool {
        let deferred = self.backoff.expired < self.config.receiving.deferred_timeouts
            && segment.end() == self.receive.initial + 1;
        self.is_acknowledged_only |= deferred;
        deferred
    }
}
