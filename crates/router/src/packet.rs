//! What travels through the network in real time: the number of a buffer, and what is known of the
//! packet in it.

use super::buffers::BufferId;
use fairwind_assembly::{Damage, FlowPacket, PacketLabel};
use fairwind_network::{Header, NodeId, Packet};
use fairwind_recorder::MeasuredPacket;
use fairwind_wire::Ecn;

/// A packet from a host.
#[derive(Debug, Clone, Copy)]
pub struct RoutedPacket {
    /// Where its bytes are.
    pub buffer: BufferId,
    /// Its length in bytes.
    pub wire_bytes: u32,
    /// The node of the host that it is for.
    pub destination: NodeId,
    /// What queue disciplines see of it.
    pub header: Header,
    /// Whether a queue has marked it; its bytes learn of it when it is handed over.
    pub is_marked: bool,
    /// Which of its bits a link has turned over, by the number that was drawn; its bytes learn of it when it
    /// is handed over.
    pub damage: Option<u32>,
    /// How often links have done so.
    pub damaged: Damage,
    /// What the measures need to know, where it belongs to a flow.
    pub measured: Option<MeasuredPacket>,
}

impl Packet for RoutedPacket {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    #[inline]
    fn destination(&self) -> NodeId {
        self.destination
    }

    fn header(&self) -> Header {
        self.header
    }

    fn mark(&mut self) {
        self.is_marked = true;
        if let Some(measured) = &mut self.measured {
            let class = &mut measured.segment.traffic_class;
            *class = class.with_ecn(Ecn::Ce);
        }
    }

    /// The copy has the same buffer, which learns of it by [`Buffers::share`](super::buffers::Buffers::share).
    fn duplicate(&self) -> Option<Self> {
        Some(*self)
    }

    fn corrupt(&mut self, draw: u32) {
        self.damage = Some(draw);
        self.damaged = self.damaged.more();
    }
}

impl FlowPacket for RoutedPacket {
    #[inline]
    fn label(&self) -> PacketLabel {
        let measured = self.measured.as_ref().expect("only packets of flows are told of");
        PacketLabel {
            flow: measured.flow,
            direction: measured.direction,
            payload_bytes: measured.segment.payload_bytes,
        }
    }

    #[inline]
    fn damage(&self) -> Damage {
        self.damaged
    }
}
