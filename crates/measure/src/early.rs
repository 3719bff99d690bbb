//! Packets that were counted before it was known that data goes both ways on their connection.

use crate::collector::Collector;
use crate::observation::FlowId;

/// A number of packets, and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCount {
    /// Packets.
    pub packets: u32,
    /// Their bytes on the wire.
    pub wire_bytes: u32,
}

impl PacketCount {
    /// Counts one more.
    pub const fn add(&mut self, wire_bytes: u32) {
        self.packets = self.packets.saturating_add(1);
        self.wire_bytes = self.wire_bytes.saturating_add(wire_bytes);
    }
}

/// Packets of a connection that [`ConnectionFlows::attribute`](crate::ConnectionFlows::attribute) gives
/// to the one flow that it has, and would give to the other one if there were two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlyPackets {
    /// Packets of the opener without a place in sequence space, as they left it.
    pub bare_sent: PacketCount,
    /// The same, as they arrived.
    pub bare_received: PacketCount,
    /// Packets of the answerer with a place in sequence space (SYN-ACK), as they left it.
    pub answer_sent: PacketCount,
    /// The same, as they arrived.
    pub answer_received: PacketCount,
}

impl Collector {
    /// A connection that `opening` was the only flow of has got another one, `answering`: these packets,
    /// which were counted since the end of the warm-up, are counted as if that had been known before. In
    /// windows that are over they stay where they are.
    ///
    /// # Panics
    /// Where there is no such flow.
    pub fn reattribute(&mut self, opening: FlowId, answering: FlowId, early: &EarlyPackets) {
        let totals = self.flow(opening).totals_mut();
        take(&mut totals.packets_sent, &mut totals.wire_bytes_sent, early.bare_sent);
        take(&mut totals.packets_received, &mut totals.wire_bytes_received, early.bare_received);
        let answers_sent = u64::from(early.answer_sent.packets);
        totals.ack_packets_sent = totals.ack_packets_sent.saturating_sub(answers_sent);
        let totals = self.flow(answering).totals_mut();
        totals.ack_packets_sent += u64::from(early.bare_sent.packets);
        totals.packets_sent += u64::from(early.answer_sent.packets);
        totals.wire_bytes_sent += u64::from(early.answer_sent.wire_bytes);
        totals.packets_received += u64::from(early.answer_received.packets);
        totals.wire_bytes_received += u64::from(early.answer_received.wire_bytes);
    }
}

fn take(packets: &mut u64, wire_bytes: &mut u64, early: PacketCount) {
    *packets = packets.saturating_sub(u64::from(early.packets));
    *wire_bytes = wire_bytes.saturating_sub(u64::from(early.wire_bytes));
}
