//! The deadlines of one connection.

use crate::recovery::Pending;
use fairwind_units::Instant;

/// One deadline each; [`Instant::MAX`] where a timer is not set.
#[derive(Debug, Clone)]
pub(crate) struct Timers {
    /// Retransmission of data, SYN or FIN (RFC 6298 §5), or what `pending` says.
    pub(crate) retransmission: Instant,
    pub(crate) pending: Pending,
    /// Zero-window probe, or the sender's silly-window override (RFC 9293 §3.8.6).
    pub(crate) persist: Instant,
    /// The next bundle may go.
    pub(crate) pacing: Instant,
    /// Delayed acknowledgment.
    pub(crate) delayed_ack: Instant,
    /// Looking whether the peer was silent.
    pub(crate) keep_alive: Instant,
    /// End of TIME-WAIT.
    pub(crate) time_wait: Instant,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            retransmission: Instant::MAX,
            pending: Pending::Retransmission,
            persist: Instant::MAX,
            pacing: Instant::MAX,
            delayed_ack: Instant::MAX,
            keep_alive: Instant::MAX,
            time_wait: Instant::MAX,
        }
    }

    /// The earliest deadline, if any timer is set.
    #[inline]
    pub(crate) fn earliest(&self) -> Instant {
        self.retransmission
            .min(self.persist)
            .min(self.delayed_ack)
            .min(self.time_wait)
            .min(self.keep_alive)
            .min(self.pacing)
    }

    /// Unsets a timer that is due and says whether it was.
    #[inline]
    pub(crate) fn expire(timer: &mut Instant, now: Instant) -> bool {
        let due = *timer <= now;
        if due {
            *timer = Instant::MAX;
        }
        due
    }

    pub(crate) fn stop_all(&mut self) {
        *self = Self::new();
    }
}
