//! The classes of an hfsc: which of them is served next, as Linux `sch_hfsc.c` decides it.
//!
//! Real-time: leaves with a real-time curve are *eligible* from an instant on and have a *deadline*; of the eligible ones
//! the nearest deadline is served. Link sharing: where none is eligible, from the root down the child with the smallest
//! *virtual time* is taken, among those whose upper limit lets them (*fit time*). Of equals the first that became so.

use super::curve::{Curve, Shape};
use fairwind_qdisc::HfscClass;
use std::collections::BTreeSet;

/// Classes in the order of a value, and of equals in that of their coming.
#[derive(Debug, Default)]
struct Ranking {
    entries: BTreeSet<(u64, u64, usize)>,
    comings: u64,
}

/// Where a class stands in a [`Ranking`].
type Rank = Option<(u64, u64)>;

impl Ranking {
    fn enter(&mut self, place: usize, rank: &mut Rank, value: u64) {
        self.leave(place, rank);
        self.comings += 1;
        self.entries.insert((value, self.comings, place));
        *rank = Some((value, self.comings));
    }

    fn leave(&mut self, place: usize, rank: &mut Rank) {
        if let Some((value, coming)) = rank.take() {
            self.entries.remove(&(value, coming, place));
        }
    }

    /// Values and classes, the smallest first.
    fn ascending(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.entries.iter().map(|(value, _, place)| (*value, *place))
    }

    fn smallest(&self) -> Option<u64> {
        self.entries.first().map(|(value, ..)| *value)
    }

    fn largest(&self) -> Option<u64> {
        self.entries.last().map(|(value, ..)| *value)
    }
}

/// The real-time part of a leaf.
#[derive(Debug)]
struct RealTime {
    /// Of its deadlines, and of when it may be served.
    deadlines: Curve,
    eligible: Curve,
    deadline: u64,
    /// Bytes that were served by this part.
    served_bytes: u64,
    rank: Rank,
}

/// The link-sharing part of a class.
#[derive(Debug)]
struct Sharing {
    virtual_curve: Curve,
    virtual_time: u64,
    /// What its virtual time was moved on in this period, for service that it was not fit for.
    adjustment: u64,
    limit: Option<Curve>,
    /// When its upper limit lets it be served, 0 without one.
    own_fit: u64,
    /// The later one of that and of the first of its children's.
    fit: u64,
    /// Its active children, or one where it is an active leaf.
    active: usize,
    period: u64,
    parent_period: u64,
    rank_by_time: Rank,
    rank_by_fit: Rank,
}

/// A class, or the root.
#[derive(Debug)]
struct Class {
    parent: usize,
    is_leaf: bool,
    real_time: Option<RealTime>,
    sharing: Option<Sharing>,
    total_bytes: u64,
    /// Children by virtual time, and by fit time.
    by_time: Ranking,
    by_fit: Ranking,
    /// Smallest virtual time that was served among the children in this period.
    least_time: u64,
    /// Largest virtual time that a child had when it became idle.
    idle_time: u64,
}

/// The tree.
#[derive(Debug)]
pub(super) struct Tree {
    /// The root last.
    classes: Vec<Class>,
    /// Active leaves by when they are eligible.
    eligible: Ranking,
}

/// The class that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) leaf: usize,
    /// Whether its real-time curve asks for it.
    is_real_time: bool,
}

impl Tree {
    pub(super) fn new(described: &[HfscClass]) -> Self {
        let root = described.len();
        let mut classes: Vec<Class> =
            described.iter().map(|class| Class::new(class, class.parent.unwrap_or(root))).collect();
        classes.push(Class::root(root));
        Self { classes, eligible: Ranking::default() }
    }

    fn root(&self) -> usize {
        self.classes.len() - 1
    }

    /// The idle leaf at `place` has a packet of `bytes`.
    pub(super) fn activate(&mut self, now: u64, place: usize, bytes: u32) {
        let class = &mut self.classes[place];
        if let Some(part) = &mut class.real_time {
            part.deadlines.lower_to(now, part.served_bytes);
            part.eligible = part.deadlines.eligible();
            part.set_deadline(bytes);
            let eligible = part.eligible.ticks_at(part.served_bytes);
            self.eligible.enter(place, &mut part.rank, eligible);
        }
        self.begin_sharing(now, place);
    }

    /// `init_vf`.
    fn begin_sharing(&mut self, now: u64, leaf: usize) {
        let mut becomes_active = true;
        let mut next = leaf;
        while next != self.root() {
            let place = next;
            next = self.classes[place].parent;
            let (class, parent) = self.class_and_parent(place);
            let total_bytes = class.total_bytes;
            let Some(part) = &mut class.sharing else { return };
            if becomes_active {
                becomes_active = part.active == 0;
                part.active += 1;
            }
            if becomes_active {
                part.begin(now, total_bytes, parent);
                parent.by_time.enter(place, &mut part.rank_by_time, part.virtual_time);
            }
            let fit = part.own_fit.max(class.by_fit.smallest().unwrap_or(0));
            if fit != part.fit || part.rank_by_fit.is_none() {
                part.fit = fit;
                parent.by_fit.enter(place, &mut part.rank_by_fit, fit);
            }
        }
    }

    /// A class and its parent, which are two.
    fn class_and_parent(&mut self, place: usize) -> (&mut Class, &mut Class) {
        let parent = self.classes[place].parent;
        let [class, parent] =
            self.classes.get_disjoint_mut([place, parent]).expect("nobody is its own parent");
        (class, parent)
    }

    /// The class that is served at `now`, where one may be.
    pub(super) fn choose(&mut self, now: u64) -> Option<Selection> {
        let due = self.eligible.ascending().take_while(|(eligible, _)| *eligible <= now);
        let urgent = due.map(|(_, place)| place).min_by_key(|place| {
            self.classes[*place].real_time.as_ref().map_or(u64::MAX, |part| part.deadline)
        });
        if let Some(leaf) = urgent {
            return Some(Selection { leaf, is_real_time: true });
        }
        let mut place = self.root();
        while !self.classes[place].is_leaf {
            let (time, next) = self.first_fit(place, now)?;
            let class = &mut self.classes[place];
            class.least_time = class.least_time.max(time);
            place = next;
        }
        Some(Selection { leaf: place, is_real_time: false })
    }

    /// The child with the smallest virtual time of those that fit, and that time.
    fn first_fit(&self, place: usize, now: u64) -> Option<(u64, usize)> {
        let fits =
            |child: usize| self.classes[child].sharing.as_ref().is_some_and(|part| part.fit <= now);
        self.classes[place].by_time.ascending().find(|(_, child)| fits(*child))
    }

    /// When a class may be served, where none may now.
    pub(super) fn next_change(&self) -> Option<u64> {
        let fit = self.classes[self.root()].by_fit.smallest();
        self.eligible.smallest().into_iter().chain(fit).min()
    }

    /// Accounts for `bytes` that the chosen leaf has sent; `is_idle` if it has no more.
    pub(super) fn serve(&mut self, chosen: Selection, bytes: u32, is_idle: bool) {
        self.charge_sharing(chosen.leaf, bytes, is_idle);
        if let Some(part) = &mut self.classes[chosen.leaf].real_time
            && chosen.is_real_time
        {
            part.served_bytes += u64::from(bytes);
        }
        if is_idle {
            self.end_real_time(chosen.leaf);
        }
    }

    /// The leaf's next packet has `bytes`.
    pub(super) fn prepare(&mut self, chosen: Selection, bytes: u32) {
        let Some(part) = &mut self.classes[chosen.leaf].real_time else { return };
        part.set_deadline(bytes);
        if chosen.is_real_time {
            let eligible = part.eligible.ticks_at(part.served_bytes);
            self.eligible.enter(chosen.leaf, &mut part.rank, eligible);
        }
    }

    /// The leaf has dropped all that it had.
    pub(super) fn deactivate(&mut self, place: usize) {
        self.charge_sharing(place, 0, true);
        self.end_real_time(place);
    }

    fn end_real_time(&mut self, place: usize) {
        if let Some(part) = &mut self.classes[place].real_time {
            self.eligible.leave(place, &mut part.rank);
        }
    }

    /// `update_vf`.
    fn charge_sharing(&mut self, leaf: usize, bytes: u32, is_idle: bool) {
        let mut becomes_idle = is_idle && self.classes[leaf].sharing.is_some();
        let mut next = leaf;
        while next != self.root() {
            let place = next;
            next = self.classes[place].parent;
            let (class, parent) = self.class_and_parent(place);
            class.total_bytes += u64::from(bytes);
            let total_bytes = class.total_bytes;
            let Some(part) = class.sharing.as_mut().filter(|part| part.active > 0) else {
                continue;
            };
            if becomes_idle {
                part.active -= 1;
                becomes_idle = part.active == 0;
            }
            part.advance(total_bytes, parent.least_time);
            if becomes_idle {
                parent.idle_time = parent.idle_time.max(part.virtual_time);
                parent.by_time.leave(place, &mut part.rank_by_time);
                parent.by_fit.leave(place, &mut part.rank_by_fit);
                continue;
            }
            parent.by_time.enter(place, &mut part.rank_by_time, part.virtual_time);
            if let Some(limit) = &part.limit {
                part.own_fit = limit.ticks_at(total_bytes);
            }
            let fit = part.own_fit.max(class.by_fit.smallest().unwrap_or(0));
            if fit != part.fit {
                part.fit = fit;
                parent.by_fit.enter(place, &mut part.rank_by_fit, fit);
            }
        }
    }
}

impl Class {
    fn new(described: &HfscClass, parent: usize) -> Self {
        let HfscClass { real_time, link_sharing, upper_limit, child, .. } = described;
        let limit = upper_limit.as_ref().map(|curve| Curve::new(Shape::new(curve), 0, 0));
        let is_leaf = child.is_some();
        let real_time = real_time.as_ref().filter(|_| is_leaf);
        Self {
            is_leaf,
            real_time: real_time.map(|curve| RealTime::new(Shape::new(curve))),
            sharing: link_sharing.as_ref().map(|curve| Sharing::new(Shape::new(curve), limit)),
            ..Self::root(parent)
        }
    }

    fn root(parent: usize) -> Self {
        Self {
            parent,
            is_leaf: false,
            real_time: None,
            sharing: None,
            total_bytes: 0,
            by_time: Ranking::default(),
            by_fit: Ranking::default(),
            least_time: 0,
            idle_time: 0,
        }
    }
}

impl RealTime {
    fn new(shape: Shape) -> Self {
        let deadlines = Curve::new(shape, 0, 0);
        let eligible = deadlines.eligible();
        Self { deadlines, eligible, deadline: 0, served_bytes: 0, rank: None }
    }

    /// The deadline of the next packet.
    fn set_deadline(&mut self, bytes: u32) {
        self.deadline = self.deadlines.ticks_at(self.served_bytes + u64::from(bytes));
    }
}

impl Sharing {
    fn new(shape: Shape, limit: Option<Curve>) -> Self {
        Self {
            virtual_curve: Curve::new(shape, 0, 0),
            virtual_time: 0,
            adjustment: 0,
            limit,
            own_fit: 0,
            fit: 0,
            active: 0,
            period: 0,
            parent_period: 0,
            rank_by_time: None,
            rank_by_fit: None,
        }
    }

    /// A backlog begins: the virtual time joins those of the other children.
    fn begin(&mut self, now: u64, total_bytes: u64, parent: &mut Class) {
        let (parent_active, parent_periods) =
            parent.sharing.as_ref().map_or((0, 0), |part| (part.active, part.period));
        if let Some(largest) = parent.by_time.largest() {
            let time = match parent.least_time {
                0 => largest,
                least => u64::midpoint(least, largest),
            };
            if parent_periods != self.parent_period || time > self.virtual_time {
                self.virtual_time = time;
            }
        } else {
            self.virtual_time = parent.idle_time;
            parent.least_time = 0;
        }
        self.virtual_curve.lower_to(self.virtual_time, total_bytes);
        self.adjustment = 0;
        self.period += 1;
        self.parent_period = parent_periods + u64::from(parent_active == 0);
        if let Some(limit) = &mut self.limit {
            limit.lower_to(now, total_bytes);
            self.own_fit = limit.ticks_at(total_bytes);
        }
    }

    /// Moves the virtual time on; who was passed over since it did not fit is not given that service later.
    fn advance(&mut self, total_bytes: u64, least_time: u64) {
        self.virtual_time =
            self.virtual_curve.ticks_at(total_bytes).saturating_add(self.adjustment);
        if self.virtual_time < least_time {
            self.adjustment = self.adjustment.saturating_add(least_time - self.virtual_time);
            self.virtual_time = least_time;
        }
    }
}
