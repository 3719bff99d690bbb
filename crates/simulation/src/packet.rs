//! What travels through the simulated network: a real header, and a payload length.

use fairwind_assembly::{Damage, FlowPacket, PacketLabel, connection_of_ports};
use fairwind_measure::{Direction, FlowId};
use fairwind_network::{Header, NodeId, Packet};
use fairwind_units::Instant;
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber};

/// An IP packet with a TCP segment, or a datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulatedPacket {
    pub(crate) destination: NodeId,
    pub(crate) wire_bytes: u32,
    pub(crate) flow: u32,
    pub(crate) direction: Direction,
    /// Whether links have damaged it, so that its checksum is wrong.
    pub(crate) damage: Damage,
    pub(crate) source: HostNumber,
    pub(crate) segment: Segment,
}

/// A node's number, as short as it is looked at: hosts beyond the last one are taken for one.
pub(crate) type HostNumber = u16;

/// The number of a node.
pub(crate) fn host_number(node: NodeId) -> HostNumber {
    HostNumber::try_from(node.0).unwrap_or(HostNumber::MAX)
}

/// Protocol numbers of the IP header.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER_BYTES: u32 = 8;

impl SimulatedPacket {
    /// A datagram, written at `written`, of which `number` has the lowest bits. It has no TCP header: of the
    /// segment's fields the ports and the payload are meant, and four that only connections need hold instant and
    /// number, so that the packet is no larger for it.
    pub(crate) fn datagram(
        flow: u32,
        (source_port, destination_port): (u16, u16),
        (source, destination): (NodeId, NodeId),
        (ip_header_bytes, payload_bytes): (u32, u32),
        (written, number): (Instant, u32),
    ) -> Self {
        // Sixteen bits of the instant, from its lowest ones up to the place.
        let bits = |place: u64| u16::try_from(written.as_nanos() >> place & 0xffff).unwrap_or(0);
        let low = u32::from(bits(16)) << 16 | u32::from(bits(0));
        let segment = Segment {
            source_port,
            destination_port,
            window: bits(48),
            urgent: bits(32),
            acknowledgment: SequenceNumber::new(low),
            sequence: SequenceNumber::new(number),
            payload_bytes,
            ..Segment::default()
        };
        let wire_bytes = ip_header_bytes + UDP_HEADER_BYTES + payload_bytes;
        let (source, direction) = (host_number(source), Direction::Forward);
        Self { destination, wire_bytes, flow, direction, damage: Damage::None, source, segment }
    }

    /// Whether it is a datagram: a segment always has a flag.
    pub(crate) fn is_datagram(&self) -> bool {
        self.segment.flags == Flags::NONE
    }

    /// The lowest bits of the datagram's number in its stream.
    pub(crate) fn number(&self) -> u32 {
        self.segment.sequence.get()
    }

    /// When the datagram was written.
    pub(crate) fn written(&self) -> Instant {
        let Segment { window, urgent, acknowledgment, .. } = self.segment;
        let high = u64::from(window) << 48 | u64::from(urgent) << 32;
        Instant::from_nanos(high | u64::from(acknowledgment.get()))
    }

    /// Becomes the packet of the segment that was written into it, of a flow and from a source to a destination.
    #[inline]
    pub(crate) fn address(
        &mut self,
        flow: u32,
        direction: Direction,
        (source, destination): (HostNumber, NodeId),
        ip_header_bytes: u32,
    ) {
        // Every field by its name, so that none is forgotten, which would be as an earlier packet left it.
        let Self {
            destination: own_destination,
            wire_bytes,
            flow: own_flow,
            direction: own_direction,
            damage,
            source: own_source,
            segment,
        } = self;
        *wire_bytes = ip_header_bytes + segment.header_bytes() + segment.payload_bytes;
        *own_destination = destination;
        *own_flow = flow;
        *own_direction = direction;
        *damage = Damage::None;
        *own_source = source;
    }
}

/// What its segment is written into first.
impl Default for SimulatedPacket {
    fn default() -> Self {
        Self {
            destination: NodeId(u32::MAX),
            wire_bytes: 0,
            flow: u32::MAX,
            direction: Direction::Forward,
            damage: Damage::None,
            source: 0,
            segment: Segment::default(),
        }
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
        let Segment { source_port, destination_port, .. } = self.segment;
        let (connection, is_backward) = connection_of_ports(source_port, destination_port);
        Header {
            connection,
            is_backward,
            source: self.source.into(),
            source_port,
            destination_port,
            traffic_class: self.segment.traffic_class.octet(),
            protocol: if self.is_datagram() { UDP } else { TCP },
        }
    }

    fn mark(&mut self) {
        let class = self.segment.traffic_class;
        self.segment.traffic_class = class.with_ecn(Ecn::Ce);
    }

    fn duplicate(&self) -> Option<Self> {
        Some(*self)
    }

    fn corrupt(&mut self, _: u32) {
        self.damage = self.damage.more();
    }
}

impl FlowPacket for SimulatedPacket {
    #[inline]
    fn label(&self) -> PacketLabel {
        PacketLabel {
            flow: FlowId(self.flow),
            direction: self.direction,
            payload_bytes: self.segment.payload_bytes,
        }
    }

    #[inline]
    fn damage(&self) -> Damage {
        self.damage
    }
}
