//! Hierarchy token bucket: each class is guaranteed its rate and borrows unused rate up to its ceiling.
//!
//! Source: tc-htb(8) and M. Devera, "HTB Linux queuing discipline manual - user guide". As in the kernel, a class may send
//! while its bucket is not in debt, however large the packet is; the lender and all its ancestors pay. Among the leaves
//! that may send, those with the nearest lender come first, then those with the lowest priority number, then deficit round
//! robin decides. The kernel moves on only among the children of one parent; here turns also go on among the parents that
//! borrow from the same lender.
//!
//! A class that may send stands in the row of its level and priority; one that may borrow stands in a row of its parent,
//! which then has something to send itself. A class moves only when its mode changes: when it sends, or at an instant that
//! is known beforehand. Cost per packet: one or two moves for each class above the leaf.

use super::classful::{Classifier, FlowGroups};
use super::discipline::{
    BuildChild, DequeueResult, PeekableChild, QueueActions, QueueDiscipline, QueuedPacket,
};
use super::fifo::Fifo;
use super::tbf::TokenBucket;
use crate::packet::derive_seed;
use crate::{Backlog, DropReason};
use fairwind_qdisc::{HtbClass, Qdisc};
use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Classes in the order of their numbers, with a round-robin pointer.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassRow {
    members: Vec<usize>,
    turn: usize,
}

impl ClassRow {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn insert(&mut self, place: usize) {
        if let Err(at) = self.members.binary_search(&place) {
            self.members.insert(at, place);
        }
    }

    pub(super) fn remove(&mut self, place: usize) {
        if let Ok(at) = self.members.binary_search(&place) {
            self.members.remove(at);
        }
    }

    /// The next class to serve: the first from the pointer on, or else the first of all.
    pub(super) fn next(&self) -> Option<usize> {
        let at = self.members.partition_point(|place| *place < self.turn);
        self.members.get(at).or(self.members.first()).copied()
    }

    /// Keeps the turn of `place`, or ends it.
    pub(super) fn serve(&mut self, place: usize, is_over: bool) {
        self.turn = place + usize::from(is_over);
    }
}

/// Levels of a tree: leaves are on level 0, the classes directly below the discipline on the highest.
pub(super) const LEVELS: usize = 8;
pub(super) const PRIORITIES: usize = 8;

/// Mode of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    CanSend,
    MayBorrow,
    CannotSend,
}

/// A class of the tree.
#[derive(Debug)]
pub(super) struct Class {
    parent: Option<usize>,
    level: usize,
    rate: TokenBucket,
    ceil: TokenBucket,
    mode: Mode,
    /// When its mode changes next; [`Instant::MAX`] if no change is scheduled.
    due: Instant,
    /// Priority of a leaf with packets.
    active: Option<usize>,
    /// Children that borrow, by priority; empty for a leaf.
    feeds: Vec<ClassRow>,
}

impl Class {
    pub(super) fn leaf(parent: Option<usize>, rate: TokenBucket, ceil: TokenBucket) -> Self {
        let (mode, due) = (Mode::CanSend, Instant::MAX);
        Self { parent, level: 0, rate, ceil, mode, due, active: None, feeds: Vec::new() }
    }

    /// A class with children, with its levels below the discipline.
    pub(super) fn inner(
        parent: Option<usize>,
        depth: usize,
        rate: TokenBucket,
        ceil: TokenBucket,
    ) -> Self {
        let level = (LEVELS - 1).saturating_sub(depth).max(1);
        Self {
            level,
            feeds: vec![ClassRow::default(); PRIORITIES],
            ..Self::leaf(parent, rate, ceil)
        }
    }

    fn fill(&mut self, now: Instant) {
        self.ceil.fill(now);
        self.rate.fill(now);
    }

    /// Its mode after its buckets were filled. A class may send while it is not in debt, however large the packet is.
    fn mode(&self) -> Mode {
        match (self.ceil.is_in_debt(), self.rate.is_in_debt()) {
            (true, _) => Mode::CannotSend,
            (false, true) => Mode::MayBorrow,
            (false, false) => Mode::CanSend,
        }
    }

    /// When its mode improves, after its buckets were filled.
    fn next_change(&self) -> Instant {
        match self.mode {
            Mode::CanSend => Instant::MAX,
            Mode::MayBorrow => self.rate.ready_at(0),
            Mode::CannotSend => self.ceil.ready_at(0),
        }
    }

    fn has_something(&self, priority: usize) -> bool {
        self.active == Some(priority)
            || self.feeds.get(priority).is_some_and(|feed| !feed.is_empty())
    }
}

/// The leaf to serve, and the level of its lender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selection {
    pub(super) leaf: usize,
    pub(super) level: usize,
    priority: usize,
}

/// The class tree.
#[derive(Debug)]
pub(super) struct Tree {
    classes: Vec<Class>,
    /// Classes that may send, by level and priority.
    rows: [[ClassRow; PRIORITIES]; LEVELS],
    /// Scheduled mode changes; one that differs from its class's `due` is out of date.
    changes: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Tree {
    pub(super) fn new(classes: Vec<Class>) -> Self {
        Self { classes, rows: Default::default(), changes: BinaryHeap::new() }
    }

    /// `leaf` becomes active with packets of `priority`.
    pub(super) fn activate(&mut self, now: Instant, leaf: usize, priority: usize) {
        self.update(now, leaf);
        self.classes[leaf].active = Some(priority);
        self.link(now, leaf, priority);
        self.await_change(leaf);
    }

    /// `leaf` becomes idle.
    pub(super) fn deactivate(&mut self, leaf: usize) {
        if let Some(priority) = self.classes[leaf].active.take() {
            self.unlink(leaf, priority);
        }
    }

    pub(super) fn is_active(&self, leaf: usize) -> bool {
        self.classes[leaf].active.is_some()
    }

    /// Performs mode changes due by `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        while let Some(&Reverse((at, place))) = self.changes.peek() {
            if at > now {
                break;
            }
            self.changes.pop();
            if self.classes[place].due == at {
                self.classes[place].due = Instant::MAX;
                self.update(now, place);
            }
        }
    }

    /// The next mode change of a class with something to send.
    pub(super) fn next_change(&mut self) -> Option<Instant> {
        while let Some(&Reverse((at, place))) = self.changes.peek() {
            let class = &mut self.classes[place];
            if class.due == at && (0..PRIORITIES).any(|priority| class.has_something(priority)) {
                return Some(at);
            }
            if class.due == at {
                class.due = Instant::MAX;
            }
            self.changes.pop();
        }
        None
    }

    /// The leaf to serve next: nearest lender first, then lowest priority number.
    pub(super) fn choose(&self) -> Option<Selection> {
        for (level, rows) in self.rows.iter().enumerate() {
            for (priority, row) in rows.iter().enumerate() {
                let Some(lender) = row.next() else { continue };
                let mut leaf = lender;
                while let Some(feed) = self.classes[leaf].feeds.get(priority) {
                    leaf = feed.next().expect("who has something to send has somebody below");
                }
                return Some(Selection { leaf, level, priority });
            }
        }
        None
    }

    /// Keeps or ends the turn in all rows that the leaf was chosen from.
    pub(super) fn serve(&mut self, chosen: Selection, is_over: bool) {
        let Selection { leaf, level, priority } = chosen;
        let mut place = leaf;
        while self.classes[place].level < level {
            let Some(parent) = self.classes[place].parent else { break };
            self.classes[parent].feeds[priority].serve(place, is_over);
            place = parent;
        }
        self.rows[level][priority].serve(place, is_over);
    }

    /// Charges `bytes` to the lender and all its ancestors, and to the ceilings below.
    pub(super) fn charge(&mut self, now: Instant, chosen: Selection, bytes: u32) {
        let mut next = Some(chosen.leaf);
        while let Some(place) = next {
            let class = &mut self.classes[place];
            class.fill(now);
            if class.level >= chosen.level {
                class.rate.take(bytes);
            }
            class.ceil.take(bytes);
            next = class.parent;
            self.update(now, place);
        }
    }

    /// Updates the mode of a class, and its rows if the mode changes.
    fn update(&mut self, now: Instant, place: usize) {
        let class = &mut self.classes[place];
        class.fill(now);
        let mode = class.mode();
        if mode != class.mode {
            let active: [bool; PRIORITIES] =
                std::array::from_fn(|priority| class.has_something(priority));
            let priorities = || (0..PRIORITIES).filter(|priority| active[*priority]);
            priorities().for_each(|priority| self.unlink(place, priority));
            self.classes[place].mode = mode;
            priorities().for_each(|priority| self.link(now, place, priority));
        }
        self.await_change(place);
    }

    fn await_change(&mut self, place: usize) {
        let class = &mut self.classes[place];
        let due = class.next_change();
        if due != class.due {
            class.due = due;
            if due < Instant::MAX {
                self.changes.push(Reverse((due, place)));
            }
        }
    }

    fn link(&mut self, now: Instant, place: usize, priority: usize) {
        let Class { mode, level, parent, .. } = self.classes[place];
        match (mode, parent) {
            (Mode::CanSend, _) => self.rows[level][priority].insert(place),
            (Mode::MayBorrow, Some(parent)) => {
                let is_first = self.classes[parent].feeds[priority].is_empty();
                if is_first {
                    self.update(now, parent);
                }
                self.classes[parent].feeds[priority].insert(place);
                if is_first {
                    self.link(now, parent, priority);
                    self.await_change(parent);
                }
            }
            _ => {}
        }
    }

    fn unlink(&mut self, place: usize, priority: usize) {
        let Class { mode, level, parent, .. } = self.classes[place];
        match (mode, parent) {
            (Mode::CanSend, _) => self.rows[level][priority].remove(place),
            (Mode::MayBorrow, Some(parent)) => {
                let feed = &mut self.classes[parent].feeds[priority];
                feed.remove(place);
                if feed.is_empty() {
                    self.unlink(parent, priority);
                }
            }
            _ => {}
        }
    }
}

/// A leaf and its queue.
struct Leaf {
    child: PeekableChild,
    priority: usize,
    quantum_bytes: i64,
    /// Deficit on every level that it borrows from, in bytes.
    deficits: [i64; LEVELS],
}

/// The discipline.
pub(super) struct Htb {
    tree: Tree,
    /// By class; `None` for those with children.
    leaves: Vec<Option<Leaf>>,
    /// Leaves with queues that release nothing before an instant.
    resting: BinaryHeap<Reverse<(Instant, usize)>>,
    classifier: Classifier,
    default_class: Option<usize>,
    /// Unclassified packets, which pass unshaped.
    direct: Fifo,
    /// Of all leaves.
    backlog: Backlog,
}

impl Htb {
    pub(super) fn new(
        htb: &fairwind_qdisc::Htb,
        seed: u64,
        groups: &FlowGroups,
        build: &BuildChild<'_>,
    ) -> Self {
        let direct = Qdisc::Pfifo { limit_packets: htb.direct_packets };
        let places = || (0_u64..).zip(&htb.classes);
        Self {
            tree: Tree::new(htb.classes.iter().map(|described| class(htb, described)).collect()),
            leaves: places()
                .map(|(place, class)| leaf(class, derive_seed(seed, place), build))
                .collect(),
            resting: BinaryHeap::new(),
            classifier: Classifier::of_classes(htb.classes.iter().map(|c| &c.filters), groups),
            default_class: htb.default_class,
            direct: Fifo::new(&direct).expect("a pfifo is first in, first out"),
            backlog: Backlog::default(),
        }
    }

    /// Calls `deed` with the queue of the leaf at `place`, and updates the backlog.
    fn at_leaf<R>(&mut self, place: usize, deed: impl FnOnce(&mut PeekableChild) -> R) -> R {
        let leaf = self.leaves[place].as_mut().expect("only leaves have queues");
        let before = leaf.child.backlog();
        let result = deed(&mut leaf.child);
        self.backlog = self.backlog.minus(before).plus(leaf.child.backlog());
        result
    }

    /// Activates leaves with queues that may release packets again.
    fn wake(&mut self, now: Instant) {
        while let Some(&Reverse((at, place))) = self.resting.peek() {
            if at > now {
                break;
            }
            self.resting.pop();
            self.activate(now, place);
        }
    }

    /// Activates the leaf at `place` if it has packets.
    fn activate(&mut self, now: Instant, place: usize) {
        let Some(leaf) = &self.leaves[place] else { return };
        if !self.tree.is_active(place) && leaf.child.backlog().packets > 0 {
            self.tree.activate(now, place, leaf.priority);
        }
    }

    /// The packet that leaves now, if any may.
    fn next_packet(&mut self, now: Instant, actions: &mut QueueActions) -> Option<QueuedPacket> {
        while let Some(chosen) = self.tree.choose() {
            let place = chosen.leaf;
            let waiting = match self.at_leaf(place, |child| child.peek(now, actions)) {
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
            self.at_leaf(place, |child| child.take(now, actions));
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

    /// When a packet may leave next.
    fn next_instant(&mut self) -> Option<Instant> {
        let rest = self.resting.peek().map(|Reverse((at, _))| *at);
        self.tree.next_change().into_iter().chain(rest).min()
    }
}

impl Leaf {
    /// Charges `bytes`; returns whether its turn ends.
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
    let rate = TokenBucket::new(rate, burst_bytes, htb.granularity);
    let ceil = TokenBucket::new(ceil, ceil_burst_bytes, htb.granularity);
    if described.child.is_some() {
        return Class::leaf(parent, rate, ceil);
    }
    let depth = std::iter::successors(parent, |above| htb.classes[*above].parent).count();
    Class::inner(parent, depth, rate, ceil)
}

fn leaf(described: &HtbClass, seed: u64, build: &BuildChild<'_>) -> Option<Leaf> {
    let child = described.child.as_ref()?;
    let quantum_bytes = i64::from(described.quantum_bytes.max(1));
    Some(Leaf {
        child: PeekableChild::new(build(child, seed)),
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
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let place = self.classifier.class_of(&arrival.header).or(self.default_class);
        let leaf = place.filter(|place| self.leaves.get(*place).is_some_and(Option::is_some));
        let Some(place) = leaf else { return self.direct.enqueue(now, arrival, actions) };
        let result = self.at_leaf(place, |child| child.enqueue(now, arrival, actions));
        self.activate(now, place);
        result
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        if self.direct.backlog().packets > 0 {
            return self.direct.dequeue(now, actions);
        }
        self.wake(now);
        self.tree.advance(now);
        if let Some(waiting) = self.next_packet(now, actions) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_past_those_who_leave() {
        let mut row = ClassRow::default();
        for place in [7, 2, 5] {
            row.insert(place);
        }
        let mut order = Vec::new();
        for _ in 0..4 {
            let place = row.next().expect("somebody");
            order.push(place);
            row.serve(place, true);
        }
        assert_eq!(order, [2, 5, 7, 2]);
        row.serve(5, false);
        row.insert(4);
        assert_eq!(row.next(), Some(5));
        row.remove(5);
        assert_eq!(row.next(), Some(7));
        row.remove(7);
        row.remove(7);
        assert_eq!(row.next(), Some(2));
    }
}
