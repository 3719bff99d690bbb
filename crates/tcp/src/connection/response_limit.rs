//! Rate limits of responses to unacceptable segments (RFC 5961 §7).
//!
//! Source: Linux 6.18 `tcp_oow_rate_limited`, `tcp_send_challenge_ack`, which counts the challenge ACKs of all
//! connections and varies their limit at random.

use crate::config::Config;
use fairwind_units::Instant;

/// When an unacceptable segment was answered last, and how many challenge ACKs went out.
#[derive(Debug, Default)]
pub(super) struct ResponseLimit {
    last: Option<Instant>,
    /// The second in which a challenge ACK was sent last.
    second: u64,
    /// Challenge ACKs that were due in it.
    challenges: u32,
}

impl ResponseLimit {
    /// Whether an unacceptable segment is answered; if so, this counts as an answer.
    pub(super) fn allows_response(&mut self, config: &Config, now: Instant) -> bool {
        let interval = config.receiving.rejection_interval;
        if self.last.is_some_and(|last| now.saturating_since(last) < interval) {
            return false;
        }
        self.last = Some(now);
        true
    }

    /// Whether a challenge ACK goes out; if so, it is counted.
    pub(super) fn allows_challenge(&mut self, config: &Config, now: Instant) -> bool {
        if !self.allows_response(config, now) {
            return false;
        }
        let Some(limit) = config.receiving.challenge_limit else { return true };
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != second {
            (self.second, self.challenges) = (second, 0);
        }
        self.challenges += 1;
        self.challenges <= limit
    }
}
