//! Packets of the simulated network and the ends of connections that they go to: an IP header, and a TCP segment or a UDP datagram with a payload length.

use fairwind_assembly::{Damage, FlowPacket, PacketLabel, ack_of, connection_of_ports};
use fairwind_measure::{Direction, FlowId};
use fairwind_network::{Header, NodeId, Packet, TcpAck};
use fairwind_units::Instant;
use fairwind_wire::{Ecn, Segment, SequenceNumber, TrafficClass};

/// Protocol numbers of the IP header.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER_BYTES: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The number of an end: twice its connection's number, and one more for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndId(u32);

impl EndId {
    /// No end of any connection.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(crate) const fn client(connection: u32) -> Self {
        Self(connection << 1)
    }

    #[inline]
    pub(crate) const fn server(connection: u32) -> Self {
        Self(connection << 1 | 1)
    }

    /// The end at an index of the list of all ends.
    pub(crate) fn from_index(index: usize) -> Self {
        u32::try_from(index).map_or(Self::NONE, Self)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) const fn connection(self) -> u32 {
        self.0 >> 1
    }

    #[inline]
    pub(crate) const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::Client } else { Side::Server }
    }

    /// The other end of the connection.
    #[inline]
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulatedPacket {
    pub(crate) route: Route,
    pub(crate) wire_bytes: u32,
    /// Whether links have damaged it, so that its checksum is wrong.
    pub(crate) damage: Damage,
    pub(crate) payload: Payload,
}

/// The flow of a packet and its hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) flow: FlowId,
    pub(crate) direction: Direction,
    pub(crate) source: HostNumber,
    pub(crate) destination: NodeId,
}

/// A node's number in 16 bits; nodes beyond the last number share it.
pub(crate) type HostNumber = u16;

pub(crate) fn host_number(node: NodeId) -> HostNumber {
    HostNumber::try_from(node.0).unwrap_or(HostNumber::MAX)
}

/// What an IP packet carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Payload {
    /// A segment for the end of a connection.
    Segment(EndId, Segment),
    Datagram(Datagram),
}

/// A UDP datagram. Its fields are aligned to four bytes, so that no packet is larger for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) payload_bytes: u32,
    traffic_class: TrafficClass,
    /// Its number in the stream, in halves.
    number: [u32; 2],
    /// Nanoseconds of the instant at which it was written, in halves.
    written: [u32; 2],
}

impl Datagram {
    /// Datagram `number` of its stream, written at `written`.
    pub(crate) fn new(
        (source_port, destination_port): (u16, u16),
        payload_bytes: u32,
        number: u64,
        written: Instant,
    ) -> Self {
        Self {
            source_port,
            destination_port,
            payload_bytes,
            traffic_class: TrafficClass::default(),
            number: halves(number),
            written: halves(written.as_nanos()),
        }
    }

    /// Its number in the stream, from 0.
    pub(crate) fn number(&self) -> u64 {
        whole(self.number)
    }

    pub(crate) fn written(&self) -> Instant {
        Instant::from_nanos(whole(self.written))
    }

    /// The segment without flags as which measures see it.
    pub(crate) fn as_segment(&self) -> Segment {
        Segment {
            source_port: self.source_port,
            destination_port: self.destination_port,
            sequence: SequenceNumber::new(self.number[0]),
            traffic_class: self.traffic_class,
            payload_bytes: self.payload_bytes,
            ..Segment::default()
        }
    }

    pub(crate) const fn ip_payload_bytes(&self) -> u32 {
        UDP_HEADER_BYTES + self.payload_bytes
    }
}

/// The low half and the high half of a number.
#[expect(clippy::cast_possible_truncation, reason = "a half at a time")]
const fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

const fn whole([low, high]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}

impl SimulatedPacket {
    /// The segment that an endpoint writes into this slot of the pool.
    #[inline]
    pub(crate) fn segment_mut(&mut self) -> &mut Segment {
        if matches!(self.payload, Payload::Datagram(_)) {
            *self = Self::default();
        }
        match &mut self.payload {
            Payload::Segment(_, segment) => segment,
            Payload::Datagram(_) => unreachable!("it was replaced by a segment"),
        }
    }

    /// Completes the packet of the segment that was written into it, for the end `to`.
    #[inline]
    pub(crate) fn address(&mut self, to: EndId, route: Route, ip_header_bytes: u32) {
        if let Payload::Segment(end, segment) = &mut self.payload {
            *end = to;
            self.wire_bytes = ip_header_bytes + segment.header_bytes() + segment.payload_bytes;
        }
        self.route = route;
        self.damage = Damage::None;
    }

    fn ports_and_class(&self) -> (u16, u16, TrafficClass) {
        match &self.payload {
            Payload::Segment(_, segment) => {
                (segment.source_port, segment.destination_port, segment.traffic_class)
            }
            Payload::Datagram(datagram) => {
                (datagram.source_port, datagram.destination_port, datagram.traffic_class)
            }
        }
    }
}

/// An empty slot, into which an endpoint writes its segment.
impl Default for SimulatedPacket {
    fn default() -> Self {
        let route = Route {
            flow: FlowId(u32::MAX),
            direction: Direction::Forward,
            source: 0,
            destination: NodeId(u32::MAX),
        };
        let payload = Payload::Segment(EndId::NONE, Segment::default());
        Self { route, wire_bytes: 0, damage: Damage::None, payload }
    }
}

impl Packet for SimulatedPacket {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    #[inline]
    fn destination(&self) -> NodeId {
        self.route.destination
    }

    fn header(&self) -> Header {
        let (source_port, destination_port, traffic_class) = self.ports_and_class();
        let (connection, is_backward) = connection_of_ports(source_port, destination_port);
        Header {
            connection,
            is_backward,
            source: self.route.source.into(),
            source_port,
            destination_port,
            traffic_class: traffic_class.octet(),
            protocol: match self.payload {
                Payload::Segment(..) => TCP,
                Payload::Datagram(_) => UDP,
            },
        }
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        match &self.payload {
            Payload::Segment(_, segment) => ack_of(segment),
            Payload::Datagram(_) => None,
        }
    }

    fn mark(&mut self) {
        let class = match &mut self.payload {
            Payload::Segment(_, segment) => &mut segment.traffic_class,
            Payload::Datagram(datagram) => &mut datagram.traffic_class,
        };
        *class = class.with_ecn(Ecn::Ce);
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
        let payload_bytes = match &self.payload {
            Payload::Segment(_, segment) => segment.payload_bytes,
            Payload::Datagram(datagram) => datagram.payload_bytes,
        };
        PacketLabel { flow: self.route.flow, direction: self.route.direction, payload_bytes }
    }

    #[inline]
    fn damage(&self) -> Damage {
        self.damage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagram_makes_no_packet_larger() {
        assert!(size_of::<SimulatedPacket>() <= 24 + size_of::<Segment>());
    }

    #[test]
    fn datagram_keeps_number_and_instant() {
        let written = Instant::from_nanos(0x1234_5678_9abc_def0);
        let datagram = Datagram::new((1, 2), 100, 0x0fed_cba9_8765_4321, written);
        assert_eq!((datagram.number(), datagram.written()), (0x0fed_cba9_8765_4321, written));
        assert_eq!(datagram.as_segment().sequence, SequenceNumber::new(0x8765_4321));
    }
}
