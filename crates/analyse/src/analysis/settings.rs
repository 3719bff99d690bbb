//! Settings of an analysis: groups of flows, time limits, clocks and address translation.

use super::AnalysisError;
use crate::connection::{Connection, Side, Vantage, addresses_of};
use crate::trace::TraceSettings;
use fairwind_capture::{Filter, Packet};
use fairwind_measure::EmptyRowBudget;
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use std::net::{IpAddr, SocketAddr};

/// An instant of a capture, as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// Since 1970.
    At(Instant),
    /// Since the first packet.
    Since(Span),
}

/// How the clocks of two captures go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockMode {
    /// The same one where both files say that this project wrote them; otherwise each its own.
    #[default]
    Auto,
    /// The same one: differences of times are taken as they are.
    Same,
    /// Each its own: offset and drift are estimated.
    Free,
}

/// What an analysis does.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which flows are in which group: the first rule that holds counts. What none holds for is in the group
    /// `other`; everything is in the group `all` where there are no rules.
    pub groups: Vec<GroupRule>,
    /// What times in tables count from; `None`: the first packet, or, in captures of our own, the beginning
    /// of the run.
    pub origin: Option<Instant>,
    /// How long after the origin nothing counts yet in the tables that a run has, too, though connections are
    /// already followed.
    pub warmup: Span,
    /// Nothing before this counts, as with the warm-up, though connections are already followed. Of those that
    /// are over by then nothing is told.
    pub from: Option<TimeLimit>,
    /// Nothing from this on is looked at; measured time ends here.
    pub until: Option<TimeLimit>,
    /// Of each connection, nothing counts before it has lasted so long.
    pub connection_from: Span,
    /// Of each connection, nothing counts once it has lasted so long.
    pub connection_until: Option<Span>,
    /// Which side the tap of a single capture is near.
    pub vantage: Vantage,
    /// How the clocks of two captures go.
    pub clock: ClockMode,
    /// Addresses that something between two taps translates.
    pub translations: Vec<AddressTranslation>,
    /// A connection that was silent for so long is over, and what follows is another one; `None`:
    /// silence ends nothing.
    pub idle_timeout: Option<Span>,
    /// So long may a set-up or a half-closed connection be silent before it is given up.
    pub half_open_timeout: Span,
    /// So long is a connection remembered after its end, for stragglers.
    pub linger: Span,
    /// Window lengths of the table `intervals`.
    pub intervals: Vec<Span>,
    /// Whether windows are kept for each flow, and not for each group only.
    pub per_flow_intervals: bool,
    /// How many rows silence may have in a series of windows, see [`EmptyRowBudget`]; `None`: all of it.
    pub max_empty_rows: Option<u64>,
    /// Percentiles of latencies, above 0 and up to 100.
    pub percentiles: Vec<f64>,
    /// So many of the longest waits are in the table `slowest`.
    pub slowest: usize,
    /// Which connections are traced for pictures, in the table `traces`; `None`: none.
    pub traces: Option<TraceSettings>,
}

impl Default for Settings {
    /// The whole capture, without windows; connections that are silent are kept.
    ///
    /// 130 s for half-open ones: Linux gives up an unanswered SYN after 127 s (six repetitions).
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            origin: None,
            warmup: Span::ZERO,
            from: None,
            until: None,
            connection_from: Span::ZERO,
            connection_until: None,
            vantage: Vantage::Auto,
            clock: ClockMode::Auto,
            translations: Vec::new(),
            idle_timeout: None,
            half_open_timeout: Span::from_secs(130),
            linger: Span::from_secs(2),
            intervals: Vec::new(),
            per_flow_intervals: false,
            max_empty_rows: Some(EmptyRowBudget::DEFAULT_ROWS),
            percentiles: fairwind_measure::Settings::default().percentiles,
            slowest: 100,
            traces: None,
        }
    }
}

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

/// An address, or an address with a port, that the first tap sees, and what the second one sees for it (as
/// behind a NAT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressTranslation {
    /// As the first tap sees it.
    pub first: (IpAddr, Option<u16>),
    /// As the second tap sees it.
    pub second: (IpAddr, Option<u16>),
}

/// Puts what the first tap sees in the place of what the second one has seen.
pub(super) fn translate(packet: &mut Packet, translations: &[AddressTranslation]) {
    let (source, destination): (IpAddr, IpAddr) = match packet.addresses {
        Addresses::V4 { source, destination } => (source.into(), destination.into()),
        Addresses::V6 { source, destination } => (source.into(), destination.into()),
    };
    let source = translated((source, packet.segment.source_port).into(), translations);
    let destination =
        translated((destination, packet.segment.destination_port).into(), translations);
    packet.addresses = match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
        (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
        // Half a translation between versions of IP leads nowhere.
        _ => return,
    };
    packet.segment.source_port = source.port();
    packet.segment.destination_port = destination.port();
}

fn translated(end: SocketAddr, translations: &[AddressTranslation]) -> SocketAddr {
    let is_meant = |rule: &&AddressTranslation| {
        let (address, port) = rule.second;
        address == end.ip() && port.is_none_or(|port| port == end.port())
    };
    translations.iter().find(is_meant).map_or(end, |rule| {
        let (address, port) = rule.first;
        (address, port.unwrap_or(end.port())).into()
    })
}
