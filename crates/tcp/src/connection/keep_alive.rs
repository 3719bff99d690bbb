//! Keep-alive probes (RFC 9293 §3.8.4, RFC 1122 §4.2.3.6).
//!
//! Source: Linux `tcp_keepalive_timer`.

use crate::config::{KeepAlive, Liveness};
use crate::timers::{Clock, Timer};
use fairwind_units::{Instant, Span};

/// The timer that watches for silence.
#[derive(Debug)]
pub(super) struct KeepAliveTimer {
    timer: Timer,
}

/// What the timer causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepAliveAction {
    /// Nothing yet.
    Wait,
    /// A probe goes out.
    Probe,
    /// The peer does not answer: a reset ends the connection.
    GiveUp,
}

impl KeepAliveTimer {
    pub(super) fn new() -> Self {
        Self { timer: Timer::OFF }
    }

    /// The connection is open.
    pub(super) fn begin(&mut self, keep_alive: &KeepAlive, now: Instant) {
        if keep_alive.enabled {
            self.timer.set(now, keep_alive.idle);
        }
    }

    /// Stops the timer.
    #[inline]
    pub(super) fn stop(&mut self) {
        self.timer.stop();
    }

    /// When it is due.
    #[inline]
    pub(super) fn due(&self) -> Instant {
        self.timer.due()
    }

    /// Unsets the timer if it runs out, and returns whether it does.
    #[inline]
    pub(super) fn expire(&mut self, clock: Clock, now: Instant) -> bool {
        self.timer.expire(clock, now)
    }

    /// The settings of an open connection have changed; the peer has been silent for `silence`.
    #[cold]
    pub(super) fn change(
        &mut self,
        before: &KeepAlive,
        after: &KeepAlive,
        silence: Span,
        now: Instant,
    ) {
        if !after.enabled {
            self.timer.stop();
        } else if !before.enabled {
            self.timer.set(now, after.idle);
        } else if before.idle != after.idle {
            self.timer.set(now, after.idle.saturating_sub(silence));
        }
    }

    /// The timer has run out: `busy` if data is outstanding or waits, `probes` went unanswered.
    #[cold]
    pub(super) fn on_deadline(
        &mut self,
        settings: &Liveness,
        busy: bool,
        silence: Span,
        probes: u32,
        now: Instant,
    ) -> KeepAliveAction {
        let keep_alive = &settings.keep_alive;
        let (wait, action) = if busy {
            (keep_alive.idle, KeepAliveAction::Wait)
        } else if silence < keep_alive.idle {
            (keep_alive.idle.saturating_sub(silence), KeepAliveAction::Wait)
        } else {
            let is_gone = match settings.user_timeout {
                Some(limit) => silence >= limit && probes > 0,
                None => probes >= keep_alive.probes,
            };
            if is_gone {
                return KeepAliveAction::GiveUp;
            }
            (keep_alive.interval, KeepAliveAction::Probe)
        };
        self.timer.set(now, wait);
        action
    }
}
