//! Deficit round robin over classes.
//!
//! Source: Shreedhar and Varghese, "Efficient fair queuing using deficit round-robin", 1996; tc-drr(8). A packet that
//! no class takes is dropped, as the kernel does.

use super::held::PeekableChild;
use super::select::Classifier;
use super::{DequeueResult, FlowGroups, QueueActions, QueueDiscipline, QueuedPacket, discipline};
use crate::random::mixed;
use crate::{Backlog, DropReason};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// A class.
struct Class {
    child: PeekableChild,
    quantum_bytes: u64,
    deficit_bytes: u64,
    is_active: bool,
}

/// Classes in turn.
pub(super) struct Drr {
    classes: Vec<Class>,
    /// Classes with something to send, the one whose turn it is first.
    active: VecDeque<usize>,
    classifier: Classifier,
    /// The class of packets that no filter takes.
    others: Option<usize>,
    /// Of all classes.
    backlog: Backlog,
}

impl Drr {
    pub(super) fn new(drr: &fairwind_qdisc::Drr, seed: u64, groups: &FlowGroups) -> Self {
        let class = |(number, class): (u64, &fairwind_qdisc::DrrClass)| Class {
            child: PeekableChild::new(discipline(&class.child, mixed(seed, number), groups)),
            quantum_bytes: class.quantum_bytes.max(1).into(),
            deficit_bytes: 0,
            is_active: false,
        };
        let filters = drr.classes.iter().enumerate();
        let filters = filters
            .flat_map(|(place, class)| class.filters.iter().map(move |filter| (filter, place)));
        Self {
            classes: (0..).zip(&drr.classes).map(class).collect(),
            active: VecDeque::new(),
            classifier: Classifier::new(filters, groups),
            others: drr.classes.iter().position(|class| class.filters.is_empty()),
            backlog: Backlog::default(),
        }
    }

    /// The class that `place` is goes to the end of the row, with a turn's bytes.
    fn end_turn(&mut self, place: usize) {
        self.active.pop_front();
        self.active.push_back(place);
        let class = &mut self.classes[place];
        class.deficit_bytes += class.quantum_bytes;
    }

    fn retire(&mut self, place: usize) {
        self.active.pop_front();
        self.classes[place].is_active = false;
    }
}

impl QueueDiscipline for Drr {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let place = self.classifier.class_of(&arrival.header).or(self.others);
        let place = place.ok_or(DropReason::QueueFull)?;
        let class = &mut self.classes[place];
        let before = class.child.backlog();
        let result = class.child.enqueue(now, arrival, effects);
        self.backlog = self.backlog.minus(before).plus(class.child.backlog());
        result?;
        if !class.is_active {
            class.is_active = true;
            class.deficit_bytes = class.quantum_bytes;
            self.active.push_back(place);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        let mut answer = DequeueResult::Empty;
        // Classes that shape are passed over, each once.
        let mut passed_over = 0;
        while passed_over < self.active.len() {
            let place = self.active[0];
            let class = &mut self.classes[place];
            let before = class.child.backlog();
            let next = class.child.peek(now, effects);
            self.backlog = self.backlog.minus(before).plus(class.child.backlog());
            match next {
                DequeueResult::Packet(waiting) => {
                    let bytes = u64::from(waiting.bytes());
                    if bytes > class.deficit_bytes {
                        self.end_turn(place);
                        // Whoever was passed over has to be looked past again, until the bytes suffice.
                        passed_over = 0;
                        continue;
                    }
                    class.deficit_bytes -= bytes;
                    class.child.take(now, effects);
                    self.backlog = self.backlog.without(waiting.bytes());
                    if class.child.backlog().packets == 0 {
                        self.retire(place);
                    }
                    return DequeueResult::Packet(waiting);
                }
                DequeueResult::Empty => self.retire(place),
                DequeueResult::NotBefore(instant) => {
                    passed_over += 1;
                    answer = answer.or_not_before(instant);
                    self.active.rotate_left(1);
                }
            }
        }
        answer
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
