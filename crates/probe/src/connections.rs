//! Addresses and ports in a packet's head, and counts by them.

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use fairwind_units::Span;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Connections that are counted apart; packets of further ones count in their group only.
const MOST_CONNECTIONS: usize = 65_536;

/// The group of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// The Transmission Control Protocol.
    Tcp,
    /// The User Datagram Protocol, QUIC included.
    Udp,
    /// Anything else: neighbour discovery, ICMP, fragments without ports.
    Other,
}

impl Protocol {
    /// All of them, in the order of their groups.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Other];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Other => "other",
        }
    }
}

/// Both ends of what a packet belongs to, from its sender's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Connection {
    /// Its protocol.
    pub protocol: Protocol,
    /// The sender; without ports 0.
    pub source: SocketAddr,
    /// The receiver; without ports 0.
    pub destination: SocketAddr,
}

impl Connection {
    /// The connection of a packet by its first bytes, from the IP header on; `None` if there is no IP header.
    pub fn of(head: &[u8]) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ip(head).ok()?;
        let (source, destination): (IpAddr, IpAddr) = match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            LaxNetSlice::Ipv6(ip) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let (protocol, from, to) = match &packet.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                (Protocol::Tcp, tcp.source_port(), tcp.destination_port())
            }
            Some(TransportSlice::Udp(udp)) => {
                (Protocol::Udp, udp.source_port(), udp.destination_port())
            }
            _ => (Protocol::Other, 0, 0),
        };
        Some(Self {
            protocol,
            source: SocketAddr::new(source, from),
            destination: SocketAddr::new(destination, to),
        })
    }
}

/// What became of the packets of a connection at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionCounts {
    /// Packets that left the queue.
    pub sent_packets: u64,
    /// Their bytes, as the queue counts them.
    pub sent_bytes: u64,
    /// Packets that it dropped.
    pub dropped_packets: u64,
    /// The sum of the waits of those that left.
    pub waited: Span,
    /// The longest of these waits.
    pub longest_wait: Span,
}

/// Counts by connection.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    counts: HashMap<Connection, ConnectionCounts>,
}

impl Connections {
    /// The counts of a connection; `None` where there are too many of them.
    pub(crate) fn of(&mut self, connection: Connection) -> Option<&mut ConnectionCounts> {
        if self.counts.len() >= MOST_CONNECTIONS && !self.counts.contains_key(&connection) {
            return None;
        }
        Some(self.counts.entry(connection).or_default())
    }

    /// All of them, those with most bytes first.
    pub(crate) fn into_sorted(self) -> Vec<(Connection, ConnectionCounts)> {
        let mut all: Vec<_> = self.counts.into_iter().collect();
        all.sort_by_key(|(connection, counts)| {
            (
                std::cmp::Reverse((counts.sent_bytes, counts.dropped_packets)),
                connection.source,
                connection.destination,
            )
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, Protocol};
    use etherparse::PacketBuilder;

    /// The first bytes of a packet with a payload that is cut off, as the programs report it.
    fn head(builder: etherparse::PacketBuilderStep<etherparse::UdpHeader>) -> Vec<u8> {
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &[7; 1000]).expect("memory");
        bytes.truncate(100);
        bytes
    }

    #[test]
    fn ends_are_read_though_the_payload_is_cut_off() {
        let packet = head(PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5000, 53));
        let found = Connection::of(&packet).expect("an IP packet");
        assert_eq!(found.protocol, Protocol::Udp);
        assert_eq!(found.source, "10.0.0.1:5000".parse().expect("an address"));
        assert_eq!(found.destination, "10.0.0.2:53".parse().expect("an address"));
    }

    #[test]
    fn version_6_is_read_too() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4);
        builder.write(&mut packet, &[]).expect("memory");
        let found = Connection::of(&packet).expect("an IP packet");
        assert_eq!((found.protocol, found.destination.port()), (Protocol::Tcp, 2));
    }

    #[test]
    fn other_bytes_are_of_no_connection() {
        assert_eq!(Connection::of(&[]), None);
        assert_eq!(Connection::of(&[0; 100]), None);
    }
}
