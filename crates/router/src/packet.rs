//! Packets in the network in real time: the number of a buffer, what queue disciplines see of the packet in it, what is
//! read of its IP header, and bit errors.

use super::buffers::BufferId;
use fairwind_assembly::{Damage, FlowPacket, PacketLabel, ack_of};
use fairwind_network::{Header, NodeId, Packet, TcpAck};
use fairwind_recorder::MeasuredPacket;
use fairwind_wire::Ecn;
use std::net::IpAddr;

/// A packet from a host.
#[derive(Debug, Clone, Copy)]
pub struct RoutedPacket {
    /// Where its bytes are.
    pub buffer: BufferId,
    /// Its length in bytes.
    pub wire_bytes: u32,
    /// The node of the host that it is for.
    pub destination: NodeId,
    /// Its header for queue disciplines.
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

    fn tcp_ack(&self) -> Option<TcpAck> {
        let measured = self.measured.as_ref().filter(|measured| !measured.is_datagram)?;
        ack_of(&measured.segment)
    }

    fn mark(&mut self) {
        self.is_marked = true;
        if let Some(measured) = &mut self.measured {
            let class = &mut measured.segment.traffic_class;
            *class = class.with_ecn(Ecn::Ce);
        }
    }

    /// The copy has the same buffer, which `Buffers::share` counts.
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
        let measured = self.measured.as_ref().expect("only packets of flows are reported");
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
pub(super) const UDP: u8 = 17;
/// Bytes of an IPv6 header.
const IPV6_HEADER_BYTES: usize = 40;
/// Bits of an IPv4 header that mark a fragment: more fragments, or an offset.
const IS_FRAGMENT: u16 = 0x3fff;

/// The header of `packet`, which the host at `source` has sent. It holds the number of the connection, or a hash of
/// the addresses if there is none.
pub(super) fn header_of(source: NodeId, connection: Option<(u32, bool)>, packet: &[u8]) -> Header {
    let Some(ip) = IpFields::read(packet) else {
        return Header { source: source.0, ..Header::default() };
    };
    let has_ports = ip.protocol == TCP || ip.protocol == UDP;
    let [a, b, c, d] = ip.above.first_chunk().filter(|_| has_ports).copied().unwrap_or_default();
    let (source_port, destination_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let (connection, is_backward) = connection.unwrap_or_else(|| {
        let (from, to) = (ip.source, ip.destination);
        (folded(from) ^ folded(to), (from, source_port) > (to, destination_port))
    });
    Header {
        connection,
        is_backward,
        source: source.0,
        source_port,
        destination_port,
        traffic_class: ip.traffic_class,
        protocol: ip.protocol,
    }
}

/// Fields of an IP header, for every transport protocol.
pub(super) struct IpFields<'a> {
    pub(super) traffic_class: u8,
    pub(super) protocol: u8,
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Length of the whole packet, as the header has it.
    pub(super) packet_bytes: u32,
    /// Whether it is only a part of a packet.
    pub(super) is_fragment: bool,
    /// What follows the header; extension headers of IPv6, which hosts do not send, count as that.
    pub(super) above: &'a [u8],
}

impl<'a> IpFields<'a> {
    #[inline]
    pub(super) fn read(packet: &'a [u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => {
                let header = packet.first_chunk::<20>()?;
                let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
                let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
                Some(Self {
                    traffic_class: header[1],
                    protocol: header[9],
                    source: [s0, s1, s2, s3].into(),
                    destination: [d0, d1, d2, d3].into(),
                    packet_bytes: field(2).into(),
                    is_fragment: field(6) & IS_FRAGMENT != 0,
                    above: packet.get(usize::from(header[0] & 0xf) * 4..).unwrap_or_default(),
                })
            }
            6 => {
                let (header, above) = packet.split_first_chunk::<IPV6_HEADER_BYTES>()?;
                Some(Self {
                    traffic_class: (header[0] & 0xf) << 4 | header[1] >> 4,
                    protocol: header[6],
                    source: header[8..].first_chunk::<16>().copied()?.into(),
                    destination: header[24..].first_chunk::<16>().copied()?.into(),
                    packet_bytes: u32::from(u16::from_be_bytes([header[4], header[5]])) + 40,
                    is_fragment: false,
                    above,
                })
            }
            _ => None,
        }
    }
}

/// The words of an address, combined.
fn folded(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            let octets = address.octets();
            let (words, _) = octets.as_chunks::<4>();
            words.iter().fold(0, |folded, word| folded ^ u32::from_be_bytes(*word))
        }
    }
}

/// Where the checksum stands in a UDP header.
const UDP_CHECKSUM: std::ops::Range<usize> = 6..8;

/// Turns one bit of `packet` over, which `draw` chooses, as netem's corruption does (tc-netem(8)). It stands behind the
/// IP header: there the checksum of TCP or
/// UDP covers every bit, so that the host that it is for notices and refuses it.
pub(super) fn flip_bit(packet: &mut [u8], draw: u32) {
    let Some(ip) = IpFields::read(packet) else { return };
    let (protocol, header_bytes) = (ip.protocol, packet.len() - ip.above.len());
    let above = &mut packet[header_bytes..];
    let draw = usize::try_from(draw).unwrap_or(usize::MAX);
    let (bit, mut place) = (draw % 8, draw / 8 % above.len().max(1));
    // A checksum that becomes 0 would mean that there is none (RFC 768).
    if protocol == UDP && UDP_CHECKSUM.contains(&place) {
        place = 0;
    }
    if let Some(byte) = above.get_mut(place) {
        *byte ^= 1 << bit;
    }
}

#[cfg(test)]
mod tests {
    use super::{UDP, flip_bit, header_of};
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
    fn header_fields_are_read_from_both_versions() {
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
    fn both_directions_share_connection_hash() {
        for addresses in both_versions() {
            let there = header_of(NodeId(0), None, &packet(addresses, (1234, 80)));
            let back = header_of(NodeId(1), None, &packet(addresses.reversed(), (80, 1234)));
            assert_eq!(there.connection, back.connection);
            assert_ne!(there.is_backward, back.is_backward);
        }
    }

    #[test]
    fn invalid_packet_has_default_header() {
        for bytes in [&b""[..], b"E", b"\x60", b"hello"] {
            let header = header_of(NodeId(2), None, bytes);
            assert_eq!(header, Header { source: 2, ..Header::default() });
        }
    }

    /// An IPv4 packet of this protocol with ten bytes above its header.
    fn packet_of(protocol: u8) -> Vec<u8> {
        let mut packet = vec![0; 30];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet
    }

    #[test]
    fn damage_flips_one_payload_bit() {
        for protocol in [6, UDP] {
            for draw in [0, 7, 8, 79, 80, 6 * 8, 7 * 8 + 3, u32::MAX] {
                let before = packet_of(protocol);
                let mut after = before.clone();
                flip_bit(&mut after, draw);
                let turned: u32 =
                    before.iter().zip(&after).map(|(one, other)| (one ^ other).count_ones()).sum();
                assert_eq!(turned, 1, "{draw}");
                assert_eq!(before[..20], after[..20], "{draw}");
                assert!(protocol != UDP || after[26..28] == [0, 0], "{draw}");
            }
        }
    }

    #[test]
    fn damage_can_flip_every_bit() {
        let turned = |draw| {
            let mut packet = packet_of(6);
            flip_bit(&mut packet, draw);
            packet
        };
        let all: std::collections::BTreeSet<_> = (0..80).map(turned).collect();
        assert_eq!(all.len(), 80);
    }

    #[test]
    fn damage_ignores_invalid_packets() {
        for bytes in [&b""[..], b"E", b"no packet"] {
            let mut damaged = bytes.to_vec();
            flip_bit(&mut damaged, 3);
            assert_eq!(damaged, bytes);
        }
    }
}
