//! Timers that run out (RFC 9293 §3.10.8, RFC 6298 §5).

use crate::connection::Connection;
use crate::event::Event;
use crate::recovery::Pending;
use crate::state::State;
use crate::timers::Clock;
use crate::timestamp::timestamp_at;
use fairwind_units::Instant;

/// The time-out of a SYN-ACK with which an early connection takes its data for lost.
const EARLY_LOSS: u32 = 2;

impl Connection {
    /// Does what is due at `now`. Drain [`poll_segment`](Self::poll_segment) and
    /// [`poll_event`](Self::poll_event) afterwards.
    pub fn on_deadline(&mut self, now: Instant) {
        let clock = self.clock();
        self.note_instant(now);
        if self.timers.delayed_ack.expire(clock, now) {
            self.acknowledger.on_deadline(&self.config, self.backoff.timeout);
        }
        if self.timers.retransmission.expire(clock, now) {
            self.on_retransmission_deadline(now);
        }
        self.expire_patience(now);
        if self.timers.pacing.expire(clock, now) {
            self.on_pacing_deadline();
        }
        if self.timers.time_wait.expire(clock, now) {
            self.become_closed();
            self.events.push_back(Event::Closed);
        }
        self.check_invariants();
    }

    /// The clock of the host's timers.
    #[inline]
    pub(super) fn clock(&self) -> Clock {
        Clock { rule: self.config.timers, connection: self.send.initial.get() }
    }

    fn on_retransmission_deadline(&mut self, now: Instant) {
        match self.timers.pending {
            Pending::Retransmission => self.on_timeout(now),
            Pending::Probe => self.on_probe_deadline(now),
            Pending::Reordering => self.on_reordering_deadline(now),
            Pending::EarlyRetransmit => self.on_early_retransmit_deadline(now),
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        match self.state {
            State::SynSent | State::SynReceived => self.on_syn_timeout(now),
            _ if self.queue.is_empty() => {}
            _ => self.on_data_timeout(now),
        }
    }

    /// SYN was not answered: again, first at the same interval where the profile says so, then
    /// doubling (RFC 6298 §5.5).
    fn on_syn_timeout(&mut self, now: Instant) {
        if self.backoff.expired == 0 {
            self.backoff.since = now;
        }
        self.backoff.expired += 1;
        // A SYN-ACK always backs off.
        let (linear, limit) = match self.state {
            State::SynSent => {
                let linear = self.config.syn_linear_retries;
                (linear, self.config.syn_retries + linear)
            }
            // One more for those that are in use already (Linux `tcp_fastopen_synack_timer`).
            _ => (0, self.config.receiving.syn_ack_retries + u32::from(self.is_early())),
        };
        if self.backoff.expired > limit || self.is_user_out_of_patience(now) {
            self.give_up();
            return;
        }
        if self.backoff.expired > linear {
            self.double_timeout();
        }
        if self.is_early() {
            if self.backoff.expired == EARLY_LOSS {
                self.begin_loss(now);
            }
            let stamp = timestamp_at(now);
            self.recovery.undo.first_stamp.get_or_insert(stamp);
        }
        // While data is waited for that is to come with the last ACK, nothing is repeated but at the
        // end of that time (Linux `syn_ack_recalc`).
        let deferred = self.config.receiving.deferred_timeouts;
        self.ahead.set_syn(!self.is_acknowledged_only || self.backoff.expired >= deferred);
        let wait = self.patient_timeout(now);
        self.timers.retransmission.set(now, wait);
    }

    /// RFC 6298 §5.4 to §5.6; a thin stream may be spared the back-off.
    fn on_data_timeout(&mut self, now: Instant) {
        if self.backoff.expired == 0 {
            self.backoff.since = now;
        }
        self.backoff.expired += 1;
        if self.is_path_suspect(now) {
            self.suspect_black_hole(now);
        }
        if self.is_given_up(now) {
            self.give_up();
            return;
        }
        self.begin_loss(now);
        if self.stays_linear(self.backoff.expired) {
            self.backoff.timeout = self.rtt.timeout(&self.config);
            self.backoff.doublings = 0;
        } else {
            self.double_timeout();
        }
        let wait = self.patient_timeout(now);
        self.timers.retransmission.set(now, wait);
    }

    fn double_timeout(&mut self) {
        self.backoff.doublings += 1;
        self.backoff.timeout = (self.backoff.timeout * 2).min(self.config.maximum_rto);
    }

    pub(super) fn give_up(&mut self) {
        let reason = self.reason_for_giving_up();
        self.become_closed();
        self.events.push_back(reason);
    }
}
