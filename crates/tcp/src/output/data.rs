//! Data: retransmissions first, then what is new (see `new_data`).

use crate::connection::Connection;
use crate::send_queue::{Marks, Sent};
use crate::state::{RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    #[inline]
    pub(super) fn send_data(&mut self, now: Instant) -> Option<Segment> {
        // What an early connection has sent is repaired once its handshake is over.
        if self.is_repair_due()
            && self.state != State::SynReceived
            && let Some(segment) = self.send_repair(now)
        {
            return Some(segment);
        }
        if self.has_run()
            && let Some(segment) = self.send_new(now)
        {
            return Some(segment);
        }
        if self.recovery.state == RecoveryState::Recovery
            && self.config.loss.speculative_retransmission
            && self.negotiated.sack
        {
            return self.send_unproven(now);
        }
        None
    }

    /// The segment that carries what `sent` records.
    #[inline]
    pub(super) fn segment_of(&mut self, sent: &Sent, now: Instant) -> Segment {
        let fin = u32::from(sent.has_fin());
        let mut flags = Flags::NONE;
        if sent.marks.contains(Marks::PUSH) {
            flags |= Flags::PSH;
        }
        if fin > 0 {
            flags |= Flags::FIN;
        }
        self.segment_at(sent.sequence, sent.length - fin, flags, now)
    }
}
