//! What every class of the tree may do, and who is served for it.
//!
//! A class that may send stands in the row of its level and priority; one that may borrow stands in a row of its parent,
//! which so has something to send itself. Classes are moved only when what they may do changes: by what they have sent,
//! or at an instant that is known beforehand. Cost per packet: one move or two for each class above the leaf.

use super::super::bucket::Bucket;
use super::row::Row;
use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Levels of a tree: leaves are on level 0, the classes directly below the discipline on the highest.
pub(super) const LEVELS: usize = 8;
pub(super) const PRIORITIES: usize = 8;

/// What a class may do.
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
    rate: Bucket,
    ceil: Bucket,
    mode: Mode,
    /// When its mode changes next; [`Instant::MAX`] where nobody waits for that.
    due: Instant,
    /// Of a leaf with packets, its priority.
    active: Option<usize>,
    /// Children that would borrow, by priority; none of a leaf.
    feeds: Vec<Row>,
}

impl Class {
    pub(super) fn leaf(parent: Option<usize>, rate: Bucket, ceil: Bucket) -> Self {
        let (mode, due) = (Mode::CanSend, Instant::MAX);
        Self { parent, level: 0, rate, ceil, mode, due, active: None, feeds: Vec::new() }
    }

    /// A class with children, so many levels below the discipline.
    pub(super) fn inner(parent: Option<usize>, depth: usize, rate: Bucket, ceil: Bucket) -> Self {
        let level = (LEVELS - 1).saturating_sub(depth).max(1);
        Self { level, feeds: vec![Row::default(); PRIORITIES], ..Self::leaf(parent, rate, ceil) }
    }

    fn fill(&mut self, now: Instant) {
        self.ceil.fill(now);
        self.rate.fill(now);
    }

    /// What it may do, its buckets filled; a class may send while it is not in debt, however large the packet is.
    fn mode(&self) -> Mode {
        match (self.ceil.is_in_debt(), self.rate.is_in_debt()) {
            (true, _) => Mode::CannotSend,
            (false, true) => Mode::MayBorrow,
            (false, false) => Mode::CanSend,
        }
    }

    /// When it may do more, its buckets filled.
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

/// Who is served, and who lends to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen {
    pub(super) leaf: usize,
    pub(super) level: usize,
    priority: usize,
}

/// The tree.
#[derive(Debug)]
pub(super) struct Tree {
    classes: Vec<Class>,
    /// Classes that may send, by level and priority.
    rows: [[Row; PRIORITIES]; LEVELS],
    /// Changes to come; those that are not their class's `due` are out of date.
    changes: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Tree {
    pub(super) fn new(classes: Vec<Class>) -> Self {
        Self { classes, rows: Default::default(), changes: BinaryHeap::new() }
    }

    /// `leaf` has packets of `priority` from now on.
    pub(super) fn activate(&mut self, now: Instant, leaf: usize, priority: usize) {
        self.update(now, leaf);
        self.classes[leaf].active = Some(priority);
        self.link(now, leaf, priority);
        self.await_change(leaf);
    }

    /// `leaf` has none any more.
    pub(super) fn deactivate(&mut self, leaf: usize) {
        if let Some(priority) = self.classes[leaf].active.take() {
            self.unlink(leaf, priority);
        }
    }

    pub(super) fn is_active(&self, leaf: usize) -> bool {
        self.classes[leaf].active.is_some()
    }

    /// Makes the changes that are due by `now`.
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

    /// The next instant at which somebody may do more; none where nobody waits for that.
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

    /// The leaf that is served next: of those that need the nearest lender, with the lowest number of priority.
    pub(super) fn choose(&self) -> Option<Chosen> {
        for (level, rows) in self.rows.iter().enumerate() {
            for (priority, row) in rows.iter().enumerate() {
                let Some(lender) = row.next() else { continue };
                let mut leaf = lender;
                while let Some(feed) = self.classes[leaf].feeds.get(priority) {
                    leaf = feed.next().expect("who has something to send has somebody below");
                }
                return Some(Chosen { leaf, level, priority });
            }
        }
        None
    }

    /// The turn of the chosen goes on, or is over, in all rows that it was chosen from.
    pub(super) fn serve(&mut self, chosen: Chosen, is_over: bool) {
        let Chosen { leaf, level, priority } = chosen;
        let mut place = leaf;
        while self.classes[place].level < level {
            let Some(parent) = self.classes[place].parent else { break };
            self.classes[parent].feeds[priority].serve(place, is_over);
            place = parent;
        }
        self.rows[level][priority].serve(place, is_over);
    }

    /// The chosen sends `bytes`: the lender pays, and everybody above.
    pub(super) fn charge(&mut self, now: Instant, chosen: Chosen, bytes: u32) {
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

    /// Puts a class where it belongs by what it may do now.
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
