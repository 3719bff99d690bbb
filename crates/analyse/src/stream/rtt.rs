//! Estimates of the sender's round-trip time and retransmission timeout.
//!
//! Source: RFC 6298 §2, as Linux computes it (`tcp_rtt_estimator`, `__tcp_set_rto`): the variation has a floor of
//! 200 ms, and falls by a quarter of its excess once per round trip. Linux waits least of today's systems; callers
//! allow for the others.
//!
//! Near the receiver the round trip is that of what answers an acknowledgment (RFC 7323 §4.1: the echo names the
//! acknowledgment that was seen last), or the third packet of the handshake. A sender that waits for its application
//! answers late. So the minimum of some samples counts, and samples above twice the minimum of all are ignored.
//!
//! Cost per sample: a few additions and shifts.

use super::repair::is_earlier;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// Least variation (Linux `TCP_RTO_MIN`), in nanoseconds.
const LEAST_VARIATION: u64 = 200_000_000;
/// Before the first sample (RFC 6298 §2.1).
const INITIAL: Span = Span::from_secs(1);
/// Allowance of a probe for a delayed acknowledgment with one segment outstanding (Linux
/// `tcp_schedule_loss_probe`).
const DELAYED_ACK_ALLOWANCE: Span = Span::from_millis(200);

/// Round-trip time, its variation, and the resulting timeouts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeoutEstimate {
    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    smoothed: u64,
    /// Four times the mean deviation in nanoseconds.
    deviation: u64,
    /// The largest deviation in this round trip.
    largest_deviation: u64,
    /// The variation in nanoseconds.
    variation: u64,
    /// The acknowledgment of this offset ends the round trip of samples.
    round_end: u64,
    /// Least sample in nanoseconds; 0 before the first.
    least: u64,
}

impl TimeoutEstimate {
    /// Prefetches the first field.
    #[inline]
    pub(super) const fn first_field(&self) -> u64 {
        self.smoothed
    }

    /// Takes a sample; data before `acknowledged` is acknowledged, data before `highest` was sent.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Span, acknowledged: u64, highest: u64) {
        let measured = rtt.as_nanos().clamp(1_000, u64::MAX >> 8);
        if self.smoothed == 0 {
            self.smoothed = measured;
            self.least = measured;
            self.deviation = measured * 2;
            self.variation = self.deviation.max(LEAST_VARIATION);
            self.largest_deviation = self.variation;
            self.round_end = highest;
            return;
        }
        self.least = self.least.min(measured);
        self.update_deviation(measured);
        self.smoothed = self.smoothed - (self.smoothed >> 3) + (measured >> 3);
        if self.deviation > self.largest_deviation {
            self.largest_deviation = self.deviation;
            self.variation = self.variation.max(self.largest_deviation);
        }
        if acknowledged > self.round_end {
            let excess = self.variation.saturating_sub(self.largest_deviation);
            self.variation -= excess >> 2;
            self.round_end = highest;
            self.largest_deviation = LEAST_VARIATION;
        }
    }

    /// The mean deviation moves by a quarter of the error; by 1/32 if the round trip has become shorter by more
    /// than the deviation.
    #[inline]
    fn update_deviation(&mut self, measured: u64) {
        let error = self.smoothed.abs_diff(measured);
        let decay = self.deviation >> 2;
        if measured < self.smoothed && error > decay {
            self.deviation += (error - decay) >> 3;
        } else {
            self.deviation = self.deviation + error - decay;
        }
    }

    /// Least round-trip time, after the first sample.
    pub(super) fn least(&self) -> Option<Span> {
        (self.least > 0).then_some(Span::from_nanos(self.least))
    }

    /// Smoothed round-trip time, zero before the first sample.
    pub(super) const fn smoothed(&self) -> Span {
        Span::from_nanos(self.smoothed)
    }

    /// Timeout without backoff.
    pub(super) fn timeout(&self) -> Span {
        if self.smoothed == 0 {
            return INITIAL;
        }
        Span::from_nanos(self.smoothed.saturating_add(self.variation))
    }

    /// Wait of a tail loss probe with one segment outstanding (RFC 8985 §7.2).
    pub(super) fn probe_wait(&self) -> Span {
        let wait = Span::from_nanos(self.smoothed.saturating_mul(2)) + DELAYED_ACK_ALLOWANCE;
        if self.smoothed == 0 { INITIAL } else { wait.min(self.timeout()) }
    }
}

/// Round-trip time of the sender, sampled at a tap near the receiver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceiverSideRtt {
    /// Timestamp value of an acknowledgment that waits for its echo, and when it left.
    pending_stamp: Option<(u32, Instant)>,
    /// When SYN-ACK left, if it was sent once.
    syn_ack_at: Option<Instant>,
    has_repeated_syn_ack: bool,
    /// The minimum of the samples of this round, and their number.
    minimum: Span,
    samples: u8,
    /// When a late segment last filled a gap, and the offset behind that gap.
    filled_at: Instant,
    filled_end: u64,
}

/// Number of samples that count as one, by their minimum.
const ROUND_SAMPLES: u8 = 8;

impl ReceiverSideRtt {
    /// An acknowledgment leaves the receiver.
    #[cold]
    pub(super) fn on_ack_sent(&mut self, at: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.has_repeated_syn_ack |= self.syn_ack_at.is_some();
            self.syn_ack_at = Some(at).filter(|_| !self.has_repeated_syn_ack);
        }
        if self.pending_stamp.is_none() {
            self.pending_stamp = segment.options.timestamps.map(|stamps| (stamps.value, at));
        }
    }

    /// A segment of the sender arrives; `acknowledged` and `highest` are offsets for [`TimeoutEstimate::sample`].
    #[cold]
    pub(super) fn on_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        timeout: &mut TimeoutEstimate,
        (acknowledged, highest): (u64, u64),
    ) {
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        if let Some(syn_ack_at) = self.syn_ack_at.take() {
            timeout.sample(at.saturating_since(syn_ack_at), acknowledged, highest);
        }
        let (Some((value, left_at)), Some(stamps)) =
            (self.pending_stamp, segment.options.timestamps)
        else {
            return;
        };
        if stamps.echo == value
            && let Some(rtt) = self.sample(at.saturating_since(left_at), timeout.least())
        {
            timeout.sample(rtt, acknowledged, highest);
        }
        if stamps.echo == value || is_earlier(value, stamps.echo) {
            self.pending_stamp = None;
        }
    }

    /// The minimum of a round of samples, when it is complete.
    fn sample(&mut self, rtt: Span, least: Option<Span>) -> Option<Span> {
        if least.is_some_and(|least| rtt > least * 2) {
            return None;
        }
        self.minimum = if self.samples == 0 { rtt } else { self.minimum.min(rtt) };
        self.samples += 1;
        if self.samples < ROUND_SAMPLES {
            return None;
        }
        self.samples = 0;
        Some(self.minimum)
    }

    /// A late segment has filled a gap that ended before `end`.
    pub(super) const fn on_gap_filled(&mut self, at: Instant, end: u64) {
        self.filled_at = at;
        self.filled_end = end;
    }

    /// Whether the receiver may have reported something before `end` as lost, because it came late.
    pub(super) fn was_filled_late(&self, at: Instant, end: u64, smoothed: Span) -> bool {
        end <= self.filled_end && at.saturating_since(self.filled_at) <= smoothed * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples_ms: &[u64]) -> TimeoutEstimate {
        let mut estimate = TimeoutEstimate::default();
        for (&sample, offset) in samples_ms.iter().zip((0..).step_by(10)) {
            estimate.sample(Span::from_millis(sample), offset, offset + 5);
        }
        estimate
    }

    #[test]
    fn quiet_path_rto_is_rtt_plus_200_ms() {
        assert_eq!(after(&[100; 40]).timeout(), Span::from_millis(300));
    }

    /// RFC 6298 §2.2: SRTT 150, RTTVAR 75, RTO 150 + 4 x 75.
    #[test]
    fn first_rtt_sample_sets_half_as_deviation() {
        assert_eq!(after(&[150]).timeout(), Span::from_millis(450));
    }

    #[test]
    fn before_any_sample_a_second_is_waited() {
        let estimate = TimeoutEstimate::default();
        assert_eq!((estimate.timeout(), estimate.least()), (Span::from_secs(1), None));
    }

    /// Two round trips and 200 ms are 400 ms, but the time-out of 300 ms comes first.
    #[test]
    fn single_segment_probe_timer_is_at_most_rto() {
        assert_eq!(after(&[100; 40]).probe_wait(), Span::from_millis(300));
        // SRTT 150, time-out 450: two round trips and 200 ms are 500.
        assert_eq!(after(&[150]).probe_wait(), Span::from_millis(450));
        // SRTT 300, time-out 900: 800 ms.
        assert_eq!(after(&[300]).probe_wait(), Span::from_millis(800));
    }
}
