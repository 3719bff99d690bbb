//! When a connection whose data or SYN nobody acknowledges is given up.
//!
//! Source: Linux `tcp_write_timeout`, `retransmits_timed_out`, `tcp_model_timeout`,
//! `tcp_orphan_retries`, `tcp_rtx_probe0_timed_out`, `tcp_clamp_rto_to_user_timeout`; RFC 1122 §4.2.3.5, RFC 5482.

use crate::sender::Sender;
use fairwind_units::{Instant, Span};

/// Doublings of the least time-out before the greatest is reached, in the count of
/// [`Config::retransmission_limit`](crate::Config::retransmission_limit).
const MOST_DOUBLINGS: u32 = 9;
/// Attempts for a connection without an application, unless told otherwise.
const ORPHAN_ATTEMPTS: u32 = 8;
/// The last interval of a user time-out is not shorter.
const LEAST_INTERVAL: Span = Span::from_millis(4);

impl Sender {
    /// Whether patience is over at a time-out. Linux counts time, not attempts, from the first
    /// repetition on.
    pub(super) fn has_retransmission_limit_expired(&self, now: Instant) -> bool {
        let is_missed = !self.is_orphan || self.config.liveness.orphan_limit.is_none();
        if self.peer_window.bytes() == 0 && is_missed && self.state.is_synchronised() {
            return self.is_closed_for_too_long(now);
        }
        let allowed = match self.config.liveness.user_timeout {
            Some(limit) => limit,
            None => self.time_of_retransmissions(self.retransmission_limit(self.rto.timeout())),
        };
        self.rto.expired() > 1 && self.since_first_repetition(now) >= allowed
    }

    /// Attempts that are made at time-outs that have grown to `timeout`. Nobody waits for what a
    /// connection without an application has still to say, so it is not insisted on, least of all
    /// where the path has complained.
    pub(super) fn retransmission_limit(&self, timeout: Span) -> u32 {
        match self.config.liveness.orphan_limit {
            Some(limit) if self.is_orphan => {
                let is_alive = timeout < self.config.maximum_rto;
                match (is_alive, limit) {
                    (true, 0) => ORPHAN_ATTEMPTS,
                    (false, _) if self.soft_error.is_some() => 0,
                    _ => limit,
                }
            }
            _ => self.config.retransmission_limit,
        }
    }

    /// The same before the handshake is over, where attempts are counted too.
    pub(crate) fn has_user_timeout_expired(&self, now: Instant) -> bool {
        let limit = self.config.liveness.user_timeout;
        self.rto.expired() > 1
            && limit.is_some_and(|limit| self.since_first_repetition(now) >= limit)
    }

    /// Whether time-outs in a row make the path itself suspect (RFC 1122 §4.2.3.5 R1).
    pub(super) fn is_black_hole_suspected(&self, now: Instant) -> bool {
        self.rto.expired() > 1
            && self.since_first_repetition(now)
                >= self.time_of_retransmissions(self.config.liveness.suspicion_limit)
    }

    #[inline]
    fn since_first_repetition(&self, now: Instant) -> Span {
        self.rto.since_first_expiry(now)
    }

    /// How long `limit` attempts take, with doubling from the least time-out.
    pub(super) fn time_of_retransmissions(&self, limit: u32) -> Span {
        let doublings = limit.min(MOST_DOUBLINGS);
        let doubled = self.config.minimum_rto * ((2_u64 << doublings) - 1);
        doubled + self.config.maximum_rto * u64::from(limit - doublings)
    }

    /// A peer that closed its window over what is in flight is alive as long as it answers, which the
    /// repetitions make it do like probes.
    fn is_closed_for_too_long(&self, now: Instant) -> bool {
        let elapsed = self.since_first_repetition(now);
        let mut allowed = self.config.maximum_rto * 2;
        if let Some(limit) = self.config.liveness.user_timeout {
            if elapsed > limit {
                return true;
            }
            allowed = allowed.min(limit);
        }
        now.saturating_since(self.send.last_heard()) > allowed && elapsed > allowed
    }

    /// The time-out in force, shortened to what is left of the user's patience.
    pub(super) fn rto_within_user_timeout(&self, now: Instant) -> Span {
        match self.config.liveness.user_timeout {
            Some(limit) if self.rto.expired() > 0 => {
                let left = limit.saturating_sub(self.since_first_repetition(now));
                self.rto.timeout().min(left.max(LEAST_INTERVAL))
            }
            _ => self.rto.timeout(),
        }
    }
}
