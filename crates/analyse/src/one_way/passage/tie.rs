//! Arrivals in the instant of their departure.
//!
//! Where the way takes no time that clocks can tell (one capture for both ends, a host with itself) a packet
//! may be read as arriving before it is read as departing. What is sent for the first time waits for its departure
//! anyway; a repetition, or a duplicate acknowledgment, seems to have none. So it waits until the instant is over.

use super::Passage;
use crate::one_way::context::{Arrival, Shared};
use fairwind_capture::Packet;
use fairwind_units::Instant;

/// More of one instant has no departure.
const MOST_TIED: usize = 16;

impl Passage {
    /// An arrival whose departure was not seen waits for it to be in the same instant.
    #[cold]
    pub(super) fn tie(&mut self, at: Instant, packet: &Packet, shared: &mut Shared<'_>) -> Arrival {
        if self.tied.len() < MOST_TIED {
            self.tied.push((at, *packet));
            return Arrival::default();
        }
        self.come_alone(at, packet, shared)
    }

    /// Something has departed at `at`: what has waited for it has come. Gives what is in order now, if that is more
    /// than before.
    #[cold]
    pub(super) fn untie(&mut self, at: Instant, shared: &mut Shared<'_>) -> Option<u64> {
        let mut in_order_end = self.untie_before(at, shared);
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            let mut arrival = Arrival::default();
            if !self.match_arrival(arrived_at, &packet, shared, &mut arrival) {
                arrival = self.come_alone(arrived_at, &packet, shared);
            }
            in_order_end = arrival.in_order_end.or(in_order_end);
        }
        in_order_end
    }

    /// What arrived before `at`, and waits, has no departure. Gives what is in order now, if that is more than
    /// before.
    #[cold]
    pub(super) fn untie_before(&mut self, at: Instant, shared: &mut Shared<'_>) -> Option<u64> {
        let mut in_order_end = None;
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            if arrived_at < at {
                let arrival = self.come_alone(arrived_at, &packet, shared);
                in_order_end = arrival.in_order_end.or(in_order_end);
            } else {
                self.tied.push((arrived_at, packet));
            }
        }
        in_order_end
    }

    /// An arrival has no departure; without payload it is a copy.
    fn come_alone(&mut self, at: Instant, packet: &Packet, shared: &mut Shared<'_>) -> Arrival {
        if packet.segment.payload_bytes > 0 {
            return self.unmatched(at, packet, shared);
        }
        self.counts.packets_duplicated += 1;
        Arrival::default()
    }
}
