//! Processing of an arriving segment: a row of named steps in the order of RFC 9293 §3.10.7.

mod acceptance;
mod acknowledgment;
mod finish;
mod opening;
mod reset;
mod text;

use crate::connection::Connection;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Connection {
    /// Takes a segment that has arrived. Drain [`poll_segment`](Self::poll_segment) and
    /// [`poll_event`](Self::poll_event) afterwards.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed => self.on_segment_when_closed(segment),
            State::Listen => self.on_segment_when_listening(segment, now),
            State::SynSent => self.on_segment_when_opening(segment, now),
            _ => self.on_segment_when_synchronised(segment, now),
        }
        self.check_invariants();
    }

    /// RFC 9293 §3.10.7.4, step by step; a step that says `false` ends the processing.
    #[inline]
    fn on_segment_when_synchronised(&mut self, segment: &Segment, now: Instant) {
        if !self.check_timestamps(segment) || !self.check_sequence(segment, now) {
            return;
        }
        if !self.check_reset(segment) || !self.check_syn(segment) {
            return;
        }
        self.note_timestamp(segment);
        if !self.process_acknowledgment(segment, now) {
            return;
        }
        if segment.payload_bytes > 0 {
            self.process_text(segment, now);
        }
        self.process_finish(segment, now);
    }
}
