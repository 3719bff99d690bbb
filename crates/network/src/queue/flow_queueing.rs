//! Fair queueing with an AQM in every flow: `fq_codel` (RFC 8290) and `fq_pie` (tc-fq_pie(8), RFC 8033).
//!
//! Flows take turns by deficit round robin (Shreedhar and Varghese, 1996), and a flow that has just begun gets a first turn
//! (RFC 8290 §4.2). As in the kernel, `fq_codel` asks of all flows together whether there is a standing queue (RFC 8289 §4.2
//! asks it of one queue), which matters with many flows of one packet each; `fq_pie` judges an arrival by its own flow.

use super::codel::{CodelController, CodelSettings, PacketSource};
use super::discipline::{
    DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket, index, packet_count,
};
use super::pie::{PieController, PieSettings};
use crate::packet::{bucket, derive_seed};
use crate::{Backlog, DropReason};
use fairwind_units::Instant;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Deficit round robin over flow numbers, with lists of new and old flows.
#[derive(Debug)]
pub(super) struct RoundRobin {
    quantum_bytes: i64,
    /// Bytes that each flow may still send in its turn.
    deficits: Vec<i64>,
    is_active: Vec<bool>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl RoundRobin {
    pub(super) fn new(flows: u32, quantum_bytes: u32) -> Self {
        Self {
            quantum_bytes: quantum_bytes.max(1).into(),
            deficits: vec![0; index(flows)],
            is_active: vec![false; index(flows)],
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// `flow` has a packet; if it was idle, it becomes a new flow.
    pub(super) fn join(&mut self, flow: u32) {
        if self.begins(flow) {
            self.new.push_back(flow);
        }
    }

    /// `flow` has a packet; if it was idle, it is served after all others.
    pub(super) fn join_last(&mut self, flow: u32) {
        if self.begins(flow) {
            self.old.push_back(flow);
        }
    }

    /// Activates `flow`; returns whether it was idle.
    fn begins(&mut self, flow: u32) -> bool {
        let place = index(flow);
        let begins = !self.is_active[place];
        if begins {
            self.is_active[place] = true;
            self.deficits[place] = self.quantum_bytes;
        }
        begins
    }

    /// `flow` is empty; it becomes idle at once.
    pub(super) fn retire(&mut self, flow: u32) {
        self.is_active[index(flow)] = false;
        if self.new.is_empty() && self.old.front() == Some(&flow) {
            self.old.pop_front();
            return;
        }
        self.new.retain(|other| *other != flow);
        self.old.retain(|other| *other != flow);
    }

    /// All active flows in order of turns.
    pub(super) fn flows(&self) -> impl Iterator<Item = u32> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    /// Number of active flows.
    pub(super) fn len(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// The current flow; `None` if all are idle.
    pub(super) fn turn(&mut self) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let flow = *if from_new { self.new.front()? } else { self.old.front()? };
            let deficit = &mut self.deficits[index(flow)];
            if *deficit > 0 {
                return Some(flow);
            }
            *deficit += self.quantum_bytes;
            self.leave_front(from_new);
            self.old.push_back(flow);
        }
    }

    /// Charges `bytes` to the current flow, `flow`.
    pub(super) fn spend(&mut self, flow: u32, bytes: u32) {
        self.deficits[index(flow)] -= i64::from(bytes);
    }

    /// The current flow is empty: a new flow first becomes an old one (RFC 8290 §4.2).
    pub(super) fn yield_turn(&mut self, flow: u32) {
        let from_new = !self.new.is_empty();
        self.leave_front(from_new);
        if from_new && !self.old.is_empty() {
            self.old.push_back(flow);
        } else {
            self.is_active[index(flow)] = false;
        }
    }

    fn leave_front(&mut self, from_new: bool) {
        if from_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}

/// One of the flows.
#[derive(Debug, Default)]
struct CodelFlow {
    line: PacketFifo,
    controller: CodelController,
}

/// All flows.
#[derive(Debug)]
pub(super) struct FqCodel {
    limit_packets: u32,
    memory_limit_bytes: u64,
    drop_batch_packets: u32,
    settings: CodelSettings,
    flows: Vec<CodelFlow>,
    rounds: RoundRobin,
    backlog: Backlog,
    seed: u64,
}

/// A flow's packets, and the backlog of all flows.
struct FlowSource<'a> {
    line: &'a mut PacketFifo,
    total: &'a mut Backlog,
}

impl PacketSource for FlowSource<'_> {
    fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.line.pop()?;
        *self.total = self.total.without(first.bytes());
        Some(first)
    }

    fn bytes(&self) -> u64 {
        self.total.bytes
    }
}

impl FqCodel {
    pub(super) fn new(description: &fairwind_qdisc::FqCodel, seed: u64) -> Self {
        let fairwind_qdisc::FqCodel { target, interval, ecn, ce_threshold, .. } = *description;
        let flows = description.flows.max(1);
        Self {
            limit_packets: description.limit_packets,
            memory_limit_bytes: description.memory_limit_bytes,
            drop_batch_packets: description.drop_batch_packets,
            settings: CodelSettings { target, interval, ecn, ce_threshold },
            flows: std::iter::repeat_with(CodelFlow::default).take(index(flows)).collect(),
            rounds: RoundRobin::new(flows, description.quantum_bytes),
            backlog: Backlog::default(),
            seed,
        }
    }

    fn is_too_full(&self) -> bool {
        self.backlog.packets > self.limit_packets || self.backlog.bytes > self.memory_limit_bytes
    }

    /// Drops the oldest packets of the fattest flow: half of its bytes, though no more than a batch (RFC 8290 §4.1).
    fn make_room(&mut self, actions: &mut QueueActions) {
        let by_bytes = self.flows.iter_mut().max_by_key(|flow| flow.line.backlog().bytes);
        let Some(fattest) = by_bytes else { return };
        let half = fattest.line.backlog().bytes / 2;
        let mut source = FlowSource { line: &mut fattest.line, total: &mut self.backlog };
        let mut dropped_bytes = 0;
        for _ in 0..self.drop_batch_packets.max(1) {
            let Some(victim) = source.pop() else { break };
            dropped_bytes += u64::from(victim.bytes());
            actions.drop(victim, DropReason::QueueFull);
            fattest.controller.count_drop();
            if dropped_bytes >= half {
                break;
            }
        }
    }
}

impl QueueDiscipline for FqCodel {
    fn enqueue(
        &mut self,
        _: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let flow = bucket(&arrival.header, self.seed, packet_count(self.flows.len()));
        self.flows[index(flow)].line.push(arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        self.rounds.join(flow);
        if self.is_too_full() {
            self.make_room(actions);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        while let Some(turn) = self.rounds.turn() {
            let flow = &mut self.flows[index(turn)];
            let mut source = FlowSource { line: &mut flow.line, total: &mut self.backlog };
            match flow.controller.dequeue(now, &self.settings, &mut source, actions) {
                Some(waiting) => {
                    self.rounds.spend(turn, waiting.bytes());
                    return DequeueResult::Packet(waiting);
                }
                None => self.rounds.yield_turn(turn),
            }
        }
        DequeueResult::Empty
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

/// One of the flows.
#[derive(Debug)]
struct PieFlow {
    line: PacketFifo,
    controller: PieController,
}

/// All flows.
#[derive(Debug)]
pub(super) struct FqPie {
    limit_packets: u32,
    memory_limit_bytes: u64,
    settings: PieSettings,
    flows: Vec<PieFlow>,
    rounds: RoundRobin,
    backlog: Backlog,
    generator: Pcg32,
    seed: u64,
}

impl FqPie {
    pub(super) fn new(description: &fairwind_qdisc::FqPie, seed: u64) -> Self {
        let settings = PieSettings::of_flow(description);
        let flows = description.flows.max(1);
        let flow =
            || PieFlow { line: PacketFifo::default(), controller: PieController::new(&settings) };
        Self {
            limit_packets: description.limit_packets,
            memory_limit_bytes: description.memory_limit_bytes,
            settings,
            flows: std::iter::repeat_with(flow).take(index(flows)).collect(),
            rounds: RoundRobin::new(flows, description.quantum_bytes),
            backlog: Backlog::default(),
            generator: Pcg32::new(derive_seed(seed, 0), 0),
            seed: derive_seed(seed, 1),
        }
    }
}

impl QueueDiscipline for FqPie {
    fn enqueue(
        &mut self,
        now: Instant,
        mut arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let Backlog { packets, bytes } = self.backlog;
        let size = arrival.bytes();
        if packets >= self.limit_packets || bytes + u64::from(size) > self.memory_limit_bytes {
            return Err(DropReason::QueueFull);
        }
        let place = bucket(&arrival.header, self.seed, packet_count(self.flows.len()));
        let flow = &mut self.flows[index(place)];
        let own_bytes = flow.line.bytes();
        flow.controller.catch_up(now, own_bytes, &self.settings);
        if flow.controller.chooses(size, own_bytes, &self.settings, &mut self.generator)
            && !(flow.controller.may_mark(&self.settings) && actions.mark(&mut arrival))
        {
            return Err(DropReason::Early);
        }
        flow.line.push(arrival);
        self.backlog = self.backlog.with(size);
        self.rounds.join(place);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, _: &mut QueueActions) -> DequeueResult {
        while let Some(turn) = self.rounds.turn() {
            let flow = &mut self.flows[index(turn)];
            flow.controller.catch_up(now, flow.line.bytes(), &self.settings);
            let Some(first) = flow.line.pop() else {
                self.rounds.yield_turn(turn);
                continue;
            };
            let (bytes, sojourn, left) = (first.bytes(), first.sojourn(now), flow.line.bytes());
            flow.controller.on_departure(now, bytes, sojourn, left, &self.settings);
            self.backlog = self.backlog.without(bytes);
            self.rounds.spend(turn, bytes);
            return DequeueResult::Packet(first);
        }
        DequeueResult::Empty
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
