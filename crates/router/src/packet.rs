//! What travels through the network in real time: the number of a buffer, and what is known of the
//! packet in it.
//!
//! What queue disciplines see of a packet as it comes from a device.

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

/// Protocol numbers of the IP header.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The header of `packet`, which the host at `source` has sent, on this connection where it has a number. Connections
/// without one are told apart by what their addresses make.
pub(super) fn header_of(source: NodeId, connection: Option<(u32, bool)>, packet: &[u8]) -> Header {
    let Some((traffic_class, protocol, addresses, above)) = read_ip(packet) else {
        return Header { source: source.0, ..Header::default() };
    };
    let ports = above.first_chunk::<4>().filter(|_| protocol == TCP || protocol == UDP);
    let [a, b, c, d] = ports.copied().unwrap_or_default();
    let (source_port, destination_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let (connection, is_backward) = connection.unwrap_or_else(|| {
        let (from, to) = addresses.split_at(addresses.len() / 2);
        (folded(from) ^ folded(to), (from, source_port) > (to, destination_port))
    });
    Header {
        connection,
        is_backward,
        source: source.0,
        source_port,
        destination_port,
        traffic_class,
        protocol,
    }
}

/// Traffic class, protocol, both addresses, and what follows the header; extension headers of IPv6 are not followed.
fn read_ip(packet: &[u8]) -> Option<(u8, u8, &[u8], &[u8])> {
    let first = *packet.first()?;
    match first >> 4 {
        4 => {
            let above = packet.get(usize::from(first & 0xf) * 4..)?;
            Some((*packet.get(1)?, *packet.get(9)?, packet.get(12..20)?, above))
        }
        6 => {
            let class = (first & 0xf) << 4 | packet.get(1)? >> 4;
            Some((class, *packet.get(6)?, packet.get(8..40)?, packet.get(40..)?))
        }
        _ => None,
    }
}

/// The words of an address, combined.
fn folded(address: &[u8]) -> u32 {
    let (words, _) = address.as_chunks::<4>();
    words.iter().fold(0, |folded, word| folded ^ u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::header_of;
    use fairwind_network::{Header, NodeId};
    use fairwind_wire::bytes::{Addresses, IpHeader, Payload, emit};
    use fairwind_wire::{Flags, Segment, TrafficClass};

    fn packet(addresses: Addresses, ports: (u16, u16)) -> Vec<u8> {
        let segment = Segment {
            source_port: ports.0,
            destination_port: ports.1,
            traffic_class: TrafficClass::new(0xb9),
            flags: Flags::ACK,
            ..Segment::default()
        };
        let mut bytes = Vec::new();
        emit(&IpHeader::new(addresses), &segment, Payload::Bytes(b""), &mut bytes).unwrap();
        bytes
    }

    fn both_versions() -> [Addresses; 2] {
        let (source, destination) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let four = Addresses::V4 { source, destination };
        let source = [0xfd00, 0, 0, 0, 0, 0, 0, 1].into();
        let destination = [0xfd00, 0, 0, 0, 0, 0, 0, 2].into();
        [four, Addresses::V6 { source, destination }]
    }

    #[test]
    fn ports_class_and_protocol_are_read_of_both_versions() {
        for addresses in both_versions() {
            let bytes = packet(addresses, (1234, 80));
            let header = header_of(NodeId(3), Some((7, true)), &bytes);
            let expected = Header {
                connection: 7,
                is_backward: true,
                source: 3,
                source_port: 1234,
                destination_port: 80,
                traffic_class: 0xb9,
                protocol: 6,
            };
            assert_eq!(header, expected);
        }
    }

    #[test]
    fn both_ways_of_a_connection_without_a_number_are_one() {
        for addresses in both_versions() {
            let there = header_of(NodeId(0), None, &packet(addresses, (1234, 80)));
            let back = header_of(NodeId(1), None, &packet(addresses.reversed(), (80, 1234)));
            assert_eq!(there.connection, back.connection);
            assert_ne!(there.is_backward, back.is_backward);
        }
    }

    #[test]
    fn what_is_no_packet_is_of_the_first_connection() {
        for bytes in [&b""[..], b"E", b"\x60", b"hello"] {
            let header = header_of(NodeId(2), None, bytes);
            assert_eq!(header, Header { source: 2, ..Header::default() });
        }
    }
}
