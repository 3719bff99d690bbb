//! Senders and receivers at the two ends of a bottleneck, in virtual time.

use crate::recorder::{Decision, Log, Watching};
use fairwind_tcp::{CongestionAlgorithm, Connection, PluggedAlgorithm, Ports, Profile, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// IP and TCP headers with timestamps.
const HEADER_BYTES: u64 = 52;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Token bucket policer: drops packets that exceed a rate.
#[derive(Debug, Clone, Copy)]
pub struct Policing {
    pub bits_per_second: u64,
    pub bucket_bytes: u64,
}

/// Properties of the forward path; the reverse path has the same delay and no limit.
#[derive(Debug, Clone, Copy)]
pub struct PathSettings {
    pub bits_per_second: u64,
    pub round_trip: Span,
    /// Queue limit in packets.
    pub room: usize,
    /// Random loss per thousand packets.
    pub loss_per_thousand: u32,
    pub policing: Option<Policing>,
}

impl PathSettings {
    /// Without losses.
    pub fn new(bits_per_second: u64, round_trip: Span, room: usize) -> Self {
        Self { bits_per_second, round_trip, room, loss_per_thousand: 0, policing: None }
    }

    /// Bandwidth-delay product in full segments of 1500 bytes.
    pub fn product(&self) -> f64 {
        as_f64(self.bits_per_second) * self.round_trip.as_secs_f64() / 8.0 / 1500.0
    }

    /// Segments per second relative to the bottleneck rate.
    pub fn gain(&self, segments_per_second: f64) -> f64 {
        segments_per_second * 8.0 * 1500.0 / as_f64(self.bits_per_second)
    }

    /// The gain of a decision as the nearest hundredth.
    pub fn hundredths(&self, decision: &Decision) -> u64 {
        let bottleneck = self.bits_per_second / 8 * 1448 / 1500;
        (decision.rate * 10_000 / 99 + bottleneck / 2) / bottleneck
    }

    /// Pacing rate of a decision relative to the bottleneck rate, without the margin of one percent.
    pub fn paces(&self, decision: &Decision) -> f64 {
        self.gain(as_f64(decision.rate) / 1448.0) / 0.99
    }
}

fn as_f64(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

/// One packet at the bottleneck.
struct Passage {
    at: Span,
    waited: Span,
}

struct Flow {
    sender: Connection,
    receiver: Connection,
    log: Log,
    /// Bytes that the application writes per tenth of a second; `None` for unlimited.
    trickle: Option<u64>,
    received: Vec<(Span, u64)>,
}

/// The path and its flows.
pub struct Path {
    pub way: PathSettings,
    flows: Vec<Flow>,
    now: Instant,
    free_at: Instant,
    waiting: VecDeque<Instant>,
    bucket: (Instant, u64),
    in_transit: BTreeMap<(Instant, u64), (usize, bool, Segment)>,
    inserted: u64,
    random: Pcg64,
    next_write: Instant,
    passages: Vec<Passage>,
    pub drops: u64,
}

impl Path {
    pub fn new(way: PathSettings, seed: u64) -> Self {
        eprintln!("seed {seed}");
        Self {
            way,
            flows: Vec::new(),
            now: Instant::ZERO,
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            bucket: (Instant::ZERO, way.policing.map_or(0, |policing| policing.bucket_bytes)),
            in_transit: BTreeMap::new(),
            inserted: 0,
            random: Pcg64::seed_from_u64(seed),
            next_write: Instant::ZERO,
            passages: Vec::new(),
            drops: 0,
        }
    }

    /// One flow with unlimited data.
    pub fn greedy(way: PathSettings, seed: u64, algorithm: PluggedAlgorithm) -> Self {
        let mut path = Self::new(way, seed);
        path.add(CongestionAlgorithm::Plugged(algorithm), None);
        path
    }

    /// Another flow begins.
    pub fn add(&mut self, algorithm: CongestionAlgorithm, trickle: Option<u64>) {
        let log = Log::default();
        let congestion = match algorithm {
            CongestionAlgorithm::Plugged(algorithm) => {
                let watching = Watching { algorithm, log: log.clone() };
                CongestionAlgorithm::Plugged(PluggedAlgorithm(Arc::new(watching)))
            }
            own => own,
        };
        let mut config = Profile::Linux6_18.config();
        config.set_receive_window(32 << 20);
        config.send_buffer = 64 << 20;
        let receiver = Arc::new(config.clone());
        let sender = Arc::new(fairwind_tcp::Config { congestion, ..config });
        let number = u16::try_from(self.flows.len()).unwrap();
        let ports = Ports { local: 40_000 + number, remote: 80 };
        let back = Ports { local: 80, remote: 40_000 + number };
        let isn = 1_000 + 77 * u32::from(number);
        self.flows.push(Flow {
            sender: Connection::connect(sender, ports, SequenceNumber::new(isn)),
            receiver: Connection::listen(receiver, back, SequenceNumber::new(5_000)),
            log,
            trickle,
            received: Vec::new(),
        });
    }

    /// The application of a flow has `bytes` to send per tenth of a second from now on.
    pub fn trickle(&mut self, flow: usize, bytes: u64) {
        self.flows[flow].trickle = Some(bytes);
    }

    /// Decisions of a flow's congestion control, in order of time.
    pub fn decisions(&self, flow: usize) -> Vec<Decision> {
        self.flows[flow].log.lock().unwrap().clone()
    }

    /// Bits of payload per second that a flow got between two instants.
    pub fn goodput(&self, flow: usize, from: Span, until: Span) -> f64 {
        let bytes: u64 = self.flows[flow]
            .received
            .iter()
            .filter(|(at, _)| (from..until).contains(at))
            .map(|(_, bytes)| bytes)
            .sum();
        as_f64(bytes) * 8.0 / (until - from).as_secs_f64()
    }

    /// The share of the bottleneck that a flow filled between two instants.
    pub fn share(&self, flow: usize, from: Span, until: Span) -> f64 {
        self.goodput(flow, from, until) * 1500.0 / 1448.0 / as_f64(self.way.bits_per_second)
    }

    /// Waiting times of the packets that came between two instants, the shortest first.
    pub fn waits(&self, from: Span, until: Span) -> Vec<Span> {
        let within = self.passages.iter().filter(|passage| (from..until).contains(&passage.at));
        let mut waits: Vec<Span> = within.map(|passage| passage.waited).collect();
        waits.sort();
        waits
    }

    /// Share of the packets that came between two instants together with the one before.
    pub fn share_together(&self, from: Span, until: Span) -> f64 {
        let within = self.passages.iter().filter(|passage| (from..until).contains(&passage.at));
        let at: Vec<Span> = within.map(|passage| passage.at).collect();
        let together = at.windows(2).filter(|pair| pair[0] == pair[1]).count();
        as_f64(together as u64) / as_f64(at.len() as u64)
    }

    /// Does everything due up to `until`.
    pub fn run_until(&mut self, until: Span) {
        let until = Instant::ZERO + until;
        self.send();
        while let Some(at) = self.next_instant().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.step();
            self.send();
        }
        self.now = until;
    }

    fn next_instant(&self) -> Option<Instant> {
        let arrival = self.in_transit.keys().next().map_or(Instant::MAX, |key| key.0);
        let ends = self
            .flows
            .iter()
            .map(|flow| flow.sender.next_deadline().min(flow.receiver.next_deadline()));
        let deadline = ends.min().unwrap_or(Instant::MAX);
        let earliest = arrival.min(deadline).min(self.next_write);
        (earliest != Instant::MAX).then_some(earliest)
    }

    fn step(&mut self) {
        let now = self.now;
        let due = self.in_transit.first_key_value().map(|(key, _)| *key).filter(|key| key.0 <= now);
        if let Some(key) = due {
            let (flow, to_receiver, segment) = self.in_transit.remove(&key).unwrap();
            let flow = &mut self.flows[flow];
            if to_receiver {
                flow.receiver.on_segment(now, &segment);
                let readable = flow.receiver.readable_bytes();
                let read = flow.receiver.read(now, readable);
                flow.received.push((now - Instant::ZERO, read.into()));
            } else {
                flow.sender.on_segment(now, &segment);
            }
            return;
        }
        for flow in &mut self.flows {
            for end in [&mut flow.sender, &mut flow.receiver] {
                if end.next_deadline() <= now {
                    end.on_deadline(now);
                }
            }
        }
    }

    fn send(&mut self) {
        let now = self.now;
        let writes = self.next_write <= now;
        if writes {
            self.next_write = now + Span::from_millis(100);
        }
        for number in 0..self.flows.len() {
            let flow = &mut self.flows[number];
            if flow.sender.state() == State::Established {
                let bytes = match flow.trickle {
                    Some(bytes) if writes => bytes,
                    None if flow.sender.unsent_bytes() < 1 << 20 => 2 << 20,
                    _ => 0,
                };
                flow.sender.write(bytes);
            }
            while let Some(segment) = self.flows[number].sender.poll_segment(now) {
                self.enter(number, segment);
            }
            while let Some(segment) = self.flows[number].receiver.poll_segment(now) {
                self.post(now + self.way.round_trip / 2, number, false, segment);
            }
            let flow = &mut self.flows[number];
            while flow.sender.poll_event().is_some() || flow.receiver.poll_event().is_some() {}
        }
    }

    /// A packet enters the bottleneck.
    fn enter(&mut self, flow: usize, segment: Segment) {
        let bytes = u64::from(segment.payload_bytes) + HEADER_BYTES;
        let now = self.now;
        while self.waiting.front().is_some_and(|leaves| *leaves <= now) {
            self.waiting.pop_front();
        }
        let is_data = segment.payload_bytes > 0;
        let unlucky = is_data && self.random.random_range(0..1_000) < self.way.loss_per_thousand;
        if unlucky || self.waiting.len() >= self.way.room || !self.conforms(bytes) {
            self.drops += 1;
            return;
        }
        let begins = self.free_at.max(now);
        let takes = Span::from_nanos(bytes * 8 * NANOS_PER_SECOND / self.way.bits_per_second);
        self.free_at = begins + takes;
        self.waiting.push_back(self.free_at);
        self.passages.push(Passage { at: now - Instant::ZERO, waited: begins - now });
        self.post(self.free_at + self.way.round_trip / 2, flow, true, segment);
    }

    fn conforms(&mut self, bytes: u64) -> bool {
        let Some(policing) = self.way.policing else { return true };
        let (at, held) = self.bucket;
        let nanos = (self.now - at).as_nanos();
        let grown = held + policing.bits_per_second / 8 * nanos / NANOS_PER_SECOND;
        let held = grown.min(policing.bucket_bytes);
        let passes = held >= bytes;
        self.bucket = (self.now, if passes { held - bytes } else { held });
        passes
    }

    fn post(&mut self, due: Instant, flow: usize, to_receiver: bool, segment: Segment) {
        self.in_transit.insert((due, self.inserted), (flow, to_receiver, segment));
        self.inserted += 1;
    }
}
