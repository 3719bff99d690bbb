//! Hierarchical fair service curve: leaves are sure of their real-time curves, and share the rest.
//!
//! Source: I. Stoica, H. Zhang and T. S. E. Ng, "A hierarchical fair service curve algorithm for link-sharing, real-time and
//! priority services", SIGCOMM 1997, and Linux `sch_hfsc.c` of 6.12, with its units and rounding. As in the kernel, packets
//! of no class are dropped; a leaf's queue that holds packets back stalls the others.
//!
//! Cost per packet: a search in the ranks of each class above the leaf.

mod curve;
mod tree;

use super::classful::{Classifier, FlowGroups};
use super::discipline::{
    BuildChild, DequeueResult, PeekableChild, QueueActions, QueueDiscipline, QueuedPacket,
};
use crate::packet::derive_seed;
use crate::{Backlog, DropReason};
use curve::{instant_of, tick_of};
use fairwind_units::Instant;
use tree::Tree;

/// The discipline.
pub(super) struct Hfsc {
    tree: Tree,
    /// Queues by class; `None` for those with children.
    leaves: Vec<Option<PeekableChild>>,
    /// Leaves that compete.
    is_active: Vec<bool>,
    /// Leaves of which the next packet's length is known when it is due, for its deadline.
    has_deadlines: Vec<bool>,
    classifier: Classifier,
    default_class: Option<usize>,
    /// Of all leaves.
    backlog: Backlog,
}

impl Hfsc {
    pub(super) fn new(
        hfsc: &fairwind_qdisc::Hfsc,
        seed: u64,
        groups: &FlowGroups,
        build: &BuildChild<'_>,
    ) -> Self {
        let leaf = |(place, class): (u64, &fairwind_qdisc::HfscClass)| {
            let child = class.child.as_ref()?;
            Some(PeekableChild::new(build(child, derive_seed(seed, place))))
        };
        Self {
            tree: Tree::new(&hfsc.classes),
            leaves: (0..).zip(&hfsc.classes).map(leaf).collect(),
            is_active: vec![false; hfsc.classes.len()],
            has_deadlines: hfsc.classes.iter().map(|class| class.real_time.is_some()).collect(),
            classifier: Classifier::of_classes(hfsc.classes.iter().map(|c| &c.filters), groups),
            default_class: hfsc.default_class,
            backlog: Backlog::default(),
        }
    }

    /// Calls `deed` with the queue of the leaf at `place`, and updates the backlog.
    fn at_leaf<R>(&mut self, place: usize, deed: impl FnOnce(&mut PeekableChild) -> R) -> R {
        let leaf = self.leaves[place].as_mut().expect("only leaves have queues");
        let before = leaf.backlog();
        let result = deed(leaf);
        self.backlog = self.backlog.minus(before).plus(leaf.backlog());
        result
    }

    fn is_empty(&self, place: usize) -> bool {
        self.leaves[place].as_ref().is_none_or(|leaf| leaf.backlog().packets == 0)
    }

    /// The leaf has no more packets.
    fn retire(&mut self, place: usize) {
        if std::mem::replace(&mut self.is_active[place], false) {
            self.tree.deactivate(place);
        }
    }

    /// Bytes of the next packet of a leaf with deadlines; it retires where nothing is left.
    fn next_bytes(
        &mut self,
        now: Instant,
        place: usize,
        actions: &mut QueueActions,
    ) -> Option<u32> {
        match self.at_leaf(place, |leaf| leaf.peek(now, actions)) {
            DequeueResult::Packet(waiting) => Some(waiting.bytes()),
            // The kernel takes 0 for what is not known yet.
            DequeueResult::NotBefore(_) => Some(0),
            DequeueResult::Empty => {
                self.retire(place);
                None
            }
        }
    }
}

impl QueueDiscipline for Hfsc {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let place = self.classifier.class_of(&arrival.header).or(self.default_class);
        let place = place.ok_or(DropReason::QueueFull)?;
        let result = self.at_leaf(place, |leaf| leaf.enqueue(now, arrival, actions));
        if self.is_empty(place) {
            // To let the arrival in, the queue may have dropped all that it held.
            self.retire(place);
        }
        result?;
        if !self.is_active[place] && !self.is_empty(place) {
            self.is_active[place] = true;
            self.tree.activate(tick_of(now), place, arrival.bytes());
            if self.has_deadlines[place] {
                // The head is set aside, so that its deadline is that of this packet.
                self.next_bytes(now, place, actions);
            }
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        while self.backlog.packets > 0 {
            let Some(chosen) = self.tree.choose(tick_of(now)) else {
                let next = self.tree.next_change().map_or(Instant::MAX, instant_of);
                return DequeueResult::NotBefore(next);
            };
            let place = chosen.leaf;
            let waiting = match self.at_leaf(place, |leaf| leaf.peek(now, actions)) {
                DequeueResult::Packet(waiting) => waiting,
                DequeueResult::NotBefore(instant) => return DequeueResult::NotBefore(instant),
                DequeueResult::Empty => {
                    self.retire(place);
                    continue;
                }
            };
            self.at_leaf(place, |leaf| leaf.take(now, actions));
            let is_idle = self.is_empty(place);
            self.is_active[place] = !is_idle;
            self.tree.serve(chosen, waiting.bytes(), is_idle);
            if !is_idle
                && self.has_deadlines[place]
                && let Some(bytes) = self.next_bytes(now, place, actions)
            {
                self.tree.prepare(chosen, bytes);
            }
            return DequeueResult::Packet(waiting);
        }
        DequeueResult::Empty
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
