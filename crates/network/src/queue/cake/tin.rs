//! A tin: its flows, who is next among them, and what hosts share.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018, section III.B: deficit round robin with a first
//! turn for sparse flows (as RFC 8290), where the quantum of a flow is divided by the number of busy flows of its host.

use super::super::line::Line;
use super::super::rounds::index;
use super::super::{QueueActions, QueuedPacket};
use super::cobalt::{Cobalt, CobaltSettings};
use super::ways::{QUEUES, Ways};
use crate::{Backlog, DropReason};
use fairwind_qdisc::CakeIsolation;
use fairwind_units::Instant;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Parts of a byte that deficits are counted in, so that a quantum may be divided among many flows.
const PARTS: i64 = 1 << 16;
/// Places in the tables of hosts; hosts whose numbers differ by a multiple of it count as one.
const HOSTS: u32 = 1024;

/// What a flow is to the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum FlowState {
    /// In no list.
    #[default]
    Idle,
    /// Served first.
    Sparse,
    /// Used its quantum up without ever having a queue: in the round, though not busy.
    Resting,
    /// Has a queue.
    Busy,
}

/// One of the flows.
#[derive(Debug, Default)]
struct Flow {
    line: Line,
    cobalt: Cobalt,
    /// In [`PARTS`] of a byte.
    deficit: i64,
    standing: FlowState,
    source: u32,
    destination: u32,
}

/// What a tin was told.
#[derive(Debug, Clone, Copy)]
pub(super) struct TinSettings {
    pub(super) cobalt: CobaltSettings,
    pub(super) quantum_bytes: u32,
    pub(super) isolation: CakeIsolation,
}

/// Who draws, and who is told.
pub(super) struct TinContext<'a> {
    pub(super) generator: &'a mut Pcg32,
    pub(super) effects: &'a mut QueueActions,
}

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    settings: TinSettings,
    ways: Ways,
    flows: Vec<Flow>,
    sparse: VecDeque<u32>,
    round: VecDeque<u32>,
    /// Busy flows of each host that sends, and of each that receives.
    sources: Vec<u32>,
    destinations: Vec<u32>,
    backlog: Backlog,
}

impl Tin {
    pub(super) fn new(settings: TinSettings) -> Self {
        Self {
            settings,
            ways: Ways::new(),
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

    /// Takes an arrival of the flow with `hash`.
    pub(super) fn enqueue(&mut self, now: Instant, hash: u64, arrival: QueuedPacket) {
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
    }

    /// The next packet; none only where nothing waits.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        hands: &mut TinContext<'_>,
    ) -> Option<QueuedPacket> {
        loop {
            let place = self.turn()?;
            match self.next_of(place, now, hands) {
                Some(waiting) => return Some(waiting),
                None => self.retire(place, now),
            }
        }
    }

    /// The flow that was served last has sent what costs `bytes`.
    pub(super) fn spend(&mut self, bytes: u64) {
        // It is still in front: turns end when the next one is asked for.
        if let Some(place) = self.sparse.front().or(self.round.front()) {
            self.flows[index(*place)].deficit -=
                i64::try_from(bytes).unwrap_or(i64::MAX / PARTS) * PARTS;
        }
    }

    /// Bytes that wait in the longest queue, and which that is.
    pub(super) fn longest(&self) -> (u64, u32) {
        let active = self.sparse.iter().chain(&self.round);
        let lengths = active.map(|place| (self.flows[index(*place)].line.bytes(), *place));
        lengths.max().unwrap_or_default()
    }

    /// The queue at `place` gives up its oldest packet for want of room.
    pub(super) fn give_up(&mut self, now: Instant, place: u32, effects: &mut QueueActions) {
        let flow = &mut self.flows[index(place)];
        let Some(victim) = flow.line.pop() else { return };
        flow.cobalt.on_overflow(now, &self.settings.cobalt);
        self.backlog = self.backlog.without(victim.bytes());
        effects.drop(victim, DropReason::QueueFull);
    }

    /// The flow whose turn it is: a sparse one, or else the next of the round.
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

    /// The next packet of a flow, those before it dropped that COBALT chose; never the last one.
    fn next_of(
        &mut self,
        place: u32,
        now: Instant,
        hands: &mut TinContext<'_>,
    ) -> Option<QueuedPacket> {
        let flow = &mut self.flows[index(place)];
        let TinContext { generator, effects } = hands;
        loop {
            let mut waiting = flow.line.pop()?;
            self.backlog = self.backlog.without(waiting.bytes());
            let is_dropped = flow.cobalt.should_drop(
                now,
                &mut waiting,
                &self.settings.cobalt,
                generator,
                effects,
            );
            if !is_dropped || flow.line.bytes() == 0 {
                return Some(waiting);
            }
            effects.drop(waiting, DropReason::Early);
        }
    }

    /// The flow in front has nothing.
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

    /// What a flow may send in its turn: its host's quantum, divided by the busy flows of that host.
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
