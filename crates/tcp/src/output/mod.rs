//! What to send next: one decision per call, the most urgent first.

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

pub(crate) use mtu_probe::Search;
pub(crate) use new_data::{Haste, Run};

use crate::connection::Connection;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// The next segment to go out, if any; to be drained after every input.
    #[inline]
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.reset_due.is_some() {
            return self.take_reset(now);
        }
        if self.ack_before.is_some() {
            return self.ack_before.take();
        }
        if let Some(sequence) = self.own_reset_due.take() {
            return Some(self.segment_at(sequence, 0, Flags::RST, now));
        }
        if let Some(read_to) = self.receive.read_to.take() {
            self.after_reading(read_to, now);
        }
        if self.syn_due {
            return Some(self.send_syn(now));
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
