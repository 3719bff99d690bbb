//! What hosts remember of their connections ([`WindowCache`]), and which connections are whose.
//!
//! Every host that has a group with `sharing` has one memory for all of these groups. Without such a group there
//! is nothing of this.

use crate::flow::Flow;
use fairwind_measure::{CachedWindow, FlowId, ResumptionStep, Settings};
use fairwind_scenario::{self as scenario, Experiment, FlowGroup, SharingPolicy, TcpSettings};
use fairwind_tcp::{
    CarefulResumeConfig, ClassicConfig, Collection, Connection, ConnectionId, Event,
    Interdependence, MetricsConfig, Moment, Opener, Opening, Openings, PolicyConfig, Remembered,
    ResumptionEnd, ResumptionPhase, Sharing, Trust, Unused, WindowCache,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[cfg(test)]
mod tests;

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The one that opens it.
    Sender,
    /// The other one.
    Receiver,
}

/// A host's memory, and when something is to be done about it.
#[derive(Debug)]
struct Host {
    name: String,
    cache: WindowCache,
    /// Whether its policy has connections begin with windows at all.
    begins_with_windows: bool,
    start: Instant,
    stop: Instant,
    sample_every: Option<Span>,
    next_sample: Instant,
}

/// The memories of all hosts.
#[derive(Debug)]
pub(crate) struct Memories {
    hosts: Vec<Host>,
    /// By flow: the memories of the opening host and of the other one, and the addresses of both.
    ends: Vec<([Option<usize>; 2], [IpAddr; 2])>,
    /// By flow, those of answers included: its name and its group's.
    names: Vec<(String, String)>,
    /// What connections were told whose handshakes are not over.
    opening: BTreeMap<ConnectionId, LookUp>,
    /// Openings and phases of careful resumptions, with the windows that they began with.
    steps: Vec<Step>,
}

/// A row of the table `resumptions`, but for names.
#[derive(Debug)]
struct Step {
    flow: FlowId,
    at: Instant,
    phase: &'static str,
    reason: Option<&'static str>,
    window: u32,
    saved: Option<u32>,
}

/// What a host looked up for a connection that is about to open.
#[derive(Debug, Clone, Copy)]
struct LookUp {
    saved: Option<u32>,
    /// Why the policy does not tell the connection what is remembered.
    untold: Option<Unused>,
}

/// The flow of the data that an end of a connection sends.
fn data_flow(flow: &Flow, number: u32, end: End) -> FlowId {
    let answers = flow.dialogue.as_ref().map(|dialogue| dialogue.flow);
    match end {
        End::Sender => FlowId(number),
        End::Receiver => answers.unwrap_or(FlowId(number)),
    }
}

impl End {
    fn index(self) -> usize {
        match self {
            Self::Sender => 0,
            Self::Receiver => 1,
        }
    }

    fn endpoint(self, flow: &mut Flow) -> &mut Connection {
        match self {
            Self::Sender => &mut flow.sender,
            Self::Receiver => &mut flow.receiver,
        }
    }
}

fn id(number: u32, end: End) -> ConnectionId {
    ConnectionId(u64::from(number) * 2 + u64::from(end == End::Receiver))
}

/// The flow and the end of a connection.
fn end_of(id: ConnectionId) -> (usize, End) {
    let number = usize::try_from(id.0 / 2).unwrap_or(usize::MAX);
    (number, if id.0.is_multiple_of(2) { End::Sender } else { End::Receiver })
}

/// The phase with which a resumption is over.
const NORMAL: &str = ResumptionPhase::Normal(ResumptionEnd::Closed).name();

/// Whether a connection is over, or nothing of it is under way any more.
fn is_end(event: Event) -> bool {
    matches!(event, Event::AllAcknowledged | Event::Reset | Event::TimedOut | Event::Unreachable(_))
}

impl Memories {
    /// The memories that `experiment` wants, for its flows with their groups and addresses; `None` without
    /// any.
    pub(crate) fn new(
        experiment: &Experiment,
        settings: &Settings,
        flows: impl Iterator<Item = (usize, Addresses)>,
    ) -> Option<Box<Self>> {
        let mut hosts = Vec::new();
        let mut memory_of = |host: &str, tcp: &TcpSettings| {
            let settings = active(tcp)?;
            let known = hosts.iter().position(|known: &Host| known.name == host);
            Some(known.unwrap_or_else(|| {
                hosts.push(Host::new(host, settings));
                hosts.len() - 1
            }))
        };
        let of_group = |group: &FlowGroup| {
            [memory_of(&group.from, &group.tcp), memory_of(&group.to, &group.receiver_tcp)]
        };
        let groups: Vec<_> = experiment.flows.iter().map(of_group).collect();
        if hosts.is_empty() {
            return None;
        }
        let ends = flows.map(|(group, addresses)| (groups[group], pair(addresses))).collect();
        let group = |group: u32| settings.groups.get(group as usize).cloned().unwrap_or_default();
        let names = settings.flows.iter().map(|flow| (flow.name.clone(), group(flow.group)));
        Some(Box::new(Self {
            hosts,
            ends,
            names: names.collect(),
            opening: BTreeMap::new(),
            steps: Vec::new(),
        }))
    }

    /// The memory of a connection's host, and the peer's address.
    fn of(&mut self, number: u32, end: End) -> Option<(&mut WindowCache, IpAddr)> {
        let (memories, addresses) = self.ends.get(usize::try_from(number).ok()?)?;
        let peer = addresses[1 - end.index()];
        let host = memories[end.index()]?;
        Some((&mut self.hosts[host].cache, peer))
    }

    /// Whether the host of a connection remembers windows to begin with.
    fn begins_with_windows(&self, number: u32, end: End) -> bool {
        let ends = usize::try_from(number).ok().and_then(|number| self.ends.get(number));
        let host = ends.and_then(|(memories, _)| memories[end.index()]);
        host.is_some_and(|host| self.hosts[host].begins_with_windows)
    }

    /// A connection is about to open: it is told what is remembered.
    #[cold]
    pub(crate) fn open(&mut self, flows: &mut [Flow], number: u32, end: End, now: Instant) {
        let Some((cache, peer)) = self.of(number, end) else { return };
        for companion in cache.companions(peer) {
            let (other, side) = end_of(companion);
            let endpoint = side.endpoint(&mut flows[other]);
            if endpoint.has_window_to_share() {
                cache.on_lesson(now, peer, &endpoint.lesson(companion), Moment::Sampled);
            }
        }
        let opener = if end == End::Sender { Opener::Host } else { Opener::Peer };
        let connection = id(number, end);
        let saved = cache.known(peer, now).map(|found| found.window);
        let answer = cache.on_opening(&Opening { now, peer, connection, opener });
        let own = usize::try_from(number).unwrap_or(usize::MAX);
        end.endpoint(&mut flows[own]).advise(answer.unwrap_or_default());
        while let Some(share) = cache.poll_share() {
            let (other, side) = end_of(share.connection);
            side.endpoint(&mut flows[other]).take_share(&share);
        }
        let untold = answer.err();
        if untold != Some(Unused::NotServed) && self.begins_with_windows(number, end) {
            self.opening.insert(connection, LookUp { saved, untold });
        }
    }

    /// Something happened to a connection that its host may remember.
    #[cold]
    pub(crate) fn on_event(
        &mut self,
        flows: &mut [Flow],
        (number, end): (u32, End),
        event: Event,
        now: Instant,
    ) {
        if event == Event::PeerAsks {
            return self.open(flows, number, end, now);
        }
        let own = usize::try_from(number).unwrap_or(usize::MAX);
        let flow = data_flow(&flows[own], number, end);
        let has_jumped = matches!(event, Event::Resumption(_)) && self.has_jumped(flow);
        // What was over when all was acknowledged may still be reset, or time out.
        let is_told = is_end(event) && self.is_told_as_over(flow);
        let connection = id(number, end);
        let look_up = (event == Event::Established).then(|| self.opening.remove(&connection));
        let Some((cache, peer)) = self.of(number, end) else { return };
        let endpoint = end.endpoint(&mut flows[own]);
        let window = endpoint.congestion_window();
        let is_resuming = endpoint.resumption_phase().is_some() && !is_told;
        let step = |phase, reason, saved| Step { flow, at: now, phase, reason, window, saved };
        let ended =
            |end: ResumptionEnd| step(ResumptionPhase::Normal(end).name(), Some(end.name()), None);
        let step = match event {
            Event::Established => {
                let unused = |look_up: LookUp| look_up.untold.or(endpoint.why_unused());
                look_up
                    .flatten()
                    .map(|found| step("opening", unused(found).map(Unused::name), found.saved))
            }
            Event::Closing => {
                cache.on_lesson(now, peer, &endpoint.lesson(connection), Moment::Closed);
                None
            }
            Event::AllAcknowledged => {
                cache.on_lesson(now, peer, &endpoint.lesson(connection), Moment::Ended);
                cache.on_over(peer, connection);
                is_resuming.then(|| ended(ResumptionEnd::Closed))
            }
            Event::Resumption(phase) => {
                match phase {
                    ResumptionPhase::SafeRetreat => cache.on_release(peer, connection, true),
                    ResumptionPhase::Normal(end) => {
                        let has_failed = has_jumped && end == ResumptionEnd::TimedOut;
                        cache.on_release(peer, connection, has_failed);
                    }
                    _ => {}
                }
                Some(step(phase.name(), phase.end().map(ResumptionEnd::name), None))
            }
            Event::Reset | Event::TimedOut | Event::Unreachable(_) => {
                cache.on_over(peer, connection);
                is_resuming.then(|| ended(ResumptionEnd::Closed))
            }
            _ => None,
        };
        self.steps.extend(step);
    }

    /// What was told of a flow last.
    fn last_phase(&self, flow: FlowId) -> Option<&'static str> {
        self.steps.iter().rfind(|step| step.flow == flow).map(|step| step.phase)
    }

    /// Whether the end of a flow's resumption was told.
    fn is_told_as_over(&self, flow: FlowId) -> bool {
        self.last_phase(flow) == Some(NORMAL)
    }

    /// Whether a flow's window has jumped and is not validated yet.
    fn has_jumped(&self, flow: FlowId) -> bool {
        let last = self.last_phase(flow);
        let phases = [ResumptionPhase::Unvalidated, ResumptionPhase::Validating];
        phases.iter().any(|phase| last == Some(phase.name()))
    }

    /// What connections began with, and how saved windows were resumed, by the names of flows and groups.
    pub(crate) fn resumptions(&self) -> Vec<ResumptionStep> {
        let step = |step: &Step| {
            let &Step { flow, at, phase, reason, window, saved } = step;
            let (name, group) = self.names.get(flow.0 as usize).cloned().unwrap_or_default();
            ResumptionStep {
                flow,
                name,
                group,
                at,
                phase,
                reason,
                window_packets: window,
                saved_packets: saved,
            }
        };
        self.steps.iter().map(step).collect()
    }

    /// What every host remembers.
    pub(crate) fn remembered(&self, now: Instant) -> Vec<CachedWindow> {
        let of_host = |host: &Host| {
            let name = host.name.clone();
            let row = move |line: Remembered| CachedWindow {
                host: name.clone(),
                peer: line.peer,
                window_packets: line.window,
                age: line.age,
            };
            host.cache.list(now).into_iter().map(row)
        };
        self.hosts.iter().flat_map(of_host).collect()
    }

    /// When something is to be done by the clock.
    pub(crate) fn next(&self) -> Instant {
        let each = |host: &Host| host.start.min(host.stop).min(host.next_sample);
        self.hosts.iter().map(each).min().unwrap_or(Instant::MAX)
    }

    /// Does what is due by the clock.
    #[cold]
    pub(crate) fn on_clock(&mut self, flows: &mut [Flow], now: Instant) {
        for host in &mut self.hosts {
            if host.start <= now {
                host.start = Instant::MAX;
                host.cache.start();
            }
            if host.stop <= now {
                host.stop = Instant::MAX;
                host.next_sample = Instant::MAX;
                host.cache.stop();
            }
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].next_sample <= now {
                self.sample(flows, host, now);
            }
        }
    }

    /// Every open connection of a host tells what it has found out so far.
    fn sample(&mut self, flows: &mut [Flow], host: usize, now: Instant) {
        let Host { cache, sample_every, next_sample, .. } = &mut self.hosts[host];
        *next_sample = sample_every.map_or(Instant::MAX, |every| now + every);
        for ((number, flow), (memories, addresses)) in (0..).zip(flows).zip(&self.ends) {
            for end in [End::Sender, End::Receiver] {
                let endpoint = end.endpoint(flow);
                if memories[end.index()] == Some(host) && endpoint.may_still_learn() {
                    let lesson = endpoint.lesson(id(number, end));
                    cache.on_lesson(now, addresses[1 - end.index()], &lesson, Moment::Sampled);
                }
            }
        }
    }
}

impl Host {
    fn new(name: &str, settings: &scenario::Sharing) -> Self {
        let start = settings.capture_from.unwrap_or_default();
        let sample_every = settings.sample_every;
        let mut cache = WindowCache::new(&sharing(settings));
        if start > Span::ZERO {
            cache.stop();
        }
        Self {
            name: name.to_owned(),
            cache,
            begins_with_windows: settings.policy != SharingPolicy::TcpMetrics,
            start: if start > Span::ZERO { Instant::ZERO + start } else { Instant::MAX },
            stop: settings.capture_until.map_or(Instant::MAX, |until| Instant::ZERO + until),
            sample_every,
            next_sample: sample_every.map_or(Instant::MAX, |every| Instant::ZERO + start + every),
        }
    }
}

/// What a group's host remembers, where it remembers anything.
pub(crate) fn active(tcp: &TcpSettings) -> Option<&scenario::Sharing> {
    tcp.sharing.as_ref().filter(|sharing| sharing.policy != SharingPolicy::Off)
}

fn pair(addresses: Addresses) -> [IpAddr; 2] {
    match addresses {
        Addresses::V4 { source, destination } => [source.into(), destination.into()],
        Addresses::V6 { source, destination } => [source.into(), destination.into()],
    }
}

/// The settings of a scenario as the endpoint's room knows them.
pub(crate) fn sharing(settings: &scenario::Sharing) -> Sharing {
    let mut sharing = Sharing::usual(policy(settings));
    if let Some(lifetime) = settings.lifetime {
        sharing.lifetime = lifetime;
    }
    if let Some(entries) = settings.entries {
        sharing.entries = usize::try_from(entries).unwrap_or(usize::MAX);
    }
    if let Some(openings) = settings.openings {
        sharing.openings = match openings {
            scenario::SharedOpenings::Incoming => Openings::Incoming,
            scenario::SharedOpenings::All => Openings::All,
        };
    }
    let is_classic = settings.policy == SharingPolicy::Classic;
    let collection = is_classic.then(|| settings.classic_collection()).or(settings.collect);
    if let Some(collection) = collection {
        sharing.collection = match collection {
            scenario::Collection::Close => Collection::Close,
            scenario::Collection::End => Collection::End,
        };
    }
    sharing
}

fn policy(settings: &scenario::Sharing) -> PolicyConfig {
    let largest_window = settings.largest_window;
    match settings.policy {
        SharingPolicy::Off | SharingPolicy::Classic => PolicyConfig::Classic(ClassicConfig {
            trust: match settings.trust {
                Some(scenario::Trust::Safe) => Trust::Safe,
                Some(scenario::Trust::Exact) | None => Trust::Exact,
            },
            forgetfulness: settings.forgetfulness.unwrap_or_default(),
            largest_window,
        }),
        SharingPolicy::Rfc9040 => PolicyConfig::Interdependence(Interdependence {
            ensemble: settings.ensemble.unwrap_or(true),
            largest_window,
        }),
        SharingPolicy::TcpMetrics => PolicyConfig::Metrics(MetricsConfig {
            threshold: settings.save_threshold.unwrap_or(false),
        }),
        SharingPolicy::CarefulResume => PolicyConfig::CarefulResume(CarefulResumeConfig {
            largest_jump: largest_window,
            retreat: settings.retreat.unwrap_or(CarefulResumeConfig::USUAL.retreat),
        }),
    }
}
