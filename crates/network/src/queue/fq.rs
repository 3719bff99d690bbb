//! Fair queueing with a largest rate of each flow: the kernel's fq, as it works on a router.
//!
//! Source: Linux 7.3, `net/sched/sch_fq.c`, and tc-fq(8). Flows take turns by deficit round robin, those that have just
//! begun first, in three bands by type of service, which get 9, 3 and 1 parts of the bytes. A flow above `maxrate` waits
//! for its instant. While no flow may send, up to eight packets pass by the flows in order of arrival.
//!
//! Forwarded packets belong to no socket and carry no departure time. So flows are told apart by their hash, no rate of a
//! sender counts, and nothing is beyond the horizon. Weights of the bands, and which priority belongs to which, are the
//! kernel's defaults. The limit is that of each band (since Linux 6.7; before it was that of all). Linux forgets flows
//! that were idle for 3 s and lie in the way of others; we remember all.

use super::classful::usual_band;
use super::discipline::{
    DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket, packet_count,
};
use crate::packet::flow_hash;
use crate::{Backlog, DropReason};
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const BANDS: usize = 3;

/// Bytes that each band may send in its turn.
const BAND_QUANTA: [i64; BANDS] = [9 << 16, 3 << 16, 1 << 16];

/// Packets that pass by the flows at the same time.
const MOST_EXPRESS: usize = 8;

/// Longest time that one packet delays the next one of its flow.
const LONGEST_DELAY: u64 = 1_000_000_000;

/// A flow.
#[derive(Debug, Default)]
struct Flow {
    line: PacketFifo,
    /// Bytes that it may still send in its turn.
    credit: i64,
    /// The band of its last packet.
    band: usize,
    /// Before this nothing leaves; zero unless it has a largest rate.
    next_departure: Instant,
    /// Since when it has no turn; `None` while it is in a list or waits for its instant.
    idle_since: Option<Instant>,
}

/// Flows of a band in the order of their turns.
#[derive(Debug, Default)]
struct Band {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    credit: i64,
    packets: u32,
}

/// A list of a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    New,
    Old,
}

impl Band {
    /// The list whose first flow has the turn, if this band may send.
    fn list_in_turn(&self) -> Option<List> {
        if self.credit <= 0 {
            return None;
        }
        let is_old = || (!self.old.is_empty()).then_some(List::Old);
        if self.new.is_empty() { is_old() } else { Some(List::New) }
    }

    fn list(&mut self, list: List) -> &mut VecDeque<usize> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
        }
    }
}

/// All flows.
#[derive(Debug)]
pub(super) struct Fq {
    description: fairwind_qdisc::Fq,
    flows: Vec<Flow>,
    /// Flows by the part of their hash that tells them apart.
    numbers: BTreeMap<u64, usize>,
    bands: [Band; BANDS],
    /// The band that is being served.
    current: usize,
    /// Flows that wait for their instant, in its order and then in that in which they began to wait.
    throttled: BTreeSet<(Instant, u64, usize)>,
    /// Number of times that a flow began to wait.
    waits: u64,
    /// Packets that pass by the flows.
    express: PacketFifo,
    /// Flows with packets that do not wait for their instant.
    eligible: usize,
    backlog: Backlog,
    seed: u64,
}

impl Fq {
    pub(super) fn new(description: &fairwind_qdisc::Fq, seed: u64) -> Self {
        Self {
            description: description.clone(),
            flows: Vec::new(),
            numbers: BTreeMap::new(),
            bands: Default::default(),
            current: 0,
            throttled: BTreeSet::new(),
            waits: 0,
            express: PacketFifo::default(),
            eligible: 0,
            backlog: Backlog::default(),
            seed,
        }
    }

    /// Whether an arrival passes by the flows.
    fn takes_express(&self, now: Instant) -> bool {
        let is_due = || self.throttled.first().is_some_and(|(instant, ..)| *instant <= now);
        let is_idle = self.backlog.packets == 0
            || self.eligible == 0 && self.express.len() < MOST_EXPRESS && !is_due();
        is_idle && self.description.max_rate.is_none()
    }

    /// The number of the flow of a packet, which may be its first one.
    fn flow_of(&mut self, arrival: &QueuedPacket, now: Instant) -> usize {
        let key = flow_hash(&arrival.header, self.seed) & u64::from(self.description.hash_mask);
        *self.numbers.entry(key).or_insert_with(|| {
            let credit = self.description.initial_quantum_bytes.into();
            self.flows.push(Flow { credit, idle_since: Some(now), ..Flow::default() });
            self.flows.len() - 1
        })
    }

    /// Puts a packet into its flow in `band`.
    fn join(&mut self, number: usize, band: usize, arrival: QueuedPacket, now: Instant) {
        let flow = &mut self.flows[number];
        if let Some(since) = flow.idle_since.take() {
            self.bands[flow.band].new.push_back(number);
            if now.saturating_since(since) > self.description.refill_delay {
                flow.credit = flow.credit.max(self.description.quantum_bytes.into());
            }
        }
        flow.band = band;
        self.eligible += usize::from(flow.line.is_empty());
        flow.line.push(arrival);
        self.bands[band].packets += 1;
    }

    /// Gives flows their turns whose instant has come.
    fn release_due(&mut self, now: Instant) {
        let is_due = |(instant, ..): &(Instant, u64, usize)| *instant <= now;
        while self.throttled.first().is_some_and(is_due) {
            let Some((_, _, number)) = self.throttled.pop_first() else { return };
            self.bands[self.flows[number].band].old.push_back(number);
            self.eligible += 1;
        }
    }

    /// The band and the list that have the turn; `None` if no flow may send.
    fn turn(&mut self) -> Option<(usize, List)> {
        let mut tried = 0;
        loop {
            if let Some(list) = self.bands[self.current].list_in_turn() {
                return Some((self.current, list));
            }
            loop {
                tried += 1;
                if tried > BANDS {
                    return None;
                }
                self.current = (self.current + 1) % BANDS;
                let (band, quantum) = (&mut self.bands[self.current], BAND_QUANTA[self.current]);
                band.credit = (band.credit + quantum).min(quantum);
                if band.credit > 0 {
                    break;
                }
                tried = 0;
            }
        }
    }

    /// Serves the first flow of a list, or moves it to where it belongs.
    fn serve(&mut self, place: usize, list: List, now: Instant) -> Option<Departure> {
        let number = *self.bands[place].list(list).front()?;
        let flow = &mut self.flows[number];
        if flow.credit <= 0 {
            flow.credit += i64::from(self.description.quantum_bytes);
            self.move_to_old(place, list);
            return None;
        }
        let Some(oldest) = flow.line.oldest() else {
            // A new flow first becomes an old one, so that it cannot starve others.
            if list == List::New {
                self.move_to_old(place, list);
            } else {
                flow.idle_since = Some(now);
                self.bands[place].list(list).pop_front();
            }
            return None;
        };
        let due = oldest.enqueued.max(flow.next_departure);
        if now < due {
            flow.next_departure = due;
            self.waits += 1;
            self.throttled.insert((due, self.waits, number));
            self.eligible -= 1;
            self.bands[place].list(list).pop_front();
            return None;
        }
        let first = flow.line.pop()?;
        self.eligible -= usize::from(flow.line.is_empty());
        flow.credit -= i64::from(first.bytes());
        self.bands[place].credit -= i64::from(first.bytes());
        self.bands[usual_band(&first.header)].packets -= 1;
        Some(Departure { packet: first, flow: number, due })
    }

    fn move_to_old(&mut self, place: usize, list: List) {
        if let Some(number) = self.bands[place].list(list).pop_front() {
            self.bands[self.flows[number].band].old.push_back(number);
        }
    }

    /// Delays the next packet of a flow so that it keeps its largest rate.
    fn space(&mut self, number: usize, bytes: u32, now: Instant) {
        let (Some(rate), true) = (self.description.max_rate, self.description.pacing) else {
            return;
        };
        let (flow, quantum) = (&mut self.flows[number], self.description.quantum_bytes);
        let mut bytes = u64::from(bytes);
        if rate <= self.description.low_rate {
            flow.credit = 0;
        } else {
            bytes = bytes.max(quantum.into());
            if flow.credit > 0 {
                return;
            }
        }
        let bytes_per_second = (rate.as_bits_per_second() / 8).max(1);
        let mut delay = (bytes * 1_000_000_000 / bytes_per_second).min(LONGEST_DELAY);
        if flow.next_departure > Instant::ZERO {
            let late = now.saturating_since(flow.next_departure).as_nanos();
            delay -= late.min(delay / 2);
        }
        flow.next_departure = now + Span::from_nanos(delay);
    }
}

/// A packet that leaves, its flow, and when it could have left.
struct Departure {
    packet: QueuedPacket,
    flow: usize,
    due: Instant,
}

impl QueueDiscipline for Fq {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        _: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let band = usual_band(&arrival.header);
        if self.bands[band].packets >= self.description.limit_packets {
            return Err(DropReason::QueueFull);
        }
        if self.takes_express(now) {
            self.express.push(arrival);
        } else {
            let number = self.flow_of(&arrival, now);
            let waiting = packet_count(self.flows[number].line.len());
            if waiting >= self.description.flow_limit_packets {
                return Err(DropReason::QueueFull);
            }
            self.join(number, band, arrival, now);
        }
        self.backlog = self.backlog.with(arrival.bytes());
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        if let Some(first) = self.express.pop() {
            self.backlog = self.backlog.without(first.bytes());
            return DequeueResult::Packet(first);
        }
        if self.backlog.packets == 0 {
            return DequeueResult::Empty;
        }
        self.release_due(now);
        while let Some((place, list)) = self.turn() {
            let Some(mut departure) = self.serve(place, list, now) else { continue };
            let waited = now.saturating_since(departure.due);
            if self.description.ce_threshold.is_some_and(|threshold| waited > threshold) {
                actions.mark(&mut departure.packet);
            }
            let bytes = departure.packet.bytes();
            self.backlog = self.backlog.without(bytes);
            self.space(departure.flow, bytes, now);
            return DequeueResult::Packet(departure.packet);
        }
        let next = self.throttled.first();
        next.map_or(DequeueResult::Empty, |(instant, ..)| DequeueResult::NotBefore(*instant))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
