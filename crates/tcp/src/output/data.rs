//! Data: retransmissions first, then what is new (see `new_data`).

use crate::connection::Connection;
use crate::send_queue::Sent;
use crate::state::{RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Connection {
    /// Writes the next segment with data; whether any may go.
    #[inline]
    pub(super) fn send_data(&mut self, now: Instant, into: &mut Segment) -> bool {
        // What an early connection has sent is repaired once its handshake is over.
        if self.is_repair_due() && self.state != State::SynReceived && self.send_repair(now, into) {
            return true;
        }
        if self.has_run() && self.send_new(now, into) {
            return true;
        }
        if self.recovery.state == RecoveryState::Recovery
            && self.config.loss.speculative_retransmission
            && self.negotiated.sack
        {
            return self.send_unproven(now, into);
        }
        false
    }

    /// Writes the segment that carries what `sent` records.
    #[inline]
    pub(super) fn write_segment_of(&mut self, sent: &Sent, now: Instant, into: &mut Segment) {
        let payload = sent.length - u32::from(sent.has_fin());
        self.write_segment_at(sent.sequence, payload, sent.marks.flags(), now, into);
    }
}
