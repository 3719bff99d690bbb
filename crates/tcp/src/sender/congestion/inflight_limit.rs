//! A limit of the flight by the estimated bandwidth-delay product.
//!
//! Source: FreeBSD 4.7 to 6 (`tcp_xmit_bandwidth_limit`, `net.inet.tcp.inflight`), on by default in
//! 5.x: the rate at which acknowledgments come, times a round-trip time between the smoothed and the
//! best one, and two segments; so a sender stays near the knee of its path and fills no queue.
//! Differs: time is exact, where FreeBSD counted in ticks of 10 ms; a rate is taken over at least one.
//!
//! | parameter | value | FreeBSD | unit |
//! |---|---|---|---|
//! | weight of a new rate | 1/16 | the same | |
//! | allowance | 2 | `inflight.stab` / 10 | segments |
//! | least limit | 6144, two segments | `inflight.min` | bytes |
//!
//! Cost per ACK: two divisions, at most every 10 ms.

use crate::sender::Sender;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

const TICK: Span = Span::from_millis(10);
const LEAST_BYTES: u64 = 6144;
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
    /// Least sum of smoothed round trip and variation so far.
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
        let least = LEAST_BYTES.max(allowance);
        let segments = bytes.max(least) / u64::from(segment_bytes.max(1));
        self.segments = u32::try_from(segments).unwrap_or(u32::MAX);
    }
}

impl Sender {
    /// Lets the estimate follow an acknowledgment of new data, where there is a limit.
    #[cold]
    pub(crate) fn update_inflight_limit(&mut self, now: Instant) {
        let Some(smoothed) = self.rtt.smoothed() else { return };
        let deviation = self.rtt.deviation(self.config.rtt_rule);
        let (oldest, full) = (self.send.oldest_unacked(), self.segment_bytes);
        if let Some(limit) = &mut self.inflight_limit {
            limit.follow(oldest, now, (smoothed, deviation), full);
        }
    }

    /// Segments that may be in flight when new data is to be sent, where few connections differ; `None`
    /// while it has to wait for its pace.
    #[cold]
    #[inline(never)]
    pub(crate) fn unusual_window(&mut self, now: Instant) -> Option<u32> {
        if self.waits_for_pace(now) {
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
    fn the_limit_is_the_bandwidth_delay_product_and_two_segments() {
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
    fn two_samples_are_needed_and_the_limit_has_a_floor() {
        let start = SequenceNumber::new(0);
        let mut limit = InflightLimit::new(start);
        let round_trip = (Span::from_millis(10), Span::from_millis(1));
        limit.follow(start + 1000, Instant::from_secs(1), round_trip, 1000);
        assert_eq!(limit.segments, u32::MAX);
        limit.follow(start + 2000, Instant::from_secs(2), round_trip, 1000);
        assert_eq!(limit.segments, 6);
    }
}
