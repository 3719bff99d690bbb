//! Which group a flow is in.
//!
//! A rule is asked about the direction in which data goes: `dst port 5000` holds for data that goes to port
//! 5000, not for what comes back from there. So the two flows of a connection may be in different groups. A
//! connection as such (its set-up, its end) is in the group of the first rule that holds for the opener's
//! data or for the answerer's.

use super::AnalysisError;
use crate::connection::{Connection, Side, addresses_of};
use fairwind_capture::{Filter, Packet};
use fairwind_wire::bytes::Addresses;
use std::net::SocketAddr;

/// Flows that a filter holds for are in this group, unless an earlier rule holds as well.
#[derive(Debug, Clone)]
pub struct GroupRule {
    /// The group's name. Several rules may name the same group.
    pub name: String,
    /// What is asked of a flow: addresses and ports only.
    pub filter: Filter,
}

/// The group of everything where there are no rules.
const EVERYTHING: &str = "all";
/// The group of what no rule holds for.
const REST: &str = "other";

/// The groups, and the rules by which flows come to them.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// Each name once, in the order of the rules, then that of the rest.
    pub(crate) names: Vec<String>,
    rules: Vec<(Filter, u32)>,
    rest: u32,
}

impl Groups {
    pub(crate) fn new(rules: &[GroupRule]) -> Result<Self, AnalysisError> {
        let mut names: Vec<String> = Vec::new();
        let mut compiled = Vec::with_capacity(rules.len());
        for rule in rules {
            if !rule.filter.is_connection_filter() {
                let (name, filter) = (rule.name.clone(), rule.filter.to_string());
                return Err(AnalysisError::GroupOfPackets { name, filter });
            }
            compiled.push((rule.filter.clone(), place(&mut names, &rule.name)));
        }
        let rest = place(&mut names, if rules.is_empty() { EVERYTHING } else { REST });
        Ok(Self { names, rules: compiled, rest })
    }

    /// The group of the data that `side` of a connection sends.
    pub(crate) fn of_flow(&self, connection: &Connection, side: Side) -> u32 {
        let (source, destination) = (connection.end(side), connection.end(side.other()));
        self.of_ends(source, destination).map_or(self.rest, |(_, group)| group)
    }

    /// The group of the connection that a packet begins.
    pub(crate) fn of_connection(&self, packet: &Packet) -> u32 {
        let (addresses, segment) = (packet.addresses, &packet.segment);
        let ports = (segment.source_port, segment.destination_port);
        let there = self.first(&addresses, ports);
        let back = self.first(&addresses.reversed(), (ports.1, ports.0));
        there.into_iter().chain(back).min().map_or(self.rest, |(_, group)| group)
    }

    fn of_ends(&self, source: SocketAddr, destination: SocketAddr) -> Option<(usize, u32)> {
        self.first(&addresses_of(source, destination)?, (source.port(), destination.port()))
    }

    /// The first rule that holds, and its group.
    fn first(&self, addresses: &Addresses, ports: (u16, u16)) -> Option<(usize, u32)> {
        let holds =
            |(filter, _): &(Filter, u32)| filter.matches_endpoints(addresses, ports.0, ports.1);
        let rule = self.rules.iter().position(holds)?;
        Some((rule, self.rules[rule].1))
    }
}

/// The place of `name` among `names`, behind them if it is new.
fn place(names: &mut Vec<String>, name: &str) -> u32 {
    let place = names.iter().position(|each| each == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u32::try_from(place).unwrap_or(u32::MAX)
}
