//! Hierarchy token bucket: every class is sure of its rate, and borrows what others leave up to its ceiling.
//!
//! Source: tc-htb(8) and M. Devera, "HTB Linux queuing discipline manual - user guide". As in the kernel, a class may
//! send while it is not in debt, however large the packet is; who lends pays, and so do all above. Among the leaves that
//! may send, those that need the nearest lender come first, then those with the lowest number of priority, then by
//! deficit round robin. Cost per packet: a look at every class on the ways from leaves with packets to the root.

use super::bucket::Bucket;
use super::held::Held;
use super::select::Classifier;
use super::{Dequeued, Effects, Fifo, Groups, QueueDiscipline, Waiting, discipline};
use crate::random::mixed;
use crate::{Backlog, DropReason};
use fairwind_qdisc::{HtbClass, Qdisc};
use fairwind_units::Instant;

/// Levels of a tree: leaves are on level 0, the classes directly below the discipline on the highest.
const LEVELS: usize = 8;
const PRIORITIES: usize = 8;

/// What a class may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    CanSend,
    MayBorrow,
    CannotSend,
}

/// What holds the packets of a leaf.
struct Leaf {
    child: Held,
    quantum_bytes: i64,
    /// Bytes that it may still send in its turn, on every level that it borrows from.
    deficits: [i64; LEVELS],
}

/// A class of the tree.
struct Class {
    parent: Option<usize>,
    level: usize,
    priority: usize,
    rate: Bucket,
    ceil: Bucket,
    leaf: Option<Leaf>,
}

impl Class {
    fn mode(&mut self, now: Instant) -> Mode {
        self.ceil.fill(now);
        self.rate.fill(now);
        if self.ceil.ready_at(0) > now {
            Mode::CannotSend
        } else if self.rate.ready_at(0) > now {
            Mode::MayBorrow
        } else {
            Mode::CanSend
        }
    }

    /// When it may do more than now.
    fn next_change(&self, now: Instant) -> Option<Instant> {
        let changes = [self.ceil.ready_at(0), self.rate.ready_at(0)].into_iter();
        changes.filter(|instant| *instant > now).min()
    }
}

/// Who lends to a leaf, as the order of service sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    level: usize,
    priority: usize,
}

/// The tree at work.
pub(super) struct Htb {
    classes: Vec<Class>,
    classifier: Classifier,
    default_class: Option<usize>,
    /// Packets that pass unshaped.
    direct: Fifo,
    /// The leaf whose turn it is, on every level and in every priority.
    turns: [[usize; PRIORITIES]; LEVELS],
}

impl Htb {
    pub(super) fn new(htb: &fairwind_qdisc::Htb, seed: u64, groups: &Groups) -> Self {
        let filters = htb
            .classes
            .iter()
            .enumerate()
            .flat_map(|(place, class)| class.filters.iter().map(move |filter| (filter, place)));
        let direct = Qdisc::Pfifo { limit_packets: htb.direct_packets };
        Self {
            classes: (0..htb.classes.len()).map(|place| class(htb, place, seed, groups)).collect(),
            classifier: Classifier::new(filters, groups),
            default_class: htb.default_class,
            direct: Fifo::new(&direct).expect("a pfifo is first in, first out"),
            turns: [[0; PRIORITIES]; LEVELS],
        }
    }

    /// The leaf that sends next, and who lends to it.
    fn next_leaf(
        &mut self,
        now: Instant,
        effects: &mut Effects,
    ) -> Result<(usize, Rank), Dequeued> {
        let mut best: Option<(Rank, usize, usize)> = None;
        let mut answer = Dequeued::Empty;
        for place in 0..self.classes.len() {
            let Some(leaf) = &mut self.classes[place].leaf else { continue };
            match leaf.child.peek(now, effects) {
                Dequeued::Packet(_) => {}
                Dequeued::Empty => continue,
                Dequeued::NotBefore(instant) => {
                    answer = answer.or_not_before(instant);
                    continue;
                }
            }
            match self.lender(place, now) {
                Ok(rank) => {
                    let turn = self.turns[rank.level][rank.priority];
                    // Leaves before the one whose turn it is come a round later.
                    let distance = if place >= turn {
                        place - turn
                    } else {
                        place + self.classes.len() - turn
                    };
                    let candidate = (rank, distance, place);
                    best = Some(best.map_or(candidate, |best| best.min(candidate)));
                }
                Err(change) => answer = answer.or_not_before(change),
            }
        }
        best.map(|(rank, _, place)| (place, rank)).ok_or(answer)
    }

    /// The level of the class that lends to `leaf`; where nobody does, when that may change.
    fn lender(&mut self, leaf: usize, now: Instant) -> Result<Rank, Instant> {
        let mut change = Instant::MAX;
        let mut place = leaf;
        let priority = self.classes[leaf].priority;
        loop {
            let class = &mut self.classes[place];
            let mode = class.mode(now);
            if mode == Mode::CanSend {
                return Ok(Rank { level: class.level, priority });
            }
            change = change.min(class.next_change(now).unwrap_or(Instant::MAX));
            match class.parent {
                Some(parent) if mode == Mode::MayBorrow => place = parent,
                _ => return Err(change),
            }
        }
    }

    /// Lets `leaf` send `bytes`: the lender pays, and everybody above.
    fn charge(&mut self, leaf: usize, level: usize, bytes: u32) {
        let mut next = Some(leaf);
        while let Some(place) = next {
            let class = &mut self.classes[place];
            if class.level >= level {
                class.rate.take(bytes);
            }
            class.ceil.take(bytes);
            next = class.parent;
        }
    }

    /// Notes that `leaf` has sent `bytes`; the turn goes on where its share of the round is used up.
    fn end_turn(&mut self, place: usize, rank: Rank, bytes: u32) {
        let Some(leaf) = &mut self.classes[place].leaf else { return };
        let deficit = &mut leaf.deficits[rank.level];
        *deficit -= i64::from(bytes);
        let is_over = *deficit < 0;
        if is_over {
            *deficit += leaf.quantum_bytes;
        }
        let turn = if is_over { (place + 1) % self.classes.len() } else { place };
        self.turns[rank.level][rank.priority] = turn;
    }
}

fn class(htb: &fairwind_qdisc::Htb, place: usize, seed: u64, groups: &Groups) -> Class {
    let HtbClass { parent, rate, ceil, burst_bytes, ceil_burst_bytes, priority, .. } =
        htb.classes[place];
    let leaf = htb.classes[place].child.as_ref().map(|child| Leaf {
        child: Held::new(discipline(child, mixed(seed, place as u64), groups)),
        quantum_bytes: htb.classes[place].quantum_bytes.max(1).into(),
        deficits: [htb.classes[place].quantum_bytes.into(); LEVELS],
    });
    let depth = std::iter::successors(parent, |above| htb.classes[*above].parent).count();
    Class {
        parent,
        level: if leaf.is_some() { 0 } else { (LEVELS - 1).saturating_sub(depth).max(1) },
        priority: usize::from(priority).min(PRIORITIES - 1),
        rate: Bucket::new(rate, burst_bytes, htb.granularity),
        ceil: Bucket::new(ceil, ceil_burst_bytes, htb.granularity),
        leaf,
    }
}

impl QueueDiscipline for Htb {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: Waiting,
        effects: &mut Effects,
    ) -> Result<(), DropReason> {
        let place = self.classifier.class_of(&arrival.header).or(self.default_class);
        let leaf = place.and_then(|place| self.classes.get_mut(place)?.leaf.as_mut());
        match leaf {
            Some(leaf) => leaf.child.enqueue(now, arrival, effects),
            None => self.direct.enqueue(now, arrival, effects),
        }
    }

    fn dequeue(&mut self, now: Instant, effects: &mut Effects) -> Dequeued {
        if self.direct.backlog().packets > 0 {
            return self.direct.dequeue(now, effects);
        }
        let (place, rank) = match self.next_leaf(now, effects) {
            Ok(chosen) => chosen,
            Err(answer) => return answer,
        };
        let leaf = self.classes[place].leaf.as_mut().expect("leaves send");
        let Dequeued::Packet(waiting) = leaf.child.peek(now, effects) else {
            unreachable!("a packet that was looked at stays");
        };
        leaf.child.take(now, effects);
        self.charge(place, rank.level, waiting.bytes());
        self.end_turn(place, rank, waiting.bytes());
        Dequeued::Packet(waiting)
    }

    fn backlog(&self) -> Backlog {
        let leaves = self.classes.iter().filter_map(|class| class.leaf.as_ref());
        leaves.map(|leaf| leaf.child.backlog()).fold(self.direct.backlog(), Backlog::plus)
    }
}
