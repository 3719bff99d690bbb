//! Congestion control on an acknowledgment (Linux `tcp_cong_control`).
//!
//! Source: RFC 5681 §3.1; Linux `tcp_cong_control`, `tcp_may_raise_cwnd`, `tcp_cong_avoid`.

use super::AckSample;
use crate::config::AckCounting;
use crate::sender::ack::RoundTrip;
use crate::sender::queue::Acknowledged;
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};

impl Sender {
    /// Lets the window fall, or grow where it was the limit (RFC 5681 §3.1; Linux
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
        if self.has_extras {
            self.control_closely(segments, round_trip, lost_before, ack);
        } else {
            self.change_window(segments, lost_before, ack);
        }
    }

    /// The same with what few connections have: a limit to follow, segments that count as fewer, rates
    /// that are sampled.
    #[cold]
    #[inline(never)]
    fn control_closely(
        &mut self,
        segments: u32,
        round_trip: RoundTrip,
        lost_before: u32,
        ack: &AckEvent,
    ) {
        self.update_inflight_limit(ack.now());
        let segments = self.count_full_segments(segments);
        let losses = self.queue.losses().wrapping_sub(lost_before);
        let mut sample = self.sample_delivery_rate(ack, losses);
        sample.is_delayed = round_trip.is_delayed();
        if self.has_cong_control() {
            self.report_lost();
            self.run_cong_control(sample, round_trip.latest(), ack);
        } else {
            self.change_window(segments, lost_before, ack);
        }
        self.update_resumption(ack);
        self.on_first_flight_acked();
        self.update_framing();
    }

    /// What was acknowledged is known, and nothing has come of it yet.
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

    /// Linux looks at its growth anew also where all was known to have arrived.
    #[inline]
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
