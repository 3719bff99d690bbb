//! A filter's tree as text, which gives the same tree when it is read.

use super::expression::{
    Comparison, Connective, Expression, Network, Number, Operator, Protocol, Relation, Side, Test,
};
use std::fmt::{Display, Formatter, Result};
use std::net::{Ipv4Addr, Ipv6Addr};

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
