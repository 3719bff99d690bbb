//! IP and TCP headers.

use crate::{Anomalies, Packet, SkipReason};
use fairwind_wire::bytes::{Addresses, read_options_into};
use fairwind_wire::{
    Flags, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, Options, SequenceNumber, TCP_HEADER_BYTES,
    TrafficClass,
};
use std::net::{Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const AUTHENTICATION: u8 = 51;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// How far an IP header reaches.
pub(super) struct Extent {
    /// Bytes before the TCP header, options and extension headers included.
    pub(super) header_bytes: usize,
    /// Bytes from the TCP header to the end of the packet.
    pub(super) tcp_bytes: u32,
}

/// Reads an IPv4 header at the start of `kept`; the frame had `on_link` bytes from there on.
#[inline]
pub(super) fn read_v4(
    kept: &[u8],
    on_link: u32,
    packet: &mut Packet,
) -> Result<Extent, SkipReason> {
    let header = kept.first_chunk::<20>().ok_or(SkipReason::CutShort)?;
    let [version_and_words, service, l1, l2, i1, i2, f1, f2, hop_limit, protocol, ..] = *header;
    let [.., s1, s2, s3, s4, d1, d2, d3, d4] = *header;
    if version_and_words >> 4 != 4 {
        return Err(SkipReason::Malformed("an IP version other than the link header says"));
    }
    let header_bytes = u32::from(version_and_words & 0x0f) * 4;
    if header_bytes < IPV4_HEADER_BYTES {
        return Err(SkipReason::Malformed("an IPv4 header shorter than its fixed fields"));
    }
    if protocol != TCP && protocol != AUTHENTICATION {
        return Err(SkipReason::OtherProtocol(protocol));
    }
    let said = u32::from(u16::from_be_bytes([l1, l2]));
    let (packet_bytes, anomalies) = length_of(said, on_link);
    let Some(tcp_bytes) = packet_bytes.checked_sub(header_bytes) else {
        return Err(SkipReason::Malformed("an IPv4 length that ends within the header"));
    };
    packet.anomalies = anomalies;
    match u16::from_be_bytes([f1, f2]) & (MORE_FRAGMENTS | FRAGMENT_OFFSET) {
        0 => {}
        MORE_FRAGMENTS => packet.anomalies = anomalies.with(Anomalies::FIRST_FRAGMENT),
        _ => return Err(SkipReason::Fragment { bytes: tcp_bytes }),
    }
    packet.addresses = Addresses::V4 {
        source: Ipv4Addr::new(s1, s2, s3, s4),
        destination: Ipv4Addr::new(d1, d2, d3, d4),
    };
    packet.identification = Some(u16::from_be_bytes([i1, i2]));
    packet.hop_limit = hop_limit;
    packet.segment.traffic_class = TrafficClass::new(service);
    let extent = Extent { header_bytes: size(header_bytes), tcp_bytes };
    if protocol == TCP {
        Ok(extent)
    } else {
        skip_extension_headers(kept, protocol, extent, &mut packet.anomalies)
    }
}

/// Reads an IPv6 header at the start of `kept`, and the extension headers that follow it.
#[inline]
pub(super) fn read_v6(
    kept: &[u8],
    on_link: u32,
    packet: &mut Packet,
) -> Result<Extent, SkipReason> {
    let header = kept.first_chunk::<40>().ok_or(SkipReason::CutShort)?;
    let [version_and_class, class_and_label, _, _, l1, l2, next_header, hop_limit, ..] = *header;
    if version_and_class >> 4 != 6 {
        return Err(SkipReason::Malformed("an IP version other than the link header says"));
    }
    let said = match u32::from(u16::from_be_bytes([l1, l2])) {
        0 => 0,
        payload_bytes => payload_bytes + IPV6_HEADER_BYTES,
    };
    let (packet_bytes, anomalies) = length_of(said, on_link);
    let (source, destination) = addresses_v6(header);
    packet.anomalies = anomalies;
    packet.addresses = Addresses::V6 { source, destination };
    packet.identification = None;
    packet.hop_limit = hop_limit;
    packet.segment.traffic_class = TrafficClass::new(version_and_class << 4 | class_and_label >> 4);
    let fixed = Extent {
        header_bytes: size(IPV6_HEADER_BYTES),
        tcp_bytes: packet_bytes.saturating_sub(IPV6_HEADER_BYTES),
    };
    if next_header == TCP {
        Ok(fixed)
    } else {
        skip_extension_headers(kept, next_header, fixed, &mut packet.anomalies)
    }
}

#[inline]
fn addresses_v6(header: &[u8; 40]) -> (Ipv6Addr, Ipv6Addr) {
    let (_, ends) = header.split_at(8);
    let at = |place: usize| -> Ipv6Addr {
        let octets = ends.get(place..).and_then(<[u8]>::first_chunk::<16>);
        octets.map_or(Ipv6Addr::UNSPECIFIED, |octets| Ipv6Addr::from(*octets))
    };
    (at(0), at(16))
}

/// Moves the end of the headers to the TCP header (RFC 8200 §4, RFC 4302 §2.2). IPv4 has one of them only,
/// for authentication; what can follow that is not told apart.
#[cold]
fn skip_extension_headers(
    kept: &[u8],
    next_header: u8,
    mut extent: Extent,
    anomalies: &mut Anomalies,
) -> Result<Extent, SkipReason> {
    const FRAGMENT: u8 = 44;
    let mut this = next_header;
    while this != TCP {
        if !is_extension(this) {
            return Err(SkipReason::OtherProtocol(this));
        }
        let rest = kept.get(extent.header_bytes..).unwrap_or_default();
        let [next, length, high, low, ..] = *rest.first_chunk::<8>().ok_or(SkipReason::CutShort)?;
        let bytes = match this {
            FRAGMENT => 8,
            AUTHENTICATION => u32::from(length) * 4 + 8,
            _ => u32::from(length) * 8 + 8,
        };
        extent.header_bytes += size(bytes);
        extent.tcp_bytes = extent
            .tcp_bytes
            .checked_sub(bytes)
            .ok_or(SkipReason::Malformed("an IP length that ends within the headers"))?;
        if this == FRAGMENT {
            let place = u16::from_be_bytes([high, low]);
            *anomalies = anomalies.with(fragment(place, next, extent.tcp_bytes)?);
        }
        this = next;
    }
    Ok(extent)
}

/// A header for fragments: 13 bits of offset, two reserved, one that says that more follow. A datagram
/// that is all in one fragment (RFC 6946) is none.
fn fragment(place: u16, next_header: u8, bytes: u32) -> Result<Anomalies, SkipReason> {
    match (place >> 3, place & 1) {
        (0, 0) => Ok(Anomalies::NONE),
        (0, _) => Ok(Anomalies::FIRST_FRAGMENT),
        _ if next_header == TCP || is_extension(next_header) => Err(SkipReason::Fragment { bytes }),
        _ => Err(SkipReason::OtherProtocol(next_header)),
    }
}

/// Hop-by-hop options, routing, fragment, authentication, destination options.
const fn is_extension(protocol: u8) -> bool {
    matches!(protocol, 0 | 43 | 44 | 51 | 60)
}

/// The length of the packet by its header and by its frame. A length of zero stands in captures of
/// packets that the sender left to a network card to cut, and in jumbograms (RFC 2675 §3).
#[inline]
fn length_of(said: u32, on_link: u32) -> (u32, Anomalies) {
    if said == 0 {
        (on_link, Anomalies::LENGTH_OF_FRAME)
    } else if said > on_link {
        (on_link, Anomalies::LENGTH_BEYOND_FRAME)
    } else {
        (said, Anomalies::NONE)
    }
}

#[inline]
fn size(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Bytes of the header without options.
const FIXED: usize = 20;

/// Reads the TCP header at the start of `kept`, which is what was kept of the `tcp_bytes` behind the IP header.
#[inline]
pub(super) fn read(kept: &[u8], tcp_bytes: u32, packet: &mut Packet) -> Result<(), SkipReason> {
    let Some(fixed) = kept.first_chunk::<FIXED>().filter(|_| tcp_bytes >= TCP_HEADER_BYTES) else {
        return Err(without_header(tcp_bytes, packet.anomalies));
    };
    let [p1, p2, q1, q2, s1, s2, s3, s4, a1, a2, a3, a4, words, flags, w1, w2, _, _, u1, u2] =
        *fixed;
    let header_bytes = u32::from(words >> 4) * 4;
    if header_bytes < TCP_HEADER_BYTES {
        return Err(SkipReason::Malformed("a TCP header shorter than its fixed fields"));
    }
    let Some(payload_bytes) = tcp_bytes.checked_sub(header_bytes) else {
        return Err(beyond_packet(tcp_bytes, packet.anomalies));
    };
    let segment = &mut packet.segment;
    segment.source_port = u16::from_be_bytes([p1, p2]);
    segment.destination_port = u16::from_be_bytes([q1, q2]);
    segment.sequence = SequenceNumber::new(u32::from_be_bytes([s1, s2, s3, s4]));
    segment.acknowledgment = SequenceNumber::new(u32::from_be_bytes([a1, a2, a3, a4]));
    segment.flags = Flags::from_bits(u16::from_be_bytes([words, flags]));
    segment.window = u16::from_be_bytes([w1, w2]);
    segment.urgent = u16::from_be_bytes([u1, u2]);
    segment.payload_bytes = payload_bytes;
    match kept.get(FIXED..usize::from(words >> 4) * 4) {
        Some(area) => whole_options(area, packet),
        None => cut_options(kept.get(FIXED..).unwrap_or_default(), packet),
    }
    Ok(())
}

/// The packet, or what was kept of it, ends before the fixed fields do.
#[cold]
fn without_header(tcp_bytes: u32, anomalies: Anomalies) -> SkipReason {
    if tcp_bytes >= TCP_HEADER_BYTES {
        SkipReason::CutShort
    } else if anomalies.contains(Anomalies::FIRST_FRAGMENT) {
        SkipReason::Fragment { bytes: tcp_bytes }
    } else {
        SkipReason::Malformed("an IP length that ends within the TCP header")
    }
}

/// The options go on behind the end of the packet.
#[cold]
fn beyond_packet(tcp_bytes: u32, anomalies: Anomalies) -> SkipReason {
    if anomalies.contains(Anomalies::FIRST_FRAGMENT) {
        SkipReason::Fragment { bytes: tcp_bytes }
    } else {
        SkipReason::Malformed("a TCP header that ends behind its packet")
    }
}

#[inline]
pub(super) fn whole_options(area: &[u8], packet: &mut Packet) {
    if read_options_into(area, &mut packet.segment.options).is_err() {
        packet.segment.options = Options::NONE;
        packet.anomalies = packet.anomalies.with(Anomalies::OPTIONS_MALFORMED);
    }
}

/// Options of which a snap length has left the beginning: those that are whole count.
#[cold]
fn cut_options(area: &[u8], packet: &mut Packet) {
    let mut end = 0;
    while let Some(length) = option_bytes(area.get(end..).unwrap_or_default()) {
        end += length;
    }
    packet.anomalies = packet.anomalies.with(Anomalies::OPTIONS_CUT);
    whole_options(area.get(..end).unwrap_or_default(), packet);
}

/// Bytes of the option at the start of `area`, where it is all there and not the end of the list. Where the
/// length is less than kind and length take, those two, for the reader of options to complain of.
fn option_bytes(area: &[u8]) -> Option<usize> {
    match *area {
        [1, ..] => Some(1),
        [] | [0, ..] | [_] => None,
        [_, length, ..] => Some(usize::from(length).max(2)).filter(|length| *length <= area.len()),
    }
}
