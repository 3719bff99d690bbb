//! The layout of nearly every packet, read in half the time: nothing or Ethernet, IPv4 without options and in one
//! piece, TCP whose header has been kept.
//!
//! What is found is what [`decode_any`](super::decode_any) finds; a test holds each against the other.

use super::headers;
use crate::{Anomalies, Frame, LinkType, Packet};
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, SequenceNumber, TrafficClass};

/// Bytes of an Ethernet header, and its last two where IPv4 follows.
const ETHERNET_BYTES: u16 = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// Version 4, five words of header.
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
const TCP: u8 = 6;
/// All bits of the fragment field but the one that forbids fragments.
const FRAGMENT: u16 = 0x3fff;
/// Bytes of the two headers without options.
const FIXED: u32 = 40;
const IPV4_BYTES: u16 = 20;

/// Reads a frame of this layout; `false` where it has another, and what stands in `packet` means nothing then.
#[expect(
    clippy::inline_always,
    reason = "what a frame is made of is then in registers, not in memory"
)]
#[inline(always)]
pub(super) fn read(frame: &Frame<'_>, packet: &mut Packet) -> bool {
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
    let [p1, p2, q1, q2, s1, s2, s3, s4, a1, a2, a3, a4, words, flags, w1, w2, _, _, u1, u2] =
        *header;
    let packet_bytes = u32::from(u16::from_be_bytes([l1, l2]));
    let option_bytes = (u32::from(words >> 4) * 4).wrapping_sub(20);
    let headers_bytes = FIXED.wrapping_add(option_bytes);
    let (Ok(kept), Ok(option_size)) =
        (u32::try_from(behind_link.len()), usize::try_from(option_bytes))
    else {
        return false;
    };
    let on_link = frame.original_bytes.saturating_sub(ip_at.into()).max(kept);
    if version != IPV4_WITHOUT_OPTIONS
        || protocol != TCP
        || u16::from_be_bytes([f1, f2]) & FRAGMENT != 0
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
    segment.source_port = u16::from_be_bytes([p1, p2]);
    segment.destination_port = u16::from_be_bytes([q1, q2]);
    segment.sequence = SequenceNumber::new(u32::from_be_bytes([s1, s2, s3, s4]));
    segment.acknowledgment = SequenceNumber::new(u32::from_be_bytes([a1, a2, a3, a4]));
    segment.flags = Flags::from_bits(u16::from_be_bytes([words, flags]));
    segment.window = u16::from_be_bytes([w1, w2]);
    segment.urgent = u16::from_be_bytes([u1, u2]);
    segment.traffic_class = TrafficClass::new(service);
    segment.payload_bytes = packet_bytes - headers_bytes;
    headers::whole_options(options, packet);
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
        let is_usual = read(&frame, &mut usual);
        if is_usual {
            assert_eq!(decode_any(&frame, &mut any), Ok(()), "{bytes:?}");
            assert_eq!(usual, any, "{bytes:?}");
        }
        is_usual
    }

    #[test]
    fn a_usual_frame_is_read_as_any_other_whatever_each_of_its_bytes_says() {
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
