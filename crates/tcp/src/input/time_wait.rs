//! TIME-WAIT, and orphans in FIN-WAIT-2 (RFC 9293 §3.10.7.4, RFC 1337, RFC 6191).
//!
//! Source: Linux 6.18 `tcp_timewait_state_process`. A SYN that may open the connection anew is the
//! driver's business: it has the listener ([`Connection::may_be_reopened_by`]).

use super::timestamps::age;
use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    pub(super) fn on_segment_in_time_wait(&mut self, segment: &Segment, now: Instant) {
        let old = self.is_old_in_time_wait(segment);
        if self.state == State::FinWait2 {
            self.on_segment_for_orphan(segment, old, now);
            return;
        }
        let rst = segment.flags.contains(Flags::RST);
        let bare = segment.sequence_length() == 0;
        if !old && segment.sequence == self.receive.next && (bare || rst) {
            if rst && !self.config.receiving.waits_through_resets {
                self.end_waiting();
                return;
            }
            if !rst {
                self.timers.time_wait.set(now, self.config.time_wait);
            }
            self.note_timestamp(segment, now);
        } else if !rst {
            if old || segment.flags.contains(Flags::ACK) {
                self.timers.time_wait.set(now, self.config.time_wait);
            }
            self.answer_in_time_wait(segment, now);
        }
    }

    /// Whether a SYN may begin a new connection in the place of this one: beyond the old one's
    /// numbers, or with a later timestamp (RFC 6191).
    pub fn may_be_reopened_by(&self, segment: &Segment) -> bool {
        let syn = segment.flags.contains(Flags::SYN)
            && !segment.flags.intersects(Flags::RST | Flags::ACK);
        let later = segment.options.timestamps.is_some_and(|stamps| {
            self.negotiated.timestamps && age(self.receive.recent_timestamp, stamps.value) < 0
        });
        self.state == State::TimeWait
            && syn
            && !self.is_old_in_time_wait(segment)
            && (segment.sequence.is_after(self.receive.next) || later)
    }

    fn is_old_in_time_wait(&self, segment: &Segment) -> bool {
        segment.options.timestamps.is_some_and(|stamps| {
            self.negotiated.timestamps
                && !segment.flags.contains(Flags::RST)
                && age(self.receive.recent_timestamp, stamps.value) > 0
        })
    }

    /// The peer's FIN is awaited; the application is gone.
    fn on_segment_for_orphan(&mut self, segment: &Segment, old: bool, now: Instant) {
        let next = self.receive.next;
        let window = self.acceptance_window();
        let inside = segment.sequence == next
            || segment.end().is_after(next) && segment.sequence.is_before(next + window);
        if old || !inside {
            self.answer_in_time_wait(segment, now);
        } else if segment.flags.contains(Flags::RST) {
            self.end_waiting();
        } else if segment.flags.contains(Flags::SYN) && segment.sequence.is_at_or_after(next) {
            self.reset_by(segment);
        } else if segment.flags.contains(Flags::ACK) && segment.end().is_after(next) {
            self.on_text_for_orphan(segment, now);
        }
    }

    /// FIN alone is what was waited for; data nobody would read.
    fn on_text_for_orphan(&mut self, segment: &Segment, now: Instant) {
        let fin = segment.flags.contains(Flags::FIN);
        if fin && segment.end() == self.receive.next + 1 {
            self.note_timestamp(segment, now);
            self.take_finish(now);
        } else {
            self.reset_by(segment);
        }
    }

    fn answer_in_time_wait(&mut self, segment: &Segment, now: Instant) {
        let has_data = segment.sequence_length() > 0 && !segment.flags.contains(Flags::SYN);
        if has_data || !self.is_answered_too_often(now) {
            self.acknowledger.now = true;
        }
    }

    fn end_waiting(&mut self) {
        self.become_closed();
        self.events.push_back(Event::Closed);
    }
}
