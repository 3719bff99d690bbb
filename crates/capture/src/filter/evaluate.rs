//! A filter's tree asked about a packet, or about the ends of a connection.

use super::arithmetic::{Number, Relation};
use super::expression::{Connective, Expression, Network, Protocol, Side, Test};
use crate::decode::vlan_tags;
use crate::{Frame, LinkType, Packet};
use fairwind_wire::bytes::Addresses;

/// What a filter is asked about.
pub(super) struct Subject<'a> {
    pub(super) addresses: &'a Addresses,
    /// Source and destination.
    pub(super) ports: [u16; 2],
    /// The packet, where there is one, and the frame that it was decoded from.
    pub(super) packet: Option<(&'a Packet, &'a Frame<'a>)>,
}

impl Subject<'_> {
    /// Whether it meets an expression; `None` where a byte is asked for that is not there, or a division
    /// by zero: that ends the matter, whatever stands around it.
    pub(super) fn meets(&self, expression: &Expression) -> Option<bool> {
        match expression {
            Expression::Test(test) => self.meets_test(test),
            Expression::Not(one) => Some(!self.meets(one)?),
            Expression::Chain { first, rest } => {
                let mut met = self.meets(first)?;
                for (connective, one) in rest {
                    if met == (*connective == Connective::And) {
                        met = self.meets(one)?;
                    }
                }
                Some(met)
            }
        }
    }

    #[inline]
    fn meets_test(&self, test: &Test) -> Option<bool> {
        Some(match test {
            Test::Protocol(protocol) => self.has(*protocol),
            Test::Address { family, side, network } => {
                self.has_family(*family) && self.has_address(*side, network)
            }
            Test::Port { carrier, side, first, last } => {
                let [source, destination] = self.ports.map(|port| (*first..=*last).contains(&port));
                self.has_family(*carrier) && on_side(*side, source, destination)
            }
            Test::Number { family, number } => {
                self.has_family(*family) && *number == Protocol::TCP_NUMBER
            }
            Test::Vlan(id) => {
                let (_, frame) = self.packet?;
                vlan_tags(frame).any(|tag| id.is_none_or(|id| id == tag))
            }
            Test::Relation(relation) => return self.meets_relation(relation),
        })
    }

    /// Whether the packet is of a protocol. Only TCP packets are asked about.
    fn has(&self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Link | Protocol::Tcp => true,
            Protocol::Ip => matches!(self.addresses, Addresses::V4 { .. }),
            Protocol::Ip6 => matches!(self.addresses, Addresses::V6 { .. }),
            _ => false,
        }
    }

    #[inline]
    fn has_family(&self, family: Option<Protocol>) -> bool {
        family.is_none_or(|family| self.has(family))
    }

    #[inline]
    fn has_address(&self, side: Side, network: &Network) -> bool {
        match *self.addresses {
            Addresses::V4 { source, destination } => {
                on_side(side, network.has_v4(source), network.has_v4(destination))
            }
            Addresses::V6 { source, destination } => {
                on_side(side, network.has_v6(source), network.has_v6(destination))
            }
        }
    }

    fn meets_relation(&self, relation: &Relation) -> Option<bool> {
        if !relation.all_headers(&|protocol| self.has_header(protocol)) {
            return Some(false);
        }
        let (left, right) = (self.number(&relation.left)?, self.number(&relation.right)?);
        Some(relation.comparison.holds(left, right))
    }

    /// Whether bytes of a header can be asked for. Those of Ethernet can in Ethernet frames.
    fn has_header(&self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Link => self.packet.is_none_or(|(_, frame)| frame.link == LinkType::Ethernet),
            other => self.has(other),
        }
    }

    fn number(&self, number: &Number) -> Option<u32> {
        match number {
            Number::Constant(value) => Some(*value),
            Number::Length => self.packet.map(|(packet, _)| packet.wire_bytes),
            Number::Bytes { of, at, size } => self.bytes(*of, self.number(at)?, *size),
            Number::Negative(one) => Some(self.number(one)?.wrapping_neg()),
            Number::Pair(pair) => pair.1.apply(self.number(&pair.0)?, self.number(&pair.2)?),
        }
    }

    fn bytes(&self, of: Protocol, at: u32, size: u8) -> Option<u32> {
        let (packet, frame) = self.packet?;
        let header = match of {
            Protocol::Link => 0,
            Protocol::Tcp => packet.tcp_at,
            _ => packet.ip_at,
        };
        let begin = usize::from(header).checked_add(usize::try_from(at).ok()?)?;
        let bytes = frame.bytes.get(begin..begin.checked_add(usize::from(size))?)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }
}

#[inline]
const fn on_side(side: Side, source: bool, destination: bool) -> bool {
    match side {
        Side::Either => source || destination,
        Side::Both => source && destination,
        Side::Source => source,
        Side::Destination => destination,
    }
}
