//! Step 5: the acknowledgment field (RFC 9293 §3.10.7.4), from which everything else follows:
//! round trips, losses, growth. The order of steps is that of Linux' `tcp_ack`.

use crate::config::AckCounting;
use crate::sender::Sender;
use crate::sender::congestion::AckSample;
use crate::sender::loss::Delivery;
use crate::sender::queue::Acknowledged;
use crate::sender::scoreboard::SackUpdate;
use crate::sender::statistics::SenderLimit;
use crate::sender::{AckEvent, AckFlags};
use crate::state::RecoveryState;
use crate::timestamp::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber};

/// The round trip that an acknowledgment shows.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    /// Of the oldest segment that it reports: what the time-out is computed from.
    longest: Option<Span>,
    /// Of the youngest one: what the path takes at present.
    latest: Option<Span>,
    /// Of the lowest segment selectively acknowledged.
    by_sack: Option<Span>,
    /// It may have been acknowledged late.
    is_delayed: bool,
}

impl Sender {
    /// Processes an acknowledgment of what is outstanding, or a repeated one. Returns whether our FIN is
    /// acknowledged.
    #[inline]
    pub(crate) fn on_ack(&mut self, segment: &Segment, now: Instant) -> bool {
        self.send.last_heard = now;
        self.backoff.unanswered_probes = 0;
        self.soft_error = None;
        if self.is_repeated_ack(segment) {
            self.update_window(segment);
            false
        } else {
            self.on_new_ack(segment, now)
        }
    }

    /// Whether an acknowledgment can tell of nothing but the peer's window, as those do that come
    /// with the data of a peer to whom nothing is sent.
    #[inline]
    fn is_repeated_ack(&self, segment: &Segment) -> bool {
        segment.acknowledgment == self.send.oldest_unacked
            && self.queue.is_empty()
            && self.queue.unsent == 0
            && !self.queue.fin_waiting
            && segment.options.sack.is_empty()
            && self.recovery.probe.end.is_none()
    }

    #[inline]
    fn on_new_ack(&mut self, segment: &Segment, now: Instant) -> bool {
        if self.is_plugged() {
            self.begin_plugged_ack(segment);
        }
        let mut ack = self.start_ack(segment, now);
        ack.flags.add_if(self.ecn.is_echo(segment.flags), AckFlags::CONGESTION_ECHOED);
        ack.flags.add_if(self.update_window(segment), AckFlags::WINDOW_UPDATED);
        let highest_before = self.highest_sacked();
        self.advance_oldest(segment.acknowledgment);
        let nothing_outstanding = self.queue.is_empty();
        let lost_before = self.queue.losses();
        let update = self.process_sacks(segment, &mut ack);
        if nothing_outstanding {
            if self.is_plugged() {
                self.plugged_in_ack_event(&ack);
            }
            self.on_ack_when_idle(&mut ack);
            return false;
        }
        let acknowledged = self.remove_acked(segment, &mut ack);
        let round_trip = self.sample_round_trip(&acknowledged, &update, &mut ack);
        self.count_delivered_segments(&acknowledged, highest_before, &mut ack);
        if self.is_plugged() {
            self.plugged_pkts_acked(acknowledged.segments, round_trip.latest, &ack);
        } else if self.congestion.takes_samples() {
            self.sample_acknowledgment(acknowledged.segments, round_trip.latest, now);
        }
        if self.recovery.probe.end.is_some() {
            self.on_ack_after_tail_probe(&ack);
            self.invalidate_view();
        }
        if self.is_dubious(ack.flags) {
            Self::count_duplicate_ack(&mut ack);
            self.update_recovery_state(&mut ack);
            self.invalidate_view();
        }
        if ack.has(AckFlags::TIMER_DUE) {
            self.schedule_retransmission(now);
        }
        self.control_congestion(&acknowledged, round_trip, lost_before, &ack);
        acknowledged.fin
    }

    /// An acknowledgment while nothing is outstanding: of a duplicate, or of a probe.
    fn on_ack_when_idle(&mut self, ack: &mut AckEvent) {
        if ack.has(AckFlags::REPEATED) {
            self.update_recovery_state(ack);
        }
        if self.queue.unsent > 0 || self.queue.fin_waiting {
            self.on_window_probe_ack(ack.now);
        }
        if self.recovery.probe.end.is_some() {
            self.on_ack_after_tail_probe(ack);
        }
    }

    #[inline]
    pub(super) fn start_ack(&mut self, segment: &Segment, now: Instant) -> AckEvent {
        let mut flags = AckFlags::default();
        let advanced = segment.acknowledgment.is_after(self.send.oldest_unacked);
        flags.add_if(advanced, AckFlags::ADVANCED);
        flags.add_if(segment.sequence_length() > 0, AckFlags::WITH_DATA);
        if advanced {
            self.backoff.expired = 0;
        }
        AckEvent {
            now,
            flags,
            oldest_before: self.send.oldest_unacked,
            duplicates: 0,
            delivered: 0,
            echo: self.echo_of(segment),
            delivered_at_sending: 0,
        }
    }

    /// The echoed timestamp, where there is one (RFC 7323 §3.2).
    #[inline]
    fn echo_of(&self, segment: &Segment) -> Option<u32> {
        segment
            .options
            .timestamps
            .filter(|stamps| self.negotiated.has_timestamps() && stamps.echo != 0)
            .map(|stamps| stamps.echo)
    }

    #[inline]
    fn advance_oldest(&mut self, acknowledgment: SequenceNumber) {
        let bytes = acknowledgment.distance_from(self.send.oldest_unacked);
        self.send.acknowledged_bytes += u64::from(bytes);
        self.send.oldest_unacked = acknowledgment;
    }

    /// An acknowledgment that was overtaken may still carry SACK blocks.
    #[cold]
    pub(crate) fn on_old_ack(&mut self, segment: &Segment, now: Instant) {
        if segment.options.sack.is_empty() || !self.negotiated.has_sack() {
            return;
        }
        let mut ack = self.start_ack(segment, now);
        self.process_sacks(segment, &mut ack);
        self.update_recovery_state(&mut ack);
    }

    #[inline]
    fn process_sacks(&mut self, segment: &Segment, ack: &mut AckEvent) -> SackUpdate {
        if segment.options.sack.is_empty() || !self.negotiated.has_sack() {
            return SackUpdate::default();
        }
        let (update, delivered_at_sending) =
            self.mark_sacks(segment, ack.oldest_before, ack.echo, ack.now);
        ack.flags.add(AckFlags::of_sacks(&update));
        ack.delivered_at_sending = delivered_at_sending;
        self.count_delivered(update.delivered(), ack);
        update
    }

    #[inline]
    fn count_delivered(&mut self, segments: u32, ack: &mut AckEvent) {
        ack.delivered += segments;
        self.recovery.delivered = self.recovery.delivered.wrapping_add(segments);
        if ack.has(AckFlags::CONGESTION_ECHOED) {
            let marked = self.recovery.delivered_marked.wrapping_add(segments);
            self.recovery.delivered_marked = marked;
        }
    }

    /// The answer to our SYN acknowledges data that went with it, or part of it.
    #[cold]
    pub(crate) fn remove_acked_syn_data(&mut self, segment: &Segment, now: Instant) {
        let mut ack = self.start_ack(segment, now);
        self.advance_oldest(segment.acknowledgment);
        let acknowledged = self.remove_acked(segment, &mut ack);
        self.count_delivered(acknowledged.newly_delivered, &mut ack);
    }

    /// Takes what is acknowledged off the queue.
    #[inline]
    fn remove_acked(&mut self, segment: &Segment, ack: &mut AckEvent) -> Acknowledged {
        if !ack.has(AckFlags::ADVANCED) {
            return Acknowledged::default();
        }
        let acknowledgment = segment.acknowledgment;
        self.scoreboard.before_acknowledge(&self.queue, acknowledgment);
        let least_rtt = self.rtt.minimum();
        let rack = self.negotiated.has_sack().then_some(&mut self.recovery.rack);
        let mut delivery = Delivery::new(rack, ack.now, least_rtt, ack.echo);
        let mut outcome = self.queue.acknowledge(acknowledgment, &mut delivery);
        if delivery.delivered_at_sending != 0 {
            ack.delivered_at_sending = delivery.delivered_at_sending;
        }
        if self.has_extras {
            let latest_delivered = delivery.latest_delivered();
            self.note_latest_delivered(latest_delivered);
            self.on_bundles_acked(ack.oldest_before, acknowledgment);
        }
        if let Some(full) = outcome.cut
            && self.queue.recut_front(full)
        {
            outcome.segments += 1;
            outcome.newly_delivered += 1;
        }
        self.scoreboard.after_acknowledge(&self.queue);
        self.stats.acknowledged_controls += u32::from(outcome.fin);
        if self.path.search.is_some() {
            self.on_mtu_probe_acked();
        }
        if self.queue.is_empty() {
            self.end_limit(SenderLimit::Busy, ack.now);
        }
        self.send.acknowledged_bytes -= u64::from(outcome.fin);
        if self.send.urgent_end.is_some() {
            self.forget_urgent();
        }
        if outcome.segments > 0 {
            ack.flags.add(AckFlags::ACKNOWLEDGED.and(AckFlags::TIMER_DUE));
        }
        ack.flags.add_if(outcome.retransmitted, AckFlags::REPAIR_ACKNOWLEDGED);
        ack.flags.add_if(outcome.reneged, AckFlags::RENEGED);
        outcome
    }

    /// Counts what was delivered, and sees whether segments have overtaken each other.
    #[inline]
    fn count_delivered_segments(
        &mut self,
        acknowledged: &Acknowledged,
        highest_before: SequenceNumber,
        ack: &mut AckEvent,
    ) {
        let original = acknowledged.first_original;
        let of_repair = original.is_some_and(|first| first.end.is_at_or_before(self.recovery.end));
        ack.flags.add_if(of_repair, AckFlags::ORIGINAL_ACKNOWLEDGED);
        if self.negotiated.has_sack() {
            self.count_delivered(acknowledged.newly_delivered, ack);
            if let Some(first) = original
                && first.sequence.is_before(highest_before)
            {
                // A hole was filled by a segment that was never sent again.
                let highest = self.highest_sacked();
                self.update_reordering(first.sequence, highest);
            }
            if self.config.loss.rack_adapts {
                self.recovery.rack.adapt(ack.delivered_at_sending, self.recovery.delivered);
            }
        } else if acknowledged.segments > 0 {
            let arrived = self.remove_duplicates(acknowledged.segments);
            self.count_delivered(arrived, ack);
            if acknowledged.retransmitted {
                // Without SACK nobody knows which transmission it was.
                ack.flags.remove(AckFlags::ORIGINAL_ACKNOWLEDGED);
            }
        }
    }

    /// A duplicate acknowledges nothing, brings nothing and opens nothing (RFC 5681 §2).
    fn count_duplicate_ack(ack: &mut AckEvent) {
        let excluded = AckFlags::NOT_DUPLICATE.and(AckFlags::ADVANCED).and(AckFlags::REPEATED);
        ack.duplicates = u32::from(!ack.has(excluded));
    }

    /// A sample from segments that were sent once (Karn), else from the timestamp (RFC 7323 §4).
    #[inline]
    fn sample_round_trip(
        &mut self,
        acknowledged: &Acknowledged,
        update: &SackUpdate,
        ack: &mut AckEvent,
    ) -> RoundTrip {
        let now = ack.now;
        let mut trip = RoundTrip::default();
        if let (Some(first), Some(last)) =
            (acknowledged.first_original, acknowledged.last_original_at)
            && !acknowledged.retransmitted
        {
            trip.longest = Some(now.saturating_since(first.transmitted_at));
            trip.latest = Some(now.saturating_since(last));
        }
        if let Some((first, last)) = update.sent_once_at {
            trip.by_sack = Some(now.saturating_since(first));
            trip.latest = Some(now.saturating_since(last));
        }
        trip.longest = trip.longest.or(trip.by_sack);
        if trip.longest.is_none() && acknowledged.segments > 0 {
            trip.longest = Self::rtt_by_timestamp(ack.echo, now);
            trip.latest = trip.longest;
        }
        if let (Some(longest), Some(latest)) = (trip.longest, trip.latest) {
            trip.is_delayed = self.may_be_delayed(acknowledged, latest, ack);
            if !trip.is_delayed {
                self.rtt.note_least(&self.config, latest, now);
            }
            self.sample_rtt(longest);
            self.backoff.timeout = self.rtt.timeout(&self.config);
            self.backoff.doublings = 0;
            self.rearm_after_sack_sample(acknowledged, trip, ack);
        }
        trip
    }

    /// A small segment that was acknowledged alone, with nothing else on its way, may have been
    /// acknowledged late. If its round trip is not the least anyway, it shall not be taken for the
    /// least one once that is forgotten (Linux `FLAG_ACK_MAYBE_DELAYED`).
    #[inline]
    fn may_be_delayed(&self, acknowledged: &Acknowledged, latest: Span, ack: &AckEvent) -> bool {
        acknowledged.segments == 1
            && self.negotiated.has_sack()
            && self.queue.sacked() == 0
            && !acknowledged.retransmitted
            && !ack.has(AckFlags::SUSPICIOUS)
            && ack.delivered_at_sending == self.recovery.delivered
            && self.send.oldest_unacked.distance_from(ack.oldest_before) < self.segment_bytes
            && self.rtt.minimum().is_some_and(|least| latest > least)
    }

    /// Selective acknowledgments of segments sent after the oldest one was sent last do not put its
    /// time-out off, others do.
    #[inline]
    fn rearm_after_sack_sample(
        &self,
        acknowledged: &Acknowledged,
        trip: RoundTrip,
        ack: &mut AckEvent,
    ) {
        if acknowledged.segments > 0 {
            return;
        }
        if let (Some(by_sack), Some(oldest)) = (trip.by_sack, self.queue.front())
            && by_sack > ack.now.saturating_since(oldest.transmitted_at)
        {
            ack.flags.add(AckFlags::TIMER_DUE);
        }
    }

    #[inline]
    pub(super) fn sample_rtt(&mut self, rtt: Span) {
        let (oldest, next) = (self.send.oldest_unacked, self.send.next);
        self.rtt.sample(&self.config, rtt, oldest, next);
    }

    /// The round trip by the echoed timestamp, in whole milliseconds, at least one.
    pub(super) fn rtt_by_timestamp(echo: Option<u32>, now: Instant) -> Option<Span> {
        let elapsed = timestamp_at(now).wrapping_sub(echo?);
        (elapsed < 1 << 31).then(|| Span::from_millis(u64::from(elapsed.max(1))))
    }

    /// Lets the window fall, or grow where it was the limit (RFC 5681 §3.1; Linux
    /// `tcp_cong_control`).
    #[inline]
    fn control_congestion(
        &mut self,
        acknowledged: &Acknowledged,
        round_trip: RoundTrip,
        lost_before: u32,
        ack: &AckEvent,
    ) {
        let segments = match self.config.ack_counting {
            AckCounting::Segments => ack.delivered,
            AckCounting::PerAck | AckCounting::SegmentsInSlowStart => acknowledged.segments,
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
        self.update_inflight_limit(ack.now);
        let segments = self.count_full_segments(segments);
        let losses = self.queue.losses().wrapping_sub(lost_before);
        let mut sample = self.sample_delivery_rate(ack, losses);
        sample.is_delayed = round_trip.is_delayed;
        if self.has_cong_control() {
            self.report_lost();
            self.run_cong_control(sample, round_trip.latest, ack);
        } else {
            self.change_window(segments, lost_before, ack);
        }
        self.update_resumption(ack);
        self.on_first_flight_acked();
        self.update_framing();
    }

    /// What was acknowledged is known, and nothing has come of it yet.
    #[inline]
    fn sample_acknowledgment(&mut self, acknowledged: u32, rtt: Option<Span>, now: Instant) {
        let sample = AckSample {
            acknowledged,
            rtt,
            now,
            oldest_unacked: self.send.oldest_unacked,
            next: self.send.next,
            is_open: self.recovery.state == RecoveryState::Open,
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
            self.usage.on_progress(ack.now);
            if self.counts_at_all(segments) {
                self.grow(segments, ack.now);
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
        if self.recovery.threshold > self.config.duplicate_threshold {
            ack.has(AckFlags::ACKNOWLEDGED.and(AckFlags::SACKED))
        } else {
            ack.has(AckFlags::ACKNOWLEDGED)
        }
    }
}
