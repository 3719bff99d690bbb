//! `pfifo_fast`: three bands by type of service with strict priority, each first in, first out.
//!
//! Source: tc-pfifo_fast(8), and Linux 7.3, `net/sched/sch_generic.c` and `include/linux/ptr_ring.h`. Each band is a ring with
//! a slot for each packet of the limit. As in Linux, the slots of departed packets become free again 16 at a time, and at
//! the end of the ring; so a band holds up to 15 packets less than its limit. Rings with fewer than 32 slots free each one.

use super::classful::usual_band;
use super::discipline::{
    DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket, packet_count,
};
use crate::{Backlog, DropReason};
use fairwind_units::Instant;

const BANDS: usize = 3;

/// Pointers in two lines of the processor's cache.
const BATCH: u32 = 16;

/// A ring of slots.
#[derive(Debug)]
struct Ring {
    line: PacketFifo,
    slots: u32,
    /// Departures after which slots become free.
    batch: u32,
    /// The slot of the next departure.
    next: u32,
    /// The slot from which on those of departed packets are still taken.
    freed: u32,
}

impl Ring {
    fn new(slots: u32) -> Self {
        let batch = if BATCH > slots / 2 { 1 } else { BATCH };
        Self { line: PacketFifo::default(), slots, batch, next: 0, freed: 0 }
    }

    fn is_full(&self) -> bool {
        packet_count(self.line.len()) + (self.next - self.freed) >= self.slots
    }

    fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.line.pop()?;
        self.next += 1;
        if self.next >= self.slots {
            (self.next, self.freed) = (0, 0);
        } else if self.next - self.freed >= self.batch {
            self.freed = self.next;
        }
        Some(first)
    }
}

/// The bands.
#[derive(Debug)]
pub(super) struct PfifoFast {
    bands: [Ring; BANDS],
}

impl PfifoFast {
    pub(super) fn new(description: &fairwind_qdisc::PfifoFast) -> Self {
        Self { bands: std::array::from_fn(|_| Ring::new(description.limit_packets.max(1))) }
    }
}

impl QueueDiscipline for PfifoFast {
    fn enqueue(
        &mut self,
        _: Instant,
        arrival: QueuedPacket,
        _: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let band = &mut self.bands[usual_band(&arrival.header)];
        if band.is_full() {
            return Err(DropReason::QueueFull);
        }
        band.line.push(arrival);
        Ok(())
    }

    fn dequeue(&mut self, _: Instant, _: &mut QueueActions) -> DequeueResult {
        let first = self.bands.iter_mut().find_map(Ring::pop);
        first.map_or(DequeueResult::Empty, DequeueResult::Packet)
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.bands.iter().find_map(|band| band.line.oldest().copied())
    }

    fn backlog(&self) -> Backlog {
        self.bands.iter().map(|band| band.line.backlog()).fold(Backlog::default(), Backlog::plus)
    }
}
