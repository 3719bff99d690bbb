//! A tin of CAKE: its flows, their turns and their COBALT controllers.
//!
//! Deficit round robin with a first turn for sparse flows (as RFC 8290); the quantum of a flow is divided by the number of
//! busy flows of its host. A set-associative table keeps flows in separate queues while queues are vacant. Source:
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018, section III.B.
//!
//! COBALT is CoDel for flows that respond and BLUE for those that do not. Source: Palmei, Gupta, Imputato and others,
//! "Design and Evaluation of COBALT Queue Discipline", 2019. Unlike RFC 8289 the count is not forgotten when the waiting
//! time falls below the target: it decreases by one at each instant at which it would have dropped. The kernel decreases it
//! when it happens to look at an empty flow; here it follows from the time that has passed, so it does not matter how often
//! the queue is called.

use super::super::codel::control_law;
use super::super::discipline::{PacketFifo, QueueActions, QueuedPacket, index};
use crate::packet::scale_hash;
use crate::{Backlog, DropReason};
use fairwind_qdisc::CakeIsolation;
use fairwind_units::{Instant, Span};
use rand::RngExt as _;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Queues of a tin.
pub(super) const QUEUES: u32 = 1024;
/// Queues per set.
const WAYS: u32 = 8;

/// Set-associative table of flows: the hash of the flow in each queue.
#[derive(Debug)]
pub(super) struct FlowTable {
    tags: Vec<u64>,
}

impl FlowTable {
    pub(super) fn new() -> Self {
        Self { tags: vec![0; index(QUEUES)] }
    }

    /// The queue of the flow with `hash`: its own, or else a vacant one of its set, or else the one it is hashed to.
    pub(super) fn place(&mut self, hash: u64, is_vacant: impl Fn(u32) -> bool) -> u32 {
        let home = scale_hash(hash, QUEUES);
        let first = home / WAYS * WAYS;
        let ways = || (0..WAYS).map(|way| first + (home - first + way) % WAYS);
        let known = ways().find(|way| self.tags[index(*way)] == hash && !is_vacant(*way));
        known.unwrap_or_else(|| {
            let way = ways().find(|way| is_vacant(*way)).unwrap_or(home);
            self.tags[index(way)] = hash;
            way
        })
    }
}

/// A packet may always wait for the service time of this number of packets: with fewer there is no standing queue. Only
/// shapers of incoming packets (`ingress`) multiply it by the number of flows.
const SPARED_PACKETS: u64 = 4;
/// Increment of BLUE's probability when the queue is full, and decrement while the flow is idle, of 2^32.
const RISE: u32 = 1 << 24;
const FALL: u32 = 1 << 20;

/// Settings of COBALT.
#[derive(Debug, Clone, Copy)]
pub(super) struct CobaltSettings {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// Service time of a full packet.
    pub(super) packet_time: Span,
}

/// COBALT's state for one flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cobalt {
    count: u32,
    /// When the next packet will be dropped; with a count of zero, until when the flow is remembered.
    drop_next: Instant,
    is_dropping: bool,
    /// BLUE's probability, of 2^32.
    probability: u32,
    /// When it last changed.
    changed: Instant,
    /// Since when the flow is idle.
    empty_since: Option<Instant>,
}

impl Cobalt {
    /// A packet of the flow was dropped because memory was full.
    pub(super) fn on_overflow(&mut self, now: Instant, settings: &CobaltSettings) {
        if now.saturating_since(self.changed) > settings.target {
            self.probability = self.probability.saturating_add(RISE);
            self.changed = now;
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The flow becomes idle.
    pub(super) fn on_empty(&mut self, now: Instant) {
        self.is_dropping = false;
        self.empty_since = Some(now);
    }

    /// Performs updates that were due while the flow was idle.
    pub(super) fn catch_up(&mut self, now: Instant, settings: &CobaltSettings) {
        let Some(since) = self.empty_since else { return };
        self.take_back(now, settings);
        let begin = since.max(self.changed);
        let target = settings.target.as_nanos().max(1);
        let steps = now.saturating_since(begin).as_nanos() / target;
        if steps > 0 && self.probability > 0 {
            let falls = u32::try_from(steps).unwrap_or(u32::MAX).saturating_mul(FALL);
            self.probability = self.probability.saturating_sub(falls);
            self.changed = begin + settings.target * steps;
        }
    }

    /// A packet arrives.
    pub(super) fn on_arrival(&mut self, now: Instant, settings: &CobaltSettings) {
        self.catch_up(now, settings);
        self.empty_since = None;
    }

    /// Whether an idle flow has no state left.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.count == 0 && self.probability == 0 && now >= self.drop_next
    }

    /// Whether to drop a packet at dequeue; it may be marked instead.
    pub(super) fn should_drop(
        &mut self,
        now: Instant,
        waiting: &mut QueuedPacket,
        settings: &CobaltSettings,
        generator: &mut Pcg32,
        actions: &mut QueueActions,
    ) -> bool {
        let sojourn = waiting.sojourn(now);
        let is_due = self.count > 0 && now >= self.drop_next;
        if sojourn <= settings.target || sojourn <= settings.packet_time * SPARED_PACKETS {
            self.is_dropping = false;
        } else {
            if !self.is_dropping {
                self.is_dropping = true;
                self.drop_next = now + control_law(settings.interval, self.count);
            }
            self.count = self.count.max(1);
        }
        let mut is_dropped = false;
        if is_due && self.is_dropping {
            is_dropped = !actions.mark(waiting);
            self.count = self.count.saturating_add(1);
            self.drop_next += control_law(settings.interval, self.count);
        } else if is_due {
            self.take_back(now, settings);
        }
        // BLUE drops ECN capable packets, too: it acts on flows that do not respond.
        is_dropped |= self.probability > 0 && generator.random::<u32>() < self.probability;
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if !is_dropped && self.drop_next < now {
            self.drop_next = now;
        }
        is_dropped
    }

    /// Decrements the count for each drop that was due and not needed.
    fn take_back(&mut self, now: Instant, settings: &CobaltSettings) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next += control_law(settings.interval, self.count);
        }
    }
}

/// Unit of deficits in a byte, so that a quantum can be divided among many flows.
const PARTS: i64 = 1 << 16;
/// Entries of the host tables; hosts with equal numbers modulo it count as one.
const HOSTS: u32 = 1024;

/// State of a flow in the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum FlowState {
    /// Idle, in no list.
    #[default]
    Idle,
    /// Served first.
    Sparse,
    /// Used up its quantum without a queue: in the round, but not busy.
    Resting,
    /// Has a queue.
    Busy,
}

/// One of the flows.
#[derive(Debug, Default)]
struct Flow {
    line: PacketFifo,
    cobalt: Cobalt,
    /// In [`PARTS`] of a byte.
    deficit: i64,
    standing: FlowState,
    source: u32,
    destination: u32,
}

/// Settings of a tin.
#[derive(Debug, Clone, Copy)]
pub(super) struct TinSettings {
    pub(super) cobalt: CobaltSettings,
    pub(super) quantum_bytes: u32,
    pub(super) isolation: CakeIsolation,
}

/// Random numbers and actions for a dequeue.
pub(super) struct TinContext<'a> {
    pub(super) generator: &'a mut Pcg32,
    pub(super) actions: &'a mut QueueActions,
}

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    settings: TinSettings,
    ways: FlowTable,
    flows: Vec<Flow>,
    sparse: VecDeque<u32>,
    round: VecDeque<u32>,
    /// Busy flows per sending and per receiving host.
    sources: Vec<u32>,
    destinations: Vec<u32>,
    backlog: Backlog,
}

impl Tin {
    pub(super) fn new(settings: TinSettings) -> Self {
        Self {
            settings,
            ways: FlowTable::new(),
            flows: std::iter::repeat_with(Flow::default).take(index(QUEUES)).collect(),
            sparse: VecDeque::new(),
            round: VecDeque::new(),
            sources: vec![0; index(HOSTS)],
            destinations: vec![0; index(HOSTS)],
            backlog: Backlog::default(),
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Packets of the queue at `place`.
    pub(super) fn line(&self, place: u32) -> &PacketFifo {
        &self.flows[index(place)].line
    }

    /// Removes a packet from the queue at `place`, which holds others; `number` counts from the oldest.
    pub(super) fn remove(&mut self, place: u32, number: usize) -> Option<QueuedPacket> {
        let removed = self.flows[index(place)].line.remove(number)?;
        self.backlog = self.backlog.without(removed.bytes());
        Some(removed)
    }

    /// Enqueues an arrival of the flow with `hash`; returns the number of its queue.
    pub(super) fn enqueue(&mut self, now: Instant, hash: u64, arrival: QueuedPacket) -> u32 {
        let (flows, cobalt) = (&mut self.flows, &self.settings.cobalt);
        let is_vacant = |way: u32| {
            let flow = &flows[index(way)];
            flow.standing == FlowState::Idle && {
                let mut memory = flow.cobalt;
                memory.catch_up(now, cobalt);
                memory.is_at_rest(now)
            }
        };
        let place = self.ways.place(hash, is_vacant);
        let flow = &mut flows[index(place)];
        if flow.standing == FlowState::Idle {
            flow.cobalt.catch_up(now, cobalt);
            if flow.cobalt.is_at_rest(now) {
                flow.cobalt = Cobalt::default();
            }
            flow.source = arrival.header.source % HOSTS;
            flow.destination = arrival.destination() % HOSTS;
        }
        flow.cobalt.on_arrival(now, cobalt);
        flow.line.push(arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        match flow.standing {
            FlowState::Idle => {
                flow.standing = FlowState::Sparse;
                self.sparse.push_back(place);
                self.flows[index(place)].deficit = self.quantum(place);
            }
            FlowState::Resting => self.become_busy(place),
            FlowState::Sparse | FlowState::Busy => {}
        }
        place
    }

    /// The next packet; `None` only if the tin is empty.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        context: &mut TinContext<'_>,
    ) -> Option<QueuedPacket> {
        loop {
            let place = self.turn()?;
            match self.next_of(place, now, context) {
                Some(waiting) => return Some(waiting),
                None => self.retire(place, now),
            }
        }
    }

    /// Charges `bytes` to the flow that was served last.
    pub(super) fn spend(&mut self, bytes: u64) {
        // It is still at the front: turns end at the next dequeue.
        if let Some(place) = self.sparse.front().or(self.round.front()) {
            self.flows[index(*place)].deficit -=
                i64::try_from(bytes).unwrap_or(i64::MAX / PARTS) * PARTS;
        }
    }

    /// Bytes in the longest queue, and its number.
    pub(super) fn longest(&self) -> (u64, u32) {
        let active = self.sparse.iter().chain(&self.round);
        let lengths = active.map(|place| (self.flows[index(*place)].line.bytes(), *place));
        lengths.max().unwrap_or_default()
    }

    /// Drops the oldest packet of the queue at `place` because memory is full.
    pub(super) fn give_up(&mut self, now: Instant, place: u32, actions: &mut QueueActions) {
        let flow = &mut self.flows[index(place)];
        let Some(victim) = flow.line.pop() else { return };
        flow.cobalt.on_overflow(now, &self.settings.cobalt);
        self.backlog = self.backlog.without(victim.bytes());
        actions.drop(victim, DropReason::QueueFull);
    }

    /// The next flow to serve: a sparse one, or else the next of the round.
    fn turn(&mut self) -> Option<u32> {
        loop {
            let is_sparse = !self.sparse.is_empty();
            let place = *if is_sparse { self.sparse.front()? } else { self.round.front()? };
            if self.flows[index(place)].deficit > 0 {
                return Some(place);
            }
            self.leave_front();
            if is_sparse && self.flows[index(place)].line.bytes() > 0 {
                self.become_busy(place);
            } else if is_sparse {
                self.flows[index(place)].standing = FlowState::Resting;
            }
            let quantum = self.quantum(place);
            self.flows[index(place)].deficit += quantum;
            self.round.push_back(place);
        }
    }

    fn leave_front(&mut self) {
        if self.sparse.pop_front().is_none() {
            self.round.pop_front();
        }
    }

    /// The next packet of a flow after COBALT's drops, which spare the last one.
    fn next_of(
        &mut self,
        place: u32,
        now: Instant,
        context: &mut TinContext<'_>,
    ) -> Option<QueuedPacket> {
        let flow = &mut self.flows[index(place)];
        let TinContext { generator, actions } = context;
        loop {
            let mut waiting = flow.line.pop()?;
            self.backlog = self.backlog.without(waiting.bytes());
            let is_dropped = flow.cobalt.should_drop(
                now,
                &mut waiting,
                &self.settings.cobalt,
                generator,
                actions,
            );
            if !is_dropped || flow.line.bytes() == 0 {
                return Some(waiting);
            }
            actions.drop(waiting, DropReason::Early);
        }
    }

    /// The flow at the front is empty.
    fn retire(&mut self, place: u32, now: Instant) {
        self.leave_front();
        let flow = &mut self.flows[index(place)];
        flow.cobalt.on_empty(now);
        if flow.standing == FlowState::Busy {
            self.sources[index(flow.source)] -= 1;
            self.destinations[index(flow.destination)] -= 1;
        }
        flow.standing = FlowState::Idle;
    }

    fn become_busy(&mut self, place: u32) {
        let flow = &mut self.flows[index(place)];
        flow.standing = FlowState::Busy;
        self.sources[index(flow.source)] += 1;
        self.destinations[index(flow.destination)] += 1;
    }

    /// Quantum of a flow: the quantum of its host, divided by the host's busy flows.
    fn quantum(&self, place: u32) -> i64 {
        let flow = &self.flows[index(place)];
        let source = self.sources[index(flow.source)];
        let destination = self.destinations[index(flow.destination)];
        let sharing = match self.settings.isolation {
            CakeIsolation::DualSrchost => source,
            CakeIsolation::DualDsthost => destination,
            CakeIsolation::TripleIsolate => source.max(destination),
            _ => 1,
        };
        i64::from(self.settings.quantum_bytes) * PARTS / i64::from(sharing.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninth_flow_of_set_shares_a_queue() {
        let mut ways = FlowTable::new();
        let mut taken = Vec::new();
        // Hashes that differ in their lower half only are hashed to the same queue.
        for flow in 0..8 {
            let way = ways.place(flow + 1, |way| !taken.contains(&way));
            assert!(!taken.contains(&way) && way < 8);
            taken.push(way);
        }
        assert_eq!(ways.place(3, |way| !taken.contains(&way)), taken[2]);
        let shared = ways.place(9, |way| !taken.contains(&way));
        assert_eq!(shared, 0);
        // A vacated queue serves the next flow.
        taken.retain(|way| *way != 5);
        assert_eq!(ways.place(10, |way| !taken.contains(&way)), 5);
    }
}
