//! What happened at queues, packet by packet, where somebody asks for it.
//!
//! Kept as it comes, up to a number of events; what is more is counted. Events of the warm-up are kept. Whoever takes
//! rows from time to time ([`Collector::take_queue_events`](crate::Collector::take_queue_events)) needs memory for
//! those between two takings only.
//!
//! Cost: one comparison per packet at a queue where nobody asks; one entry of 48 bytes per event else.

use crate::observation::{DropReason, QueueId};
use fairwind_units::{Instant, Span};

/// Which events of queues are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEventSettings {
    /// Of these queues only; of all unless said.
    pub queues: Option<Vec<QueueId>>,
    /// From this instant on.
    pub from: Instant,
    /// Before this instant.
    pub until: Instant,
    /// No more than so many, the first ones.
    pub most: usize,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    Accepted,
    /// Not let in.
    Refused(DropReason),
    /// Dropped out of the queue after this wait.
    Dropped(DropReason, Span),
    /// Lost on the link behind the queue.
    Lost,
    Marked,
}

impl Happening {
    pub(crate) const fn of_drop(reason: DropReason, waited: Option<Span>) -> Self {
        match (reason, waited) {
            (DropReason::LinkLoss, _) => Self::Lost,
            (_, Some(waited)) => Self::Dropped(reason, waited),
            (_, None) => Self::Refused(reason),
        }
    }
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueEvent {
    pub(crate) at: Instant,
    pub(crate) queue: QueueId,
    /// The flow's number in tables.
    pub(crate) flow: u64,
    /// Its group.
    pub(crate) group: usize,
    pub(crate) wire_bytes: u32,
    /// Packets and bytes that waited, where that is told.
    pub(crate) backlog: Option<(u32, u32)>,
    pub(crate) happening: Happening,
}

/// The events that were asked for.
#[derive(Debug, Clone)]
pub(crate) struct QueueEvents {
    asked: QueueEventSettings,
    kept: Vec<QueueEvent>,
    /// Events whose rows were taken.
    taken: usize,
    /// Events that there was no room for.
    left_out: u64,
}

impl QueueEvents {
    pub(crate) const fn new(asked: QueueEventSettings) -> Self {
        Self { asked, kept: Vec::new(), taken: 0, left_out: 0 }
    }

    /// Keeps what happened where it was asked for.
    pub(crate) fn take(&mut self, event: QueueEvent) {
        let asked = &self.asked;
        let is_asked = (asked.from..asked.until).contains(&event.at)
            && asked.queues.as_ref().is_none_or(|queues| queues.contains(&event.queue));
        if !is_asked {
            return;
        }
        if self.taken + self.kept.len() < asked.most {
            self.kept.push(event);
        } else {
            self.left_out += 1;
        }
    }

    /// Forgets those that are kept: their rows were taken.
    pub(crate) fn forget_kept(&mut self) {
        self.taken += self.kept.len();
        self.kept.clear();
    }

    pub(crate) fn kept(&self) -> &[QueueEvent] {
        &self.kept
    }

    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }
}
