//! Fair queueing with PIE in every flow.
//!
//! Source: tc-fq_pie(8); PIE as in RFC 8033, turns as in RFC 8290. An arrival is judged by the queue of its own flow.

use super::hash::bucket;
use super::line::Line;
use super::pie::{PieController, PieSettings};
use super::rounds::{RoundRobin, index};
use super::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket, packet_count};
use crate::random::mixed;
use crate::{Backlog, DropReason};
use fairwind_units::Instant;
use rand_pcg::Pcg32;

/// One of the flows.
#[derive(Debug)]
struct Flow {
    line: Line,
    controller: PieController,
}

/// All flows.
#[derive(Debug)]
pub(super) struct FqPie {
    limit_packets: u32,
    memory_limit_bytes: u64,
    settings: PieSettings,
    flows: Vec<Flow>,
    rounds: RoundRobin,
    backlog: Backlog,
    generator: Pcg32,
    seed: u64,
}

impl FqPie {
    pub(super) fn new(description: &fairwind_qdisc::FqPie, seed: u64) -> Self {
        let settings = PieSettings::of_flow(description);
        let flows = description.flows.max(1);
        let flow = || Flow { line: Line::default(), controller: PieController::new(&settings) };
        Self {
            limit_packets: description.limit_packets,
            memory_limit_bytes: description.memory_limit_bytes,
            settings,
            flows: std::iter::repeat_with(flow).take(index(flows)).collect(),
            rounds: RoundRobin::new(flows, description.quantum_bytes),
            backlog: Backlog::default(),
            generator: Pcg32::new(mixed(seed, 0), 0),
            seed: mixed(seed, 1),
        }
    }
}

impl QueueDiscipline for FqPie {
    fn enqueue(
        &mut self,
        now: Instant,
        mut arrival: QueuedPacket,
        effects: &mut QueueActions,
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
            && !(flow.controller.may_mark(&self.settings) && effects.mark(&mut arrival))
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
