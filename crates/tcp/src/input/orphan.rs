//! Connections that the application has let go of.
//!
//! Source: RFC 1122 §4.2.2.13, RFC 2525 §2.17; Linux 6.18 `__tcp_close`, `tcp_fin_time`.

use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::Instant;

impl Connection {
    /// The application lets go of the connection (`close`): what it has written still goes out, but
    /// new data is answered by a reset, and so is the whole connection where received data was not
    /// read.
    pub fn release(&mut self, now: Instant) {
        if self.receive.unread > 0 {
            self.abort_with_reset();
            return;
        }
        self.is_orphan = true;
        self.receive.is_shut = true;
        self.close();
        if self.state == State::FinWait2 {
            self.await_finish_as_orphan(now);
        }
    }

    /// The application does not read any more (`shutdown(SHUT_RD)`).
    pub fn shut_receiving(&mut self) {
        self.receive.is_shut = true;
    }

    /// Whether reading gives the end of the stream for good.
    pub fn is_receiving_shut(&self) -> bool {
        self.receive.is_shut
    }

    /// An orphan waits for the peer's FIN, but not for ever.
    #[cold]
    pub(super) fn await_finish_as_orphan(&mut self, now: Instant) {
        match self.config.receiving.finish_timeout {
            Some(wait) => {
                self.timers.stop_all();
                self.timers.time_wait.set(now, wait);
            }
            None => self.abort_with_reset(),
        }
    }

    /// Gives the connection up; the peer is told by a reset (`tcp_send_active_reset`).
    pub(crate) fn abort_with_reset(&mut self) {
        if self.state.is_synchronised() || self.state == State::SynReceived {
            self.ahead.reset_own(self.acceptable_sequence());
        }
        self.become_closed();
    }

    /// A segment came that nobody will read: the connection ends (`tcp_reset`).
    #[cold]
    pub(super) fn reset_by(&mut self, segment: &fairwind_wire::Segment) {
        self.ahead.reset(Self::reset_for(segment));
        self.become_closed();
        self.events.push_back(Event::Reset);
    }
}
