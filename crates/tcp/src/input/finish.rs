//! Step 8: FIN, and what the acknowledgment of ours does (RFC 9293 §3.10.7.4, §3.6).

use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

impl Connection {
    /// Notes the peer's FIN, and takes it once everything before it has arrived.
    #[inline]
    pub(super) fn process_finish(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::FIN) {
            self.note_finish(segment.sequence + segment.payload_bytes);
        }
        if self.receive.fin == Some(self.receive.next) && self.state.may_receive() {
            self.take_finish(now);
        }
    }

    /// Ahead of its turn FIN is out of order like any text: it is acknowledged at once (RFC 5681
    /// §4.2), and its number is reported among what has arrived.
    #[cold]
    fn note_finish(&mut self, at: SequenceNumber) {
        if at.is_before(self.receive.next) || !self.state.may_receive() {
            return;
        }
        let at = *self.receive.fin.get_or_insert(at);
        if at.is_after(self.receive.next) {
            if at.is_before(self.receive.offered) {
                self.reassembly.insert(at, at + 1);
            }
            self.acknowledger.on_disorder(&self.config, self.offered_window());
        }
    }

    #[cold]
    fn take_finish(&mut self, now: Instant) {
        self.receive.next += 1;
        // FIN is taken though the window be closed.
        self.receive.offered = self.receive.offered.later(self.receive.next);
        self.acknowledger.now = true;
        self.events.push_back(Event::PeerFinished);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            _ => self.enter_time_wait(now),
        }
    }

    /// Our FIN is acknowledged.
    #[cold]
    pub(super) fn on_finish_acknowledged(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => {
                self.become_closed();
                self.events.push_back(Event::Closed);
            }
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.stop_all();
        self.timers.time_wait = now + self.config.time_wait;
    }
}
