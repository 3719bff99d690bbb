//! Stochastic fairness queueing: flows are hashed into lines that are served in turn; the longest gives up packets.
//!
//! Source: McKenney, "Stochastic fairness queueing", 1990; parameters as tc-sfq(8), without its RED.

use super::hash::bucket;
use super::rounds::index;
use super::{Dequeued, Effects, QueueDiscipline, Waiting, packet_count};
use crate::random::mixed;
use crate::{Backlog, DropReason};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// One of the lines.
#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    /// Bytes that it may still send in its turn.
    allotment: i64,
    /// When it last became longer or shorter, in changes of all lines.
    changed: u64,
}

/// All lines.
#[derive(Debug)]
pub(super) struct Sfq {
    description: fairwind_qdisc::Sfq,
    lines: Vec<Line>,
    /// Lines with something to send, the one whose turn it is first.
    active: VecDeque<u32>,
    backlog: Backlog,
    seed: u64,
    /// How often flows were hashed anew.
    perturbations: u64,
    /// How often a line became longer or shorter.
    changes: u64,
}

impl Sfq {
    pub(super) fn new(description: &fairwind_qdisc::Sfq, seed: u64) -> Self {
        let lines = std::iter::repeat_with(Line::default);
        Self {
            lines: lines.take(index(description.divisor.max(1))).collect(),
            description: description.clone(),
            active: VecDeque::new(),
            backlog: Backlog::default(),
            seed,
            perturbations: 0,
            changes: 0,
        }
    }

    /// Hashes all flows anew where it is time, packets in the order of their arrival.
    fn perturb(&mut self, now: Instant) {
        let due = now.as_nanos().checked_div(self.description.perturb.as_nanos()).unwrap_or(0);
        if due == self.perturbations {
            return;
        }
        self.perturbations = due;
        self.active.clear();
        let lines = self.lines.iter_mut();
        let mut all: Vec<Waiting> = lines.flat_map(|line| line.waiting.drain(..)).collect();
        all.sort_by_key(|waiting| waiting.insertion);
        for waiting in all {
            let place = self.place_of(&waiting);
            self.join(place, waiting);
        }
    }

    fn place_of(&self, waiting: &Waiting) -> u32 {
        bucket(
            &waiting.header,
            mixed(self.seed, self.perturbations),
            self.description.divisor.max(1),
        )
    }

    fn join(&mut self, place: u32, waiting: Waiting) {
        let line = &mut self.lines[index(place)];
        if line.waiting.is_empty() {
            line.allotment = i64::from(self.description.quantum_bytes);
            self.active.push_back(place);
        }
        line.waiting.push_back(waiting);
        self.note_change(place);
    }

    fn note_change(&mut self, place: u32) {
        self.changes += 1;
        self.lines[index(place)].changed = self.changes;
    }

    /// The longest line gives up a packet; of several, as in the kernel, the one that became so long or so short last,
    /// or, where none has two, the one whose turn it is.
    fn make_room(&mut self, effects: &mut Effects) {
        let rank = |place: &u32| {
            let line = &self.lines[index(*place)];
            (line.waiting.len(), line.changed)
        };
        let Some(longest) = self.active.iter().copied().max_by_key(rank) else { return };
        let is_short = self.lines[index(longest)].waiting.len() == 1;
        let next = self.active.front().copied();
        self.drop_from(next.filter(|_| is_short).unwrap_or(longest), effects);
    }

    fn drop_from(&mut self, place: u32, effects: &mut Effects) {
        let line = &mut self.lines[index(place)];
        let victim = if self.description.head_drop {
            line.waiting.pop_front()
        } else {
            line.waiting.pop_back()
        };
        let is_empty = line.waiting.is_empty();
        if let Some(victim) = victim {
            self.backlog = self.backlog.without(victim.bytes());
            effects.drop(victim, DropReason::QueueFull);
        }
        self.note_change(place);
        if is_empty {
            self.active.retain(|active| *active != place);
        }
    }
}

impl QueueDiscipline for Sfq {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: Waiting,
        effects: &mut Effects,
    ) -> Result<(), DropReason> {
        self.perturb(now);
        let place = self.place_of(&arrival);
        let length = packet_count(self.lines[index(place)].waiting.len());
        if length == 0 && packet_count(self.active.len()) >= self.description.flows {
            return Err(DropReason::QueueFull);
        }
        let is_deep = length >= self.description.depth_packets;
        if is_deep && !self.description.head_drop {
            return Err(DropReason::QueueFull);
        }
        self.join(place, arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        if is_deep {
            // Only now, so that a line of one packet keeps its turn.
            self.drop_from(place, effects);
        }
        if self.backlog.packets > self.description.limit_packets {
            self.make_room(effects);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, _: &mut Effects) -> Dequeued {
        self.perturb(now);
        while let Some(&place) = self.active.front() {
            let line = &mut self.lines[index(place)];
            if line.allotment <= 0 {
                line.allotment += i64::from(self.description.quantum_bytes.max(1));
                self.active.rotate_left(1);
                continue;
            }
            let Some(first) = line.waiting.pop_front() else {
                self.active.pop_front();
                continue;
            };
            line.allotment -= i64::from(first.bytes());
            if line.waiting.is_empty() {
                self.active.pop_front();
            }
            self.note_change(place);
            self.backlog = self.backlog.without(first.bytes());
            return Dequeued::Packet(first);
        }
        Dequeued::Empty
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
