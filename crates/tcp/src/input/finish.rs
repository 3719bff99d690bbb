//! What FIN does, the peer's and the acknowledgment of ours (RFC 9293 §3.10.7.4, §3.6).
//!
//! Source: Linux 6.18 `tcp_fin`, the fifth step of `tcp_rcv_state_process`.

use crate::config::AckDelay;
use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Connection {
    /// Everything before the peer's FIN has arrived, and FIN.
    #[cold]
    pub(super) fn take_finish(&mut self, now: Instant) {
        self.receive.next += 1;
        // FIN is taken though the window be closed.
        self.receive.offered = self.receive.offered.later(self.receive.next);
        self.receive.fin = Some(self.receive.next - 1);
        self.receive.is_shut = true;
        self.acknowledger.scheduled = true;
        self.events.push_back(Event::PeerFinished);
        match self.state {
            State::Established => {
                self.state = State::CloseWait;
                self.delay_for_answer();
            }
            State::FinWait1 => {
                self.acknowledger.now = true;
                self.state = State::Closing;
            }
            _ => {
                self.acknowledger.now = true;
                self.enter_time_wait(now);
            }
        }
        let memory = self.reassembly.clear();
        self.buffer.release_ahead(memory);
    }

    /// Linux lets the acknowledgment of FIN wait for the application's own FIN, which is likely to
    /// follow.
    fn delay_for_answer(&mut self) {
        if let AckDelay::Adaptive { .. } = self.config.ack_delay {
            self.acknowledger.answers = self.config.receiving.interactive_threshold;
        } else {
            self.acknowledger.at_once = true;
        }
    }

    /// Our FIN is acknowledged.
    #[cold]
    pub(super) fn on_finish_acknowledged(&mut self, segment: &Segment, now: Instant) {
        self.tell_of_end();
        match self.state {
            State::FinWait1 if self.is_orphan && self.config.receiving.finish_timeout.is_none() => {
                self.reset_by(segment);
            }
            State::FinWait1 => {
                self.state = State::FinWait2;
                if self.is_orphan {
                    self.await_finish_as_orphan(now);
                }
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => {
                self.become_closed();
                self.events.push_back(Event::Closed);
            }
            _ => {}
        }
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.stop_all();
        self.timers.time_wait.set(now, self.config.time_wait);
    }
}
