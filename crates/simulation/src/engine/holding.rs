//! What clients that are made to look far away hold back.

use super::Simulation;
use fairwind_assembly::is_pure_ack;
use fairwind_measure::Direction;
use fairwind_units::Instant;

impl Simulation {
    /// Holds the segment in the network's reserved packet back where its host does so with such; whether it does.
    pub(super) fn holds_back(&mut self, number: u32, way: Direction, now: Instant) -> bool {
        let delay = self.flows[number as usize].ack_delay;
        if delay.is_zero() || way == Direction::Reverse {
            return false;
        }
        let segment = self.network.reserve().segment;
        if !is_pure_ack(&segment) {
            return false;
        }
        let until = now + delay;
        self.held.insert(until, (number, segment));
        self.next_aside = self.next_aside.min(until);
        true
    }

    /// Sends the first that was held back until now.
    pub(super) fn let_go(&mut self, now: Instant) {
        if let Some((_, (number, segment))) = self.held.pop_due(now) {
            self.network.reserve().segment = segment;
            self.put_in(number, Direction::Forward, now);
        }
    }
}
