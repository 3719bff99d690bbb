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
mod redundancy;
mod repair;
mod urgent;

pub(crate) use ahead::Ahead;
pub(crate) use mtu_probe::Search;
pub(crate) use new_data::{Haste, Run};
pub(crate) use redundancy::Bundles;

use crate::connection::Connection;
use crate::state::{RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Connection {
    /// The next segment to go out, if any; to be drained after every input.
    #[inline]
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.is_more_than_data_due() {
            return self.next_segment(now);
        }
        if !self.has_run() {
            // Mostly of those who only receive, and all that they send.
            if self.acknowledger.now && self.state != State::Closed {
                return Some(self.send_ack(now));
            }
            self.check_nothing_waits_for_ever();
            return None;
        }
        if !self.acknowledger.now && self.is_held_by_window() {
            self.stay_held_by_window(now);
            return None;
        }
        self.next_segment(now)
    }

    /// Whether something else than new data and an acknowledgment may be to be sent. Drivers ask once too
    /// often after every input, and few looks shall tell.
    #[inline]
    fn is_more_than_data_due(&self) -> bool {
        self.is_repair_due()
            || self.has_ahead()
            || self.probe_due
            || self.recovery.state == RecoveryState::Recovery
    }

    /// The most urgent thing that is due.
    #[inline]
    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
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
