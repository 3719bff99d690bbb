//! Filter expressions: their arithmetic, evaluation and text, which gives the same tree when it is parsed.

use crate::decode::vlan_tags;
use crate::{Frame, LinkType, Packet};
use fairwind_wire::bytes::Addresses;
use std::fmt::{Display, Formatter, Result};
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

/// Two numbers and how they are to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) left: Number,
    pub(super) comparison: Comparison,
    pub(super) right: Number,
}

/// A number of 32 bits without sign, which wraps, as in the programs of libpcap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Number {
    Constant(u32),
    /// Bytes of the frame on the link.
    Length,
    /// One, two or four bytes, the highest first, at a place behind the beginning of a header.
    Bytes {
        of: Protocol,
        at: Box<Number>,
        size: u8,
    },
    Negative(Box<Number>),
    Pair(Box<(Number, Operator, Number)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    ExclusiveOr,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Times,
    DividedBy,
    Remainder,
}

impl Comparison {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("==", Self::Equal),
        ("=", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    #[inline]
    pub(super) const fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

impl Operator {
    /// Symbol, operator, and how strongly it binds.
    pub(super) const ALL: [(&'static str, Self, u8); 10] = [
        ("<<", Self::ShiftLeft, 2),
        (">>", Self::ShiftRight, 2),
        ("|", Self::Or, 1),
        ("&", Self::And, 1),
        ("^", Self::ExclusiveOr, 1),
        ("+", Self::Plus, 3),
        ("-", Self::Minus, 3),
        ("*", Self::Times, 4),
        ("/", Self::DividedBy, 4),
        ("%", Self::Remainder, 4),
    ];

    /// Result of the operation on two numbers; `None` for a division by zero. Shifts by 32 and more give 0.
    #[inline]
    pub(super) const fn apply(self, left: u32, right: u32) -> Option<u32> {
        Some(match self {
            Self::Or => left | right,
            Self::And => left & right,
            Self::ExclusiveOr => left ^ right,
            Self::ShiftLeft if right < 32 => left << right,
            Self::ShiftRight if right < 32 => left >> right,
            Self::ShiftLeft | Self::ShiftRight => 0,
            Self::Plus => left.wrapping_add(right),
            Self::Minus => left.wrapping_sub(right),
            Self::Times => left.wrapping_mul(right),
            Self::DividedBy => return left.checked_div(right),
            Self::Remainder => return left.checked_rem(right),
        })
    }
}

impl Relation {
    /// Whether it asks for nothing of a packet.
    pub(super) fn is_constant(&self) -> bool {
        self.left.is_constant() && self.right.is_constant()
    }

    /// Whether every header that it asks for holds `test`.
    pub(super) fn all_headers(&self, test: &impl Fn(Protocol) -> bool) -> bool {
        self.left.all_headers(test) && self.right.all_headers(test)
    }
}

impl Number {
    fn is_constant(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Length | Self::Bytes { .. } => false,
            Self::Negative(one) => one.is_constant(),
            Self::Pair(pair) => pair.0.is_constant() && pair.2.is_constant(),
        }
    }

    fn all_headers(&self, test: &impl Fn(Protocol) -> bool) -> bool {
        match self {
            Self::Constant(_) | Self::Length => true,
            Self::Bytes { of, at, .. } => test(*of) && at.all_headers(test),
            Self::Negative(one) => one.all_headers(test),
            Self::Pair(pair) => pair.0.all_headers(test) && pair.2.all_headers(test),
        }
    }
}

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

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Test(test) => test.fmt(f),
            Self::Not(one) => {
                f.write_str("not ")?;
                part(one, f)
            }
            Self::Chain { first, rest } => {
                part(first, f)?;
                for (connective, one) in rest {
                    f.write_str(match connective {
                        Connective::And => " and ",
                        Connective::Or => " or ",
                    })?;
                    part(one, f)?;
                }
                Ok(())
            }
        }
    }
}

/// A part of something greater: chains need parentheses there.
fn part(one: &Expression, f: &mut Formatter<'_>) -> Result {
    if matches!(one, Expression::Chain { .. }) { write!(f, "({one})") } else { one.fmt(f) }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Protocol(protocol) => f.write_str(protocol.name()),
            Self::Address { family, side, network } => {
                write!(f, "{}{}{network}", Qualifier(*family), side.words())
            }
            Self::Port { carrier, side, first, last } => {
                write!(f, "{}{}", Qualifier(*carrier), side.words())?;
                if first == last {
                    write!(f, "port {first}")
                } else {
                    write!(f, "portrange {first}-{last}")
                }
            }
            Self::Number { family, number } => write!(f, "{}proto {number}", Qualifier(*family)),
            Self::Vlan(None) => f.write_str("vlan"),
            Self::Vlan(Some(id)) => write!(f, "vlan {id}"),
            Self::Relation(relation) => relation.fmt(f),
        }
    }
}

/// A protocol before other words.
struct Qualifier(Option<Protocol>);

impl Display for Qualifier {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.map_or(Ok(()), |protocol| write!(f, "{} ", protocol.name()))
    }
}

impl Side {
    /// Its keywords, with a blank behind them.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Either => "",
            Self::Both => "src and dst ",
            Self::Source => "src ",
            Self::Destination => "dst ",
        }
    }
}

impl Display for Network {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Self::V4 { bits, mask: u32::MAX } => write!(f, "host {}", Ipv4Addr::from_bits(bits)),
            Self::V6 { bits, mask: u128::MAX } => write!(f, "host {}", Ipv6Addr::from_bits(bits)),
            Self::V4 { bits, mask } if mask.count_ones() == mask.leading_ones() => {
                write!(f, "net {}/{}", Ipv4Addr::from_bits(bits), mask.count_ones())
            }
            Self::V4 { bits, mask } => {
                write!(f, "net {} mask {}", Ipv4Addr::from_bits(bits), Ipv4Addr::from_bits(mask))
            }
            Self::V6 { bits, mask } => {
                write!(f, "net {}/{}", Ipv6Addr::from_bits(bits), mask.count_ones())
            }
        }
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        // Behind `net 10/8 or`, a number with an operator would be taken for another network.
        operand(&self.left, f)?;
        write!(f, " {} {}", self.comparison, self.right)
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Constant(value) => value.fmt(f),
            Self::Length => f.write_str("len"),
            Self::Bytes { of, at, size: 1 } => write!(f, "{}[{at}]", of.name()),
            Self::Bytes { of, at, size } => write!(f, "{}[{at}:{size}]", of.name()),
            Self::Negative(one) => {
                f.write_str("-")?;
                operand(one, f)
            }
            Self::Pair(pair) => {
                operand(&pair.0, f)?;
                write!(f, " {} ", pair.1)?;
                operand(&pair.2, f)
            }
        }
    }
}

/// A part of a greater number; whatever is made of two is put into parentheses.
fn operand(one: &Number, f: &mut Formatter<'_>) -> Result {
    if matches!(one, Number::Pair(_)) { write!(f, "({one})") } else { one.fmt(f) }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let symbol = Self::ALL.iter().rev().find(|(_, comparison)| comparison == self);
        f.write_str(symbol.map_or("=", |(symbol, _)| symbol))
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let symbol = Self::ALL.iter().find(|(_, operator, _)| operator == self);
        f.write_str(symbol.map_or("+", |(symbol, _, _)| symbol))
    }
}
