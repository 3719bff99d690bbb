//! Acknowledgment processing (RFC 9293 §3.10.7.4, step 5): round trips, losses, window growth. The
//! order of steps is that of Linux `tcp_ack`.

use crate::ecn::AckedData;
use crate::sender::loss::AckDelivery;
use crate::sender::queue::Acknowledged;
use crate::sender::scoreboard::SackUpdate;
use crate::sender::statistics::SenderLimit;
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::RecoveryState;
use crate::timers::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber};

/// The round trip that an acknowledgment shows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundTrip {
    /// Of the oldest newly reported segment, for the time-out.
    longest: Option<Span>,
    /// Of the youngest one, for the present delay of the path.
    latest: Option<Span>,
    /// Of the lowest segment selectively acknowledged.
    by_sack: Option<Span>,
    /// It may have been acknowledged late.
    is_delayed: bool,
}

impl RoundTrip {
    getters! {
        /// Of the youngest segment that is reported.
        latest: Option<Span>,
        is_delayed: bool,
    }
}

impl Sender {
    /// Processes a new or duplicate acknowledgment; `has_new_timestamp` if its timestamp is the latest.
    /// Returns whether our FIN is acknowledged.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        segment: &Segment,
        has_new_timestamp: bool,
        now: Instant,
    ) -> bool {
        self.send.on_heard(now);
        self.persist.on_answer();
        self.soft_error = None;
        if self.is_window_update_at_most(segment) {
            self.update_window(segment);
            false
        } else {
            self.on_new_ack(segment, has_new_timestamp, now)
        }
    }

    #[inline]
    fn on_new_ack(&mut self, segment: &Segment, has_new_timestamp: bool, now: Instant) -> bool {
        if self.is_plugged() {
            self.begin_plugged_ack(segment);
        }
        let mut ack = self.start_ack(segment, now);
        ack.add_if(self.ecn.is_echo(segment.flags), AckFlags::CONGESTION_ECHOED);
        ack.add_if(self.update_window(segment), AckFlags::WINDOW_UPDATED);
        let highest_before = self.highest_sacked();
        self.send.advance(segment.acknowledgment);
        let nothing_outstanding = self.queue.is_empty();
        let lost_before = self.queue.losses();
        let has_sacks = !segment.options.sack.is_empty() && self.negotiated.has_sack();
        let update =
            if has_sacks { self.process_sacks(segment, &mut ack) } else { SackUpdate::default() };
        if nothing_outstanding {
            self.count_accurate_marks(segment, has_new_timestamp, &mut ack);
            if self.is_plugged() {
                self.plugged_in_ack_event(&ack);
            }
            self.on_ack_when_idle(&mut ack);
            return false;
        }
        let acknowledged = self.remove_acked(segment, &mut ack);
        let round_trip = self.sample_round_trip(&acknowledged, &update, &mut ack);
        self.count_delivered_segments(&acknowledged, highest_before, &mut ack);
        self.count_accurate_marks(segment, has_new_timestamp, &mut ack);
        if self.is_plugged() {
            self.plugged_pkts_acked(acknowledged.segments(), round_trip.latest, &ack);
        } else if self.congestion.takes_samples() {
            self.sample_acknowledgment(acknowledged.segments(), round_trip.latest, now);
        }
        if self.tail_probe.is_outstanding() {
            self.on_ack_after_tail_probe(&ack);
            self.invalidate_view();
        }
        if self.is_dubious(ack.flags()) {
            ack.count_duplicate();
            self.update_recovery_state(&mut ack);
            self.invalidate_view();
        }
        if ack.has(AckFlags::TIMER_DUE) {
            self.arm_tlp_or_rto(now);
        }
        self.control_congestion(&acknowledged, round_trip, lost_before, &ack);
        acknowledged.has_fin()
    }

    /// Processes Accurate ECN feedback, unless the acknowledgment is old (Linux `tcp_accecn_process`).
    #[inline]
    fn count_accurate_marks(
        &mut self,
        segment: &Segment,
        has_new_timestamp: bool,
        ack: &mut AckEvent,
    ) {
        if self.ecn.is_accurate() {
            let has_progress = ack.has(AckFlags::ACKNOWLEDGED.and(AckFlags::SACKED));
            let marks = self.accurate_marks(segment, has_progress || has_new_timestamp, ack);
            ack.add_if(marks > 0, AckFlags::CONGESTION_ECHOED);
        }
    }

    #[cold]
    fn accurate_marks(&mut self, segment: &Segment, is_news: bool, ack: &AckEvent) -> u32 {
        let acked_bytes = self.send.acknowledged_bytes() + self.scoreboard.sacked_bytes();
        let is_exact = self.negotiated.has_sack()
            || matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Cwr);
        let acked = AckedData::new(ack.delivered(), self.segment_bytes, self.deliveries.marked())
            .with_bytes(acked_bytes, self.stats.bytes())
            .exact_if(is_exact);
        let rtt = self.rtt.smoothed();
        let Some(feedback) = self.ecn.accurate_mut() else { return 0 };
        feedback.note_time(&self.config.ecn, rtt, ack.now());
        let marks = if is_news {
            feedback.on_ack(segment, &acked)
        } else {
            feedback.skip_ack(&acked);
            0
        };
        self.deliveries.add_marked(marks);
        marks
    }

    /// Handles an acknowledgment while nothing is outstanding: of a duplicate, or of a probe.
    fn on_ack_when_idle(&mut self, ack: &mut AckEvent) {
        if ack.has(AckFlags::DSACKED) {
            self.update_recovery_state(ack);
        }
        if self.written.has_any() {
            self.on_window_probe_ack(ack.now());
        }
        if self.tail_probe.is_outstanding() {
            self.on_ack_after_tail_probe(ack);
        }
    }

    #[inline]
    pub(super) fn start_ack(&mut self, segment: &Segment, now: Instant) -> AckEvent {
        let mut flags = AckFlags::default();
        let advanced = segment.acknowledgment.is_after(self.send.oldest_unacked());
        flags.add_if(advanced, AckFlags::ADVANCED);
        flags.add_if(segment.sequence_length() > 0, AckFlags::WITH_DATA);
        if advanced {
            self.rto.on_progress();
        }
        AckEvent::new(now, flags, self.send.oldest_unacked(), self.echo_of(segment))
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

    /// Processes the SACK blocks of a segment that has some.
    #[cold]
    fn process_sacks(&mut self, segment: &Segment, ack: &mut AckEvent) -> SackUpdate {
        let (update, delivered_at_sending) =
            self.mark_sacks(segment, ack.oldest_before(), ack.echo(), ack.now());
        ack.add(update.flags());
        ack.set_delivered_at_sending(delivered_at_sending);
        self.count_delivered(update.delivered(), ack);
        update
    }

    #[inline]
    fn count_delivered(&mut self, segments: u32, ack: &mut AckEvent) {
        ack.count_delivered(segments);
        self.deliveries.add(segments, ack.has(AckFlags::CONGESTION_ECHOED));
    }

    /// Handles the acknowledgment of data in our SYN, or of a part of it.
    #[cold]
    pub(crate) fn remove_acked_syn_data(&mut self, segment: &Segment, now: Instant) {
        let mut ack = self.start_ack(segment, now);
        self.send.advance(segment.acknowledgment);
        let acknowledged = self.remove_acked(segment, &mut ack);
        self.count_delivered(acknowledged.newly_delivered(), &mut ack);
    }

    /// Removes acknowledged segments from the queue (Linux `tcp_clean_rtx_queue`).
    #[inline]
    fn remove_acked(&mut self, segment: &Segment, ack: &mut AckEvent) -> Acknowledged {
        if !ack.has(AckFlags::ADVANCED) {
            return Acknowledged::default();
        }
        let acknowledgment = segment.acknowledgment;
        self.scoreboard.before_acknowledge(&self.queue, acknowledgment);
        let min_rtt = self.rtt.minimum();
        let rack = self.negotiated.has_sack().then_some(&mut self.rack);
        let mut delivery = AckDelivery::new(rack, ack.now(), min_rtt, ack.echo());
        let mut outcome =
            self.queue.acknowledge(acknowledgment, |sent| delivery.on_acknowledged(sent));
        if delivery.delivered_at_sending() != 0 {
            ack.set_delivered_at_sending(delivery.delivered_at_sending());
        }
        if !self.fast_path.is_plain() {
            let latest_delivered = delivery.latest_delivered();
            self.note_latest_delivered(latest_delivered);
            self.on_bundles_acked(ack.oldest_before(), acknowledgment);
        }
        if let Some(full) = outcome.cut()
            && self.queue.recut_front(full)
        {
            outcome.count_merged();
        }
        self.scoreboard.after_acknowledge(&self.queue);
        self.stats.on_control_acked(u32::from(outcome.has_fin()));
        if self.mtu_search.is_some() {
            self.on_mtu_probe_acked();
        }
        if self.queue.is_empty() {
            self.end_limit(SenderLimit::Busy, ack.now());
        }
        self.send.discount_fin(outcome.has_fin());
        if self.urgent.is_set() {
            self.urgent.forget_acked(self.send.oldest_unacked());
        }
        if outcome.segments() > 0 {
            ack.add(AckFlags::ACKNOWLEDGED.and(AckFlags::TIMER_DUE));
        }
        ack.add_if(outcome.has_retransmitted(), AckFlags::RETRANSMISSION_ACKNOWLEDGED);
        ack.add_if(outcome.has_reneged(), AckFlags::RENEGED);
        outcome
    }

    /// Counts delivered segments, and detects reordering.
    #[inline]
    fn count_delivered_segments(
        &mut self,
        acknowledged: &Acknowledged,
        highest_before: SequenceNumber,
        ack: &mut AckEvent,
    ) {
        let original = acknowledged.first_original();
        let of_repair =
            original.is_some_and(|first| first.end().is_at_or_before(self.recovery.end()));
        ack.add_if(of_repair, AckFlags::ORIGINAL_ACKNOWLEDGED);
        if self.negotiated.has_sack() {
            self.count_delivered(acknowledged.newly_delivered(), ack);
            if let Some(first) = original
                && first.sequence().is_before(highest_before)
            {
                // An original transmission has filled a hole.
                let highest = self.highest_sacked();
                self.update_reordering(first.sequence(), highest);
            }
            if self.config.loss.rack_adapts {
                self.rack.update_reordering_window(
                    ack.delivered_at_sending(),
                    self.deliveries.segments(),
                );
            }
        } else if acknowledged.segments() > 0 {
            let arrived = self.duplicate_acks.remove(
                acknowledged.segments(),
                &self.queue,
                &mut self.reordering,
            );
            self.count_delivered(arrived, ack);
            if acknowledged.has_retransmitted() {
                // Without SACK the acknowledged transmission is unknown.
                ack.remove(AckFlags::ORIGINAL_ACKNOWLEDGED);
            }
        }
    }

    /// Takes a sample from segments that were sent once (Karn), else from the timestamp (RFC 7323
    /// §4).
    #[inline]
    fn sample_round_trip(
        &mut self,
        acknowledged: &Acknowledged,
        update: &SackUpdate,
        ack: &mut AckEvent,
    ) -> RoundTrip {
        let now = ack.now();
        let mut trip = RoundTrip::default();
        if let (Some(first), Some(last)) =
            (acknowledged.first_original(), acknowledged.last_original_at())
            && !acknowledged.has_retransmitted()
        {
            trip.longest = Some(now.saturating_since(first.transmitted_at()));
            trip.latest = Some(now.saturating_since(last));
        }
        if let Some((first, last)) = update.sent_once_at() {
            trip.by_sack = Some(now.saturating_since(first));
            trip.latest = Some(now.saturating_since(last));
        }
        trip.longest = trip.longest.or(trip.by_sack);
        if trip.longest.is_none() && acknowledged.segments() > 0 {
            trip.longest = Self::rtt_by_timestamp(ack.echo(), now);
            trip.latest = trip.longest;
        }
        if let (Some(longest), Some(latest)) = (trip.longest, trip.latest) {
            trip.is_delayed = self.may_be_delayed(acknowledged, latest, ack);
            if !trip.is_delayed {
                self.rtt.add_minimum_sample(&self.config, latest, now);
            }
            self.sample_rtt(longest);
            self.rto.restart(self.rtt.timeout(&self.config));
            self.rearm_after_sack_sample(acknowledged, trip, ack);
        }
        trip
    }

    /// Whether the ACK may be delayed: a single small segment was acknowledged, with nothing else
    /// in flight. Unless its round trip is the minimum anyway, it must not become the minimum when
    /// that expires (Linux `FLAG_ACK_MAYBE_DELAYED`).
    #[inline]
    fn may_be_delayed(&self, acknowledged: &Acknowledged, latest: Span, ack: &AckEvent) -> bool {
        acknowledged.segments() == 1
            && self.negotiated.has_sack()
            && self.queue.sacked() == 0
            && !acknowledged.has_retransmitted()
            && !ack.has(AckFlags::SUSPICIOUS)
            && ack.delivered_at_sending() == self.deliveries.segments()
            && self.send.oldest_unacked().distance_from(ack.oldest_before()) < self.segment_bytes
            && self.rtt.minimum().is_some_and(|min| latest > min)
    }

    /// Selective acknowledgments restart the timer only if they are for segments sent before the
    /// last transmission of the oldest one.
    #[inline]
    fn rearm_after_sack_sample(
        &self,
        acknowledged: &Acknowledged,
        trip: RoundTrip,
        ack: &mut AckEvent,
    ) {
        if acknowledged.segments() > 0 {
            return;
        }
        if let (Some(by_sack), Some(oldest)) = (trip.by_sack, self.queue.front())
            && by_sack > ack.now().saturating_since(oldest.transmitted_at())
        {
            ack.add(AckFlags::TIMER_DUE);
        }
    }

    #[inline]
    pub(super) fn sample_rtt(&mut self, rtt: Span) {
        let (oldest, next) = (self.send.oldest_unacked(), self.send.next());
        self.rtt.sample(&self.config, rtt, oldest, next);
    }

    /// Round trip from the echoed timestamp, in whole milliseconds, at least one.
    pub(super) fn rtt_by_timestamp(echo: Option<u32>, now: Instant) -> Option<Span> {
        let elapsed = timestamp_at(now).wrapping_sub(echo?);
        (elapsed < 1 << 31).then(|| Span::from_millis(u64::from(elapsed.max(1))))
    }
}
