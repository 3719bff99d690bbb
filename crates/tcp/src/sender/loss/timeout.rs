//! Retransmission timer and time-out (RTO): arming, marking losses, back-off, giving up.
//!
//! Source: RFC 5681 §3.1, RFC 6675 §5.1, RFC 8985 §6.3; Linux `tcp_enter_loss`,
//! `tcp_timeout_mark_lost`, `tcp_process_loss`.
//!
//! One timer serves all purposes of [`Pending`]. Four functions arm it:
//!
//! | function | when |
//! |---|---|
//! | `arm_for` | for a given purpose and wait |
//! | `arm_tlp_or_rto` | after an acknowledgment of data: a tail loss probe if one makes sense, else the RTO |
//! | `rearm_rto` | the RTO, counted from now or from the oldest segment; stopped if nothing is outstanding |
//! | `arm_backed_off_rto` | after a time-out: the backed-off RTO, within the user timeout |
//!
//! Giving up: Linux `tcp_write_timeout`, `retransmits_timed_out`, `tcp_model_timeout`,
//! `tcp_orphan_retries`, `tcp_rtx_probe0_timed_out`, `tcp_clamp_rto_to_user_timeout`; RFC 1122 §4.2.3.5, RFC 5482.

use crate::config::Factor;
use crate::sender::congestion::plugged::WindowEvent;
use crate::sender::loss::Transmission;
use crate::sender::queue::SentFlags;
use crate::sender::{AckEvent, AckFlags, Sender, TimerOutcome};
use crate::state::{Event, RecoveryState, State};
use crate::timers::{Clock, Timer, timestamp_at};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Purpose of the retransmission timer (`icsk_pending`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The retransmission time-out (`ICSK_TIME_RETRANS`).
    Retransmission,
    /// A tail loss probe (`ICSK_TIME_LOSS_PROBE`).
    Probe,
    /// The RACK reordering window (`ICSK_TIME_REO_TIMEOUT`).
    Reordering,
    EarlyRetransmit,
}

/// The retransmission time-out: value, timer, number of expiries.
#[derive(Debug)]
pub(crate) struct Rto {
    /// Timer of data, SYN or FIN (RFC 6298 §5), with the purpose `pending`.
    timer: Timer,
    pending: Pending,
    /// The time-out in force, back-off included.
    timeout: Span,
    /// Time-outs in a row since the last progress (`icsk_retransmits`).
    consecutive_timeouts: u32,
    /// Back-offs since the last round-trip sample (`icsk_backoff`).
    backoffs: u32,
    /// When the first of the time-outs in a row happened.
    first_timeout_at: Instant,
}

impl Rto {
    getters! {
        timeout: Span,
        consecutive_timeouts: u32,
        backoffs: u32,
        pending: Pending,
    }

    /// An unarmed timer with an initial value.
    pub(crate) fn new(timeout: Span) -> Self {
        Self {
            timer: Timer::OFF,
            pending: Pending::Retransmission,
            timeout,
            consecutive_timeouts: 0,
            backoffs: 0,
            first_timeout_at: Instant::ZERO,
        }
    }

    pub(crate) fn set_timeout(&mut self, timeout: Span) {
        self.timeout = timeout;
    }

    /// Ends the back-off with a new sample of the round-trip time.
    #[inline]
    pub(crate) fn restart(&mut self, timeout: Span) {
        self.timeout = timeout;
        self.backoffs = 0;
    }

    /// Multiplies the time-out, up to `maximum` (RFC 6298 §5.5: doubles it).
    pub(crate) fn back_off(&mut self, factor: Factor, maximum: Span) {
        self.backoffs += 1;
        self.timeout = factor.of(self.timeout).min(maximum);
    }

    /// Resets the count of time-outs, when new data is acknowledged.
    pub(crate) fn on_progress(&mut self) {
        self.consecutive_timeouts = 0;
    }

    /// Time since the first time-out in a row.
    pub(crate) fn since_first_timeout(&self, now: Instant) -> Span {
        now.saturating_since(self.first_timeout_at)
    }

    /// Counts a time-out; returns how many came in a row.
    pub(crate) fn count_timeout(&mut self, now: Instant) -> u32 {
        if self.consecutive_timeouts == 0 {
            self.first_timeout_at = now;
        }
        self.consecutive_timeouts += 1;
        self.consecutive_timeouts
    }

    pub(crate) fn set_pending(&mut self, pending: Pending) {
        self.pending = pending;
    }

    pub(crate) fn due(&self) -> Instant {
        self.timer.due()
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.timer.is_set()
    }

    pub(crate) fn arm(&mut self, now: Instant, wait: Span) {
        self.timer.set(now, wait);
    }

    /// Brings the timer forward, if `wait` ends earlier.
    pub(crate) fn hasten(&mut self, now: Instant, wait: Span) {
        self.timer.hasten(now, wait);
    }

    /// Stops the timer if it has run out; returns whether it has.
    pub(crate) fn expire(&mut self, clock: Clock, now: Instant) -> bool {
        self.timer.expire(clock, now)
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        self.timer.stop();
        self.pending = Pending::Retransmission;
    }
}

impl Sender {
    /// Handles the retransmission timer, except for time-outs of a handshake.
    pub(crate) fn on_retransmission_deadline(&mut self, now: Instant) -> TimerOutcome {
        match self.rto.pending() {
            Pending::Retransmission if self.queue.is_empty() => {}
            Pending::Retransmission => return self.on_rto(now),
            Pending::Probe => self.on_tail_probe_deadline(now),
            Pending::Reordering => self.on_reordering_deadline(now),
            Pending::EarlyRetransmit => self.on_early_retransmit_deadline(now),
        }
        TimerOutcome::Continue
    }

    /// Handles a time-out (RFC 6298 §5.4 to §5.6); a thin stream may skip the back-off.
    fn on_rto(&mut self, now: Instant) -> TimerOutcome {
        let timeouts = self.rto.count_timeout(now);
        if !self.recovery.is_recovering() {
            self.usage.remember_limit();
        }
        if self.is_black_hole_suspected(now) {
            self.suspect_black_hole(now);
        }
        if self.retransmits_timed_out(now) {
            return TimerOutcome::GiveUp;
        }
        self.enter_loss_after_timeout(now);
        if self.has_linear_timeout(timeouts) {
            self.rto.restart(self.rtt.timeout(&self.config));
        } else {
            let factor = self.recovery_constants().backoff_factor;
            self.rto.back_off(factor, self.config.maximum_rto);
        }
        self.arm_backed_off_rto(now);
        TimerOutcome::Continue
    }

    /// Arms the retransmission timer for a purpose.
    pub(super) fn arm_for(&mut self, pending: Pending, now: Instant, wait: Span) {
        self.rto.set_pending(pending);
        self.rto.arm(now, wait);
    }

    /// Arms the timer after an acknowledgment of data: a tail loss probe if one makes sense, else the RTO.
    #[inline]
    pub(crate) fn arm_tlp_or_rto(&mut self, now: Instant) {
        let timeout = self.rto.timeout();
        if !self.schedule_tail_probe(timeout, now) {
            self.rearm_rto(now);
        }
    }

    /// Restarts the RTO, or stops it if nothing is outstanding (Linux `tcp_rearm_rto`). If the timer had
    /// another purpose, the RTO counts from the transmission of the oldest segment.
    #[inline]
    pub(crate) fn rearm_rto(&mut self, now: Instant) {
        let Some(oldest) = self.queue.front() else {
            self.rto.stop();
            self.rto.set_pending(Pending::Retransmission);
            return;
        };
        let timeout = self.rto.timeout();
        let wait = match self.rto.pending() {
            Pending::Retransmission => timeout,
            _ => {
                (oldest.transmitted_at() + timeout).saturating_since(now).max(Span::from_micros(1))
            }
        };
        self.arm_for(Pending::Retransmission, now, wait + self.pacing_delay(now));
    }

    /// Handles new data that was sent, `first` if nothing was outstanding.
    #[inline]
    pub(crate) fn on_new_data_sent(&mut self, first: bool, now: Instant) {
        // Before the handshake is over, the timer is the SYN-ACK's.
        let opening = self.state == State::SynReceived;
        if first && !opening || !self.rto.is_armed() {
            self.rearm_rto(now);
        }
        if first {
            // Linux has one timer for both (`tcp_rearm_rto`), so the persist timer stops.
            self.persist.stop();
        }
        if self.recovery.is_reducing() {
            self.reduction.on_sent();
        }
    }

    /// Arms the RTO after a time-out, within the user timeout.
    pub(crate) fn arm_backed_off_rto(&mut self, now: Instant) {
        let wait = self.clamp_rto_to_user_timeout(now);
        self.rto.arm(now, wait);
    }

    /// Handles a time-out of the SYN-ACK of a Fast Open connection; `is_loss` marks its data lost.
    pub(crate) fn on_early_timeout(&mut self, is_loss: bool, now: Instant) {
        if is_loss {
            self.enter_loss_after_timeout(now);
        }
        self.undo.note_retransmit_stamp(timestamp_at(now));
    }

    /// Undoes one back-off, because an ICMP error shows that the oldest segment was lost for want of a
    /// route, not to congestion (RFC 6069; Linux `tcp_ld_RTO_revert`).
    pub(crate) fn revert_backoff(&mut self, quoted: SequenceNumber, now: Instant) {
        let Some(oldest) = self.queue.front() else { return };
        if quoted != self.send.oldest_unacked() || self.rto.consecutive_timeouts() == 0 {
            return;
        }
        let base = self.rtt.timeout(&self.config);
        if self.rto.timeout() <= base {
            return;
        }
        let sent_at = oldest.transmitted_at();
        let factor = self.recovery_constants().backoff_factor;
        self.rto.set_timeout(factor.divide(self.rto.timeout()).max(base));
        let left = (sent_at + self.rto.timeout()).saturating_since(now);
        self.rto.arm(now, left);
    }

    /// Enters the loss state after a time-out (Linux `tcp_enter_loss`). The window has room for one segment
    /// beyond those in flight: the oldest one, which is always retransmitted.
    pub(crate) fn enter_loss_after_timeout(&mut self, now: Instant) {
        let state = self.recovery.state();
        let is_new = !self.recovery.is_recovering();
        let repeats = self.rto.consecutive_timeouts() > 1;
        self.mark_lost_after_timeout(now);
        if !self.fast_path.is_plain() {
            self.report_lost();
        }
        // The threshold is reduced once per window: not in the middle of another recovery, unless its
        // recovery point is acknowledged (Linux `tcp_enter_loss`).
        let reduces = matches!(state, RecoveryState::Open | RecoveryState::Disorder)
            || !self.recovery.end().is_after(self.send.oldest_unacked())
            || state == RecoveryState::Loss && !repeats;
        if reduces {
            self.undo.allow(self.threshold_without_reduction());
            self.reduction.note_window(self.window.segments());
            self.reduce_threshold();
            self.notify_control(WindowEvent::TimedOut);
            self.init_undo();
        }
        self.window.set_segments(self.in_flight() + 1);
        self.window.drop_credit();
        self.usage.on_reduction(now);
        // A time-out despite many duplicates: reordering was overestimated.
        let configured = self.config.duplicate_threshold;
        if matches!(state, RecoveryState::Open | RecoveryState::Disorder)
            && self.queue.sacked() >= configured
        {
            self.reordering.cap_threshold(configured);
        }
        self.enter_loss(now);
        self.recovery.set_end(self.send.next());
        self.tail_probe.clear();
        self.ecn.on_reduction();
        let probes_mtu = self.mtu_search.is_some_and(|search| search.is_under_way());
        let frto = self.config.loss.forward_rto && (is_new || repeats) && !probes_mtu;
        self.frto.set_active(frto);
        self.retransmissions.begin_loss();
        self.end_careful_resume_by_timeout();
        self.update_framing();
        self.events.push_back(Event::RetransmissionTimeout);
    }

    /// Marks all segments lost, except recent ones that may still be acknowledged.
    fn mark_lost_after_timeout(&mut self, now: Instant) {
        let first = self.queue.first_index();
        let reneged =
            self.queue.front().is_some_and(|front| front.flags().contains(SentFlags::SACKED));
        if reneged {
            // The receiver has reneged (RFC 2018 §8).
            self.queue.clear_sacked();
            self.scoreboard.clear();
            self.recovery.set_reneged(true);
        }
        self.duplicate_acks.reset();
        for index in first..self.queue.end_index() {
            let sent_at = self.queue.get(index).transmitted_at();
            let recent = self.config.loss.timeout_spares_recent
                && !reneged
                && index != first
                && self.rack.lost_at(sent_at, Span::ZERO) > now;
            if !self.config.loss.timeout_spares_recent {
                self.queue.clear_retransmitted(index);
            }
            if !recent {
                self.queue.mark_lost(index);
            }
        }
        self.queue.retransmit_from_front();
        if !self.config.loss.timeout_spares_recent {
            self.scoreboard.settle_all(&self.queue);
        }
    }

    /// Retransmits all outstanding data without reducing the window: it was lost, but not to congestion
    /// (Linux `tcp_non_congestion_loss_retransmit`).
    #[cold]
    pub(crate) fn retransmit_without_reduction(&mut self, now: Instant) {
        for index in self.queue.first_index()..self.queue.end_index() {
            self.queue.mark_lost(index);
        }
        self.scoreboard.settle_all(&self.queue);
        if self.recovery.state() != RecoveryState::Loss {
            self.recovery.set_end(self.send.next());
            self.window.set_threshold(self.threshold_without_reduction());
            self.undo.clear();
            self.enter_loss(now);
        }
        self.retransmissions.set_due(Transmission::Lost);
    }

    /// Handles an acknowledgment in the loss state (Linux `tcp_process_loss`).
    pub(super) fn process_loss_ack(&mut self, ack: &mut AckEvent) {
        let recovered = self.send.oldest_unacked().is_at_or_after(self.recovery.end());
        if ack.has(AckFlags::ADVANCED) && self.try_undo_loss(ack, false) {
            return;
        }
        if self.frto.is_active() && self.on_ack_during_frto(ack, recovered) {
            return;
        }
        if recovered {
            self.try_undo_recovery(ack);
            return;
        }
        if !self.negotiated.has_sack() {
            if self.send.next().is_after(self.recovery.end()) && ack.duplicates() > 0 {
                // The new data of F-RTO has arrived: room for a retransmission.
                ack.count_delivered(self.count_duplicate_acks(ack.duplicates()));
            } else if ack.has(AckFlags::ADVANCED) {
                self.duplicate_acks.reset();
            }
        }
        self.retransmissions.set_due(Transmission::Lost);
    }
}

/// Doublings until the time-out reaches its maximum, in the model of
/// [`Config::retransmission_limit`](crate::Config::retransmission_limit).
const MAX_DOUBLINGS: u32 = 9;
/// Default number of attempts for an orphaned connection.
const ORPHAN_ATTEMPTS: u32 = 8;
/// Minimum of the last interval before the user timeout.
const MIN_INTERVAL: Span = Span::from_millis(4);

impl Sender {
    /// Whether the connection is given up at this time-out. Like Linux, counts time since the first time-out,
    /// not attempts.
    pub(crate) fn retransmits_timed_out(&self, now: Instant) -> bool {
        let has_owner = !self.is_orphan || self.config.liveness.orphan_limit.is_none();
        if self.peer_window.bytes() == 0 && has_owner && self.state.is_synchronised() {
            return self.zero_window_timed_out(now);
        }
        let allowed = match self.config.liveness.user_timeout {
            Some(limit) => limit,
            None => self.model_timeout(self.retransmission_limit(self.rto.timeout())),
        };
        self.rto.consecutive_timeouts() > 1 && self.rto.since_first_timeout(now) >= allowed
    }

    /// Attempts before giving up, at the present `timeout`. An orphaned connection gets fewer, and none
    /// after an ICMP error once the time-out has reached its maximum.
    pub(crate) fn retransmission_limit(&self, timeout: Span) -> u32 {
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

    /// Whether the user timeout is over during the handshake, which counts attempts too.
    pub(crate) fn has_user_timeout_expired(&self, now: Instant) -> bool {
        let limit = self.config.liveness.user_timeout;
        self.rto.consecutive_timeouts() > 1
            && limit.is_some_and(|limit| self.rto.since_first_timeout(now) >= limit)
    }

    /// Whether time-outs in a row suggest a black hole (RFC 1122 §4.2.3.5 R1).
    pub(crate) fn is_black_hole_suspected(&self, now: Instant) -> bool {
        self.rto.consecutive_timeouts() > 1
            && self.rto.since_first_timeout(now)
                >= self.model_timeout(self.config.liveness.suspicion_limit)
    }

    /// How long `limit` attempts take, with doubling from the minimum time-out (Linux
    /// `tcp_model_timeout`).
    pub(crate) fn model_timeout(&self, limit: u32) -> Span {
        let doublings = limit.min(MAX_DOUBLINGS);
        let doubled = self.config.minimum_rto * ((2_u64 << doublings) - 1);
        doubled + self.config.maximum_rto * u64::from(limit - doublings)
    }

    /// Whether a peer that closed its window over data in flight has not answered for too long.
    /// Retransmissions act as window probes (Linux `tcp_rtx_probe0_timed_out`).
    fn zero_window_timed_out(&self, now: Instant) -> bool {
        let elapsed = self.rto.since_first_timeout(now);
        let mut allowed = self.config.maximum_rto * 2;
        if let Some(limit) = self.config.liveness.user_timeout {
            if elapsed > limit {
                return true;
            }
            allowed = allowed.min(limit);
        }
        now.saturating_since(self.send.last_heard()) > allowed && elapsed > allowed
    }

    /// The RTO, limited to the rest of the user timeout (Linux `tcp_clamp_rto_to_user_timeout`).
    pub(crate) fn clamp_rto_to_user_timeout(&self, now: Instant) -> Span {
        match self.config.liveness.user_timeout {
            Some(limit) if self.rto.consecutive_timeouts() > 0 => {
                let left = limit.saturating_sub(self.rto.since_first_timeout(now));
                self.rto.timeout().min(left.max(MIN_INTERVAL))
            }
            _ => self.rto.timeout(),
        }
    }
}
