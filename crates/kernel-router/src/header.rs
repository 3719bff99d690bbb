//! What identifies a packet on both sides of a router: all of its header that routers leave alone.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of the type of service, or of the traffic class, that are for ECN (RFC 3168 §5).
const ECN: u8 = 0b11;
/// The code point of a packet that was marked.
pub(super) const CONGESTION_EXPERIENCED: u8 = 0b11;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;

/// A packet as a router knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) destination: IpAddr,
    /// The same for all packets of a connection in one direction.
    pub(super) flow: u64,
    /// The same before and behind a router. Two packets of a flow with equal headers share it.
    pub(super) packet: u64,
    /// Code point of ECN.
    pub(super) ecn: u8,
}

impl Header {
    /// Reads the beginning of a packet; `None` where that is not IP.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        match head.first()? >> 4 {
            4 => Self::read_v4(head),
            6 => Self::read_v6(head),
            _ => None,
        }
    }

    fn read_v4(head: &[u8]) -> Option<Self> {
        let fixed: [u8; IPV4_BYTES] = head.get(..IPV4_BYTES)?.try_into().ok()?;
        let length = usize::from(fixed[0] & 0xf) * 4;
        let behind = head.get(length..).unwrap_or_default();
        let mut kept = fixed;
        // Type of service, time to live, checksum.
        for place in [1, 8, 10, 11] {
            kept[place] = 0;
        }
        let destination = Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]);
        Some(Self {
            destination: destination.into(),
            flow: hash(&[&fixed[12..], &fixed[9..10], behind.get(..4).unwrap_or_default()]),
            packet: hash(&[&kept, behind]),
            ecn: fixed[1] & ECN,
        })
    }

    fn read_v6(head: &[u8]) -> Option<Self> {
        let fixed: [u8; IPV6_BYTES] = head.get(..IPV6_BYTES)?.try_into().ok()?;
        let behind = &head[IPV6_BYTES..];
        let mut kept = fixed;
        // Traffic class, with four bits of the flow label, and hop limit.
        for place in [0, 1, 7] {
            kept[place] = 0;
        }
        let destination: [u8; 16] = fixed[24..].try_into().ok()?;
        Some(Self {
            destination: Ipv6Addr::from(destination).into(),
            flow: hash(&[&fixed[8..], &fixed[6..7], behind.get(..4).unwrap_or_default()]),
            packet: hash(&[&kept, behind]),
            ecn: (fixed[1] >> 4) & ECN,
        })
    }
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4() -> Vec<u8> {
        let mut head = vec![0; 60];
        (head[0], head[1], head[8], head[9]) = (0x45, 0b10, 64, 6);
        head[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        head[20..24].copy_from_slice(&[0xc0, 0, 0xea, 0x60]);
        head
    }

    fn v6() -> Vec<u8> {
        let mut head = vec![0; 100];
        (head[0], head[1], head[6], head[7]) = (0x60, 0b0010_0000, 6, 64);
        head[39] = 9;
        head
    }

    #[test]
    fn router_and_mark_change_no_identity() {
        let change = |head: &mut Vec<u8>, places: &[(usize, u8)]| {
            for &(place, value) in places {
                head[place] = value;
            }
        };
        for (head, forwarded) in
            [(v4(), [(1, 0b11), (8, 63), (10, 1)]), (v6(), [(1, 0x30), (7, 63), (7, 63)])]
        {
            let before = Header::read(&head).expect("a packet");
            let mut behind = head.clone();
            change(&mut behind, &forwarded);
            let after = Header::read(&behind).expect("a packet");
            assert_eq!(after, Header { ecn: CONGESTION_EXPERIENCED, ..before });
            assert_eq!(before.ecn, 0b10);
        }
    }

    #[test]
    fn packets_of_a_flow_differ_by_sequence_number() {
        let (first, mut second) = (v4(), v4());
        second[27] = 1;
        let [first, second] = [first, second].map(|head| Header::read(&head).expect("a packet"));
        assert_eq!(first.flow, second.flow);
        assert_ne!(first.packet, second.packet);
        assert_eq!(first.destination, IpAddr::from([10, 0, 0, 2]));
    }

    #[test]
    fn directions_are_two_flows() {
        let mut back = v4();
        back[12..20].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
        back[20..24].copy_from_slice(&[0xea, 0x60, 0xc0, 0]);
        assert_ne!(Header::read(&v4()).map(|it| it.flow), Header::read(&back).map(|it| it.flow));
    }

    #[test]
    fn other_protocols_are_no_packets() {
        assert_eq!(Header::read(&[]), None);
        assert_eq!(Header::read(&[0x45; 19]), None);
        assert_eq!(Header::read(&[0; 60]), None);
    }
}
