//! Step 5: the acknowledgment field (RFC 9293 §3.10.7.4), from which everything else follows:
//! round trips, losses, growth.

use crate::config::AckCounting;
use crate::congestion::AckSample;
use crate::connection::Connection;
use crate::scoreboard::Update;
use crate::send_queue::Acknowledged;
use crate::state::{RecoveryState, State};
use crate::timestamp::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

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
            return self.is_old_acknowledgment_credible(segment, now);
        }
        self.note_timestamp(segment, now);
        self.on_acknowledgment(segment, now);
        true
    }

    /// Something not sent yet is acknowledged (RFC 9293 §3.10.7.4). Linux answers only once it is
    /// closing.
    #[cold]
    fn on_unsent_acknowledged(&mut self, now: Instant) {
        if !self.config.receiving.guards_acknowledgments {
            self.acknowledger.now = true;
        } else if self.state != State::Established {
            self.challenge(now);
        }
    }

    /// An ACK older than anything that could be in flight is forged (RFC 5961 §5.2).
    fn is_old_acknowledgment_credible(&mut self, segment: &Segment, now: Instant) -> bool {
        let largest = u64::from(self.send.largest_window).min(self.send.acknowledged_bytes);
        let age = self.send.oldest_unacked.distance_from(segment.acknowledgment);
        if !self.config.receiving.guards_acknowledgments || u64::from(age) <= largest {
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
            self.reset_due = Some(Self::reset_for(segment));
            return false;
        }
        if segment.flags.contains(Flags::SYN) {
            // Both ends opened at once. The window of a SYN is never scaled (RFC 7323 §2.2), and
            // there is nothing else in this segment.
            self.update_send_window(segment, u32::from(segment.window));
            self.establish(segment, now);
            return false;
        }
        self.update_send_window(segment, self.scaled_window(segment));
        self.establish(segment, now);
        true
    }

    #[inline]
    fn on_acknowledgment(&mut self, segment: &Segment, now: Instant) {
        let acknowledgment = segment.acknowledgment;
        self.send.last_heard = now;
        self.follow_reduced(segment);
        let advanced = acknowledgment.is_after(self.send.oldest_unacked);
        self.backoff.unanswered_probes = 0;
        if !advanced && self.queue.is_empty() {
            self.follow_window(segment);
            if self.queue.unsent > 0 || self.queue.fin_waiting {
                self.follow_probe_answer(now);
            }
            return;
        }
        let window_changed = self.follow_window(segment);
        let update = self.take_sacks(segment);
        let acknowledged = if advanced { self.take_off(segment) } else { Acknowledged::default() };
        let sample = self.take_rtt(segment, &acknowledged, &update, advanced, now);
        let duplicate = !advanced && segment.sequence_length() == 0 && !window_changed;
        self.recover(&acknowledged, advanced, duplicate, &update, now);
        if self.ecn.is_echo(segment.flags) {
            self.on_congestion_echo(now);
        }
        if advanced {
            self.on_progress(now);
            self.grow(&acknowledged, &update, sample, now);
        }
        if acknowledged.fin {
            self.on_finish_acknowledged(now);
        }
    }

    #[inline]
    fn take_sacks(&mut self, segment: &Segment) -> Update {
        if segment.options.sack.is_empty() || !self.negotiated.sack {
            return Update::default();
        }
        let from = self.send.oldest_unacked.later(segment.acknowledgment);
        self.scoreboard.update(&mut self.queue, &segment.options.sack, from, self.send.next)
    }

    #[inline]
    pub(super) fn take_off(&mut self, segment: &Segment) -> Acknowledged {
        let acknowledgment = segment.acknowledgment;
        self.scoreboard.before_acknowledge(&self.queue, acknowledgment);
        let outcome = self.queue.acknowledge(acknowledgment);
        self.scoreboard.after_acknowledge(&self.queue);
        let bytes = acknowledgment.distance_from(self.send.oldest_unacked);
        self.send.acknowledged_bytes += u64::from(bytes - u32::from(outcome.fin));
        self.send.oldest_unacked = acknowledgment;
        if self.send.urgent_end.is_some() {
            self.forget_urgent();
        }
        outcome
    }

    /// A sample from a segment that was sent once (Karn), else from the timestamp (RFC 7323 §4).
    #[inline]
    fn take_rtt(
        &mut self,
        segment: &Segment,
        acknowledged: &Acknowledged,
        update: &Update,
        advanced: bool,
        now: Instant,
    ) -> Option<Span> {
        let by_send_time =
            if acknowledged.retransmitted { None } else { acknowledged.first_sent_once }
                .or(update.sent_once_at)
                .map(|sent| now.saturating_since(sent));
        let rtt = match by_send_time {
            Some(rtt) => rtt,
            None if advanced => self.rtt_by_timestamp(segment, now)?,
            None => return None,
        };
        self.sample_rtt(rtt);
        self.backoff.timeout = self.rtt.timeout(&self.config);
        Some(rtt)
    }

    pub(super) fn sample_rtt(&mut self, rtt: Span) {
        let (oldest, next) = (self.send.oldest_unacked, self.send.next);
        self.rtt.sample(&self.config, rtt, oldest, next);
    }

    /// The round trip by the echoed timestamp, in whole milliseconds, at least one.
    pub(super) fn rtt_by_timestamp(&self, segment: &Segment, now: Instant) -> Option<Span> {
        let stamps = segment.options.timestamps.filter(|_| self.negotiated.timestamps)?;
        let elapsed = timestamp_at(now).wrapping_sub(stamps.echo);
        (stamps.echo != 0 && elapsed < 1 << 31)
            .then(|| Span::from_millis(u64::from(elapsed.max(1))))
    }

    /// New data is acknowledged: time-outs start afresh (RFC 6298 §5.2, §5.3).
    #[inline]
    fn on_progress(&mut self, now: Instant) {
        self.backoff.expired = 0;
        self.timers.retransmission =
            if self.queue.is_empty() { Instant::MAX } else { now + self.backoff.timeout };
    }

    /// Lets the window grow where it was the limit (RFC 5681 §3.1).
    #[inline]
    fn grow(
        &mut self,
        acknowledged: &Acknowledged,
        update: &Update,
        rtt: Option<Span>,
        now: Instant,
    ) {
        let segments = match self.config.ack_counting {
            AckCounting::Segments => acknowledged.newly_delivered + update.newly_sacked,
            AckCounting::PerAck | AckCounting::SegmentsInSlowStart => acknowledged.segments,
        };
        let sample = AckSample { acknowledged: segments, rtt };
        self.congestion.on_sample(&sample);
        let may_grow = self.recovery.state != RecoveryState::Recovery
            && segments > 0
            && self.usage.is_limited(&self.window);
        if may_grow {
            self.congestion.cong_avoid(&mut self.window, &sample, now);
        }
    }
}
