//! Damage to a packet on its way: one bit is turned over, as netem's corruption does (tc-netem(8)).

/// Protocol number of UDP.
const UDP: u8 = 17;
/// Where the checksum stands in a UDP header.
const UDP_CHECKSUM: std::ops::Range<usize> = 6..8;

/// Turns one bit of `packet` over, which `draw` chooses, behind its IP header: there the checksum of TCP or
/// UDP covers every bit, so that the host that it is for notices and refuses it.
pub(super) fn flip_bit(packet: &mut [u8], draw: u32) {
    let Some((protocol, above)) = above_ip(packet) else { return };
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

/// The protocol above IP, and what follows the header; extension headers of IPv6 count as that.
fn above_ip(packet: &mut [u8]) -> Option<(u8, &mut [u8])> {
    let first = *packet.first()?;
    let (protocol, header_bytes) = match first >> 4 {
        4 => (*packet.get(9)?, usize::from(first & 0xf) * 4),
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    Some((protocol, packet.get_mut(header_bytes..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of this protocol with ten bytes above its header.
    fn packet(protocol: u8) -> Vec<u8> {
        let mut packet = vec![0; 30];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet
    }

    #[test]
    fn one_bit_behind_the_header_is_turned_whatever_is_drawn() {
        for protocol in [6, UDP] {
            for draw in [0, 7, 8, 79, 80, 6 * 8, 7 * 8 + 3, u32::MAX] {
                let before = packet(protocol);
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
    fn every_bit_can_be_turned() {
        let turned = |draw| {
            let mut packet = packet(6);
            flip_bit(&mut packet, draw);
            packet
        };
        let all: std::collections::BTreeSet<_> = (0..80).map(turned).collect();
        assert_eq!(all.len(), 80);
    }

    #[test]
    fn what_is_no_packet_stays_as_it_is() {
        for bytes in [&b""[..], b"E", b"no packet"] {
            let mut damaged = bytes.to_vec();
            flip_bit(&mut damaged, 3);
            assert_eq!(damaged, bytes);
        }
    }
}
