//! Step 5: the acknowledgment field (RFC 9293 §3.10.7.4), from which everything else follows:
//! round trips, losses, growth. The order of steps is that of Linux' `tcp_ack`.

use crate::account::Occupation;
use crate::config::{AckAcceptance, AckCounting};
use crate::congestion::AckSample;
use crate::connection::Connection;
use crate::recovery::{AckNews, Delivery, Findings};
use crate::scoreboard::Update;
use crate::send_queue::Acknowledged;
use crate::state::RecoveryState;
use crate::state::State;
use crate::timestamp::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};

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

impl Connection {
    /// Processes the acknowledgment; `false` ends the processing of the segment.
    #[inline]
    pub(super) fn process_acknowledgment(&mut self, segment: &Segment, now: Instant) -> bool {
        if !segment.flags.contains(Flags::ACK) {
            return false;
        }
        if self.state == State::SynReceived && !self.complete_opening(segment, now) {
            return false;
        }
        if segment.acknowledgment.is_after(self.send.next) {
            self.on_unsent_acknowledged(now);
            return false;
        }
        if segment.acknowledgment.is_before(self.send.oldest_unacked) {
            self.on_old_acknowledgment(segment, now);
            return self.is_old_acknowledgment_credible(segment, now);
        }
        self.note_timestamp(segment, now);
        self.on_acknowledgment(segment, now);
        true
    }

    /// Something not sent yet is acknowledged (RFC 9293 §3.10.7.4), which is answered like other
    /// attempts at guessing (Linux `tcp_ack`).
    #[cold]
    fn on_unsent_acknowledged(&mut self, now: Instant) {
        match self.config.receiving.acknowledgments {
            AckAcceptance::Range => self.acknowledger.now = true,
            AckAcceptance::Recent => self.challenge(now),
        }
    }

    /// An ACK older than anything that could be in flight is forged (RFC 5961 §5.2).
    fn is_old_acknowledgment_credible(&mut self, segment: &Segment, now: Instant) -> bool {
        let largest = u64::from(self.send.largest_window).min(self.send.acknowledged_bytes);
        let age = self.send.oldest_unacked.distance_from(segment.acknowledgment);
        let guarded = self.config.receiving.acknowledgments != AckAcceptance::Range;
        if !guarded || u64::from(age) <= largest {
            return true;
        }
        self.challenge(now);
        false
    }

    fn complete_opening(&mut self, segment: &Segment, now: Instant) -> bool {
        if segment.acknowledgment != self.send.initial + 1
            && !(segment.acknowledgment.is_after(self.send.initial)
                && segment.acknowledgment.is_at_or_before(self.send.next))
        {
            self.ahead.reset(Self::reset_for(segment));
            return false;
        }
        if segment.flags.contains(Flags::SYN) {
            // Both ends opened at once. The window of a SYN is never scaled (RFC 7323 §2.2), and
            // there is nothing else in this segment.
            self.update_send_window(segment, u32::from(segment.window));
            self.establish(segment, now);
            // Its SYN has been taken before: a duplicate like any other.
            self.note_duplicate(segment.sequence, segment.end());
            self.acknowledger.now = true;
            return false;
        }
        self.update_send_window(segment, self.scaled_window(segment));
        self.establish(segment, now);
        true
    }

    #[inline]
    fn on_acknowledgment(&mut self, segment: &Segment, now: Instant) {
        self.send.last_heard = now;
        self.backoff.unanswered_probes = 0;
        self.complaint = None;
        if self.is_old_news(segment) {
            self.follow_reduced(segment);
            self.follow_window(segment);
        } else {
            self.on_news(segment, now);
        }
    }

    /// Whether an acknowledgment can tell of nothing but the peer's window, as those do that come
    /// with the data of a peer to whom nothing is sent.
    #[inline]
    fn is_old_news(&self, segment: &Segment) -> bool {
        segment.acknowledgment == self.send.oldest_unacked
            && self.queue.is_empty()
            && self.queue.unsent == 0
            && !self.queue.fin_waiting
            && segment.options.sack.is_empty()
            && self.recovery.probe.end.is_none()
    }

    #[inline]
    fn on_news(&mut self, segment: &Segment, now: Instant) {
        if self.is_governed() {
            self.note_flight(segment);
        }
        let mut news = self.begin_news(segment, now);
        self.follow_reduced(segment);
        news.findings.add_if(self.ecn.is_echo(segment.flags), Findings::CONGESTION_ECHOED);
        news.findings.add_if(self.follow_window(segment), Findings::WINDOW_UPDATED);
        let highest_before = self.highest_sacked();
        self.advance_oldest(segment.acknowledgment);
        let nothing_outstanding = self.queue.is_empty();
        let lost_before = self.queue.losses();
        let update = self.take_sacks_of(segment, &mut news);
        if nothing_outstanding {
            if self.is_governed() {
                self.announce_acknowledgment(&news);
            }
            self.follow_idle(&mut news);
            return;
        }
        let acknowledged = self.take_off(segment, &mut news);
        let round_trip = self.take_round_trip(&acknowledged, &update, &mut news);
        self.follow_delivery(&acknowledged, highest_before, &mut news);
        if self.is_governed() {
            self.report_acknowledgment(acknowledged.segments, round_trip.latest, &news);
        } else if self.congestion.takes_samples() {
            self.sample_acknowledgment(acknowledged.segments, round_trip.latest, now);
        }
        if self.recovery.probe.end.is_some() {
            self.follow_probe(&news);
            self.forget_shown();
        }
        if self.is_dubious(news.findings) {
            Self::count_as_duplicate(&mut news);
            self.alert(&mut news);
            self.forget_shown();
        }
        if news.has(Findings::TIMER_DUE) {
            self.set_repair_timer(now);
        }
        self.control_congestion(&acknowledged, round_trip, lost_before, &news);
        if acknowledged.fin {
            self.on_finish_acknowledged(segment, now);
        }
    }

    /// An acknowledgment while nothing is outstanding: of a duplicate, or of a probe.
    fn follow_idle(&mut self, news: &mut AckNews) {
        if news.has(Findings::REPEATED) {
            self.alert(news);
        }
        if self.queue.unsent > 0 || self.queue.fin_waiting {
            self.follow_probe_answer(news.now);
        }
        if self.recovery.probe.end.is_some() {
            self.follow_probe(news);
        }
    }

    #[inline]
    pub(super) fn begin_news(&mut self, segment: &Segment, now: Instant) -> AckNews {
        let mut findings = Findings::default();
        let advanced = segment.acknowledgment.is_after(self.send.oldest_unacked);
        findings.add_if(advanced, Findings::ADVANCED);
        findings.add_if(segment.sequence_length() > 0, Findings::WITH_DATA);
        if advanced {
            self.backoff.expired = 0;
        }
        AckNews {
            now,
            findings,
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
            .filter(|stamps| self.negotiated.timestamps && stamps.echo != 0)
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
    fn on_old_acknowledgment(&mut self, segment: &Segment, now: Instant) {
        if segment.options.sack.is_empty() || !self.negotiated.sack {
            return;
        }
        let mut news = self.begin_news(segment, now);
        self.take_sacks_of(segment, &mut news);
        self.alert(&mut news);
    }

    #[inline]
    fn take_sacks_of(&mut self, segment: &Segment, news: &mut AckNews) -> Update {
        if segment.options.sack.is_empty() || !self.negotiated.sack {
            return Update::default();
        }
        let (update, delivered_at_sending) =
            self.take_sacks(segment, news.oldest_before, news.echo, news.now);
        news.findings.add(Findings::of_sacks(&update));
        news.delivered_at_sending = delivered_at_sending;
        self.count_delivered(update.delivered(), news);
        update
    }

    #[inline]
    fn count_delivered(&mut self, segments: u32, news: &mut AckNews) {
        news.delivered += segments;
        self.recovery.delivered = self.recovery.delivered.wrapping_add(segments);
        if news.has(Findings::CONGESTION_ECHOED) {
            let marked = self.recovery.delivered_marked.wrapping_add(segments);
            self.recovery.delivered_marked = marked;
        }
    }

    /// The answer to our SYN acknowledges data that went with it, or part of it.
    #[cold]
    pub(super) fn take_off_syn_data(&mut self, segment: &Segment, now: Instant) {
        let mut news = self.begin_news(segment, now);
        self.advance_oldest(segment.acknowledgment);
        let acknowledged = self.take_off(segment, &mut news);
        self.count_delivered(acknowledged.newly_delivered, &mut news);
    }

    /// Takes what is acknowledged off the queue.
    #[inline]
    fn take_off(&mut self, segment: &Segment, news: &mut AckNews) -> Acknowledged {
        if !news.has(Findings::ADVANCED) {
            return Acknowledged::default();
        }
        let acknowledgment = segment.acknowledgment;
        self.scoreboard.before_acknowledge(&self.queue, acknowledgment);
        let least_rtt = self.rtt.minimum();
        let rack = self.negotiated.sack.then_some(&mut self.recovery.rack);
        let mut delivery = Delivery::new(rack, news.now, least_rtt, news.echo);
        let mut outcome = self.queue.acknowledge(acknowledgment, &mut delivery);
        if delivery.delivered_at_sending != 0 {
            news.delivered_at_sending = delivery.delivered_at_sending;
        }
        if self.has_extras {
            let reported = delivery.reported();
            self.note_reported(reported);
            self.follow_bundles(news.oldest_before, acknowledgment);
        }
        if let Some(full) = outcome.cut
            && self.queue.recut_front(full)
        {
            outcome.segments += 1;
            outcome.newly_delivered += 1;
        }
        self.scoreboard.after_acknowledge(&self.queue);
        self.account.acknowledged_controls += u32::from(outcome.fin);
        if self.path.search.is_some() {
            self.follow_mtu_probe();
        }
        if self.queue.is_empty() {
            self.end_occupation(Occupation::Busy, news.now);
        }
        self.send.acknowledged_bytes -= u64::from(outcome.fin);
        if self.send.urgent_end.is_some() {
            self.forget_urgent();
        }
        if outcome.segments > 0 {
            news.findings.add(Findings::ACKNOWLEDGED.and(Findings::TIMER_DUE));
        }
        news.findings.add_if(outcome.retransmitted, Findings::REPAIR_ACKNOWLEDGED);
        news.findings.add_if(outcome.reneged, Findings::RENEGED);
        outcome
    }

    /// Counts what was delivered, and sees whether segments have overtaken each other.
    #[inline]
    fn follow_delivery(
        &mut self,
        acknowledged: &Acknowledged,
        highest_before: SequenceNumber,
        news: &mut AckNews,
    ) {
        let original = acknowledged.first_original;
        let of_repair = original.is_some_and(|first| first.end.is_at_or_before(self.recovery.end));
        news.findings.add_if(of_repair, Findings::ORIGINAL_ACKNOWLEDGED);
        if self.negotiated.sack {
            self.count_delivered(acknowledged.newly_delivered, news);
            if let Some(first) = original
                && first.sequence.is_before(highest_before)
            {
                // A hole was filled by a segment that was never sent again.
                let highest = self.highest_sacked();
                self.learn_reordering(first.sequence, highest);
            }
            if self.config.loss.rack_adapts {
                self.recovery.rack.adapt(news.delivered_at_sending, self.recovery.delivered);
            }
        } else if acknowledged.segments > 0 {
            let arrived = self.take_off_duplicates(acknowledged.segments);
            self.count_delivered(arrived, news);
            if acknowledged.retransmitted {
                // Without SACK nobody knows which transmission it was.
                news.findings.remove(Findings::ORIGINAL_ACKNOWLEDGED);
            }
        }
    }

    /// A duplicate acknowledges nothing, brings nothing and opens nothing (RFC 5681 §2).
    fn count_as_duplicate(news: &mut AckNews) {
        let excluded = Findings::NO_DUPLICATE.and(Findings::ADVANCED).and(Findings::REPEATED);
        news.duplicates = u32::from(!news.has(excluded));
    }

    /// A sample from segments that were sent once (Karn), else from the timestamp (RFC 7323 §4).
    #[inline]
    fn take_round_trip(
        &mut self,
        acknowledged: &Acknowledged,
        update: &Update,
        news: &mut AckNews,
    ) -> RoundTrip {
        let now = news.now;
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
            trip.longest = Self::rtt_by_timestamp(news.echo, now);
            trip.latest = trip.longest;
        }
        if let (Some(longest), Some(latest)) = (trip.longest, trip.latest) {
            trip.is_delayed = self.may_be_delayed(acknowledged, latest, news);
            if !trip.is_delayed {
                self.rtt.note_least(&self.config, latest, now);
            }
            self.sample_rtt(longest);
            self.backoff.timeout = self.rtt.timeout(&self.config);
            self.backoff.doublings = 0;
            self.follow_sack_sample(acknowledged, trip, news);
        }
        trip
    }

    /// A small segment that was acknowledged alone, with nothing else on its way, may have been
    /// acknowledged late. If its round trip is not the least anyway, it shall not be taken for the
    /// least one once that is forgotten (Linux `FLAG_ACK_MAYBE_DELAYED`).
    #[inline]
    fn may_be_delayed(&self, acknowledged: &Acknowledged, latest: Span, news: &AckNews) -> bool {
        acknowledged.segments == 1
            && self.negotiated.sack
            && self.queue.sacked() == 0
            && !acknowledged.retransmitted
            && !news.has(Findings::ALARMING)
            && news.delivered_at_sending == self.recovery.delivered
            && self.send.oldest_unacked.distance_from(news.oldest_before)
                < self.negotiated.segment_bytes
            && self.rtt.minimum().is_some_and(|least| latest > least)
    }

    /// Selective acknowledgments of segments sent after the oldest one was sent last do not put its
    /// time-out off, others do.
    #[inline]
    fn follow_sack_sample(&self, acknowledged: &Acknowledged, trip: RoundTrip, news: &mut AckNews) {
        if acknowledged.segments > 0 {
            return;
        }
        if let (Some(by_sack), Some(oldest)) = (trip.by_sack, self.queue.front())
            && by_sack > news.now.saturating_since(oldest.transmitted_at)
        {
            news.findings.add(Findings::TIMER_DUE);
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
        news: &AckNews,
    ) {
        let segments = match self.config.ack_counting {
            AckCounting::Segments => news.delivered,
            AckCounting::PerAck | AckCounting::SegmentsInSlowStart => acknowledged.segments,
        };
        if self.has_extras {
            self.control_closely(segments, round_trip, lost_before, news);
        } else {
            self.change_window(segments, lost_before, news);
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
        news: &AckNews,
    ) {
        self.follow_inflight_limit(news.now);
        let segments = self.count_full_segments(segments);
        let losses = self.queue.losses().wrapping_sub(lost_before);
        let mut sample = self.sample_delivery_rate(news, losses);
        sample.is_delayed = round_trip.is_delayed;
        if self.is_governed_alone() {
            self.tell_lost();
            self.govern(sample, round_trip.latest, news);
        } else {
            self.change_window(segments, lost_before, news);
        }
        self.follow_resumption(news);
        self.follow_first_flight();
        self.follow_framing();
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
    fn change_window(&mut self, segments: u32, lost_before: u32, news: &AckNews) {
        if self.recovery.is_reducing() {
            self.continue_reduction(news, self.queue.losses().wrapping_sub(lost_before));
        } else if self.may_grow(news) {
            self.usage.on_progress(news.now);
            if self.counts_at_all(segments) {
                self.grow(segments, news.now);
            }
        }
        self.update_pacing_rate();
    }

    #[inline]
    fn grow(&mut self, segments: u32, now: Instant) {
        if self.is_governed() {
            self.plugged_growth(segments);
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
    pub(crate) fn may_grow(&self, news: &AckNews) -> bool {
        if self.recovery.threshold > self.config.duplicate_threshold {
            news.has(Findings::ACKNOWLEDGED.and(Findings::SACKED))
        } else {
            news.has(Findings::ACKNOWLEDGED)
        }
    }
}
