//! What a filter asks, as a tree.

use super::arithmetic::Relation;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An expression. Trees are no deeper than the reader's limit of nesting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    /// Some, joined from left to right, since both ways of joining have the same precedence.
    Chain { first: Box<Expression>, rest: Vec<(Connective, Expression)> },
    /// What does not match.
    Not(Box<Expression>),
    /// One test.
    Test(Test),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connective {
    And,
    Or,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    /// The packet is of this protocol.
    Protocol(Protocol),
    /// An address is in a network; a host is a network of one.
    Address { family: Option<Protocol>, side: Side, network: Network },
    /// A port is one of these.
    Port { carrier: Option<Protocol>, side: Side, first: u16, last: u16 },
    /// The protocol that the IP header says.
    Number { family: Option<Protocol>, number: u8 },
    /// The frame has a VLAN tag, of this VLAN if one is given.
    Vlan(Option<u16>),
    /// Numbers compare.
    Relation(Relation),
}

/// What addresses and ports are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Side {
    /// Either end.
    #[default]
    Either,
    /// Both ends.
    Both,
    Source,
    Destination,
}

/// A network, or a host: the bits of an address that are in the mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    V4 { bits: u32, mask: u32 },
    V6 { bits: u128, mask: u128 },
}

impl Network {
    #[inline]
    pub(super) fn has_v4(&self, address: Ipv4Addr) -> bool {
        matches!(*self, Self::V4 { bits, mask } if address.to_bits() & mask == bits)
    }

    #[inline]
    pub(super) fn has_v6(&self, address: Ipv6Addr) -> bool {
        matches!(*self, Self::V6 { bits, mask } if address.to_bits() & mask == bits)
    }
}

/// A protocol that a filter can name, with its number where IP carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Protocol {
    /// The frame itself (`ether`, `link`): only its bytes and its length are of interest.
    Link,
    Ip,
    Ip6,
    Arp,
    Rarp,
    Tcp,
    Udp,
    Sctp,
    Icmp,
    Icmp6,
    Igmp,
    Pim,
    Vrrp,
    Ah,
    Esp,
}

impl Expression {
    /// Whether no test asks for what only a packet has.
    pub(super) fn is_connection_filter(&self) -> bool {
        match self {
            Self::Chain { first, rest } => {
                first.is_connection_filter()
                    && rest.iter().all(|(_, one)| one.is_connection_filter())
            }
            Self::Not(one) => one.is_connection_filter(),
            Self::Test(Test::Vlan(_)) => false,
            Self::Test(Test::Relation(relation)) => relation.is_constant(),
            Self::Test(_) => true,
        }
    }
}
