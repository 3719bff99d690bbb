//! RST and SYN in a synchronised connection (RFC 9293 §3.10.7.4, RFC 5961 §3, §4; RFC 793 §3.9 before).
//!
//! Source: Linux 6.18 `tcp_validate_incoming`, `tcp_reset_check`.

use crate::config::ControlAcceptance;
use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// A reset or a SYN within the window.
    #[cold]
    pub(super) fn check_control(&mut self, segment: &Segment, now: Instant) -> bool {
        let control = self.config.receiving.control;
        if segment.flags.contains(Flags::RST) {
            if control == ControlAcceptance::Window || self.is_reset_exact(segment) {
                self.be_reset();
            } else if control == ControlAcceptance::Challenged {
                self.challenge(now);
            }
            return false;
        }
        if self.is_simultaneous_opening(segment) {
            return true;
        }
        if control == ControlAcceptance::Challenged {
            self.challenge(now);
        } else {
            self.reset_by(segment);
        }
        false
    }

    /// A reset must stand at exactly the next number. Linux also believes one at the right edge of
    /// what was received out of order (the peer may have sent that much), and one before the FIN
    /// that it has received.
    fn is_reset_exact(&self, segment: &Segment) -> bool {
        let at = segment.sequence;
        at == self.receive.next
            || self.is_reset_behind_fin(segment)
            || self.config.receiving.reset_at_edges
                && self.reassembly.furthest_reported() == Some(at)
    }

    pub(super) fn is_reset_behind_fin(&self, segment: &Segment) -> bool {
        self.config.receiving.reset_at_edges
            && segment.sequence + 1 == self.receive.next
            && matches!(self.state, State::CloseWait | State::LastAck | State::Closing)
    }

    pub(super) fn be_reset(&mut self) {
        self.events.push_back(Event::Reset);
        self.become_closed();
    }
}
