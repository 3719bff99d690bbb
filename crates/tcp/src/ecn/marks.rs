//! Marks that a congestion control lives by: it is told of each packet's, and says what is echoed when.
//!
//! Source: RFC 8257 §3.2; Linux `tcp_data_ecn_check`, `tcp_ca_needs_ecn`, `__tcp_send_ack`.

use crate::congestion::Congestion;
use crate::congestion::plugged::{AskedAcknowledgment, WindowEvent};
use crate::connection::Connection;
use fairwind_units::Instant;

impl Connection {
    /// Tells the congestion control of the mark of data that has come. What it asks to have acknowledged goes
    /// out ahead of everything else.
    #[cold]
    pub(super) fn tell_mark(&mut self, event: WindowEvent, now: Instant) {
        self.tell_event(event);
        if let Some(asked) = self.take_asked() {
            let acknowledgment = self.acknowledge_before(asked, now);
            self.ahead.acknowledge(acknowledgment);
        }
    }

    fn take_asked(&mut self) -> Option<AskedAcknowledgment> {
        match &mut self.congestion {
            Congestion::Plugged(plugged) => plugged.take_asked(),
            _ => None,
        }
    }
}
