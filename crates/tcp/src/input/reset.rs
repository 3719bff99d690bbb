//! Steps 2 and 4: RST and SYN in a synchronised connection (RFC 9293 §3.10.7.4, RFC 5961 §3, §4).

use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// A reset at exactly the next number ends the connection; elsewhere in the window it is
    /// answered by a challenge ACK.
    #[inline]
    pub(super) fn check_reset(&mut self, segment: &Segment) -> bool {
        if !segment.flags.contains(Flags::RST) {
            return true;
        }
        if segment.sequence == self.receive.next {
            // In TIME-WAIT all is done already; it only ends early.
            let ended = self.state == State::TimeWait;
            self.events.push_back(if ended { Event::Closed } else { Event::Reset });
            self.become_closed();
        } else {
            self.acknowledger.now = true;
        }
        false
    }

    /// A SYN in the window is answered by a challenge ACK, never believed.
    #[inline]
    pub(super) fn check_syn(&mut self, segment: &Segment) -> bool {
        if !segment.flags.contains(Flags::SYN) {
            return true;
        }
        if self.is_simultaneous_opening(segment) {
            return true;
        }
        self.acknowledger.now = true;
        false
    }
}
