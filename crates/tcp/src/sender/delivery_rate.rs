//! Delivery rate, sampled once per acknowledgment.
//!
//! Source: Linux `tcp_rate.c` (`tcp_rate_skb_sent`, `tcp_rate_skb_delivered`, `tcp_rate_gen`,
//! `tcp_rate_check_app_limited`); draft-cheng-iccrg-delivery-rate-estimation.
//! Differs: the state at transmission is stored once for all segments sent between two
//! acknowledgments, and looked up by the delivered count.
//! Cost: nothing while [`Sending::delivery_rate`](crate::Sending) is off; else a search per
//! acknowledgment among the stages of a window.

use crate::sender::congestion::plugged::{RateSample, TcpSock, TransmitSnapshot, WindowEvent};
use crate::sender::loss::LatestDelivered;
use crate::sender::queue::SentFlags;
use crate::sender::{AckEvent, AckFlags, Sender};
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// Segments delivered in a time.
#[derive(Debug, Clone, Copy)]
struct Sample {
    segments: u32,
    interval: Span,
    limited: bool,
}

/// State for segments that were sent at the same delivered count.
#[derive(Debug, Clone, Copy)]
struct SendStage {
    delivered: u32,
    /// When the segment was sent from which the sending of this window counts.
    first_sent_at: Instant,
    /// Time of the last delivery.
    delivered_at: Instant,
    /// Flight after the last one of them.
    flight: u32,
    /// Marked lost until then, since the beginning.
    losses: u32,
}

/// The latest rate, and the state for the next samples.
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    stages: VecDeque<SendStage>,
    first_sent_at: Instant,
    delivered_at: Instant,
    /// Delivered count at which the application-limited phase ends (`app_limited`).
    limited_until: Option<u32>,
    latest_delivered: Option<LatestDelivered>,
    sample: Option<Sample>,
    /// State at the transmission of the sampled segment.
    at_sending: Option<TransmitSnapshot>,
}

/// Stages beyond those of the outstanding segments.
const SPARE_STAGES: usize = 64;

impl DeliveryRate {
    /// Whether the latest sample was limited by the application, and not by the path; before there
    /// is one, it is taken to be.
    pub(crate) fn is_application_limited(&self) -> bool {
        self.sample.is_none_or(|sample| sample.limited)
    }

    /// Bytes per second for a segment size; 0 before the first sample.
    pub(crate) fn bytes_per_second(&self, segment_bytes: u32) -> u64 {
        let Some(sample) = self.sample.filter(|sample| sample.interval.as_micros() > 0) else {
            return 0;
        };
        let bytes = u64::from(sample.segments) * u64::from(segment_bytes);
        bytes * 1_000_000 / sample.interval.as_micros()
    }

    /// Writes the rate state of the kernel.
    pub(crate) fn show(&self, sender: &mut TcpSock) {
        sender.delivered_at_micros = self.delivered_at.as_nanos() / 1_000;
        sender.first_sent_at_micros = self.first_sent_at.as_nanos() / 1_000;
        sender.application_limited = self.limited_until.unwrap_or(0);
    }

    /// Sets the end of the application-limited phase, for a congestion control.
    pub(crate) fn limit_until(&mut self, delivered: u32) {
        self.limited_until = (delivered != 0).then_some(delivered);
    }

    fn stage_of(&self, delivered: u32) -> Option<SendStage> {
        let front = self.stages.front()?.delivered;
        let wanted = delivered.wrapping_sub(front);
        let place =
            self.stages.partition_point(|stage| stage.delivered.wrapping_sub(front) < wanted);
        self.stages.get(place).copied().filter(|stage| stage.delivered == delivered)
    }

    /// State at the transmission of a segment.
    pub(crate) fn at_sending(&self, delivered: u32, flags: SentFlags) -> Option<TransmitSnapshot> {
        self.stage_of(delivered).map(|stage| TransmitSnapshot {
            flight: stage.flight,
            losses: stage.losses,
            is_application_limited: flags.contains(SentFlags::APPLICATION_LIMITED),
        })
    }

    /// The same for the segment of the last sample, once.
    pub(crate) fn take_at_sending(&mut self) -> Option<TransmitSnapshot> {
        self.at_sending.take()
    }

    /// Delivered segments since the transmission of the segment, and the interval.
    fn measure(
        &self,
        latest_delivered: &LatestDelivered,
        delivered: u32,
        min_rtt: Span,
        now: Instant,
    ) -> Option<RateSample> {
        let stage = self.stage_of(latest_delivered.delivered_before())?;
        let sending = latest_delivered.sent_at().saturating_since(stage.first_sent_at);
        let acknowledging = now.saturating_since(stage.delivered_at);
        let interval = sending.max(acknowledging);
        let segments = delivered.wrapping_sub(latest_delivered.delivered_before());
        let micros = |span: Span| u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        let is_rate = interval >= min_rtt;
        Some(RateSample {
            delivered_at_before_micros: stage.delivered_at.as_nanos() / 1_000,
            delivered_before: latest_delivered.delivered_before(),
            delivered: i32::try_from(segments).unwrap_or(i32::MAX),
            interval_micros: if is_rate { i64::from(micros(interval)) } else { -1 },
            sending_micros: micros(sending),
            acknowledging_micros: micros(acknowledging),
            end: latest_delivered.end().get(),
            is_application_limited: latest_delivered
                .flags()
                .contains(SentFlags::APPLICATION_LIMITED),
            is_retransmission: latest_delivered.flags().contains(SentFlags::RETRANSMITTED),
            ..RateSample::INVALID
        })
    }

    /// Keeps a sample as the rate if its interval is at least a round trip.
    fn keep(&mut self, rate: &RateSample) {
        let Ok(micros) = u64::try_from(rate.interval_micros) else { return };
        let segments = rate.delivered.cast_unsigned();
        let limited = rate.is_application_limited;
        let is_faster = |before: Sample| {
            u64::from(segments) * before.interval.as_micros() >= u64::from(before.segments) * micros
        };
        if !limited || self.sample.is_none_or(is_faster) {
            let interval = Span::from_micros(micros);
            self.sample = Some(Sample { segments, interval, limited });
        }
    }
}

impl Sender {
    pub(crate) fn samples_delivery_rate(&self) -> bool {
        self.config.sending.delivery_rate || self.congestion.wants_samples()
    }

    /// Data is about to be sent; returns its marks.
    #[inline]
    pub(crate) fn note_sending(&mut self, now: Instant) -> SentFlags {
        if self.in_flight() == 0 {
            self.begin_sending(now);
        }
        if self.fast_path.is_plain() || !self.samples_delivery_rate() {
            return SentFlags::default();
        }
        self.begin_stage(now)
    }

    /// Begins transmission with nothing in flight (Linux `CA_EVENT_TX_START`).
    fn begin_sending(&mut self, now: Instant) {
        self.congestion.on_idle_end(self.send.last_sent(), now);
        self.note_instant(now);
        self.notify_control(WindowEvent::SendingBegins);
    }

    #[cold]
    fn begin_stage(&mut self, now: Instant) -> SentFlags {
        let flight = self.in_flight() + 1;
        let rate = &mut self.delivery_rate;
        if self.queue.is_empty() {
            rate.stages.clear();
            rate.first_sent_at = now;
            rate.delivered_at = now;
        }
        let delivered = self.deliveries.segments();
        let losses = self.queue.losses();
        match rate.stages.back_mut() {
            Some(last) if last.delivered == delivered => {
                (last.flight, last.losses) = (flight, losses);
            }
            _ => {
                let (first_sent_at, delivered_at) = (rate.first_sent_at, rate.delivered_at);
                rate.stages.push_back(SendStage {
                    delivered,
                    first_sent_at,
                    delivered_at,
                    flight,
                    losses,
                });
            }
        }
        let limited = rate.limited_until.is_some();
        self.forget_stages();
        if limited { SentFlags::APPLICATION_LIMITED } else { SentFlags::default() }
    }

    /// Removes stages without outstanding segments from time to time.
    fn forget_stages(&mut self) {
        let outstanding = usize::try_from(self.queue.outstanding()).unwrap_or(usize::MAX);
        let stages = &mut self.delivery_rate.stages;
        if stages.len() <= outstanding.saturating_mul(2).saturating_add(SPARE_STAGES) {
            return;
        }
        let delivered = self.deliveries.segments();
        let oldest = self.queue.max_delivered_since(delivered);
        while stages.front().is_some_and(|stage| delivered.wrapping_sub(stage.delivered) > oldest) {
            stages.pop_front();
        }
    }

    /// Records the latest segment of an acknowledgment.
    #[cold]
    pub(crate) fn note_latest_delivered(&mut self, latest_delivered: LatestDelivered) {
        if latest_delivered.delivered_before() == 0 || !self.samples_delivery_rate() {
            return;
        }
        let rate = &mut self.delivery_rate;
        let is_later = |before: LatestDelivered| {
            (
                latest_delivered.sent_at(),
                latest_delivered.end().distance_from(before.end()) < 1 << 31,
            ) > (before.sent_at(), false)
        };
        if rate.latest_delivered.is_none_or(is_later) {
            rate.latest_delivered = Some(latest_delivered);
            rate.first_sent_at = latest_delivered.sent_at();
        }
    }

    /// Finishes the sample of an acknowledgment with `losses` lost segments.
    #[cold]
    pub(crate) fn sample_delivery_rate(&mut self, ack: &AckEvent, losses: u32) -> RateSample {
        let mut told = RateSample {
            losses: i32::try_from(losses).unwrap_or(i32::MAX),
            newly_delivered: ack.delivered(),
            ..RateSample::INVALID
        };
        if !self.samples_delivery_rate() {
            return told;
        }
        let delivered = self.deliveries.segments();
        let rate = &mut self.delivery_rate;
        if rate.limited_until.is_some_and(|until| until.wrapping_sub(delivered) > u32::MAX / 2) {
            rate.limited_until = None;
        }
        if ack.delivered() > 0 {
            rate.delivered_at = ack.now();
        }
        let Some(latest_delivered) = rate.latest_delivered.take() else { return told };
        if self.recovery.has_reneged() || ack.has(AckFlags::RENEGED) {
            return told;
        }
        let min_rtt = self.rtt.minimum().unwrap_or(Span::MAX);
        if let Some(measured) = rate.measure(&latest_delivered, delivered, min_rtt, ack.now()) {
            rate.keep(&measured);
            rate.at_sending =
                rate.at_sending(latest_delivered.delivered_before(), latest_delivered.flags());
            told = RateSample {
                losses: told.losses,
                newly_delivered: told.newly_delivered,
                ..measured
            };
        }
        told
    }

    /// Handles a write: if nothing else limited earlier data, the application is the limit.
    #[inline]
    pub(crate) fn note_application_limit(&mut self) {
        if !self.fast_path.is_plain()
            && self.samples_delivery_rate()
            && self.written.unsent() < u64::from(self.segment_bytes)
            && self.in_flight() < self.window.segments()
            && self.queue.lost() <= self.queue.retransmitted()
        {
            let until = self.deliveries.segments().wrapping_add(self.in_flight());
            self.delivery_rate.limited_until = Some(until);
        }
    }
}
