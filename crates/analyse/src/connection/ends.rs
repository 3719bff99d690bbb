//! The two ends of a connection: what packets of both directions have in common.

use fairwind_capture::Packet;
use fairwind_wire::bytes::Addresses;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Address and port.
pub(super) type V6End = (u128, u16);

/// Both ends, the lower one first, so that packets of both directions have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Address and port of each in one number.
    V4(u64, u64),
    /// Address and port of each.
    V6(V6End, V6End),
}

impl Ends {
    /// The ends of `packet`, and whether the lower one sent it.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> (Self, bool) {
        let ports = (packet.segment.source_port, packet.segment.destination_port);
        match packet.addresses {
            Addresses::V4 { source, destination } => {
                let (source, destination) = (v4(source, ports.0), v4(destination, ports.1));
                let low_sent = source <= destination;
                (Self::V4(source.min(destination), source.max(destination)), low_sent)
            }
            Addresses::V6 { source, destination } => {
                let (source, destination) =
                    ((source.to_bits(), ports.0), (destination.to_bits(), ports.1));
                let low_sent = source <= destination;
                (Self::V6(source.min(destination), source.max(destination)), low_sent)
            }
        }
    }

    /// The lower end, or the other one.
    pub(crate) fn end(&self, is_low: bool) -> SocketAddr {
        match *self {
            Self::V4(lower, higher) => {
                let end = if is_low { lower } else { higher };
                let [_, _, a, b, c, d, high, low] = end.to_be_bytes();
                let address = Ipv4Addr::new(a, b, c, d);
                SocketAddr::new(IpAddr::V4(address), u16::from_be_bytes([high, low]))
            }
            Self::V6(lower, higher) => {
                let (address, port) = if is_low { lower } else { higher };
                SocketAddr::new(IpAddr::V6(Ipv6Addr::from_bits(address)), port)
            }
        }
    }
}

#[inline]
fn v4(address: Ipv4Addr, port: u16) -> u64 {
    u64::from(address.to_bits()) << 16 | u64::from(port)
}

/// The addresses of packets from `source` to `destination`, if both are of one family.
pub(crate) fn addresses_of(source: SocketAddr, destination: SocketAddr) -> Option<Addresses> {
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Some(Addresses::V4 { source, destination })
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Some(Addresses::V6 { source, destination })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_wire::Segment;

    fn packet(addresses: Addresses, source_port: u16, destination_port: u16) -> Packet {
        let segment = Segment { source_port, destination_port, ..Segment::default() };
        Packet { addresses, segment, ..Packet::EMPTY }
    }

    #[test]
    fn both_directions_have_the_same_ends_and_tell_who_sent() {
        let v4 = Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
        let v6 = Addresses::V6 {
            source: "2001:db8::1".parse().unwrap(),
            destination: "2001:db8::2".parse().unwrap(),
        };
        for addresses in [v4, v6] {
            let (there, low_sent) = Ends::of(&packet(addresses, 50_000, 80));
            let (back, low_sent_back) = Ends::of(&packet(addresses.reversed(), 80, 50_000));
            assert_eq!(there, back);
            assert!(low_sent && !low_sent_back);
            assert_eq!((there.end(true).port(), there.end(false).port()), (50_000, 80));
        }
        let (ends, _) = Ends::of(&packet(v4, 50_000, 80));
        assert_eq!(ends.end(true).to_string(), "10.0.0.1:50000");
    }

    #[test]
    fn a_connection_of_a_host_with_itself_is_told_by_its_ports() {
        let loopback =
            Addresses::V4 { source: [127, 0, 0, 1].into(), destination: [127, 0, 0, 1].into() };
        let (there, low_sent) = Ends::of(&packet(loopback, 80, 50_000));
        let (back, low_sent_back) = Ends::of(&packet(loopback, 50_000, 80));
        assert_eq!(there, back);
        assert!(low_sent && !low_sent_back);
    }
}
