//! Settings of an analysis (groups of flows, time limits, clocks, address translation), and the rules made of them.

use super::AnalysisError;
use crate::connection::{
    Beginning, Connection, CountedPart, HeldPacket, Phase, Side, TapPosition, Timeouts, Vantage,
    addresses_of, position_from_handshake,
};
use crate::trace::TraceSettings;
use fairwind_capture::{Filter, Packet};
use fairwind_measure::EmptyRowBudget;
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use std::net::{IpAddr, SocketAddr};

/// An instant of a capture, absolute or relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// Time since 1970.
    At(Instant),
    /// Time since the first packet.
    Since(Span),
}

/// Whether two captures share a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockMode {
    /// One clock if this project wrote both files; otherwise two.
    #[default]
    Auto,
    /// One clock: differences of timestamps are delays.
    Same,
    /// Two clocks: offset and drift are estimated.
    Free,
}

/// Settings of an analysis.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Groups of flows: the first matching rule counts. Flows that no rule matches are in the group `other`;
    /// without rules, all flows are in the group `all`.
    pub groups: Vec<GroupRule>,
    /// Origin of times in tables; `None`: the first packet, or the beginning of the run in captures of this
    /// project.
    pub origin: Option<Instant>,
    /// Time after the origin that does not count in the tables that runs have, too. Connections are followed
    /// meanwhile.
    pub warmup: Span,
    /// Nothing before this instant counts, as in the warm-up. Connections that end before are not reported.
    pub from: Option<TimeLimit>,
    /// Packets from this instant on are ignored; measured time ends here.
    pub until: Option<TimeLimit>,
    /// Age of a connection at which it starts to count.
    pub connection_from: Span,
    /// Age of a connection at which it stops counting.
    pub connection_until: Option<Span>,
    /// Which side the tap of a single capture is near.
    pub vantage: Vantage,
    /// Whether two captures share a clock.
    pub clock: ClockMode,
    /// Addresses that a device between the taps translates.
    pub translations: Vec<AddressTranslation>,
    /// Silence that ends a connection; what follows is another connection. `None`: silence ends none.
    pub idle_timeout: Option<Span>,
    /// Silence that ends a connection in its handshake, or a half-closed one.
    pub half_open_timeout: Span,
    /// How long a closed connection is kept for late packets.
    pub linger: Span,
    /// Window lengths of the table `intervals`.
    pub intervals: Vec<Span>,
    /// Whether windows are kept for each flow, not only for each group.
    pub per_flow_intervals: bool,
    /// Rows of empty windows that a series may have, see [`EmptyRowBudget`]; `None`: all of them.
    pub max_empty_rows: Option<u64>,
    /// Percentiles of latencies, above 0 and up to 100.
    pub percentiles: Vec<f64>,
    /// Rows of the table `slowest`.
    pub slowest: usize,
    /// The connections in the table `traces`; `None`: none.
    pub traces: Option<TraceSettings>,
}

impl Default for Settings {
    /// The whole capture, without windows; silence ends no established connection.
    ///
    /// Half-open ones end after 130 s: Linux gives up an unanswered SYN after 127 s (six retries).
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

/// Flows that a filter matches are in this group, unless an earlier rule matches, too.
///
/// A filter sees the direction of the data: `dst port 5000` matches data to port 5000, not data from there. So
/// the two flows of a connection may be in different groups. The connection itself is in the group of the first
/// rule that matches the data of either side.
#[derive(Debug, Clone)]
pub struct GroupRule {
    /// The group's name. Several rules may name the same group.
    pub name: String,
    /// Filter of addresses and ports only.
    pub filter: Filter,
}

/// Group of all flows, without rules.
const EVERYTHING: &str = "all";
/// Group of flows that no rule matches.
const REST: &str = "other";

/// Groups and their rules.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// Each name once, in the order of the rules, then that of the default group.
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

    /// The index of the first matching rule, and its group.
    fn first(&self, addresses: &Addresses, ports: (u16, u16)) -> Option<(usize, u32)> {
        let holds =
            |(filter, _): &(Filter, u32)| filter.matches_endpoints(addresses, ports.0, ports.1);
        let rule = self.rules.iter().position(holds)?;
        Some((rule, self.rules[rule].1))
    }
}

/// The index of `name` in `names`, where it is appended if new.
fn place(names: &mut Vec<String>, name: &str) -> u32 {
    let place = names.iter().position(|each| each == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// An address, with or without a port, at the first tap, and its translation at the second tap (NAT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressTranslation {
    /// As the first tap sees it.
    pub first: (IpAddr, Option<u16>),
    /// As the second tap sees it.
    pub second: (IpAddr, Option<u16>),
}

/// Replaces the addresses and ports that the second tap saw by those of the first tap.
pub(super) fn translate(packet: &mut Packet, translations: &[AddressTranslation]) {
    let (source, destination): (IpAddr, IpAddr) = match packet.addresses {
        Addresses::V4 { source, destination } => (source.into(), destination.into()),
        Addresses::V6 { source, destination } => (source.into(), destination.into()),
    };
    let source = translated((source, packet.segment.source_port).into(), translations);
    let destination =
        translated((destination, packet.segment.destination_port).into(), translations);
    // A translation of one end to another IP version has no meaning.
    let Some(addresses) = addresses_of(source, destination) else { return };
    packet.addresses = addresses;
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

/// Packets of a connection that wait until the position of the tap is known.
pub(super) const MOST_HELD: usize = 16;

/// Rules of the follower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) timeouts: Timeouts,
    pub(crate) vantage: Vantage,
    /// Whether there are two taps.
    pub(crate) is_joined: bool,
    /// The part of each connection that counts, if not all of it.
    pub(crate) ages: Option<CountedAges>,
}

/// The ages of a connection between which it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedAges {
    from: Span,
    until: Option<Span>,
}

impl CountedAges {
    /// The ages in `settings`; `None` if all of each connection counts.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let (from, until) = (settings.connection_from, settings.connection_until);
        (from > Span::ZERO || until.is_some()).then_some(Self { from, until })
    }

    /// The part in which a packet at `at` lies, of a connection that began at `began`.
    pub(super) fn part(self, began: Instant, at: Instant) -> CountedPart {
        let age = at.saturating_since(began);
        if self.until.is_some_and(|until| age >= until) {
            CountedPart::After
        } else if age < self.from {
            CountedPart::Before
        } else {
            CountedPart::Within
        }
    }
}

impl Rules {
    /// When a connection that began at `began` starts to count.
    pub(super) fn counted_from(&self, began: Instant) -> Instant {
        self.ages.map_or(Instant::ZERO, |ages| began + ages.from)
    }

    /// When it stops counting.
    pub(super) fn counted_until(&self, began: Instant) -> Instant {
        let until = self.ages.and_then(|ages| ages.until);
        until.map_or(Instant::MAX, |until| began + until)
    }
}

/// The position of the taps of a connection, as soon as its packets show it.
pub(super) fn tap_position(
    rules: &Rules,
    connection: &Connection,
    held: &HeldPacket,
) -> Option<TapPosition> {
    let phase = connection.lifecycle.phase;
    if rules.is_joined {
        // The sender of the first packet is near the tap that saw it first.
        let first = connection.held_packets.first().unwrap_or(held);
        let near_side = if first.tap == 0 { first.side } else { first.side.other() };
        return Some(TapPosition::Near(near_side));
    }
    let data_sender = (held.packet.segment.payload_bytes > 0).then_some(held.side);
    let is_exhausted = connection.held_packets.len() >= MOST_HELD || phase == Phase::Closed;
    let otherwise = || is_exhausted.then_some(TapPosition::Unknown(Side::Opener));
    match rules.vantage {
        Vantage::Opener => Some(TapPosition::Given(Side::Opener)),
        Vantage::Answerer => Some(TapPosition::Given(Side::Answerer)),
        Vantage::Sender => data_sender.map(TapPosition::Given).or_else(otherwise),
        Vantage::Receiver => {
            data_sender.map(|side| TapPosition::Given(side.other())).or_else(otherwise)
        }
        Vantage::Auto => {
            let from_times = position_from_handshake(&connection.lifecycle);
            let from_data =
                data_sender.map(TapPosition::Unknown).filter(|_| phase != Phase::Opening);
            // A bare acknowledgment goes to the sender of the data that it acknowledges.
            let from_midway = (connection.lifecycle.beginning == Beginning::Midway)
                .then(|| TapPosition::Unknown(data_sender.unwrap_or(held.side.other())));
            from_times.or(from_data).or(from_midway).or_else(otherwise)
        }
    }
}
