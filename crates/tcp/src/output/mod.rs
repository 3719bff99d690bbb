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
        let mut segment = Segment::default();
        self.poll_segment_into(now, &mut segment).then_some(segment)
    }

    /// The same, written where the caller wants to have it, which spares copies; whether there is one. Where there
    /// is none, what lies there is not touched.
    #[inline]
    pub fn poll_segment_into(&mut self, now: Instant, into: &mut Segment) -> bool {
        if self.is_more_than_data_due() {
            return self.next_segment(now, into);
        }
        if !self.has_run() {
            // Mostly of those who only receive, and all that they send.
            if self.acknowledger.now && self.state != State::Closed {
                self.write_ack(now, into);
                return true;
            }
            self.check_nothing_waits_for_ever();
            return false;
        }
        if !self.acknowledger.now && self.is_held_by_window() {
            self.stay_held_by_window(now);
            return false;
        }
        self.next_segment(now, into)
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

    /// The most urgent thing that is due; whether anything is.
    #[inline]
    fn next_segment(&mut self, now: Instant, into: &mut Segment) -> bool {
        if self.has_ahead()
            && let Some(segment) = self.send_ahead(now)
        {
            *into = segment;
            return true;
        }
        if self.may_send() && self.send_data(now, into) {
            return true;
        }
        if self.probe_due && self.state.is_synchronised() {
            self.write_probe(now, into);
            return true;
        }
        if self.acknowledger.now && self.state != State::Closed {
            self.write_ack(now, into);
            return true;
        }
        self.check_nothing_waits_for_ever();
        false
    }
}
