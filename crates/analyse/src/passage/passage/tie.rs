//! Arrivals in the instant of their departure.
//!
//! Where the way takes no time that clocks can tell (one capture for both ends, a host with itself) a packet
//! may be read as arriving before it is read as departing. New bytes wait for their departure anyway; a
//! repetition, or a duplicate acknowledgment, looks like a copy of what has come before. So it waits until the
//! instant is over.

use super::{Arrival, Passage, Shared};
use fairwind_capture::Packet;
use fairwind_units::Instant;

/// More that looks like copies in one instant is what it looks like.
const MOST_TIED: usize = 16;

impl Passage {
    /// An arrival without departure waits for one in the same instant.
    #[cold]
    pub(super) fn tie(&mut self, at: Instant, packet: &Packet) {
        if self.tied.len() < MOST_TIED {
            self.tied.push((at, *packet));
        } else {
            self.count_copy(packet);
        }
    }

    /// Whether an arrival with payload, without departure, brings nothing new, and waits.
    #[cold]
    pub(super) fn is_tied(
        &mut self,
        at: Instant,
        packet: &Packet,
        (start, end): (u64, u64),
        shared: &mut Shared<'_>,
    ) -> bool {
        self.delivery.new_parts(start, end, &mut shared.scratch.parts);
        let is_old = shared.scratch.parts.is_empty();
        if is_old {
            self.tie(at, packet);
        }
        is_old
    }

    /// Something has departed at `at`: what has waited for it has come, and what came before `at` was a copy.
    #[cold]
    pub(super) fn untie(&mut self, at: Instant, shared: &mut Shared<'_>) {
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            let mut arrival = Arrival::default();
            let has_come =
                arrived_at >= at && self.match_arrival(arrived_at, &packet, shared, &mut arrival);
            if !has_come {
                self.count_copy(&packet);
            }
        }
    }

    /// What arrived before `before` and waits was a copy.
    pub(super) fn untie_all(&mut self, before: Instant) {
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            if arrived_at < before {
                self.count_copy(&packet);
            } else {
                self.tied.push((arrived_at, packet));
            }
        }
    }

    fn count_copy(&mut self, packet: &Packet) {
        self.counts.packets_duplicated += 1;
        self.counts.payload_bytes_duplicated += u64::from(packet.segment.payload_bytes);
    }
}
