//! Window caches of hosts ([`WindowCache`]), and the connections that they serve.
//!
//! A host with a group that has `sharing` has one cache for all its groups with `sharing`.

use crate::end::End;
use crate::packet::{EndId, Side};
use fairwind_measure::{CachedWindow, FlowId, ResumptionStep, Settings};
use fairwind_scenario::{self as scenario, Experiment, FlowGroup, SharingPolicy, TcpSettings};
use fairwind_tcp::{
    CacheEntry, CacheMiss, CarefulResumeConfig, ClassicConfig, Collection, ConnectionId, Event,
    MetricsConfig, Opener, Opening, Openings, PolicyConfig, ReportKind, ResumptionEnd,
    ResumptionPhase, Sharing, TcbSharingConfig, Trust, WindowCache,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A host's cache with its timers.
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

#[derive(Debug)]
pub(crate) struct WindowCaches {
    hosts: Vec<Host>,
    /// The cache of each end's host, if it has one, and the peer's address.
    ends: Vec<(Option<usize>, IpAddr)>,
    /// By flow, those of responses included: its name and its group's.
    names: Vec<(String, String)>,
    /// The look-ups for connections that are in their handshakes.
    opening: BTreeMap<ConnectionId, CacheLookup>,
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

/// The cache entry that a host found for a connection that is about to open.
#[derive(Debug, Clone, Copy)]
struct CacheLookup {
    saved: Option<u32>,
    /// Why the policy does not use the entry.
    unused: Option<CacheMiss>,
}

/// The flow of the data that an end sends, or else of its connection.
fn data_flow(end: &End) -> FlowId {
    end.written_flow().unwrap_or(end.flows.opening)
}

/// The identity of an end in window caches.
fn cache_id(id: EndId) -> ConnectionId {
    ConnectionId(id.index() as u64)
}

/// The index of an end with this identity.
fn index_of(connection: ConnectionId) -> usize {
    usize::try_from(connection.0).unwrap_or(usize::MAX)
}

/// The phase with which a resumption is over.
const NORMAL: &str = ResumptionPhase::Normal(ResumptionEnd::Closed).name();

/// Whether a connection is over, or nothing of it is under way any more.
fn is_end(event: Event) -> bool {
    matches!(event, Event::AllAcknowledged | Event::Reset | Event::TimedOut | Event::Unreachable(_))
}

impl WindowCaches {
    /// The caches that `experiment` asks for, for connections with these groups and addresses; `None` without any.
    pub(crate) fn new(
        experiment: &Experiment,
        settings: &Settings,
        flows: impl Iterator<Item = (usize, Addresses)>,
    ) -> Option<Box<Self>> {
        let mut hosts = Vec::new();
        let mut cache_of = |host: &str, tcp: &TcpSettings| {
            let settings = active(tcp)?;
            let known = hosts.iter().position(|known: &Host| known.name == host);
            Some(known.unwrap_or_else(|| {
                hosts.push(Host::new(host, settings));
                hosts.len() - 1
            }))
        };
        let of_group = |group: &FlowGroup| {
            [cache_of(&group.from, &group.tcp), cache_of(&group.to, &group.receiver_tcp)]
        };
        let groups: Vec<_> = experiment.flows.iter().map(of_group).collect();
        if hosts.is_empty() {
            return None;
        }
        let pair = |(group, addresses): (usize, Addresses)| {
            let ([client, server], [client_host, server_host]) = (groups[group], addresses.ends());
            [(client, server_host), (server, client_host)]
        };
        let ends = flows.flat_map(pair).collect();
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

    /// The cache of the host of an end, and the peer's address.
    fn cache_of(&mut self, id: EndId) -> Option<(&mut WindowCache, IpAddr)> {
        let &(host, peer) = self.ends.get(id.index())?;
        Some((&mut self.hosts[host?].cache, peer))
    }

    /// Whether the policy of an end's host gives connections initial windows.
    fn begins_with_windows(&self, id: EndId) -> bool {
        let host = self.ends.get(id.index()).and_then(|&(host, _)| host);
        host.is_some_and(|host| self.hosts[host].begins_with_windows)
    }

    /// A connection is about to open: its endpoint gets what the cache has for it.
    #[cold]
    pub(crate) fn on_open(&mut self, ends: &mut [End], id: EndId, now: Instant) {
        let Some((cache, peer)) = self.cache_of(id) else { return };
        for companion in cache.companions(peer) {
            let endpoint = &mut ends[index_of(companion)].endpoint;
            if endpoint.has_window_to_share() {
                cache.on_report(now, peer, &endpoint.window_report(companion), ReportKind::Sampled);
            }
        }
        let opener = match id.side() {
            Side::Client => Opener::Host,
            Side::Server => Opener::Peer,
        };
        let connection = cache_id(id);
        let saved = cache.known(peer, now).map(|found| found.window);
        let answer = cache.on_opening(&Opening { now, peer, connection, opener });
        ends[id.index()].endpoint.advise(answer.unwrap_or_default());
        while let Some(share) = cache.poll_share() {
            ends[index_of(share.connection)].endpoint.take_share(&share);
        }
        let unused = answer.err();
        if unused != Some(CacheMiss::NotServed) && self.begins_with_windows(id) {
            self.opening.insert(connection, CacheLookup { saved, unused });
        }
    }

    /// An event of an endpoint, which the cache of its host may use.
    #[cold]
    pub(crate) fn on_event(&mut self, ends: &mut [End], id: EndId, event: Event, now: Instant) {
        if event == Event::PeerAsks {
            return self.on_open(ends, id, now);
        }
        let flow = data_flow(&ends[id.index()]);
        let has_jumped = matches!(event, Event::Resumption(_)) && self.has_jumped(flow);
        // A connection that was over when all was acknowledged may still be reset, or time out.
        let is_over = is_end(event) && self.has_ended(flow);
        let connection = cache_id(id);
        let look_up = (event == Event::Established).then(|| self.opening.remove(&connection));
        let Some((cache, peer)) = self.cache_of(id) else { return };
        let endpoint = &mut ends[id.index()].endpoint;
        let window = endpoint.congestion_window();
        let is_resuming = endpoint.resumption_phase().is_some() && !is_over;
        let step = |phase, reason, saved| Step { flow, at: now, phase, reason, window, saved };
        let ended =
            |end: ResumptionEnd| step(ResumptionPhase::Normal(end).name(), Some(end.name()), None);
        let step = match event {
            Event::Established => {
                let unused = |look_up: CacheLookup| look_up.unused.or(endpoint.cache_miss());
                look_up
                    .flatten()
                    .map(|found| step("opening", unused(found).map(CacheMiss::name), found.saved))
            }
            Event::Closing => {
                cache.on_report(now, peer, &endpoint.window_report(connection), ReportKind::Closed);
                None
            }
            Event::AllAcknowledged => {
                cache.on_report(now, peer, &endpoint.window_report(connection), ReportKind::Ended);
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

    fn last_phase(&self, flow: FlowId) -> Option<&'static str> {
        self.steps.iter().rfind(|step| step.flow == flow).map(|step| step.phase)
    }

    /// Whether a flow's resumption has ended.
    fn has_ended(&self, flow: FlowId) -> bool {
        self.last_phase(flow) == Some(NORMAL)
    }

    /// Whether a flow's window has jumped and is not validated yet.
    fn has_jumped(&self, flow: FlowId) -> bool {
        let last = self.last_phase(flow);
        let phases = [ResumptionPhase::Unvalidated, ResumptionPhase::Validating];
        phases.iter().any(|phase| last == Some(phase.name()))
    }

    /// The initial windows of connections, and how saved windows were resumed.
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

    pub(crate) fn entries(&self, now: Instant) -> Vec<CachedWindow> {
        let of_host = |host: &Host| {
            let name = host.name.clone();
            let row = move |line: CacheEntry| CachedWindow {
                host: name.clone(),
                peer: line.peer,
                window_packets: line.window,
                age: line.age,
            };
            host.cache.list(now).into_iter().map(row)
        };
        self.hosts.iter().flat_map(of_host).collect()
    }

    pub(crate) fn next_timer(&self) -> Instant {
        let each = |host: &Host| host.start.min(host.stop).min(host.next_sample);
        self.hosts.iter().map(each).min().unwrap_or(Instant::MAX)
    }

    /// Starts, stops and samples caches that are due.
    #[cold]
    pub(crate) fn on_timer(&mut self, ends: &mut [End], now: Instant) {
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
                self.sample(ends, host, now);
            }
        }
    }

    /// Updates a host's cache from all its open connections.
    fn sample(&mut self, ends: &[End], host: usize, now: Instant) {
        let Host { cache, sample_every, next_sample, .. } = &mut self.hosts[host];
        *next_sample = sample_every.map_or(Instant::MAX, |every| now + every);
        for (index, (End { endpoint, .. }, &(owner, peer))) in
            ends.iter().zip(&self.ends).enumerate()
        {
            if owner == Some(host) && endpoint.is_open_for_sending() {
                let report = endpoint.window_report(cache_id(EndId::from_index(index)));
                cache.on_report(now, peer, &report, ReportKind::Sampled);
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

/// The settings of a group's window cache, if it has one.
pub(crate) fn active(tcp: &TcpSettings) -> Option<&scenario::Sharing> {
    tcp.sharing.as_ref().filter(|sharing| sharing.policy != SharingPolicy::Off)
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
        SharingPolicy::Rfc9040 => PolicyConfig::TcbSharing(TcbSharingConfig {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumption_ends_once() {
        let step = |flow, phase: ResumptionPhase| Step {
            flow: FlowId(flow),
            at: Instant::ZERO,
            phase: phase.name(),
            reason: None,
            window: 10,
            saved: None,
        };
        let caches = WindowCaches {
            hosts: Vec::new(),
            ends: Vec::new(),
            names: Vec::new(),
            opening: BTreeMap::new(),
            steps: vec![
                step(0, ResumptionPhase::Reconnaissance),
                step(1, ResumptionPhase::Reconnaissance),
                step(0, ResumptionPhase::Normal(ResumptionEnd::Closed)),
            ],
        };
        let ended = [0, 1, 2].map(|flow| caches.has_ended(FlowId(flow)));
        assert_eq!(ended, [true, false, false]);
        for event in [Event::AllAcknowledged, Event::Reset, Event::TimedOut] {
            assert!(is_end(event), "{event:?}");
        }
        assert!(!is_end(Event::Resumption(ResumptionPhase::Reconnaissance)));
    }
}
