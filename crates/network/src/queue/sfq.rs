//! Stochastic fairness queueing: flows are hashed into buckets that take turns; the longest one gives up packets.
//!
//! Source: McKenney, "Stochastic fairness queueing", 1990; parameters as tc-sfq(8), without its RED.

use super::discipline::{
    DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket, index, packet_count,
};
use super::flow_queueing::RoundRobin;
use crate::packet::{bucket, derive_seed};
use crate::{Backlog, DropReason};
use fairwind_units::Instant;

/// Flows of one bucket.
#[derive(Debug, Default)]
struct Flow {
    line: PacketFifo,
    /// Number of its last change of length.
    changed: u64,
}

/// All flows.
#[derive(Debug)]
pub(super) struct Sfq {
    description: fairwind_qdisc::Sfq,
    flows: Vec<Flow>,
    rounds: RoundRobin,
    backlog: Backlog,
    seed: u64,
    /// Number of perturbations.
    perturbations: u64,
    /// Number of changes of length.
    changes: u64,
}

impl Sfq {
    pub(super) fn new(description: &fairwind_qdisc::Sfq, seed: u64) -> Self {
        let buckets = description.divisor.max(1);
        Self {
            flows: std::iter::repeat_with(Flow::default).take(index(buckets)).collect(),
            rounds: RoundRobin::new(buckets, description.quantum_bytes),
            description: description.clone(),
            backlog: Backlog::default(),
            seed,
            perturbations: 0,
            changes: 0,
        }
    }

    /// Rehashes all flows if due, packets in order of arrival.
    fn perturb(&mut self, now: Instant) {
        let due = now.as_nanos().checked_div(self.description.perturb.as_nanos()).unwrap_or(0);
        if due == self.perturbations {
            return;
        }
        self.perturbations = due;
        let buckets = packet_count(self.flows.len());
        self.rounds = RoundRobin::new(buckets, self.description.quantum_bytes);
        let flows = self.flows.iter_mut();
        let mut all: Vec<QueuedPacket> = flows.flat_map(|flow| flow.line.drain()).collect();
        all.sort_by_key(|waiting| waiting.insertion);
        for waiting in all {
            let place = self.place_of(&waiting);
            self.join(place, waiting);
        }
    }

    fn place_of(&self, waiting: &QueuedPacket) -> u32 {
        let seed = derive_seed(self.seed, self.perturbations);
        bucket(&waiting.header, seed, packet_count(self.flows.len()))
    }

    fn join(&mut self, place: u32, waiting: QueuedPacket) {
        self.rounds.join_last(place);
        self.flows[index(place)].line.push(waiting);
        self.note_change(place);
    }

    /// Notes a change of length.
    fn note_change(&mut self, place: u32) {
        self.changes += 1;
        let flow = &mut self.flows[index(place)];
        flow.changed = self.changes;
        if flow.line.is_empty() {
            self.rounds.retire(place);
        }
    }

    /// Drops a packet of the longest flow; among several, as in the kernel, the one that reached this length last, or,
    /// if all have one packet, the current one.
    fn make_room(&mut self, actions: &mut QueueActions) {
        let rank = |place: &u32| {
            let flow = &self.flows[index(*place)];
            (flow.line.len(), flow.changed)
        };
        let Some(longest) = self.rounds.flows().max_by_key(rank) else { return };
        let is_short = self.flows[index(longest)].line.len() == 1;
        let next = self.rounds.flows().next();
        self.drop_from(next.filter(|_| is_short).unwrap_or(longest), actions);
    }

    fn drop_from(&mut self, place: u32, actions: &mut QueueActions) {
        let line = &mut self.flows[index(place)].line;
        let victim = if self.description.head_drop { line.pop() } else { line.pop_newest() };
        if let Some(victim) = victim {
            self.backlog = self.backlog.without(victim.bytes());
            actions.drop(victim, DropReason::QueueFull);
        }
        self.note_change(place);
    }
}

impl QueueDiscipline for Sfq {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.perturb(now);
        let place = self.place_of(&arrival);
        let length = packet_count(self.flows[index(place)].line.len());
        if length == 0 && packet_count(self.rounds.len()) >= self.description.flows {
            return Err(DropReason::QueueFull);
        }
        let is_deep = length >= self.description.depth_packets;
        if is_deep && !self.description.head_drop {
            return Err(DropReason::QueueFull);
        }
        self.join(place, arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        if is_deep {
            // Only now, so that a flow of one packet keeps its turn.
            self.drop_from(place, actions);
        }
        if self.backlog.packets > self.description.limit_packets {
            self.make_room(actions);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, _: &mut QueueActions) -> DequeueResult {
        self.perturb(now);
        let Some(place) = self.rounds.turn() else { return DequeueResult::Empty };
        let Some(first) = self.flows[index(place)].line.pop() else { return DequeueResult::Empty };
        self.rounds.spend(place, first.bytes());
        self.note_change(place);
        self.backlog = self.backlog.without(first.bytes());
        DequeueResult::Packet(first)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
