//! Pacing, and the pacing rate.
//!
//! Source: Linux `tcp_update_pacing_rate`, `tcp_update_skb_after_send`, `tcp_pacing_check`,
//! `tcp_pacing_delay`, `tcp_tsq_write`.
//! Differs: the kernel rounds the delay of other timers down to ticks.
//! Parameters: see [`Pacing`](crate::Pacing).
//! Cost: a division per acknowledgment; nothing more while pacing is off.

use crate::config::Pacing;
use crate::handshake::TIMESTAMPS_BYTES;
use crate::sender::Sender;
use crate::sender::congestion::plugged::SockPacing;
use crate::sender::loss::Transmission;
use crate::timers::{Clock, Timer};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Initial window of Linux, from which an active end computes its rate when its SYN is answered.
const OPENING_WINDOW: u32 = 10;

/// Eighths of microseconds in a second, over a hundred percent.
const EIGHTHS: u64 = 8 * 10_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The rate, and the departure time of the next bundle.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Bytes per second; [`u64::MAX`] before the first computation (`sk_pacing_rate`).
    rate: u64,
    /// Time at which sent data has left at the rate (`tcp_wstamp_ns`).
    through_at: Instant,
    /// An external congestion control or a jump has set the rate (`SK_PACING_NEEDED`).
    is_rate_set: bool,
    /// The first flight exceeds the normal initial window, and is paced until something after this number is
    /// acknowledged.
    first_flight: Option<SequenceNumber>,
    /// Departure of the next bundle.
    timer: Timer,
}

impl Pacer {
    getters! {
        rate: u64,
        /// When what was sent is through.
        through_at: Instant,
        is_rate_set: bool,
    }

    pub(crate) fn new() -> Self {
        Self {
            rate: u64::MAX,
            through_at: Instant::ZERO,
            is_rate_set: false,
            first_flight: None,
            timer: Timer::OFF,
        }
    }

    pub(crate) fn due(&self) -> Instant {
        self.timer.due()
    }

    pub(crate) fn stop_timer(&mut self) {
        self.timer.stop();
    }

    pub(crate) fn has_first_flight(&self) -> bool {
        self.first_flight.is_some()
    }

    /// Adopts the rate of a congestion control, and whether to pace.
    pub(crate) fn take_rate(&mut self, set: &SockPacing, config: &Pacing) {
        let max = config.max_bytes_per_second.unwrap_or(u64::MAX);
        self.rate = set.rate.min(max);
        self.is_rate_set = set.status != 0;
    }
}

impl Sender {
    /// Whether bundles wait for their turn.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.config.sending.pacing.enabled
            || self.pacer.is_rate_set
            || self.pacer.has_first_flight()
    }

    /// Follows the window and the round trip after an acknowledgment: twice the window per round trip
    /// in slow start, 1.2 windows near its end and afterwards.
    #[inline]
    pub(crate) fn update_pacing_rate(&mut self) {
        if !self.fast_path.is_plain()
            && self.pacer.is_rate_set
            && (self.has_cong_control() || self.is_jumping())
        {
            return;
        }
        let segments = self.window.segments().max(self.queue.outstanding());
        self.set_pacing_rate(segments, self.segment_bytes);
    }

    /// Sets the rate of an active end until data is acknowledged: the segment size is not final, and
    /// leaves room for offered timestamps.
    pub(crate) fn set_opening_rate(&mut self) {
        let offered = self.config.timestamps && !self.negotiated.has_timestamps();
        let room = if offered { TIMESTAMPS_BYTES } else { 0 };
        let segment_bytes = self.segment_bytes.saturating_sub(room);
        self.set_pacing_rate(OPENING_WINDOW, segment_bytes);
    }

    #[inline]
    fn set_pacing_rate(&mut self, segments: u32, segment_bytes: u32) {
        let pacing = &self.config.sending.pacing;
        let in_slow_start = self.window.segments() < self.window.threshold() / 2;
        let percent =
            if in_slow_start { pacing.slow_start_percent } else { pacing.avoidance_percent };
        let percent_bytes = u64::from(segment_bytes) * u64::from(segments) * u64::from(percent);
        let rate = percent_bytes.saturating_mul(EIGHTHS) / self.rtt.smoothed_eighths_of_micros();
        self.pacer.rate = pacing.max_bytes_per_second.map_or(rate, |max| rate.min(max));
    }

    /// A window that has jumped leaves over a round trip (RFC 9959 §4.3.2).
    pub(crate) fn pace_jump(&mut self, segments: u32) {
        let Some(smoothed) = self.rtt.smoothed() else { return };
        let bytes = u64::from(segments) * u64::from(self.segment_bytes);
        let rate = u128::from(bytes) * u128::from(NANOS_PER_SECOND)
            / u128::from(smoothed.as_nanos().max(1));
        let max = self.config.sending.pacing.max_bytes_per_second.unwrap_or(u64::MAX);
        self.pacer.rate = u64::try_from(rate).unwrap_or(u64::MAX).min(max);
        self.pacer.is_rate_set = true;
    }

    pub(crate) fn end_jump_pace(&mut self) {
        self.pacer.is_rate_set = false;
        self.update_pacing_rate();
    }

    /// Paces the first flight at the rate of slow start, because only a cache justifies its window.
    pub(crate) fn pace_first_flight(&mut self) {
        // A SYN-ACK that is still to be sent is not of the flight.
        self.pacer.first_flight = Some(self.send.next().later(self.send.initial() + 1));
        self.fast_path.leave();
        self.update_pacing_rate();
    }

    /// Ends the pacing of the first flight when it is acknowledged.
    #[inline]
    pub(crate) fn on_first_flight_acked(&mut self) {
        let first = self.pacer.first_flight;
        if first.is_some_and(|first| self.send.oldest_unacked().is_after(first)) {
            self.pacer.first_flight = None;
            self.update_fast_path();
        }
    }

    #[cold]
    pub(crate) fn bound_pacing_rate(&mut self) {
        let max = self.config.sending.pacing.max_bytes_per_second.unwrap_or(u64::MAX);
        self.pacer.rate = self.pacer.rate.min(max);
    }

    /// Whether the next bundle has to wait; then arms the timer.
    pub(crate) fn waits_for_pace(&mut self, now: Instant) -> bool {
        !self.fast_path.is_plain() && self.set_pacing_timer(now)
    }

    #[cold]
    fn set_pacing_timer(&mut self, now: Instant) -> bool {
        let waits = self.paces() && self.pacer.through_at > now;
        if waits && !self.pacer.timer.is_set() {
            self.pacer.timer.set_exactly(self.pacer.through_at);
        }
        waits
    }

    /// Charges a bundle of `bytes` in segments of `full` bytes.
    #[inline]
    pub(crate) fn note_pace(&mut self, bytes: u32, full: u32, now: Instant) {
        if !self.fast_path.is_plain() && self.paces() {
            self.update_departure_time(bytes, bytes.div_ceil(full), now);
        }
    }

    /// When the pace lets the next bundle leave, or the last segment left if that is later (Linux `tcp_wstamp_ns`).
    #[inline]
    pub(super) fn departure(&self) -> Instant {
        self.pacer.through_at.max(self.send.last_transmitted())
    }

    /// Idle time since the last segment counts for up to half of the bundle.
    #[cold]
    fn update_departure_time(&mut self, bytes: u32, segments: u32, now: Instant) {
        let before = self.departure();
        let begins = before.max(now);
        self.pacer.through_at = begins;
        let sent = self.stats.data_segments().saturating_add(segments);
        let rate = self.pacer.rate;
        let is_first = sent < self.config.sending.pacing.unpaced_segments && !self.is_jumping();
        if rate == u64::MAX || rate == 0 || is_first {
            return;
        }
        let takes = Span::from_nanos(u64::from(bytes) * NANOS_PER_SECOND / rate);
        let credit = begins.saturating_since(before).min(takes / 2);
        self.pacer.through_at = begins + takes.saturating_sub(credit);
    }

    /// Delay of other timers due to pacing.
    pub(crate) fn pacing_delay(&self, now: Instant) -> Span {
        if self.paces() { self.pacer.through_at.saturating_since(now) } else { Span::ZERO }
    }

    #[inline]
    pub(crate) fn expire_pacing_timer(&mut self, clock: Clock, now: Instant) {
        if self.pacer.timer.expire(clock, now) {
            self.on_pacing_deadline();
        }
    }

    /// Handles the pacing timer: the next bundle may leave, lost segments first.
    #[cold]
    fn on_pacing_deadline(&mut self) {
        if self.queue.lost() > self.queue.retransmitted()
            && self.window.segments() > self.in_flight()
            && self.retransmissions.due() == Transmission::None
        {
            self.retransmissions.set_due(Transmission::Lost);
        }
    }
}
