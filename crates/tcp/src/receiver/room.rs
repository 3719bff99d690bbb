//! Making room for a packet where memory is short.
//!
//! Source: Linux 6.18 `tcp_try_rmem_schedule`, `tcp_prune_queue`, `tcp_data_queue`.

use super::packet::Packet;
use crate::connection::Connection;
use fairwind_wire::{Segment, SequenceNumber};

impl Connection {
    /// Whether the buffer has room for a packet, if need be after tidying up.
    #[inline]
    pub(crate) fn has_room_for(&mut self, packet: Packet, sequence: SequenceNumber) -> bool {
        self.buffer.has_room(packet) || self.make_room(packet, sequence)
    }

    #[cold]
    fn make_room(&mut self, packet: Packet, sequence: SequenceNumber) -> bool {
        if self.buffer.allocated == 0 {
            return false;
        }
        self.acknowledger.quick = 0;
        let announced_mss = self.announced_mss();
        self.buffer.clamp_to_use(&self.config.receiving, announced_mss);
        if self.buffer.has_room(packet) {
            return true;
        }
        self.buffer.pack();
        while !self.buffer.has_room(packet) {
            let Some(memory) = self.reassembly.prune(sequence) else { return false };
            self.buffer.release_ahead(memory);
        }
        true
    }

    /// Without room, the window closes at once; the segment is dropped, unless nothing waits to be
    /// read: then it is taken all the same, so that the connection goes on.
    #[cold]
    pub(crate) fn is_forced(&mut self, segment: &Segment) -> bool {
        self.acknowledger.no_memory = true;
        self.acknowledger.at_once = true;
        self.acknowledger.scheduled = true;
        self.buffer.is_empty() || segment.payload_bytes == 0
    }
}
