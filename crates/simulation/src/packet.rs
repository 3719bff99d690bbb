//! What travels through the simulated network: a real header, and a payload length.

use fairwind_assembly::{Labelled, PacketLabel};
use fairwind_measure::{Direction, FlowId};
use fairwind_network::{Header, NodeId, Packet};
use fairwind_wire::{Ecn, Segment};

/// An IP packet with a TCP segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulatedPacket {
    pub(crate) destination: NodeId,
    pub(crate) wire_bytes: u32,
    pub(crate) flow: u32,
    pub(crate) direction: Direction,
    pub(crate) segment: Segment,
}

impl SimulatedPacket {
    #[inline]
    pub(crate) fn new(
        segment: Segment,
        flow: u32,
        direction: Direction,
        destination: NodeId,
        ip_header_bytes: u32,
    ) -> Self {
        let wire_bytes = ip_header_bytes + segment.header_bytes() + segment.payload_bytes;
        Self { destination, wire_bytes, flow, direction, segment }
    }
}

impl Packet for SimulatedPacket {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    #[inline]
    fn destination(&self) -> NodeId {
        self.destination
    }

    fn header(&self) -> Header {
        Header {
            connection: self.flow,
            is_backward: self.direction == Direction::Reverse,
            source: 0,
            source_port: self.segment.source_port,
            destination_port: self.segment.destination_port,
            traffic_class: self.segment.traffic_class.octet(),
            protocol: 6,
        }
    }

    fn mark(&mut self) {
        let class = self.segment.traffic_class;
        self.segment.traffic_class = class.with_ecn(Ecn::Ce);
    }
}

impl Labelled for SimulatedPacket {
    #[inline]
    fn label(&self) -> PacketLabel {
        PacketLabel {
            flow: FlowId(self.flow),
            direction: self.direction,
            payload_bytes: self.segment.payload_bytes,
        }
    }
}
