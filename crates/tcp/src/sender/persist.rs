//! Persist timer: probes of a closed or small window while nothing is outstanding.
//!
//! Source: RFC 9293 §3.8.6.1; Linux `tcp_check_probe_timer`, `tcp_probe_timer`, `tcp_send_probe0`,
//! `tcp_orphan_retries`, `tcp_ack_probe`, `tcp_clamp_probe0_to_user_timeout`. Corked data waits for
//! this timer too, and is sent then.

use crate::config::ProbeRule;
use crate::sender::{Sender, TimerOutcome};
use crate::timers::{Clock, Timer};
use fairwind_units::{Instant, Span};

/// Minimum interval (Linux `tcp_probe0_base`).
const MIN_INTERVAL: Span = Span::from_millis(200);
const MAX_DOUBLINGS: u32 = 10;
/// Minimum time left to the user timeout.
const MIN_REMAINING: Span = Span::from_millis(8);

/// Between attempts to send while the device's queue is full (`TCP_RESOURCE_PROBE_INTERVAL`).
const DEVICE_INTERVAL: Span = Span::from_millis(500);

/// The persist timer, and the probes of a closed window or a silent peer.
#[derive(Debug, Default)]
pub(crate) struct Persist {
    timer: Timer,
    probe_due: bool,
    /// Probes of a closed window since it closed.
    probes: u32,
    /// Probes since the last answer of the peer.
    unanswered: u32,
    /// When probing began to count against the user timeout.
    since: Option<Instant>,
}

impl Persist {
    getters! {
        unanswered: u32,
        probes: u32,
        is_probe_due: bool = probe_due,
    }

    pub(crate) fn due(&self) -> Instant {
        self.timer.due()
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.timer.is_set()
    }

    pub(crate) fn stop(&mut self) {
        self.timer.stop();
    }

    pub(crate) fn request_probe(&mut self) {
        self.unanswered += 1;
        self.probe_due = true;
    }

    pub(crate) fn take_probe(&mut self) {
        self.probe_due = false;
    }

    pub(crate) fn on_answer(&mut self) {
        self.unanswered = 0;
    }

    fn on_window_open(&mut self) {
        self.probes = 0;
        self.since = None;
        self.timer.stop();
    }

    fn reset(&mut self) {
        self.probes = 0;
        self.unanswered = 0;
        self.since = None;
    }
}

impl Sender {
    /// Sets the timer for the next probe, backed off.
    pub(crate) fn arm_persist(&mut self, now: Instant) {
        let base = match self.config.liveness.probe_rule {
            ProbeRule::Rfc => self.rto.timeout(),
            ProbeRule::Linux => self.rto.timeout().max(MIN_INTERVAL),
        };
        let doubled = base * (1 << self.persist.probes.min(MAX_DOUBLINGS));
        let wait = self.within_user_timeout(doubled.min(self.config.maximum_rto), now);
        self.persist.timer.set(now, wait + self.pacing_delay(now));
    }

    fn within_user_timeout(&self, wait: Span, now: Instant) -> Span {
        match (self.config.liveness.user_timeout, self.persist.since) {
            (Some(limit), Some(since)) => {
                let left = limit.saturating_sub(now.saturating_since(since));
                wait.min(left.max(MIN_REMAINING))
            }
            _ => wait,
        }
    }

    /// Handles an acknowledgment while nothing is outstanding but data waits: the window is open,
    /// or the peer is alive and the next probe is not due.
    #[cold]
    pub(crate) fn on_window_probe_ack(&mut self, now: Instant) {
        if self.fits_first_buffer() {
            self.persist.on_window_open();
        } else if self.config.liveness.probe_rule == ProbeRule::Linux
            || !self.persist.timer.is_set()
        {
            self.arm_persist(now);
        } else if self.usable_window() > 0 {
            // Open, if only a little: that is used after a time-out, not after a backed-off probe.
            self.persist.timer.hasten(now, self.rto.timeout());
        }
    }

    /// Whether the window has room for the whole first buffer, or for enough to send.
    fn fits_first_buffer(&self) -> bool {
        match self.config.liveness.probe_rule {
            ProbeRule::Rfc => self.usable_window() >= self.worthwhile_bytes(),
            ProbeRule::Linux => {
                let fin = self.written.is_fin_waiting() && self.written.is_first_last();
                self.usable_window() >= self.written.first_bytes() + u32::from(fin)
            }
        }
    }

    /// Time to probe (Linux `tcp_probe_timer`).
    #[cold]
    fn on_persist_deadline(&mut self, now: Instant) -> TimerOutcome {
        let waits = self.written.has_any();
        if !self.queue.is_empty() || !waits {
            self.persist.reset();
            return TimerOutcome::Continue;
        }
        if self.has_probe_limit_expired(now) {
            return TimerOutcome::GiveUp;
        }
        if self.config.path.is_device_full {
            self.persist.unanswered += 1;
            let wait = self.within_user_timeout(DEVICE_INTERVAL, now);
            self.persist.timer.set(now, wait);
            return TimerOutcome::Continue;
        }
        if self.usable_window() > 0 {
            // The window is small but open, or a cork held the data: send what fits (the sender's
            // override of RFC 9293 §3.8.6.2.1).
            self.budget.probe_with_data();
            self.persist.reset();
            return TimerOutcome::Continue;
        }
        self.persist.probes = (self.persist.probes + 1).min(self.config.retransmission_limit);
        self.persist.request_probe();
        self.arm_persist(now);
        TimerOutcome::Continue
    }

    /// Whether the probe limit is exceeded. A peer that answers may keep its window closed forever,
    /// unless there is a user timeout.
    fn has_probe_limit_expired(&mut self, now: Instant) -> bool {
        let since = *self.persist.since.get_or_insert(now);
        let limit = self.config.liveness.user_timeout;
        self.persist.unanswered >= self.probe_limit()
            || since != now && limit.is_some_and(|limit| now.saturating_since(since) >= limit)
    }

    /// Maximum number of unanswered probes; for an orphan zero once the interval has reached its
    /// maximum.
    fn probe_limit(&self) -> u32 {
        let interval = self.rto.timeout() * (1 << self.persist.probes.min(MAX_DOUBLINGS));
        let limit = self.retransmission_limit(interval);
        let is_futile = interval >= self.config.maximum_rto && self.persist.probes >= limit;
        let is_missed = !self.is_orphan || self.config.liveness.orphan_limit.is_none();
        if is_futile && !is_missed { 0 } else { limit }
    }

    #[inline]
    pub(crate) fn expire_persist_timer(&mut self, clock: Clock, now: Instant) -> TimerOutcome {
        if self.persist.timer.expire(clock, now) {
            self.on_persist_deadline(now)
        } else {
            TimerOutcome::Continue
        }
    }
}
