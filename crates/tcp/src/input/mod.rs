//! Processing of an arriving segment: a row of named steps in the order of RFC 9293 §3.10.7.

mod acceptance;
mod acknowledgment;
mod complaint;
mod finish;
mod half_open;
mod opening;
mod orphan;
mod reset;
mod text;
mod time_wait;
mod timestamps;

pub(crate) use opening::TIMEOUT_AFTER_LOST_SYN;

pub use complaint::{Complaint, Unreachable};

use crate::connection::Connection;
use crate::output::Haste;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// Takes a segment that has arrived. Drain [`poll_segment`](Self::poll_segment) and
    /// [`poll_event`](Self::poll_event) afterwards.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if self.state != State::Closed {
            self.received.count(segment);
        }
        self.note_instant(now);
        match self.state {
            State::Closed => self.on_segment_when_closed(segment),
            State::Listen => self.on_segment_when_listening(segment, now),
            State::SynSent => self.on_segment_when_opening(segment, now),
            State::TimeWait => self.on_segment_in_time_wait(segment, now),
            State::FinWait2 if self.is_orphan => self.on_segment_in_time_wait(segment, now),
            _ => self.on_segment_when_synchronised(segment, now),
        }
        self.check_invariants();
    }

    /// A segment that is dropped is no occasion to send what waits for company (Linux
    /// `tcp_rcv_established` ends before `tcp_data_snd_check`).
    #[cold]
    fn send_nothing_new(&mut self) {
        if self.queue.unsent > 0 {
            self.run.haste = Haste::Wait;
        }
    }

    /// RFC 9293 §3.10.7.4, step by step; a step that says `false` ends the processing.
    #[inline]
    fn on_segment_when_synchronised(&mut self, segment: &Segment, now: Instant) {
        if !segment.flags.intersects(Flags::ACK | Flags::RST | Flags::SYN)
            || !self.is_acceptable(segment, now)
        {
            return self.send_nothing_new();
        }
        let opens = self.state == State::SynReceived;
        if !self.process_acknowledgment(segment, now) {
            if !opens {
                self.send_nothing_new();
            }
            return;
        }
        self.measure_by_echo(segment, now);
        if segment.flags.contains(Flags::URG) {
            self.note_urgent(segment);
        }
        if segment.sequence_length() > 0 {
            self.process_text(segment, now);
        }
        self.check_acknowledgment(now);
    }
}
