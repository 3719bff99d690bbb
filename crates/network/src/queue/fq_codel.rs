//! Fair queueing with CoDel in every flow, and a first turn for flows that have just begun.
//!
//! Source: RFC 8290. Whether there is a standing queue is asked of all flows together, as the kernel does
//! (RFC 8289 §4.2 asks it of one queue): with many flows of one packet each it matters.

use super::codel::{Controller, ControllerSettings, Source};
use super::hash::bucket;
use super::line::Line;
use super::rounds::{RoundRobin, index};
use super::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket, packet_count};
use crate::{Backlog, DropReason};
use fairwind_units::Instant;

/// One of the flows.
#[derive(Debug, Default)]
struct Flow {
    line: Line,
    controller: Controller,
}

/// All flows.
#[derive(Debug)]
pub(super) struct FqCodel {
    limit_packets: u32,
    memory_limit_bytes: u64,
    drop_batch_packets: u32,
    settings: ControllerSettings,
    flows: Vec<Flow>,
    rounds: RoundRobin,
    backlog: Backlog,
    seed: u64,
}

/// A flow's packets, with the bytes of all flows.
struct FlowSource<'a> {
    line: &'a mut Line,
    total: &'a mut Backlog,
}

impl Source for FlowSource<'_> {
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
            settings: ControllerSettings { target, interval, ecn, ce_threshold },
            flows: std::iter::repeat_with(Flow::default).take(index(flows)).collect(),
            rounds: RoundRobin::new(flows, description.quantum_bytes),
            backlog: Backlog::default(),
            seed,
        }
    }

    fn is_too_full(&self) -> bool {
        self.backlog.packets > self.limit_packets || self.backlog.bytes > self.memory_limit_bytes
    }

    /// Drops the oldest packets of the fattest flow: half of its bytes, though no more than a batch (RFC 8290 §4.1).
    fn make_room(&mut self, effects: &mut QueueActions) {
        let by_bytes = self.flows.iter_mut().max_by_key(|flow| flow.line.backlog().bytes);
        let Some(fattest) = by_bytes else { return };
        let half = fattest.line.backlog().bytes / 2;
        let mut source = FlowSource { line: &mut fattest.line, total: &mut self.backlog };
        let mut dropped_bytes = 0;
        for _ in 0..self.drop_batch_packets.max(1) {
            let Some(victim) = source.pop() else { break };
            dropped_bytes += u64::from(victim.bytes());
            effects.drop(victim, DropReason::QueueFull);
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
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let flow = bucket(&arrival.header, self.seed, packet_count(self.flows.len()));
        self.flows[index(flow)].line.push(arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        self.rounds.join(flow);
        if self.is_too_full() {
            self.make_room(effects);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        while let Some(turn) = self.rounds.turn() {
            let flow = &mut self.flows[index(turn)];
            let mut source = FlowSource { line: &mut flow.line, total: &mut self.backlog };
            match flow.controller.dequeue(now, &self.settings, &mut source, effects) {
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
