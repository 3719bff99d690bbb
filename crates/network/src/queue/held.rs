//! A child whose next packet can be looked at before it is taken.

use super::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket};
use crate::{Backlog, DropReason};
use fairwind_units::Instant;

/// A discipline below another one, which may hold its next packet ready.
pub(super) struct PeekableChild {
    child: Box<dyn QueueDiscipline>,
    /// The next to leave, out of the child already.
    next: Option<QueuedPacket>,
}

impl PeekableChild {
    pub(super) fn new(child: Box<dyn QueueDiscipline>) -> Self {
        Self { child, next: None }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.child.enqueue(now, arrival, effects)
    }

    /// What would leave; a packet stays until it is [taken](PeekableChild::take). It is taken out of the child only where the
    /// child cannot tell otherwise, so that it counts in the limits of the others, as in the kernel.
    pub(super) fn peek(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        if let Some(waiting) = self.next {
            return DequeueResult::Packet(waiting);
        }
        if let Some(waiting) = self.child.head() {
            return DequeueResult::Packet(waiting);
        }
        let answer = self.child.dequeue(now, effects);
        if let DequeueResult::Packet(waiting) = answer {
            self.next = Some(waiting);
        }
        answer
    }

    /// Lets the packet go that was looked at, at the same instant.
    pub(super) fn take(&mut self, now: Instant, effects: &mut QueueActions) {
        if self.next.take().is_none() {
            self.child.dequeue(now, effects);
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        let below = self.child.backlog();
        self.next.map_or(below, |waiting| below.with(waiting.bytes()))
    }
}
