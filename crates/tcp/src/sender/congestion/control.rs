//! Congestion control on an acknowledgment (Linux `tcp_cong_control`); use of the window; inflight limit.
//!
//! Source: RFC 5681 §3.1; Linux `tcp_cong_control`, `tcp_may_raise_cwnd`, `tcp_cong_avoid`.
//!
//! **Use of the window**: whether it limits the sender, and its decay if not. Source: Linux
//! `tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`; RFC 5681
//! §4.1, RFC 2861.
//!
//! **Inflight limit** by the estimated bandwidth-delay product. Source: FreeBSD 4.7 to 6
//! (`tcp_xmit_bandwidth_limit`, `net.inet.tcp.inflight`), on by default in 5.x. The limit is the rate of
//! acknowledgments times a round-trip time between the smoothed and the minimum one, plus two segments; so
//! a sender fills no queue.
//! Differs: time is exact, where FreeBSD counted in ticks of 10 ms; a rate covers at least one tick.
//!
//! | parameter | value | FreeBSD | unit |
//! |---|---|---|---|
//! | weight of a new rate | 1/16 | the same | |
//! | allowance | 2 | `inflight.stab` / 10 | segments |
//! | minimum limit | 6144, two segments | `inflight.min` | bytes |
//!
//! Cost per ACK: two divisions, at most every 10 ms.

use crate::config::{AckCounting, Config, IdleRestart};
use crate::sender::ack::RoundTrip;
use crate::sender::congestion::{AckSample, Window};
use crate::sender::queue::{Acknowledged, SendQueue};
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

impl Sender {
    /// Reduces the window, or lets it grow if it was the limit (RFC 5681 §3.1; Linux
    /// `tcp_cong_control`).
    #[inline]
    pub(in crate::sender) fn control_congestion(
        &mut self,
        acknowledged: &Acknowledged,
        round_trip: RoundTrip,
        lost_before: u32,
        ack: &AckEvent,
    ) {
        let segments = match self.config.ack_counting {
            AckCounting::Segments => ack.delivered(),
            AckCounting::PerAck | AckCounting::SegmentsInSlowStart => acknowledged.segments(),
        };
        let is_plain = self.fast_path.is_plain();
        let counted = if is_plain {
            Some(segments)
        } else {
            self.sample_optional_mechanisms(segments, round_trip, lost_before, ack)
        };
        if let Some(counted) = counted {
            self.change_window(counted, lost_before, ack);
        }
        if !is_plain {
            self.update_careful_resume(ack);
            self.on_first_flight_acked();
            self.update_framing();
        }
    }

    /// Samples for optional mechanisms: inflight limit, smart framing, delivery rates. Returns the
    /// number of segments that count for the window; `None` if the algorithm has `cong_control`.
    #[cold]
    #[inline(never)]
    fn sample_optional_mechanisms(
        &mut self,
        segments: u32,
        round_trip: RoundTrip,
        lost_before: u32,
        ack: &AckEvent,
    ) -> Option<u32> {
        self.update_inflight_limit(ack.now());
        let segments = self.count_full_segments(segments);
        let losses = self.queue.losses().wrapping_sub(lost_before);
        let mut sample = self.sample_delivery_rate(ack, losses);
        sample.is_delayed = round_trip.is_delayed();
        if self.has_cong_control() {
            self.report_lost();
            self.run_cong_control(sample, round_trip.latest(), ack);
            return None;
        }
        Some(segments)
    }

    /// Passes the sample of an acknowledgment to the algorithm, before the window changes.
    #[inline]
    pub(in crate::sender) fn sample_acknowledgment(
        &mut self,
        acknowledged: u32,
        rtt: Option<Span>,
        now: Instant,
    ) {
        let sample = AckSample {
            acknowledged,
            rtt,
            now,
            oldest_unacked: self.send.oldest_unacked(),
            next: self.send.next(),
            is_open: self.recovery.state() == RecoveryState::Open,
            is_paced: self.config.sending.pacing.enabled,
        };
        self.congestion.on_sample(&sample, &mut self.window);
    }

    /// `segments` are acknowledged, as far as that matters to growth.
    #[inline]
    fn change_window(&mut self, segments: u32, lost_before: u32, ack: &AckEvent) {
        if self.recovery.is_reducing() {
            self.reduce_window_on_ack(ack, self.queue.losses().wrapping_sub(lost_before));
        } else if self.may_grow(ack) {
            self.usage.on_progress(ack.now());
            if self.counts_at_all(segments) {
                self.grow(segments, ack.now());
            }
        }
        self.update_pacing_rate();
    }

    #[inline]
    fn grow(&mut self, segments: u32, now: Instant) {
        if self.is_plugged() {
            self.plugged_cong_avoid(segments);
        } else if self.usage.is_limited(&self.window) {
            self.congestion.cong_avoid(&mut self.window, segments, now);
        }
    }

    /// Linux also updates its growth if all data was delivered.
    fn counts_at_all(&self, segments: u32) -> bool {
        segments > 0 || self.config.ack_counting == AckCounting::Segments
    }

    /// Where reordering is common, progress out of order counts too (Linux `tcp_may_raise_cwnd`).
    #[inline]
    pub(crate) fn may_grow(&self, ack: &AckEvent) -> bool {
        if self.reordering.threshold() > self.config.duplicate_threshold {
            ack.has(AckFlags::ACKNOWLEDGED.and(AckFlags::SACKED))
        } else {
            ack.has(AckFlags::ACKNOWLEDGED)
        }
    }
}

/// Use of the window in the last round trip.
#[derive(Debug)]
pub(crate) struct Usage {
    limited: bool,
    /// Whether the window was the limit when the latest recovery began.
    limited_before_recovery: bool,
    max_outstanding: u32,
    round_end: SequenceNumber,
    /// Maximum segments outstanding since `stamp`, while the window was not the limit.
    used: u32,
    stamp: Instant,
}

impl Usage {
    getters! {
        /// Whether the window limited the last transmission.
        is_limited_by_window: bool = limited,
        /// Maximum segments outstanding in the last round trip.
        max_outstanding: u32,
    }

    pub(crate) fn new(next: SequenceNumber) -> Self {
        Self {
            limited: false,
            limited_before_recovery: false,
            max_outstanding: 0,
            round_end: next,
            used: 0,
            stamp: Instant::ZERO,
        }
    }

    /// Remembers at the beginning of a recovery, which reduces the window, whether it was the limit.
    pub(crate) fn remember_limit(&mut self) {
        self.limited_before_recovery = self.limited;
    }

    /// Whether the window is the limit, or was before the recovery.
    pub(crate) fn was_limited(&self, state: RecoveryState) -> bool {
        match state {
            RecoveryState::Recovery | RecoveryState::Loss => self.limited_before_recovery,
            _ => self.limited,
        }
    }

    /// Forgets the use before a reduction.
    pub(crate) fn on_reduction(&mut self, now: Instant) {
        self.used = 0;
        self.stamp = now;
    }

    /// Records an acknowledgment that may let the window grow (Linux `tcp_cong_avoid`).
    pub(crate) fn on_progress(&mut self, now: Instant) {
        self.stamp = now;
    }

    /// Whether the window may grow on an acknowledgment.
    pub(crate) fn is_limited(&self, window: &Window) -> bool {
        self.limited || (window.is_in_slow_start() && window.segments < 2 * self.max_outstanding)
    }

    /// Records that the window limited a transmission, so it is in use.
    #[inline]
    pub(crate) fn note_limit(&mut self, outstanding: u32, next: SequenceNumber, now: Instant) {
        self.limited = true;
        self.max_outstanding = outstanding;
        self.round_end = next;
        self.used = 0;
        self.stamp = now;
    }

    /// Records that the window did not limit a transmission.
    #[inline]
    pub(crate) fn note(
        &mut self,
        outstanding: u32,
        oldest_unacked: SequenceNumber,
        next: SequenceNumber,
    ) {
        let new_round = !oldest_unacked.is_before(self.round_end);
        if new_round || (!self.limited && outstanding > self.max_outstanding) {
            self.limited = false;
            self.max_outstanding = outstanding;
            self.round_end = next;
        }
    }

    /// Lets a window decay towards its used part after a time-out without full use.
    #[inline]
    pub(crate) fn validate(
        &mut self,
        config: &Config,
        window: &mut Window,
        queue: &SendQueue,
        open: bool,
        timeout: Span,
        now: Instant,
    ) {
        if self.is_limited(window) {
            self.used = 0;
            self.stamp = now;
            return;
        }
        self.used = self.used.max(queue.outstanding());
        if config.idle_restart != IdleRestart::Halving || now.saturating_since(self.stamp) < timeout
        {
            return;
        }
        if open {
            let used = self.used.max(config.initial_window);
            if used < window.segments {
                window.slow_start_threshold = three_quarters(window);
                window.segments = u32::midpoint(window.segments, used);
            }
            self.used = 0;
        }
        self.stamp = now;
    }

    /// Restarts the window after `idle` time without data in flight.
    pub(crate) fn restart(
        &mut self,
        config: &Config,
        window: &mut Window,
        idle: Span,
        timeout: Span,
        now: Instant,
    ) {
        if idle <= timeout {
            return;
        }
        match config.idle_restart {
            IdleRestart::Off => {}
            IdleRestart::InitialWindow => {
                window.segments = window.segments.min(window.initial);
            }
            IdleRestart::Halving => {
                let floor = config.initial_window.min(window.segments);
                window.slow_start_threshold = three_quarters(window);
                let mut left = idle.saturating_sub(timeout);
                while !left.is_zero() && window.segments > floor {
                    window.segments >>= 1;
                    left = left.saturating_sub(timeout);
                }
                window.segments = window.segments.max(floor);
                self.used = 0;
                self.stamp = now;
            }
        }
    }
}

/// Threshold of three quarters of the window, before it decays (RFC 2861 §3).
fn three_quarters(window: &Window) -> u32 {
    window.slow_start_threshold.max((window.segments >> 1) + (window.segments >> 2))
}

const TICK: Span = Span::from_millis(10);
const MIN_BYTES: u64 = 6144;
const ALLOWANCE_SEGMENTS: u64 = 2;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The estimate, and the limit that follows from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InflightLimit {
    /// Bytes acknowledged per second, smoothed.
    rate: u64,
    /// Where and when the present sample began.
    sequence: SequenceNumber,
    since: Instant,
    /// Minimum of smoothed round trip plus variation.
    best: Option<Span>,
    /// Segments that may be in flight.
    segments: u32,
}

impl InflightLimit {
    pub(crate) fn new(initial: SequenceNumber) -> Self {
        Self { rate: 0, sequence: initial, since: Instant::ZERO, best: None, segments: u32::MAX }
    }

    /// Takes an advance of the acknowledgment number into account. `smoothed` and `deviation` are the
    /// round-trip time's, `segment_bytes` the size of a full segment.
    fn follow(
        &mut self,
        acknowledgment: SequenceNumber,
        now: Instant,
        (smoothed, deviation): (Span, Span),
        segment_bytes: u32,
    ) {
        let usual = smoothed + deviation;
        self.best = Some(self.best.map_or(usual, |best| best.min(usual)));
        let elapsed = now.saturating_since(self.since);
        if elapsed < TICK {
            return;
        }
        let begins = self.since == Instant::ZERO;
        let bytes = u128::from(acknowledgment.distance_from(self.sequence));
        (self.sequence, self.since) = (acknowledgment, now);
        if begins {
            return;
        }
        let rate = bytes * NANOS_PER_SECOND / u128::from(elapsed.as_nanos());
        let rate = u64::try_from(rate).unwrap_or(u64::MAX >> 5);
        self.rate = (self.rate * 15 + rate) >> 4;
        let round_trip = (smoothed + self.best.unwrap_or(smoothed)) / 2;
        let product = u128::from(self.rate) * u128::from(round_trip.as_nanos()) / NANOS_PER_SECOND;
        let allowance = ALLOWANCE_SEGMENTS * u64::from(segment_bytes);
        let bytes = u64::try_from(product).unwrap_or(u64::MAX).saturating_add(allowance);
        let min = MIN_BYTES.max(allowance);
        let segments = bytes.max(min) / u64::from(segment_bytes.max(1));
        self.segments = u32::try_from(segments).unwrap_or(u32::MAX);
    }
}

impl Sender {
    /// Updates the estimate from an acknowledgment of new data, if there is a limit.
    #[cold]
    pub(crate) fn update_inflight_limit(&mut self, now: Instant) {
        let Some(smoothed) = self.rtt.smoothed() else { return };
        let deviation = self.rtt.deviation(self.config.rtt_rule);
        let (oldest, full) = (self.send.oldest_unacked(), self.segment_bytes);
        if let Some(limit) = &mut self.inflight_limit {
            limit.follow(oldest, now, (smoothed, deviation), full);
        }
    }

    /// Segments that may be in flight for new data, with optional mechanisms; `None` while pacing or
    /// the device delays it.
    #[cold]
    #[inline(never)]
    pub(crate) fn unusual_window(&mut self, now: Instant) -> Option<u32> {
        if self.config.path.is_device_full || self.waits_for_pace(now) {
            return None;
        }
        let limit = self.inflight_limit.as_ref().map_or(u32::MAX, |limit| limit.segments);
        Some(self.framed_window().min(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 segments of 1000 bytes per second for a second and a half, round trips of 400 ms with
    /// 40 ms of variation at best: the limit approaches 100 x 0.42 + 2 segments.
    #[test]
    fn limit_is_bdp_plus_two_segments() {
        let start = SequenceNumber::new(0);
        let mut limit = InflightLimit::new(start);
        let round_trip = (Span::from_millis(400), Span::from_millis(40));
        let mut now = Instant::from_secs(1);
        for segment in 0..150 {
            limit.follow(start + segment * 1000, now, round_trip, 1000);
            now += Span::from_millis(10);
        }
        assert!((43..=44).contains(&limit.segments), "{}", limit.segments);
    }

    #[test]
    fn limit_needs_two_samples_and_has_floor() {
        let start = SequenceNumber::new(0);
        let mut limit = InflightLimit::new(start);
        let round_trip = (Span::from_millis(10), Span::from_millis(1));
        limit.follow(start + 1000, Instant::from_secs(1), round_trip, 1000);
        assert_eq!(limit.segments, u32::MAX);
        limit.follow(start + 2000, Instant::from_secs(2), round_trip, 1000);
        assert_eq!(limit.segments, 6);
    }
}
