//! IP and TCP headers, with a fast path for the layout of nearly every packet.

use crate::{Anomalies, Frame, LinkType, Packet, SkipReason};
use fairwind_wire::bytes::{Addresses, read_options_into};
use fairwind_wire::{
    Flags, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, Options, Segment, SequenceNumber,
    TCP_HEADER_BYTES, TrafficClass,
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
        return Err(SkipReason::Malformed("an IP version that differs from the link header"));
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
        return Err(SkipReason::Malformed("an IP version that differs from the link header"));
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
/// for authentication; what can follow that is not distinguished.
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

/// Bytes of the TCP header without options, and the place of its length in words.
const FIXED: usize = 20;
const WORDS_AT: usize = 12;

/// Reads the TCP header at the start of `kept`, which is what was kept of the `tcp_bytes` behind the IP header.
#[inline]
pub(super) fn read(kept: &[u8], tcp_bytes: u32, packet: &mut Packet) -> Result<(), SkipReason> {
    let Some(fixed) = kept.first_chunk::<FIXED>().filter(|_| tcp_bytes >= TCP_HEADER_BYTES) else {
        return Err(without_header(tcp_bytes, packet.anomalies));
    };
    let words = fixed[WORDS_AT];
    let header_bytes = u32::from(words >> 4) * 4;
    if header_bytes < TCP_HEADER_BYTES {
        return Err(SkipReason::Malformed("a TCP header shorter than its fixed fields"));
    }
    let Some(payload_bytes) = tcp_bytes.checked_sub(header_bytes) else {
        return Err(beyond_packet(tcp_bytes, packet.anomalies));
    };
    let segment = &mut packet.segment;
    read_fixed_fields(*fixed, segment);
    segment.payload_bytes = payload_bytes;
    match kept.get(FIXED..usize::from(words >> 4) * 4) {
        Some(area) => whole_options(area, packet),
        None => cut_options(kept.get(FIXED..).unwrap_or_default(), packet),
    }
    Ok(())
}

/// Reads the fields of the TCP header that every segment has, but for its length.
#[expect(clippy::inline_always, reason = "a header that was read stays in registers")]
#[inline(always)]
fn read_fixed_fields(header: [u8; FIXED], segment: &mut Segment) {
    let [p1, p2, q1, q2, s1, s2, s3, s4, a1, a2, a3, a4, words, flags, w1, w2, _, _, u1, u2] =
        header;
    segment.source_port = u16::from_be_bytes([p1, p2]);
    segment.destination_port = u16::from_be_bytes([q1, q2]);
    segment.sequence = SequenceNumber::new(u32::from_be_bytes([s1, s2, s3, s4]));
    segment.acknowledgment = SequenceNumber::new(u32::from_be_bytes([a1, a2, a3, a4]));
    segment.flags = Flags::from_bits(u16::from_be_bytes([words, flags]));
    segment.window = u16::from_be_bytes([w1, w2]);
    segment.urgent = u16::from_be_bytes([u1, u2]);
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
fn whole_options(area: &[u8], packet: &mut Packet) {
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

/// Bytes of an Ethernet header, and its last two if IPv4 follows.
const ETHERNET_BYTES: u16 = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// Version 4, five words of header.
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
const IPV4_BYTES: u16 = 20;
/// Bytes of the IPv4 and TCP headers without options.
const FIXED_BYTES: u32 = IPV4_HEADER_BYTES + TCP_HEADER_BYTES;

/// Fast path: reads a frame of the layout of nearly every packet in half the time: nothing or Ethernet, IPv4 without
/// options and in one piece, TCP with a kept header. `false` if the layout is another one; then the content of
/// `packet` is meaningless. A test compares the result with that of [`decode_any`](super::decode_any).
#[expect(
    clippy::inline_always,
    reason = "what a frame is made of is then in registers, not in memory"
)]
#[inline(always)]
pub(super) fn read_usual(frame: &Frame<'_>, packet: &mut Packet) -> bool {
    let (ip_at, behind_link) = match frame.link {
        LinkType::Raw => (0, frame.bytes),
        LinkType::Ethernet => match frame.bytes.split_first_chunk::<14>() {
            Some((&[.., high, low], rest)) if [high, low] == ETHERTYPE_IPV4 => {
                (ETHERNET_BYTES, rest)
            }
            _ => return false,
        },
        _ => return false,
    };
    let Some((ip, behind_ip)) = behind_link.split_first_chunk::<20>() else { return false };
    let Some((header, behind)) = behind_ip.split_first_chunk::<20>() else { return false };
    let [version, service, l1, l2, i1, i2, f1, f2, hop_limit, protocol, _, _, addresses @ ..] = *ip;
    let packet_bytes = u32::from(u16::from_be_bytes([l1, l2]));
    let option_bytes = (u32::from(header[WORDS_AT] >> 4) * 4).wrapping_sub(20);
    let headers_bytes = FIXED_BYTES.wrapping_add(option_bytes);
    let (Ok(kept), Ok(option_size)) =
        (u32::try_from(behind_link.len()), usize::try_from(option_bytes))
    else {
        return false;
    };
    let on_link = frame.original_bytes.saturating_sub(ip_at.into()).max(kept);
    if version != IPV4_WITHOUT_OPTIONS
        || protocol != TCP
        || u16::from_be_bytes([f1, f2]) & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0
        || packet_bytes > on_link
        || packet_bytes < headers_bytes
    {
        return false;
    }
    let Some(options) = behind.get(..option_size) else { return false };
    packet.at = frame.at;
    packet.number = frame.number;
    packet.wire_bytes = frame.original_bytes;
    packet.addresses = addresses_of(addresses);
    packet.identification = Some(u16::from_be_bytes([i1, i2]));
    packet.hop_limit = hop_limit;
    packet.anomalies = Anomalies::NONE;
    packet.ip_at = ip_at;
    packet.tcp_at = ip_at + IPV4_BYTES;
    let segment = &mut packet.segment;
    read_fixed_fields(*header, segment);
    segment.traffic_class = TrafficClass::new(service);
    segment.payload_bytes = packet_bytes - headers_bytes;
    whole_options(options, packet);
    true
}

#[inline]
fn addresses_of([s1, s2, s3, s4, d1, d2, d3, d4]: [u8; 8]) -> Addresses {
    Addresses::V4 { source: [s1, s2, s3, s4].into(), destination: [d1, d2, d3, d4].into() }
}

#[cfg(test)]
mod tests {
    use super::super::decode_any;
    use super::*;
    use fairwind_units::Instant;

    /// 100 bytes of payload behind timestamps, of which none were kept.
    fn ethernet_frame() -> Vec<u8> {
        let mut bytes = vec![2; 12];
        bytes.extend_from_slice(&[8, 0, 0x45, 3, 0, 152, 1, 2, 0x40, 0, 64, 6, 0, 0]);
        bytes.extend_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend_from_slice(&[0x9c, 0x40, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x18, 1, 0]);
        bytes.extend_from_slice(&[0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        bytes
    }

    /// Whether the frame is of the usual layout; if it is, it has to be read as frames of any layout are.
    fn is_usual(link: LinkType, bytes: &[u8], original_bytes: u32) -> bool {
        let at = Instant::from_secs(1);
        let frame = Frame { at, link, interface: 0, original_bytes, bytes, number: 3, offset: 24 };
        let (mut usual, mut any) = (Packet::EMPTY, Packet::EMPTY);
        let is_usual = read_usual(&frame, &mut usual);
        if is_usual {
            assert_eq!(decode_any(&frame, &mut any), Ok(()), "{bytes:?}");
            assert_eq!(usual, any, "{bytes:?}");
        }
        is_usual
    }

    #[test]
    fn fast_path_equals_general_decoder() {
        let frame = ethernet_frame();
        for (link, from) in [(LinkType::Ethernet, 0), (LinkType::Raw, 14)] {
            let bytes = &frame[from..];
            let original = u32::try_from(bytes.len()).unwrap() + 100;
            assert!(is_usual(link, bytes, original));
            let mut usual = 0;
            for place in 0..bytes.len() {
                for value in 0..=u8::MAX {
                    let mut changed = bytes.to_vec();
                    changed[place] = value;
                    usual += u32::from(is_usual(link, &changed, original));
                }
            }
            // Most bytes may say anything.
            assert!(usual > 10_000, "{usual}");
        }
    }

    #[test]
    fn a_usual_frame_may_be_cut_anywhere() {
        let frame = ethernet_frame();
        let whole = (0..=frame.len())
            .filter(|kept| is_usual(LinkType::Ethernet, &frame[..*kept], 166))
            .count();
        // Only if all of the header was kept.
        assert_eq!(whole, 1);
        let lengths = 0..400;
        let usual = lengths.filter(|original| is_usual(LinkType::Ethernet, &frame, *original));
        // From the length that the IP header says on.
        assert_eq!(usual.count(), 400 - 166);
    }
}
