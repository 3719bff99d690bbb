//! IP headers: the used fields of IPv4 (RFC 791 §3.1) and IPv6 (RFC 8200 §3), and CE marking of a packet in
//! memory.

use super::checksum::Sum;
use super::reader::ParseError;
use super::reader::Reader;
use crate::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, TrafficClass};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Protocol number of TCP.
pub(super) const TCP: u8 = 6;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// The two ends of a packet, which are always of one IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Sender.
        source: Ipv4Addr,
        /// Receiver.
        destination: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Sender.
        source: Ipv6Addr,
        /// Receiver.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// The addresses of packets from `source` to `destination`; `None` where their IP versions differ.
    pub const fn between(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 { source, destination }),
            _ => None,
        }
    }

    /// Sender and receiver.
    pub const fn ends(self) -> [IpAddr; 2] {
        match self {
            Self::V4 { source, destination } => [IpAddr::V4(source), IpAddr::V4(destination)],
            Self::V6 { source, destination } => [IpAddr::V6(source), IpAddr::V6(destination)],
        }
    }

    /// The addresses of the reverse direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::V4 { source, destination } => {
                Self::V4 { source: destination, destination: source }
            }
            Self::V6 { source, destination } => {
                Self::V6 { source: destination, destination: source }
            }
        }
    }

    /// The pseudo-header that the TCP checksum covers (RFC 9293 §3.1, RFC 8200 §8.1).
    pub(super) fn pseudo_header_sum(self, tcp_bytes: u32) -> Sum {
        self.pseudo_header_sum_of(TCP, tcp_bytes)
    }

    /// The pseudo-header that the checksum of `protocol` covers.
    pub(super) fn pseudo_header_sum_of(self, protocol: u8, bytes: u32) -> Sum {
        let mut sum = Sum::default();
        match self {
            Self::V4 { source, destination } => {
                sum.add_bytes(&source.octets());
                sum.add_bytes(&destination.octets());
            }
            Self::V6 { source, destination } => {
                sum.add_bytes(&source.octets());
                sum.add_bytes(&destination.octets());
            }
        }
        sum.add(u64::from(protocol));
        sum.add(u64::from(bytes));
        sum
    }
}

/// An IP header without options or extension headers; the flow label is 0, and the traffic class is
/// the segment's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpHeader {
    /// Sender and receiver.
    pub addresses: Addresses,
    /// Identification of the datagram. IPv6 has no such field: not written, and read as 0.
    pub identification: u16,
    /// Whether routers may not fragment the packet. Always `true` for IPv6, which does not carry
    /// the bit.
    pub dont_fragment: bool,
    /// Routers that the packet may still pass: time to live (IPv4), hop limit (IPv6).
    pub hop_limit: u8,
}

impl IpHeader {
    /// A header as a host sends it: not to be fragmented, with a hop limit of 64.
    pub const fn new(addresses: Addresses) -> Self {
        Self { addresses, identification: 0, dont_fragment: true, hop_limit: 64 }
    }

    /// Bytes of this header: 20 or 40.
    pub const fn header_bytes(&self) -> u32 {
        match self.addresses {
            Addresses::V4 { .. } => IPV4_HEADER_BYTES,
            Addresses::V6 { .. } => IPV6_HEADER_BYTES,
        }
    }

    /// Value of the length field for a packet with `tcp_bytes` of TCP: the whole packet (IPv4) or
    /// the part after the header (IPv6). `None` if it exceeds 16 bits.
    pub(super) fn length_field(&self, tcp_bytes: u32) -> Option<u16> {
        let counted = match self.addresses {
            Addresses::V4 { .. } => tcp_bytes.checked_add(IPV4_HEADER_BYTES)?,
            Addresses::V6 { .. } => tcp_bytes,
        };
        u16::try_from(counted).ok()
    }

    /// Appends the header of a packet of this protocol to `out`.
    pub(super) fn append_to(
        &self,
        protocol: u8,
        class: TrafficClass,
        length_field: u16,
        out: &mut Vec<u8>,
    ) {
        match self.addresses {
            Addresses::V4 { source, destination } => {
                self.append_v4((protocol, class), length_field, [source, destination], out);
            }
            Addresses::V6 { source, destination } => {
                let [high, low] = length_field.to_be_bytes();
                let octet = class.octet();
                out.extend_from_slice(&[0x60 | octet >> 4, octet << 4, 0, 0]);
                out.extend_from_slice(&[high, low, protocol, self.hop_limit]);
                out.extend_from_slice(&source.octets());
                out.extend_from_slice(&destination.octets());
            }
        }
    }

    fn append_v4(
        &self,
        (protocol, class): (u8, TrafficClass),
        length_field: u16,
        [source, destination]: [Ipv4Addr; 2],
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        out.extend_from_slice(&[0x45, class.octet()]);
        out.extend_from_slice(&length_field.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&fragment.to_be_bytes());
        out.extend_from_slice(&[self.hop_limit, protocol, 0, 0]);
        out.extend_from_slice(&source.octets());
        out.extend_from_slice(&destination.octets());
        let mut sum = Sum::default();
        sum.add_bytes(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.finish().to_be_bytes());
    }
}

/// An IP header that was read, and where it ends.
pub(super) struct ReadIp {
    /// The header.
    pub(super) header: IpHeader,
    /// The traffic class of the segment.
    pub(super) class: TrafficClass,
    /// Bytes before the TCP header, options and extension headers included.
    pub(super) header_bytes: usize,
    /// Length of the packet in bytes, from the header.
    pub(super) packet_bytes: u32,
}

/// Reads the IP header at the start of `bytes`.
pub(super) fn read_ip(bytes: &[u8]) -> Result<ReadIp, ParseError> {
    let version = Reader::new(bytes, "IP header").peek()? >> 4;
    match version {
        4 => read_v4(bytes),
        6 => read_v6(bytes),
        _ => Err(ParseError::Version { version }),
    }
}

fn read_v4(bytes: &[u8]) -> Result<ReadIp, ParseError> {
    let mut reader = Reader::new(bytes, "IPv4 header");
    let [version_and_words, service] = reader.take()?;
    let header_bytes = u32::from(version_and_words & 0x0f) * 4;
    let length_field = reader.take_u16()?;
    let identification = reader.take_u16()?;
    let fragment = reader.take_u16()?;
    let [hop_limit, protocol] = reader.take()?;
    let _checksum: [u8; 2] = reader.take()?;
    let addresses = Addresses::V4 {
        source: Ipv4Addr::from(reader.take::<4>()?),
        destination: Ipv4Addr::from(reader.take::<4>()?),
    };
    if header_bytes < IPV4_HEADER_BYTES {
        return Err(ParseError::HeaderLength { header: "IPv4", header_bytes });
    }
    reader.skip(reader_bytes(header_bytes - IPV4_HEADER_BYTES))?;
    if fragment & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0 {
        return Err(ParseError::Fragment);
    }
    if protocol != TCP {
        return Err(ParseError::NotTcp { protocol });
    }
    let header = IpHeader {
        addresses,
        identification,
        dont_fragment: fragment & DONT_FRAGMENT != 0,
        hop_limit,
    };
    let packet_bytes = said_or_present(u32::from(length_field), bytes);
    let class = TrafficClass::new(service);
    Ok(ReadIp { header, class, header_bytes: reader.position(), packet_bytes })
}

fn read_v6(bytes: &[u8]) -> Result<ReadIp, ParseError> {
    let mut reader = Reader::new(bytes, "IPv6 header");
    let [version_and_class, class_and_label, _, _] = reader.take()?;
    let length_field = reader.take_u16()?;
    let [next_header, hop_limit] = reader.take()?;
    let addresses = Addresses::V6 {
        source: Ipv6Addr::from(reader.take::<16>()?),
        destination: Ipv6Addr::from(reader.take::<16>()?),
    };
    skip_extension_headers(&mut reader, next_header)?;
    let header = IpHeader { addresses, identification: 0, dont_fragment: true, hop_limit };
    let said = if length_field == 0 { 0 } else { u32::from(length_field) + IPV6_HEADER_BYTES };
    let packet_bytes = said_or_present(said, bytes);
    let class = TrafficClass::new(version_and_class << 4 | class_and_label >> 4);
    Ok(ReadIp { header, class, header_bytes: reader.position(), packet_bytes })
}

/// Moves the reader to the TCP header (RFC 8200 §4, RFC 4302 §2.2).
fn skip_extension_headers(reader: &mut Reader<'_>, next_header: u8) -> Result<(), ParseError> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const DESTINATION_OPTIONS: u8 = 60;
    let mut protocol = next_header;
    while protocol != TCP {
        let this = protocol;
        let [next, length] = match this {
            HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS => {
                reader.take()?
            }
            _ => return Err(ParseError::NotTcp { protocol }),
        };
        protocol = next;
        match this {
            FRAGMENT => {
                let place = reader.take_u16()?;
                // The lowest bit means more fragments; two bits above it are reserved.
                if place & !0b110 != 0 {
                    return Err(ParseError::Fragment);
                }
                reader.skip(4)?;
            }
            AUTHENTICATION => reader.skip(usize::from(length) * 4 + 6)?,
            _ => reader.skip(usize::from(length) * 8 + 6)?,
        }
    }
    Ok(())
}

/// The length in the header. Zero means all present bytes: captures have it for packets with
/// segmentation offload.
fn said_or_present(said: u32, bytes: &[u8]) -> u32 {
    if said == 0 { u32::try_from(bytes.len()).unwrap_or(u32::MAX) } else { said }
}

fn reader_bytes(bytes: u32) -> usize {
    usize::try_from(bytes).expect("a header length fits")
}

/// Both bits of the ECN field (RFC 3168 section 5): congestion experienced.
const CE: u8 = 0b11;

/// Writes "congestion experienced" into the IP header at the start of `packet`, and updates the checksum of an
/// IPv4 header incrementally (RFC 1624 section 3). The caller must know that the packet may be marked. Bytes
/// that are not an IP packet stay unchanged.
///
/// ```
/// use fairwind_wire::bytes::mark_congestion;
/// // Version 4, ECT(0); the checksum follows after ten bytes.
/// let mut packet = [0x45, 0x02, 0, 20, 0, 0, 0, 0, 64, 6, 0xf9, 0xe3, 0, 0, 0, 0, 0, 0, 0, 0];
/// mark_congestion(&mut packet);
/// assert_eq!((packet[1], &packet[10..12]), (0x03, &[0xf9, 0xe2][..]));
/// ```
pub fn mark_congestion(packet: &mut [u8]) {
    match packet.first().map(|octet| octet >> 4) {
        Some(4) => mark_v4(packet),
        // The traffic class begins in the middle of the first octet.
        Some(6) => {
            if let Some(octet) = packet.get_mut(1) {
                *octet |= CE << 4;
            }
        }
        _ => {}
    }
}

fn mark_v4(packet: &mut [u8]) {
    let Some([version, service, .., high, low]) = packet.first_chunk_mut::<12>() else { return };
    let before = u16::from_be_bytes([*version, *service]);
    *service |= CE;
    let after = u16::from_be_bytes([*version, *service]);
    let checksum = u16::from_be_bytes([*high, *low]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum >> 16) + (sum & 0xffff);
    let folded = (folded >> 16) + (folded & 0xffff);
    [*high, *low] = (!u16::try_from(folded).unwrap_or(u16::MAX)).to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::mark_congestion;
    use crate::bytes::{Addresses, IpHeader, Payload, emit};
    use crate::{Ecn, Flags, Segment, TrafficClass};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marked_packet_equals_emitted_one(
            octet in any::<u8>(),
            source in any::<[u8; 4]>(),
            identification in any::<u16>(),
            is_v6 in any::<bool>(),
        ) {
            let [a, b, c, d] = source;
            let addresses = if is_v6 {
                let high = u16::from_be_bytes([a, b]);
                let low = u16::from_be_bytes([c, d]);
                Addresses::V6 {
                    source: [0xfd00, high, low, 0, 0, 0, 0, 1].into(),
                    destination: [0xfd00, 0, 0, 0, 0, 0, 0, 2].into(),
                }
            } else {
                Addresses::V4 { source: source.into(), destination: [10, 0, 0, 2].into() }
            };
            let ip = IpHeader { identification, ..IpHeader::new(addresses) };
            let packet = |class: TrafficClass| {
                let flags = Flags::ACK;
                let segment = Segment { traffic_class: class, flags, ..Segment::default() };
                let mut bytes = Vec::new();
                emit(&ip, &segment, Payload::Bytes(b""), &mut bytes).map(|_| bytes)
            };
            let class = TrafficClass::new(octet);
            let mut marked = packet(class).unwrap();
            mark_congestion(&mut marked);
            prop_assert_eq!(marked, packet(class.with_ecn(Ecn::Ce)).unwrap());
        }
    }

    #[test]
    fn marking_ignores_other_bytes() {
        for text in [&b""[..], b"E", b"Exy", b"who knows what this is"] {
            let mut bytes = text.to_vec();
            mark_congestion(&mut bytes);
            assert_eq!(bytes, text);
        }
    }
}
