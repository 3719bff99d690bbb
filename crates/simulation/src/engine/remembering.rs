//! What hosts remember of their connections, where any does.

use super::Simulation;
use crate::memory::End;
use fairwind_measure::{Table, remembered_table, resumptions_table};
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

    /// What connections began with, and what hosts remember now; no table that would be empty.
    pub(super) fn memory_tables(&self) -> Vec<Table> {
        let Some(memories) = self.memories.as_deref() else { return Vec::new() };
        let tables = [
            resumptions_table(&memories.resumptions()),
            remembered_table(memories.remembered(self.end)),
        ];
        tables.into_iter().filter(|table| table.rows() > 0).collect()
    }
}
