//! Retransmission time-out: when it is armed, what it marks lost, F-RTO, and when the connection is given up.
//!
//! Source: RFC 5681 §3.1, RFC 6675 §5.1, RFC 8985 §6.3, RFC 5682 (F-RTO); Linux `tcp_enter_loss`,
//! `tcp_timeout_mark_lost`, `tcp_process_loss`.
//!
//! Giving up: Linux `tcp_write_timeout`, `retransmits_timed_out`, `tcp_model_timeout`,
//! `tcp_orphan_retries`, `tcp_rtx_probe0_timed_out`, `tcp_clamp_rto_to_user_timeout`; RFC 1122 §4.2.3.5, RFC 5482.

use crate::sender::congestion::plugged::WindowEvent;
use crate::sender::loss::Transmission;
use crate::sender::queue::Marks;
use crate::sender::{AckEvent, AckFlags, Expired, Sender};
use crate::state::{Event, RecoveryState, State};
use crate::timers::{Clock, Timer, timestamp_at};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// What the retransmission timer is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The retransmission time-out.
    Retransmission,
    /// A tail loss probe.
    Probe,
    /// Segments that may be late and not lost.
    Reordering,
    /// An early retransmit that waits for late segments.
    EarlyRetransmit,
}

/// The retransmission time-out: its value, its timer, and how often it ran out.
#[derive(Debug)]
pub(crate) struct Rto {
    /// Retransmission of data, SYN or FIN (RFC 6298 §5), or what `pending` says.
    timer: Timer,
    pending: Pending,
    /// The time-out in force, back-off included.
    timeout: Span,
    /// Time-outs since the last progress.
    expired: u32,
    /// How often it was doubled since the last sample of the round-trip time.
    doublings: u32,
    /// When the first of them happened.
    since: Instant,
}

impl Rto {
    getters! {
        timeout: Span,
        expired: u32,
        /// How often the time-out is doubled at present.
        doublings: u32,
        pending: Pending,
    }

    /// Nothing has run out, and `timeout` is in force.
    pub(crate) fn new(timeout: Span) -> Self {
        Self {
            timer: Timer::OFF,
            pending: Pending::Retransmission,
            timeout,
            expired: 0,
            doublings: 0,
            since: Instant::ZERO,
        }
    }

    pub(crate) fn set_timeout(&mut self, timeout: Span) {
        self.timeout = timeout;
    }

    /// Ends the back-off with a new sample of the round-trip time.
    #[inline]
    pub(crate) fn restart(&mut self, timeout: Span) {
        self.timeout = timeout;
        self.doublings = 0;
    }

    /// Doubles the time-out (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self, greatest: Span) {
        self.doublings += 1;
        self.timeout = (self.timeout * 2).min(greatest);
    }

    /// Something new is acknowledged.
    pub(crate) fn on_progress(&mut self) {
        self.expired = 0;
    }

    /// How long ago the first time-out ran out.
    pub(crate) fn since_first_expiry(&self, now: Instant) -> Span {
        now.saturating_since(self.since)
    }

    /// Counts a time-out; returns how many came in a row.
    pub(crate) fn count(&mut self, now: Instant) -> u32 {
        if self.expired == 0 {
            self.since = now;
        }
        self.expired += 1;
        self.expired
    }

    /// The timer is, or will be, set for this.
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

    /// Sets the timer if it is not due before.
    pub(crate) fn hasten(&mut self, now: Instant, wait: Span) {
        self.timer.hasten(now, wait);
    }

    /// Unsets the timer if it runs out, and returns whether it does.
    pub(crate) fn expire(&mut self, clock: Clock, now: Instant) -> bool {
        self.timer.expire(clock, now)
    }

    /// Stops the timer.
    #[inline]
    pub(crate) fn stop(&mut self) {
        self.timer.stop();
        self.pending = Pending::Retransmission;
    }
}

/// Forward RTO recovery: after a time-out, new data is tried first (RFC 5682).
#[derive(Debug, Default)]
pub(crate) struct FRto {
    is_active: bool,
}

impl FRto {
    /// The time-out was not spurious, or nobody knows.
    pub(crate) fn stop(&mut self) {
        self.is_active = false;
    }
}

impl Sender {
    /// The retransmission timer has run out, after the handshake or for something other than the RTO.
    pub(crate) fn on_retransmission_deadline(&mut self, now: Instant) -> Expired {
        match self.rto.pending() {
            Pending::Retransmission if self.queue.is_empty() => {}
            Pending::Retransmission => return self.on_rto(now),
            Pending::Probe => self.on_tail_probe_deadline(now),
            Pending::Reordering => self.on_reordering_deadline(now),
            Pending::EarlyRetransmit => self.on_early_retransmit_deadline(now),
        }
        Expired::GoesOn
    }

    /// RFC 6298 §5.4 to §5.6; a thin stream may be spared the back-off.
    fn on_rto(&mut self, now: Instant) -> Expired {
        let timeouts = self.rto.count(now);
        if self.is_black_hole_suspected(now) {
            self.suspect_black_hole(now);
        }
        if self.has_retransmission_limit_expired(now) {
            return Expired::GaveUp;
        }
        self.enter_loss_after_timeout(now);
        if self.stays_linear(timeouts) {
            self.rto.restart(self.rtt.timeout(&self.config));
        } else {
            self.rto.back_off(self.config.maximum_rto);
        }
        self.restart_retransmission_timer(now);
        Expired::GoesOn
    }

    /// Arms the retransmission timer for `pending`.
    pub(super) fn set_timer(&mut self, pending: Pending, now: Instant, wait: Span) {
        self.rto.set_pending(pending);
        self.rto.arm(now, wait);
    }

    /// Sets the timer after an acknowledgment of data.
    #[inline]
    pub(crate) fn schedule_retransmission(&mut self, now: Instant) {
        let timeout = self.rto.timeout();
        if !self.schedule_tail_probe(timeout, now) {
            self.rearm_rto(now);
        }
    }

    /// Sets the time-out anew, or stops it where nothing is outstanding. After a probe or late
    /// segments it counts from when the oldest segment was sent.
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
        self.set_timer(Pending::Retransmission, now, wait + self.pacing_delay(now));
    }

    /// New data has been sent, `first` if nothing was outstanding.
    #[inline]
    pub(crate) fn on_new_data_sent(&mut self, first: bool, now: Instant) {
        // Before the handshake is over, the timer is the SYN-ACK's.
        let opening = self.state == State::SynReceived;
        if first && !opening || !self.rto.is_armed() {
            self.rearm_rto(now);
        }
        if first {
            // One timer serves both in Linux (`tcp_rearm_rto`): nothing waits for a window any more.
            self.persist.stop();
        }
        if self.recovery.is_reducing() {
            self.reduction.on_sent();
        }
    }

    /// Sets the retransmission timer, within the user timeout.
    pub(crate) fn restart_retransmission_timer(&mut self, now: Instant) {
        let wait = self.rto_within_user_timeout(now);
        self.rto.arm(now, wait);
    }

    /// The SYN-ACK of an early connection was not answered; its data is lost by then if `is_loss`.
    pub(crate) fn on_early_timeout(&mut self, is_loss: bool, now: Instant) {
        if is_loss {
            self.enter_loss_after_timeout(now);
        }
        self.undo.note_stamp(timestamp_at(now));
    }

    /// The oldest segment was lost for want of a route, not to congestion: its time-out is backed off
    /// once less (RFC 6069; Linux `tcp_ld_RTO_revert`).
    pub(crate) fn revert_backoff(&mut self, quoted: SequenceNumber, now: Instant) {
        let Some(oldest) = self.queue.front() else { return };
        if quoted != self.send.oldest_unacked() || self.rto.expired() == 0 {
            return;
        }
        let least = self.rtt.timeout(&self.config);
        if self.rto.timeout() <= least {
            return;
        }
        let sent_at = oldest.transmitted_at();
        self.rto.set_timeout((self.rto.timeout() / 2).max(least));
        let left = (sent_at + self.rto.timeout()).saturating_since(now);
        self.rto.arm(now, left);
    }

    /// Enters repair after a time-out. The window has room for one segment beyond what is taken to
    /// be under way still: the oldest one, which goes out whatever happens.
    pub(crate) fn enter_loss_after_timeout(&mut self, now: Instant) {
        let state = self.recovery.state();
        let is_new = !self.recovery.is_repairing();
        let repeats = self.rto.expired() > 1;
        self.mark_lost_after_timeout(now);
        if !self.fast_path.is_plain() {
            self.report_lost();
        }
        // Once per window: a time-out in the midst of another repair reduces nothing more, unless it
        // is over but for its name (Linux `tcp_enter_loss`).
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
        // So many duplicates, and a time-out all the same: reordering was overestimated.
        let configured = self.config.duplicate_threshold;
        if matches!(state, RecoveryState::Open | RecoveryState::Disorder)
            && self.queue.sacked() >= configured
        {
            self.reordering.lower_to(configured);
        }
        self.enter_loss(now);
        self.recovery.set_end(self.send.next());
        self.tail_probe.clear();
        self.ecn.on_reduction();
        let probes_mtu = self.mtu_search.is_some_and(|search| search.is_under_way());
        let frto = self.config.loss.forward_rto && (is_new || repeats) && !probes_mtu;
        self.frto.is_active = frto;
        self.retransmissions.begin_loss();
        self.end_resumption_by_timeout();
        self.update_framing();
        self.events.push_back(Event::RetransmissionTimeout);
    }

    /// Everything is lost but what was sent so recently that it may still be acknowledged.
    fn mark_lost_after_timeout(&mut self, now: Instant) {
        let first = self.queue.first_index();
        let reneged = self.queue.front().is_some_and(|front| front.marks().contains(Marks::SACKED));
        if reneged {
            // The receiver gave up what it had reported (RFC 2018 §8).
            self.queue.forget_sacks();
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
                self.queue.forget_retransmission(index);
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

    /// All that is outstanding was dropped, though not for congestion: it is sent again, and the
    /// window stays (Linux `tcp_non_congestion_loss_retransmit`).
    #[cold]
    pub(crate) fn repeat_without_reduction(&mut self, now: Instant) {
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

    /// Follows one acknowledgment after a time-out.
    pub(super) fn process_loss_ack(&mut self, ack: &mut AckEvent) {
        let repaired = self.send.oldest_unacked().is_at_or_after(self.recovery.end());
        if ack.has(AckFlags::ADVANCED) && self.try_undo_loss(ack, false) {
            return;
        }
        if self.frto.is_active && self.on_ack_during_frto(ack, repaired) {
            return;
        }
        if repaired {
            self.try_undo_recovery(ack);
            return;
        }
        if !self.negotiated.has_sack() {
            if self.send.next().is_after(self.recovery.end()) && ack.duplicates() > 0 {
                // The new data of the trial has arrived: room for a retransmission.
                ack.count_delivered(self.count_duplicates(ack.duplicates()));
            } else if ack.has(AckFlags::ADVANCED) {
                self.duplicate_acks.reset();
            }
        }
        self.retransmissions.set_due(Transmission::Lost);
    }

    /// Forward RTO recovery: an acknowledgment of data that was sent once proves the time-out
    /// spurious; the first that advances without that is answered by new data, to see what comes of
    /// it. Returns whether all is done for this acknowledgment.
    fn on_ack_during_frto(&mut self, ack: &AckEvent, repaired: bool) -> bool {
        if ack.has(AckFlags::ORIGINAL_ACKNOWLEDGED) && self.try_undo_loss(ack, true) {
            return true;
        }
        if self.send.next().is_after(self.recovery.end()) {
            if ack.has(AckFlags::SACKED) || ack.duplicates() > 0 {
                self.frto.stop();
            }
        } else if ack.has(AckFlags::ADVANCED) && !repaired {
            self.recovery.set_end(self.send.next());
            if self.written.unsent() > 0 && self.usable_window() > 0 {
                self.retransmissions.set_due(Transmission::NewFirst);
                return true;
            }
            self.frto.stop();
        }
        false
    }
}

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
    pub(crate) fn has_retransmission_limit_expired(&self, now: Instant) -> bool {
        let is_missed = !self.is_orphan || self.config.liveness.orphan_limit.is_none();
        if self.peer_window.bytes() == 0 && is_missed && self.state.is_synchronised() {
            return self.is_closed_for_too_long(now);
        }
        let allowed = match self.config.liveness.user_timeout {
            Some(limit) => limit,
            None => self.time_of_retransmissions(self.retransmission_limit(self.rto.timeout())),
        };
        self.rto.expired() > 1 && self.rto.since_first_expiry(now) >= allowed
    }

    /// Attempts that are made at time-outs that have grown to `timeout`. Nobody waits for what a
    /// connection without an application has still to say, so it is not insisted on, least of all
    /// where the path has complained.
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

    /// The same before the handshake is over, where attempts are counted too.
    pub(crate) fn has_user_timeout_expired(&self, now: Instant) -> bool {
        let limit = self.config.liveness.user_timeout;
        self.rto.expired() > 1
            && limit.is_some_and(|limit| self.rto.since_first_expiry(now) >= limit)
    }

    /// Whether time-outs in a row make the path itself suspect (RFC 1122 §4.2.3.5 R1).
    pub(crate) fn is_black_hole_suspected(&self, now: Instant) -> bool {
        self.rto.expired() > 1
            && self.rto.since_first_expiry(now)
                >= self.time_of_retransmissions(self.config.liveness.suspicion_limit)
    }

    /// How long `limit` attempts take, with doubling from the least time-out.
    pub(crate) fn time_of_retransmissions(&self, limit: u32) -> Span {
        let doublings = limit.min(MOST_DOUBLINGS);
        let doubled = self.config.minimum_rto * ((2_u64 << doublings) - 1);
        doubled + self.config.maximum_rto * u64::from(limit - doublings)
    }

    /// A peer that closed its window over what is in flight is alive as long as it answers, which the
    /// repetitions make it do like probes.
    fn is_closed_for_too_long(&self, now: Instant) -> bool {
        let elapsed = self.rto.since_first_expiry(now);
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
    pub(crate) fn rto_within_user_timeout(&self, now: Instant) -> Span {
        match self.config.liveness.user_timeout {
            Some(limit) if self.rto.expired() > 0 => {
                let left = limit.saturating_sub(self.rto.since_first_expiry(now));
                self.rto.timeout().min(left.max(LEAST_INTERVAL))
            }
            _ => self.rto.timeout(),
        }
    }
}
