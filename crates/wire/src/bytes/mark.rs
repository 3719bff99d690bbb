//! Writing a congestion mark into a packet as it lies in memory.

/// Both bits of the ECN field (RFC 3168 section 5): congestion experienced.
const CE: u8 = 0b11;

/// Writes "congestion experienced" into the IP header at the beginning of `packet`, and mends the checksum of an IPv4
/// header by the difference (RFC 1624 section 3). Whether the packet can be marked is the caller's to know; what is no IP
/// packet stays as it is.
///
/// ```
/// use fairwind_wire::bytes::mark_congestion;
/// // Version 4, ECT(0), and only so much of the rest as matters: the checksum is behind ten bytes.
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
        fn a_marked_packet_is_the_one_that_would_have_been_sent_with_the_mark(
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
    fn what_is_no_packet_stays_as_it_is() {
        for text in [&b""[..], b"E", b"Exy", b"who knows what this is"] {
            let mut bytes = text.to_vec();
            mark_congestion(&mut bytes);
            assert_eq!(bytes, text);
        }
    }
}
