//! Addresses, networks, ports and protocol numbers, behind the keywords that say which of them.

use super::numbers::figures;
use super::{Kind, Parser, Qualifiers, chained, negated};
use crate::filter::expression::{Expression, Network, Protocol, Side, Test};
use crate::filter::scanner;
use crate::filter::scanner::{FilterError, FilterProblem, Scanner, shortened};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

impl Parser<'_> {
    /// A test that begins with keywords: of a side, of a kind. A protocol may have stood before them.
    pub(super) fn qualified(
        &mut self,
        before: Option<(Protocol, Scanner<'_>)>,
    ) -> Result<Expression, FilterError> {
        let at_side = self.scanner;
        let side = self.side();
        let kinds = &mut Kind::ALL.iter();
        let kind = kinds.find(|(word, _)| self.scanner.take_word(word)).map(|(_, kind)| *kind);
        let kind = match kind {
            Some(kind) => kind,
            None => self.host_unless_misspelt()?,
        };
        if let Some((protocol, at_protocol)) = before
            && !kind.goes_with(protocol)
        {
            let (first, second) = (format!("`{}`", protocol.name()), kind.quoted());
            let advice = "join the two with `and`";
            return Err(at_protocol.error(FilterProblem::Mixed { first, second, advice }));
        }
        if let (Some(side), Kind::Proto) = (side, kind) {
            let (first, second) = (format!("`{}`", side.words().trim_end()), kind.quoted());
            let advice = "a packet has one protocol";
            return Err(at_side.error(FilterProblem::Mixed { first, second, advice }));
        }
        let protocol = before.map(|(protocol, _)| protocol);
        let qualifiers = Qualifiers { protocol, side: side.unwrap_or_default(), kind };
        self.last = Some(qualifiers);
        self.values(qualifiers)
    }

    /// Without a kind a host is meant, unless a word stands there that is much like a kind.
    fn host_unless_misspelt(&self) -> Result<Kind, FilterError> {
        let word = self.scanner.run();
        let near =
            scanner::nearest(word).filter(|near| Kind::ALL.iter().any(|(kind, _)| kind == near));
        if near.is_none() || word.contains([':', '.']) {
            return Ok(Kind::Host);
        }
        let word = shortened(word);
        Err(self.scanner.error(FilterProblem::UnknownWord { word, nearest: near }))
    }

    /// `src`, `dst`, or both in either order joined by `or` or `and`.
    fn side(&mut self) -> Option<Side> {
        let (side, other) = if self.scanner.take_word("src") {
            (Side::Source, "dst")
        } else if self.scanner.take_word("dst") {
            (Side::Destination, "src")
        } else {
            return None;
        };
        let behind = self.scanner;
        for (word, joined) in [("or", Side::Either), ("and", Side::Both)] {
            if self.scanner.take_word(word) && self.scanner.take_word(other) {
                return Some(joined);
            }
            self.scanner = behind;
        }
        Some(side)
    }

    /// One value, perhaps negated, or several in parentheses.
    fn values(&mut self, qualifiers: Qualifiers) -> Result<Expression, FilterError> {
        let mut negations = 0;
        let depth = self.depth;
        while self.take_not() {
            self.go_deeper()?;
            negations += 1;
        }
        let values = if self.scanner.take_symbol("(") {
            self.go_deeper()?;
            self.values_in_parentheses(qualifiers)?
        } else {
            Expression::Test(self.value(qualifiers)?)
        };
        self.depth = depth;
        Ok(negated(values, negations))
    }

    fn values_in_parentheses(&mut self, qualifiers: Qualifiers) -> Result<Expression, FilterError> {
        let first = self.values(qualifiers)?;
        let mut rest = Vec::new();
        while let Some(connective) = self.connective() {
            rest.push((connective, self.values(qualifiers)?));
        }
        if self.scanner.take_symbol(")") {
            Ok(chained(first, rest))
        } else {
            Err(self.scanner.expected("`and`, `or` or `)`"))
        }
    }

    /// Whether a run without keywords is a value of the kind of the test before it.
    pub(super) fn is_value(&self, run: &str, last: Qualifiers) -> bool {
        let begins = |digits: fn(char) -> bool| run.starts_with(digits);
        match last.kind {
            _ if figures(run).is_some() => {
                let behind = self.scanner.rest().get(run.len()..).unwrap_or_default();
                // `10/8` is a network, `10 / 8` a division.
                let is_network = last.kind == Kind::Net && behind.starts_with('/');
                is_network || !self.is_at_number()
            }
            Kind::Host | Kind::Net => {
                run.parse::<IpAddr>().is_ok() || partial_v4(run).is_some() || run.contains(':')
            }
            Kind::Port | Kind::PortRange | Kind::Proto => {
                begins(|c| c.is_ascii_digit()) && run.contains('-') && last.kind == Kind::PortRange
            }
        }
    }

    /// A value of the kind that its keywords say.
    pub(super) fn value(&mut self, qualifiers: Qualifiers) -> Result<Test, FilterError> {
        let Qualifiers { protocol, side, kind } = qualifiers;
        if self.scanner.run().is_empty() {
            return Err(self.scanner.expected(match kind {
                Kind::Host => "an address",
                Kind::Net => "a network such as 10.0.0.0/8",
                Kind::Port => "a port",
                Kind::PortRange => "ports such as 5000-5009",
                Kind::Proto => "the number of a protocol",
            }));
        }
        let (carrier, family) = (protocol, protocol);
        match kind {
            Kind::Host | Kind::Net => {
                let network = self.network(kind, protocol)?;
                Ok(Test::Address { family, side, network })
            }
            Kind::Port => {
                let port = self.port(self.scanner.run())?;
                self.scanner.take(self.scanner.run().len());
                Ok(Test::Port { carrier, side, first: port, last: port })
            }
            Kind::PortRange => {
                let run = self.scanner.run();
                let (one, other) = run.split_once('-').unwrap_or((run, run));
                let (one, other) = (self.port(one)?, self.port(other)?);
                self.scanner.take(run.len());
                Ok(Test::Port { carrier, side, first: one.min(other), last: one.max(other) })
            }
            Kind::Proto => Ok(Test::Number { family, number: self.protocol_number()? }),
        }
    }

    fn port(&self, text: &str) -> Result<u16, FilterError> {
        let number = figures(text).ok_or_else(|| {
            let name = shortened(text);
            let example = if text.contains('-') { "`portrange 5000-5009`" } else { "80" };
            self.scanner.error(FilterProblem::Name { name, what: "port number", example })
        })?;
        u16::try_from(number).map_err(|_| {
            let (what, number, most) = ("a port", shortened(text), u16::MAX.into());
            self.scanner.error(FilterProblem::TooGreat { what, number, most })
        })
    }

    /// In figures, or by name, which may be escaped as libpcap asks for.
    fn protocol_number(&mut self) -> Result<u8, FilterError> {
        let run = self.scanner.run();
        if run.starts_with(|c: char| c.is_ascii_digit()) {
            let number = self.number_up_to("a protocol", u8::MAX.into())?;
            return Ok(u8::try_from(number).unwrap_or(u8::MAX));
        }
        let name = run.strip_prefix('\\').unwrap_or(run);
        let number = Protocol::named(name).and_then(Protocol::number).ok_or_else(|| {
            let (name, what, example) = (shortened(name), "protocol over IP", "6");
            self.scanner.error(FilterProblem::Name { name, what, example })
        })?;
        self.scanner.take(run.len());
        Ok(number)
    }

    /// An address, or a network with its prefix length or mask.
    fn network(&mut self, kind: Kind, family: Option<Protocol>) -> Result<Network, FilterError> {
        let begin = self.scanner;
        let run = begin.run();
        let network = if let Ok(address) = run.parse::<Ipv6Addr>() {
            self.scanner.take(run.len());
            self.network_v6(address, begin)?
        } else if let Some((address, bits)) = address_v4(run, kind) {
            self.scanner.take(run.len());
            self.network_v4(address, bits, begin)?
        } else {
            let name = shortened(run);
            let (what, example) = match kind {
                Kind::Net => ("network", "10.0.0.0/8 or fd00::/8"),
                _ => ("address", "10.0.0.1 or fd00::1"),
            };
            return Err(begin.error(FilterProblem::Name { name, what, example }));
        };
        let (second, other, advice) = match network {
            Network::V4 { .. } => ("an IPv4 address", Protocol::Ip6, "write `ip`"),
            Network::V6 { .. } => ("an IPv6 address", Protocol::Ip, "write `ip6`"),
        };
        if family == Some(other) {
            let first = format!("`{}`", other.name());
            return Err(begin.error(FilterProblem::Mixed { first, second, advice }));
        }
        Ok(network)
    }

    fn network_v6(&mut self, address: Ipv6Addr, at: Scanner<'_>) -> Result<Network, FilterError> {
        let length = if self.scanner.take_symbol("/") {
            self.number_up_to("an IPv6 prefix length", 128)?
        } else {
            128
        };
        let bits = address.to_bits();
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        if bits & !mask != 0 {
            let network = format!("{address}/{length}");
            let address = Ipv6Addr::from_bits(bits & mask).to_string();
            return Err(at.error(FilterProblem::HostBits { network, address }));
        }
        Ok(Network::V6 { bits, mask })
    }

    /// After an address with this number of written bits.
    fn network_v4(
        &mut self,
        address: Ipv4Addr,
        written: u32,
        at: Scanner<'_>,
    ) -> Result<Network, FilterError> {
        let mask = if self.scanner.take_symbol("/") {
            prefix(self.number_up_to("an IPv4 prefix length", 32)?)
        } else if self.scanner.take_word("mask") {
            let run = self.scanner.run();
            let mask = address_v4(run, Kind::Net)
                .ok_or_else(|| self.scanner.expected("a mask such as 255.255.0.0"))?;
            self.scanner.take(run.len());
            mask.0.to_bits()
        } else {
            prefix(written)
        };
        let bits = address.to_bits();
        if bits & !mask != 0 {
            let network = format!("{address} with mask {}", Ipv4Addr::from_bits(mask));
            let address = Ipv4Addr::from_bits(bits & mask).to_string();
            return Err(at.error(FilterProblem::HostBits { network, address }));
        }
        Ok(Network::V4 { bits, mask })
    }
}

fn prefix(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

/// An address, with how many of its bits were written; of a network, bytes at the end may be left out.
fn address_v4(run: &str, kind: Kind) -> Option<(Ipv4Addr, u32)> {
    partial_v4(run).filter(|(_, bits)| *bits == 32 || kind == Kind::Net)
}

/// One to four bytes in decimal.
fn partial_v4(run: &str) -> Option<(Ipv4Addr, u32)> {
    let mut octets = [0; 4];
    let mut bits = 0;
    let mut places = octets.iter_mut();
    for part in run.split('.') {
        *places.next()? = part.parse().ok()?;
        bits += 8;
    }
    Some((Ipv4Addr::from(octets), bits))
}
