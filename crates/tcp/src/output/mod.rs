//! What to send next: one decision per call, the most urgent first.

mod ahead;
mod assemble;
mod bundling;
mod data;
mod deadline;
mod keep_alive;
mod mtu_probe;
mod new_data;
mod patience;
mod persist;
mod repair;
mod urgent;

pub(crate) use ahead::Ahead;
pub(crate) use mtu_probe::Search;
pub(crate) use new_data::{Haste, Run};

use crate::connection::Connection;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Connection {
    /// The next segment to go out, if any; to be drained after every input.
    #[inline]
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.has_ahead()
            && let Some(segment) = self.send_ahead(now)
        {
            return Some(segment);
        }
        if self.may_send()
            && let Some(segment) = self.send_data(now)
        {
            return Some(segment);
        }
        if self.probe_due && self.state.is_synchronised() {
            return Some(self.send_probe(now));
        }
        if self.acknowledger.now && self.state != State::Closed {
            return Some(self.send_ack(now));
        }
        self.check_nothing_waits_for_ever();
        None
    }
}
