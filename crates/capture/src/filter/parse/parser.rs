//! State of the parser of filters.

use crate::filter::expression::{Connective, Expression, Protocol, Side};
use crate::filter::scanner::Scanner;

/// Operators between numbers that a filter may have.
pub(super) const MOST_OPERATORS: u32 = 1000;

/// State of the parser.
pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    /// The keywords of the test before, which an address or number without any takes over.
    pub(super) last: Option<Qualifiers>,
    pub(super) depth: u32,
    pub(super) operators: u32,
}

/// The keywords before a value.
#[derive(Clone, Copy)]
pub(super) struct Qualifiers {
    pub(super) protocol: Option<Protocol>,
    pub(super) side: Side,
    pub(super) kind: Kind,
}

pub(super) fn chained(first: Expression, rest: Vec<(Connective, Expression)>) -> Expression {
    if rest.is_empty() { first } else { Expression::Chain { first: Box::new(first), rest } }
}

pub(super) fn negated(one: Expression, times: u32) -> Expression {
    (0..times).fold(one, |one, _| Expression::Not(Box::new(one)))
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Net,
    Port,
    PortRange,
    Proto,
}

impl Kind {
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("host", Self::Host),
        ("net", Self::Net),
        ("port", Self::Port),
        ("portrange", Self::PortRange),
        ("proto", Self::Proto),
    ];

    /// Its keyword, in quotes.
    pub(super) const fn quoted(self) -> &'static str {
        match self {
            Self::Host => "`host`",
            Self::Net => "`net`",
            Self::Port => "`port`",
            Self::PortRange => "`portrange`",
            Self::Proto => "`proto`",
        }
    }

    /// Whether a protocol can stand before it.
    pub(super) const fn goes_with(self, protocol: Protocol) -> bool {
        match self {
            Self::Host | Self::Net => {
                matches!(protocol, Protocol::Ip | Protocol::Ip6 | Protocol::Arp | Protocol::Rarp)
            }
            Self::Port | Self::PortRange => {
                matches!(protocol, Protocol::Tcp | Protocol::Udp | Protocol::Sctp)
            }
            Self::Proto => matches!(protocol, Protocol::Ip | Protocol::Ip6),
        }
    }
}
