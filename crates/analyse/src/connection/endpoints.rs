//! Endpoints of a connection: addresses and ports, sides, and their names in tables.
//!
//! IPv4 addresses are formatted by hand: `format!` took an eighth of the time of an analysis of short
//! connections.

use fairwind_capture::Packet;
use fairwind_wire::Flags;
use fairwind_wire::bytes::Addresses;
use std::fmt::{Arguments, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Address and port.
pub(super) type V6End = (u128, u16);

/// Both endpoints, the lower one first, so that packets of both directions have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Address and port of each in one integer.
    V4(u64, u64),
    /// Address and port of each.
    V6(V6End, V6End),
}

impl Ends {
    /// The endpoints of `packet`, and whether the lower one sent it.
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

    /// The lower endpoint, or the other one.
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

/// The addresses of packets from `source` to `destination`, if both have one IP version.
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

/// One side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The initiator, which sent the first SYN.
    Opener,
    /// The responder.
    Answerer,
}

impl Side {
    /// Its index in pairs.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Opener => 0,
            Self::Answerer => 1,
        }
    }

    /// The side at the other end.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Answerer,
            Self::Answerer => Self::Opener,
        }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opener => "opener",
            Self::Answerer => "answerer",
        }
    }
}

/// Counts of the packets of one side, at one tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sent {
    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) data_packets: u64,
    pub(crate) payload_bytes: u64,
    /// Packets that carry neither payload nor SYN, FIN or RST.
    pub(crate) bare_acknowledgments: u64,
    pub(crate) largest_payload_bytes: u32,
    /// Every flag that one of its packets had.
    pub(crate) flags: Flags,
    /// Hop limit of its first packet.
    pub(crate) hop_limit: u8,
}

const MARKS: Flags = Flags::from_bits(Flags::SYN.bits() | Flags::FIN.bits() | Flags::RST.bits());

impl Sent {
    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet) {
        let segment = &packet.segment;
        if self.packets == 0 {
            self.hop_limit = packet.hop_limit;
        }
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_bytes);
        self.flags |= segment.flags;
        if segment.payload_bytes > 0 {
            self.data_packets += 1;
            self.payload_bytes += u64::from(segment.payload_bytes);
            self.largest_payload_bytes = self.largest_payload_bytes.max(segment.payload_bytes);
        } else if !segment.flags.intersects(MARKS) {
            self.bare_acknowledgments += 1;
        }
    }

    /// Hop limit of the first packet, where there is one.
    pub(super) fn first_hop_limit(&self) -> Option<u64> {
        (self.packets > 0).then(|| self.hop_limit.into())
    }
}

/// The name of the flow of data between two endpoints: `FROM>TO`.
pub(crate) fn flow_name(from: SocketAddr, to: SocketAddr) -> String {
    let mut name = String::with_capacity(43);
    push_flow(&mut name, from, to);
    name
}

/// Appends the name of a flow.
pub(super) fn push_flow(name: &mut String, from: SocketAddr, to: SocketAddr) {
    push_end(name, from);
    name.push('>');
    push_end(name, to);
}

/// Appends the names of flags that are set.
pub(super) fn push_flags(name: &mut String, flags: Flags) {
    push_written(name, format_args!("{flags:?}"));
}

/// Appends `ADDRESS:PORT`.
pub(super) fn push_end(name: &mut String, end: SocketAddr) {
    match end {
        SocketAddr::V4(end) => {
            let [first, others @ ..] = end.ip().octets();
            push_number(name, first.into());
            for octet in others {
                name.push('.');
                push_number(name, octet.into());
            }
            name.push(':');
            push_number(name, end.port());
        }
        SocketAddr::V6(end) => push_written(name, format_args!("{end}")),
    }
}

fn push_written(name: &mut String, arguments: Arguments<'_>) {
    let written = name.write_fmt(arguments);
    debug_assert!(written.is_ok(), "a string takes everything");
}

fn push_number(name: &mut String, number: u16) {
    let above = number / 10;
    if above > 0 {
        push_number(name, above);
    }
    name.extend(char::from_digit(u32::from(number % 10), 10));
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_wire::Segment;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    fn packet(addresses: Addresses, source_port: u16, destination_port: u16) -> Packet {
        let segment = Segment { source_port, destination_port, ..Segment::default() };
        Packet { addresses, segment, ..Packet::EMPTY }
    }

    #[test]
    fn both_directions_have_equal_ends_and_known_sender() {
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
    fn ports_distinguish_sides_of_loopback_connection() {
        let loopback =
            Addresses::V4 { source: [127, 0, 0, 1].into(), destination: [127, 0, 0, 1].into() };
        let (there, low_sent) = Ends::of(&packet(loopback, 80, 50_000));
        let (back, low_sent_back) = Ends::of(&packet(loopback, 50_000, 80));
        assert_eq!(there, back);
        assert!(low_sent && !low_sent_back);
    }

    proptest! {
        #[test]
        fn names_are_those_of_the_standard_library(from: [u8; 4], to: [u8; 16], ports: [u16; 2]) {
            let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::from(from)), ports[0]);
            let to = SocketAddr::new(IpAddr::V6(Ipv6Addr::from(to)), ports[1]);
            prop_assert_eq!(flow_name(from, to), format!("{from}>{to}"));
        }
    }

    #[test]
    fn zeros_are_written_within_a_number_and_alone() {
        let end = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 100, 205)), 0);
        let mut name = String::new();
        push_end(&mut name, end);
        assert_eq!(name, "10.0.100.205:0");
    }
}
