//! Which flow a packet belongs to, where a connection carries data both ways.
//!
//! Source: our own definition. A packet that takes a place in its sender's sequence space (payload,
//! SYN or FIN) belongs to the flow of that sender's data, whatever it acknowledges. Any other packet
//! belongs, as an acknowledgment, to the flow of the data that goes the other way. So each packet is
//! of one flow, at every tap and every queue, and nothing is counted twice. What a packet
//! with data acknowledges is not lost on the way: the collector lets it end ACK latencies of the other flow.

use crate::collector::Collector;
use crate::observation::{Direction, FlowId};
use fairwind_wire::Segment;

/// The flows of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionFlows {
    /// The data of the side that opened the connection.
    pub opening: FlowId,
    /// The data that goes the other way; `None` where there is none, and everything belongs to
    /// the opening flow.
    pub answering: Option<FlowId>,
}

impl ConnectionFlows {
    /// The flow that a packet belongs to, and its direction in that flow. `direction` says which
    /// way it goes: forward from the side that opened the connection, reverse to it.
    ///
    /// ```
    /// use fairwind_measure::{ConnectionFlows, Direction, FlowId};
    /// use fairwind_wire::{Flags, Segment};
    ///
    /// let flows = ConnectionFlows { opening: FlowId(0), answering: Some(FlowId(1)) };
    /// let data = Segment { flags: Flags::ACK, payload_bytes: 1000, ..Segment::default() };
    /// let bare = Segment { flags: Flags::ACK, ..Segment::default() };
    /// assert_eq!(flows.attribute(Direction::Reverse, &data), (FlowId(1), Direction::Forward));
    /// assert_eq!(flows.attribute(Direction::Forward, &bare), (FlowId(1), Direction::Reverse));
    /// assert_eq!(flows.attribute(Direction::Reverse, &bare), (FlowId(0), Direction::Reverse));
    /// ```
    #[inline]
    pub fn attribute(self, direction: Direction, segment: &Segment) -> (FlowId, Direction) {
        let Some(answering) = self.answering else { return (self.opening, direction) };
        match (direction, segment.sequence_length() > 0) {
            (Direction::Forward, true) => (self.opening, Direction::Forward),
            (Direction::Reverse, true) => (answering, Direction::Forward),
            (Direction::Forward, false) => (answering, Direction::Reverse),
            (Direction::Reverse, false) => (self.opening, Direction::Reverse),
        }
    }
}

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
