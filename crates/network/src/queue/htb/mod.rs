//! Hierarchy token bucket: every class is sure of its rate, and borrows what others leave up to its ceiling.
//!
//! Source: tc-htb(8) and M. Devera, "HTB Linux queuing discipline manual - user guide". As in the kernel, a class may
//! send while it is not in debt, however large the packet is; who lends pays, and so do all above. Among the leaves that
//! may send, those that need the nearest lender come first, then those with the lowest number of priority, then by
//! deficit round robin. Unlike the kernel, which moves on among the children of one parent only, turns also go on
//! among the parents that borrow from the same lender.

mod row;
mod tree;

use super::bucket::Bucket;
use super::held::PeekableChild;
use super::select::Classifier;
use super::{
    DequeueResult, Fifo, FlowGroups, QueueActions, QueueDiscipline, QueuedPacket, discipline,
};
use crate::random::mixed;
use crate::{Backlog, DropReason};
use fairwind_qdisc::{HtbClass, Qdisc};
use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tree::{Class, LEVELS, PRIORITIES, Tree};

/// What holds the packets of a leaf.
struct Leaf {
    child: PeekableChild,
    priority: usize,
    quantum_bytes: i64,
    /// Bytes that it may still send in its turn, on every level that it borrows from.
    deficits: [i64; LEVELS],
}

/// The tree at work.
pub(super) struct Htb {
    tree: Tree,
    /// By class; none for those with children.
    leaves: Vec<Option<Leaf>>,
    /// Leaves whose children let nothing leave before an instant.
    resting: BinaryHeap<Reverse<(Instant, usize)>>,
    classifier: Classifier,
    default_class: Option<usize>,
    /// Packets that pass unshaped.
    direct: Fifo,
    /// Of all leaves.
    backlog: Backlog,
}

impl Htb {
    pub(super) fn new(htb: &fairwind_qdisc::Htb, seed: u64, groups: &FlowGroups) -> Self {
        let filters = htb
            .classes
            .iter()
            .enumerate()
            .flat_map(|(place, class)| class.filters.iter().map(move |filter| (filter, place)));
        let direct = Qdisc::Pfifo { limit_packets: htb.direct_packets };
        let places = || (0_u64..).zip(&htb.classes);
        Self {
            tree: Tree::new(htb.classes.iter().map(|described| class(htb, described)).collect()),
            leaves: places()
                .map(|(place, class)| leaf(class, mixed(seed, place), groups))
                .collect(),
            resting: BinaryHeap::new(),
            classifier: Classifier::new(filters, groups),
            default_class: htb.default_class,
            direct: Fifo::new(&direct).expect("a pfifo is first in, first out"),
            backlog: Backlog::default(),
        }
    }

    /// Lets `deed` be done to the queue of the leaf at `place`, with all backlogs kept.
    fn at_leaf<R>(&mut self, place: usize, deed: impl FnOnce(&mut PeekableChild) -> R) -> R {
        let leaf = self.leaves[place].as_mut().expect("only leaves have queues");
        let before = leaf.child.backlog();
        let result = deed(&mut leaf.child);
        self.backlog = self.backlog.minus(before).plus(leaf.child.backlog());
        result
    }

    /// Wakes leaves whose children may let something leave again.
    fn wake(&mut self, now: Instant) {
        while let Some(&Reverse((at, place))) = self.resting.peek() {
            if at > now {
                break;
            }
            self.resting.pop();
            self.activate(now, place);
        }
    }

    /// The leaf at `place` may have something to send.
    fn activate(&mut self, now: Instant, place: usize) {
        let Some(leaf) = &self.leaves[place] else { return };
        if !self.tree.is_active(place) && leaf.child.backlog().packets > 0 {
            self.tree.activate(now, place, leaf.priority);
        }
    }

    /// The packet that leaves now.
    fn next_packet(&mut self, now: Instant, effects: &mut QueueActions) -> Option<QueuedPacket> {
        while let Some(chosen) = self.tree.choose() {
            let place = chosen.leaf;
            let waiting = match self.at_leaf(place, |child| child.peek(now, effects)) {
                DequeueResult::Packet(waiting) => waiting,
                DequeueResult::Empty => {
                    self.tree.deactivate(place);
                    continue;
                }
                DequeueResult::NotBefore(instant) => {
                    self.tree.deactivate(place);
                    self.resting.push(Reverse((instant, place)));
                    continue;
                }
            };
            self.at_leaf(place, |child| child.take(now, effects));
            let leaf = self.leaves[place].as_mut().expect("leaves send");
            let is_over = leaf.ends_turn(chosen.level, waiting.bytes());
            let is_empty = leaf.child.backlog().packets == 0;
            self.tree.serve(chosen, is_over);
            self.tree.charge(now, chosen, waiting.bytes());
            if is_empty {
                self.tree.deactivate(place);
            }
            return Some(waiting);
        }
        None
    }

    /// When there may be a packet where there is none now.
    fn next_instant(&mut self) -> Option<Instant> {
        let rest = self.resting.peek().map(|Reverse((at, _))| *at);
        self.tree.next_change().into_iter().chain(rest).min()
    }
}

impl Leaf {
    /// Notes that it sends `bytes`; whether its share of the round is used up.
    fn ends_turn(&mut self, level: usize, bytes: u32) -> bool {
        let deficit = &mut self.deficits[level];
        *deficit -= i64::from(bytes);
        let is_over = *deficit < 0;
        if is_over {
            *deficit += self.quantum_bytes;
        }
        is_over
    }
}

fn class(htb: &fairwind_qdisc::Htb, described: &HtbClass) -> Class {
    let HtbClass { parent, rate, ceil, burst_bytes, ceil_burst_bytes, .. } = *described;
    let rate = Bucket::new(rate, burst_bytes, htb.granularity);
    let ceil = Bucket::new(ceil, ceil_burst_bytes, htb.granularity);
    if described.child.is_some() {
        return Class::leaf(parent, rate, ceil);
    }
    let depth = std::iter::successors(parent, |above| htb.classes[*above].parent).count();
    Class::inner(parent, depth, rate, ceil)
}

fn leaf(described: &HtbClass, seed: u64, groups: &FlowGroups) -> Option<Leaf> {
    let child = described.child.as_ref()?;
    let quantum_bytes = i64::from(described.quantum_bytes.max(1));
    Some(Leaf {
        child: PeekableChild::new(discipline(child, seed, groups)),
        priority: usize::from(described.priority).min(PRIORITIES - 1),
        quantum_bytes,
        deficits: [quantum_bytes; LEVELS],
    })
}

impl QueueDiscipline for Htb {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let place = self.classifier.class_of(&arrival.header).or(self.default_class);
        let leaf = place.filter(|place| self.leaves.get(*place).is_some_and(Option::is_some));
        let Some(place) = leaf else { return self.direct.enqueue(now, arrival, effects) };
        let result = self.at_leaf(place, |child| child.enqueue(now, arrival, effects));
        self.activate(now, place);
        result
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        if self.direct.backlog().packets > 0 {
            return self.direct.dequeue(now, effects);
        }
        self.wake(now);
        self.tree.advance(now);
        if let Some(waiting) = self.next_packet(now, effects) {
            return DequeueResult::Packet(waiting);
        }
        match self.next_instant() {
            Some(instant) if self.backlog.packets > 0 => DequeueResult::NotBefore(instant),
            _ => DequeueResult::Empty,
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog.plus(self.direct.backlog())
    }
}
