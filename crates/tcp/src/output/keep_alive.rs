//! Asking a silent peer whether it is still there.
//!
//! Source: RFC 9293 §3.8.4, RFC 1122 §4.2.3.6; Linux `tcp_keepalive_timer`.

use crate::config::KeepAlive;
use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::{Instant, Span};

impl Connection {
    /// Begins to watch for silence, where that is wished for.
    pub(crate) fn arm_keep_alive(&mut self, now: Instant) {
        if self.config.patience.keep_alive.enabled {
            self.timers.keep_alive.set(now, self.config.patience.keep_alive.idle);
        }
    }

    /// The wish has changed on an open connection.
    #[cold]
    pub(crate) fn change_keep_alive(&mut self, before: KeepAlive, now: Instant) {
        let keep_alive = self.config.patience.keep_alive;
        if !keep_alive.enabled {
            self.timers.keep_alive.stop();
        } else if !before.enabled {
            self.timers.keep_alive.set(now, keep_alive.idle);
        } else if before.idle != keep_alive.idle {
            let left = keep_alive.idle.saturating_sub(self.silence(now));
            self.timers.keep_alive.set(now, left);
        }
    }

    /// How long nothing was heard of the peer.
    fn silence(&self, now: Instant) -> Span {
        now.saturating_since(self.send.last_heard.max(self.acknowledger.last_received()))
    }

    /// Time to look whether the peer was silent.
    #[cold]
    pub(super) fn on_keep_alive_deadline(&mut self, now: Instant) {
        let keep_alive = self.config.patience.keep_alive;
        if !keep_alive.enabled {
            return;
        }
        if matches!(self.state, State::Closed | State::SynSent | State::Listen | State::TimeWait) {
            return;
        }
        let busy = !self.queue.is_empty() || self.queue.unsent > 0 || self.queue.fin_waiting;
        let silence = self.silence(now);
        let wait = if busy {
            keep_alive.idle
        } else if silence < keep_alive.idle {
            keep_alive.idle.saturating_sub(silence)
        } else if self.is_peer_gone(&keep_alive, silence) {
            self.ahead.reset_own(self.acceptable_sequence());
            self.become_closed();
            self.events.push_back(Event::TimedOut);
            return;
        } else {
            self.backoff.unanswered_probes += 1;
            self.probe_due = true;
            keep_alive.interval
        };
        self.timers.keep_alive.set(now, wait);
    }

    fn is_peer_gone(&self, keep_alive: &KeepAlive, silence: Span) -> bool {
        let probes = self.backoff.unanswered_probes;
        match self.config.patience.user_timeout {
            Some(limit) => silence >= limit && probes > 0,
            None => probes >= keep_alive.probes,
        }
    }
}
