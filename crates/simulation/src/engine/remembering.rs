//! What hosts remember of their connections, where any does.

use super::Simulation;
use crate::memory::{End, Memories};
use fairwind_measure::ResumptionStep;
use fairwind_tcp::Event;
use fairwind_units::Instant;

impl Simulation {
    /// A flow is about to begin: its host may know the peer.
    #[inline]
    pub(super) fn remember_opening(&mut self, number: u32, now: Instant) {
        if let Some(memories) = &mut self.memories {
            memories.open(&mut self.flows, number, End::Sender, now);
        }
    }

    /// Something happened at one end of a connection.
    #[inline]
    pub(super) fn remember_event(&mut self, end: (u32, End), event: Event, now: Instant) {
        if let Some(memories) = &mut self.memories {
            memories.on_event(&mut self.flows, end, event, now);
        }
    }

    /// How saved windows were resumed.
    pub(super) fn resumptions(&self) -> Vec<ResumptionStep> {
        self.memories.as_deref().map(Memories::resumptions).unwrap_or_default()
    }
}
