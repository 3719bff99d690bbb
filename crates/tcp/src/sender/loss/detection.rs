//! Loss detection by duplicate ACKs, SACK count and FACK; reordering degree; lost retransmissions; thin
//! streams. RACK is in `rack`.
//!
//! Source: RFC 8985 §6 (by time), RFC 6675 §4 (by count), RFC 6582 (without SACK), RFC 5827 (early
//! retransmit); Linux `tcp_identify_packet_loss`, `tcp_newreno_mark_lost`, `tcp_rack_reo_wnd`, and
//! `tcp_time_to_recover`, `tcp_update_scoreboard` of Linux 3.16.
//!
//! **Reordering, duplicate ACKs.** Source: Linux `tcp_check_sack_reordering`, `tcp_check_reno_reordering`,
//! `tcp_add_reno_sack`, `tcp_remove_reno_sacks`; RFC 6582 §3.2.
//!
//! **Lost retransmissions.** Source: Linux 2.6 `tcp_sacktag_write_queue`. New data sent after a
//! retransmission starts at the SND.NXT of that time. Once the peer selectively acknowledges some of it, the
//! retransmission has been overtaken and is lost. Without FACK, or after reordering, the acknowledged data
//! must lie a reordering threshold further.
//! Differs: those kernels scan all outstanding segments for each acknowledgment. Here a list holds the
//! retransmissions in the order of transmission, and only the oldest one is checked.
//! Parameters: [`LostRetransmissions`](crate::LostRetransmissions).
//! Cost: constant per retransmission.
//!
//! **Thin streams** have too few segments in flight for three duplicate ACKs. Source: Linux
//! `tcp_stream_is_thin`, `tcp_time_to_recover` and `tcp_retransmit_timer` of 3.16. Parameters: [`ThinRecovery`](crate::ThinRecovery).

use crate::config::{
    Config, EarlyRetransmit, LossDetection, LostRetransmissions, RecoveryConstants,
    ReorderingDetection, ThinStreams, WindowReduction,
};
use crate::sender::loss::Pending;
use crate::sender::queue::{SendQueue, Sent, SentFlags, TransmitOrder};
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::{RecoveryState, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;

/// Timers of the kernel's recovery wait at least this long (`TCP_TIMEOUT_MIN_US`).
pub(super) const MIN_WAIT: Span = Span::from_millis(2);

impl Sender {
    /// Marks segments that this acknowledgment shows to be lost.
    pub(super) fn detect_losses(&mut self, ack: &mut AckEvent) {
        if self.queue.is_empty() {
            return;
        }
        if !self.negotiated.has_sack() {
            self.mark_loss_by_duplicate_acks(ack);
            return;
        }
        match self.config.loss.detection {
            LossDetection::Rack => self.mark_losses_by_rack(ack),
            LossDetection::Rfc6675 => self.mark_losses_by_count(ack),
            LossDetection::Fack => self.mark_losses_by_fack(ack),
        }
        self.mark_lost_retransmissions(ack);
        if !self.recovery.is_recovering() && self.few_duplicates_suffice() {
            self.queue.mark_lost(self.queue.first_index());
        }
    }

    /// Marks the oldest segment lost on duplicate ACKs or a partial acknowledgment (RFC 6582 §3.2
    /// step 5); without SACK no other can be found lost.
    fn mark_loss_by_duplicate_acks(&mut self, ack: &AckEvent) {
        let partial = ack.has(AckFlags::ADVANCED);
        let lost = match self.recovery.state() {
            RecoveryState::Recovery => partial,
            RecoveryState::Loss => false,
            _ => {
                self.duplicate_acks.count() >= self.reordering.threshold()
                    || self.early_retransmit_is_due(ack.now())
            }
        };
        let first = self.queue.first_index();
        if lost && !self.queue.get(first).flags().contains(SentFlags::LOST) {
            self.queue.mark_lost(first);
            if partial && !self.uses_prr() {
                self.retransmissions.force();
            }
        }
    }

    fn mark_losses_by_rack(&mut self, ack: &mut AckEvent) {
        let retransmitted = self.queue.retransmitted();
        if self.rack.take_advanced()
            && let Some(wait) = self.rack_detect_losses(ack.now())
        {
            self.arm_for(Pending::Reordering, ack.now(), wait + MIN_WAIT);
            ack.remove(AckFlags::TIMER_DUE);
        }
        ack.add_if(retransmitted > self.queue.retransmitted(), AckFlags::LOST_RETRANSMISSION);
    }

    pub(crate) fn uses_rack(&self) -> bool {
        self.negotiated.has_sack() && self.config.loss.detection == LossDetection::Rack
    }

    /// Runs RACK; returns how long to wait for reordered segments.
    pub(super) fn rack_detect_losses(&mut self, now: Instant) -> Option<Span> {
        let reordering_window = self.reordering_window();
        self.rack.detect_losses(&mut self.queue, &self.scoreboard, reordering_window, now)
    }

    /// RACK reordering window: zero if no reordering was seen and there is other evidence of loss (Linux
    /// `tcp_rack_reo_wnd`).
    fn reordering_window(&self) -> Span {
        if !self.reordering.is_seen() {
            let enough = self.config.loss.rack_duplicate_threshold
                && self.queue.sacked() >= self.reordering.threshold();
            if self.recovery.is_recovering() || enough {
                return Span::ZERO;
            }
        }
        let min = self.rtt.minimum().unwrap_or(Span::MAX);
        let step = if self.fast_path.has_usual_constants() {
            min / 4
        } else {
            self.tuned_reordering_step(min)
        };
        self.rack.reordering_window(step, self.rtt.smoothed().unwrap_or(Span::ZERO))
    }

    #[cold]
    #[inline(never)]
    fn tuned_reordering_step(&self, min_rtt: Span) -> Span {
        self.recovery_constants().reordering_window.of(min_rtt)
    }

    fn mark_losses_by_count(&mut self, ack: &AckEvent) {
        let enough = self.queue.sacked() >= self.reordering.threshold();
        if !self.recovery.is_recovering() && (enough || self.early_retransmit_is_due(ack.now())) {
            self.queue.mark_lost(self.queue.first_index());
        }
        if ack.has(AckFlags::SACKED) && (enough || self.recovery.is_recovering()) {
            self.scoreboard.mark_losses(&mut self.queue, self.reordering.threshold());
        }
    }

    /// Uses forward acknowledgment until reordering is seen, the SACK count afterwards.
    fn mark_losses_by_fack(&mut self, ack: &AckEvent) {
        if self.reordering.is_seen() {
            self.mark_losses_by_count(ack);
            return;
        }
        let first = self.queue.first_index();
        let fack_out =
            self.scoreboard.highest(&self.queue).map_or(0, |highest| highest + 1 - first);
        let threshold = self.reordering.threshold();
        let enough = fack_out > u64::from(threshold);
        if !self.recovery.is_recovering() && (enough || self.early_retransmit_is_due(ack.now())) {
            self.queue.mark_lost(first);
        }
        if ack.has(AckFlags::SACKED) && (enough || self.recovery.is_recovering()) {
            self.scoreboard.mark_losses_below_fack(&mut self.queue, threshold);
        }
    }

    /// Whether early retransmit marks the oldest segment lost: at most three segments are outstanding, all
    /// but one are selectively acknowledged, and there is no new data (RFC 5827 §3.1). May arm a delay.
    fn early_retransmit_is_due(&mut self, now: Instant) -> bool {
        let outstanding = self.queue.outstanding();
        let holds = self.config.loss.early_retransmit != EarlyRetransmit::Off
            && outstanding < 4
            && self.sacked_out() + 1 == outstanding
            && self.sacked_out() > 0
            && self.written.unsent() == 0
            && self.queue.retransmitted() == 0
            && !self.reordering.is_seen();
        if !holds {
            return false;
        }
        if self.config.loss.early_retransmit == EarlyRetransmit::Immediate {
            return true;
        }
        // Linux `tcp_pause_early_retransmit`.
        let smoothed = self.rtt.smoothed().unwrap_or_default();
        let pause = self.config.loss.early_retransmit_delay.of(smoothed).max(MIN_WAIT);
        if self.rto.due() <= now + pause {
            return true;
        }
        self.arm_for(Pending::EarlyRetransmit, now, pause);
        false
    }

    pub(super) fn uses_prr(&self) -> bool {
        matches!(
            self.config.loss.reduction,
            WindowReduction::Proportional | WindowReduction::ProportionalSafe
        )
    }
}

/// Reordering degree: how many segments may overtake one before it counts as lost (`reordering`,
/// `DupThresh`).
#[derive(Debug)]
pub(crate) struct Reordering {
    /// Duplicate ACKs that prove a loss: the configured number, or more after reordering.
    threshold: u32,
    /// Number of reordering events.
    events: u32,
    detection: ReorderingDetection,
}

impl Reordering {
    getters! {
        /// Duplicate ACKs, or selectively acknowledged segments, that prove a loss.
        threshold: u32,
        events: u32,
    }

    pub(crate) fn new(config: &Config) -> Self {
        Self { threshold: config.duplicate_threshold, events: 0, detection: config.loss.reordering }
    }

    pub(crate) fn reconfigure(&mut self, config: &Config) {
        self.detection = config.loss.reordering;
    }

    pub(crate) fn set_threshold(&mut self, threshold: u32) {
        self.threshold = threshold;
    }

    /// Lowers the threshold after a time-out despite many duplicates: reordering was overestimated.
    pub(crate) fn cap_threshold(&mut self, threshold: u32) {
        self.threshold = self.threshold.min(threshold);
    }

    pub(crate) fn is_seen(&self) -> bool {
        self.events > 0
    }

    /// Counts reordering: a segment arrived after one that was sent `segments` later.
    pub(crate) fn on_reordering(&mut self, segments: u32) {
        let ReorderingDetection::Measured { max } = self.detection else { return };
        if segments > self.threshold {
            self.threshold = segments.min(max);
        }
        self.events += 1;
    }

    /// There were more duplicate ACKs than segments that can have arrived.
    fn on_excess_duplicates(&mut self, outstanding: u32) {
        let ReorderingDetection::Measured { max } = self.detection else { return };
        self.threshold = outstanding.min(max);
        self.events += 1;
    }
}

/// Duplicate ACKs of a connection without SACK, as segments that left the network.
#[derive(Debug, Default)]
pub(crate) struct DuplicateAcks {
    count: u32,
}

impl DuplicateAcks {
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Resets the count, after an acknowledgment of new data or a time-out.
    pub(crate) fn reset(&mut self) {
        self.count = 0;
    }

    /// Two segments were merged.
    pub(crate) fn on_collapsed(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// Counts duplicate ACKs, each for a segment that has arrived. Returns how many arrived.
    pub(crate) fn add(
        &mut self,
        duplicates: u32,
        queue: &SendQueue,
        reordering: &mut Reordering,
    ) -> u32 {
        if duplicates == 0 {
            return 0;
        }
        let before = self.count;
        self.count += duplicates;
        self.limit(0, queue, reordering);
        self.count.saturating_sub(before)
    }

    /// Subtracts `acknowledged` segments, one of which filled the hole. Returns how many of them no
    /// duplicate had reported.
    pub(crate) fn remove(
        &mut self,
        acknowledged: u32,
        queue: &SendQueue,
        reordering: &mut Reordering,
    ) -> u32 {
        let arrived = acknowledged.saturating_sub(self.count).max(1);
        self.count = self.count.saturating_sub(acknowledged.saturating_sub(1));
        self.limit(acknowledged, queue, reordering);
        arrived
    }

    /// Limits the count to the outstanding segments less the holes; an excess shows reordering.
    fn limit(&mut self, acknowledged: u32, queue: &SendQueue, reordering: &mut Reordering) {
        let outstanding = queue.outstanding();
        let holes = queue.lost().max(1).min(outstanding);
        if self.count + holes > outstanding {
            self.count = outstanding - holes;
            reordering.on_excess_duplicates(outstanding + acknowledged);
        }
    }
}

/// Retransmissions of one recovery that are not overtaken yet, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct OutstandingRetransmits {
    in_order: VecDeque<Retransmission>,
}

#[derive(Debug, Clone, Copy)]
struct Retransmission {
    sequence: SequenceNumber,
    transmit_order: TransmitOrder,
    /// SND.NXT at its transmission.
    send_next: SequenceNumber,
}

impl OutstandingRetransmits {
    /// Takes the oldest retransmission if `highest_sacked` is `distance` or more above its `send_next`.
    fn pop_overtaken(
        &mut self,
        highest_sacked: SequenceNumber,
        distance: u32,
    ) -> Option<Retransmission> {
        let oldest = self.in_order.front()?;
        let is_overtaken = highest_sacked.is_at_or_after(oldest.send_next + distance);
        is_overtaken.then(|| self.in_order.pop_front()).flatten()
    }

    /// Forgets all, when another recovery begins.
    pub(crate) fn clear(&mut self) {
        self.in_order.clear();
    }
}

impl Sender {
    /// Whether retransmissions are tracked here; RACK tracks them itself.
    #[inline]
    fn tracks_retransmissions(&self) -> bool {
        self.config.loss.lost_retransmissions == LostRetransmissions::ByReach
            && self.config.loss.detection != LossDetection::Rack
            && self.negotiated.has_sack()
            && self.recovery.state() == RecoveryState::Recovery
    }

    #[inline]
    pub(crate) fn track_retransmission(&mut self, sent: &Sent) {
        if self.tracks_retransmissions() {
            let retransmission = Retransmission {
                sequence: sent.sequence(),
                transmit_order: sent.transmit_order(),
                send_next: self.send.next(),
            };
            self.outstanding_retransmits.in_order.push_back(retransmission);
        }
    }

    /// Marks retransmissions lost that later new data has overtaken.
    pub(super) fn mark_lost_retransmissions(&mut self, ack: &AckEvent) {
        if !ack.has(AckFlags::SACKED) || !self.tracks_retransmissions() {
            return;
        }
        let highest_sacked = self.highest_sacked();
        let uses_fack = self.config.loss.detection == LossDetection::Fack;
        let distance = if uses_fack && !self.reordering.is_seen() {
            1
        } else {
            self.reordering.threshold().saturating_mul(self.segment_bytes)
        };
        while let Some(retransmission) =
            self.outstanding_retransmits.pop_overtaken(highest_sacked, distance)
        {
            if retransmission.sequence.is_before(self.send.oldest_unacked()) {
                continue;
            }
            let index = self.queue.index_of(retransmission.sequence);
            if index >= self.queue.end_index() {
                continue;
            }
            let sent = self.queue.get(index);
            let is_current = sent.flags().contains(SentFlags::RETRANSMITTED)
                && sent.sequence() == retransmission.sequence
                && sent.transmit_order() == retransmission.transmit_order;
            if is_current {
                self.queue.mark_lost(index);
            }
        }
    }
}

impl Sender {
    /// Whether the stream is thin.
    pub(crate) fn is_thin(&self) -> bool {
        self.is_thin_with(self.queue.outstanding())
    }

    /// Whether the stream is thin if `outstanding` segments are outstanding. By default, a loss must have
    /// ended the initial slow start, in which any stream has few.
    pub(crate) fn is_thin_with(&self, outstanding: u32) -> bool {
        match self.config.thin.streams {
            ThinStreams::FewOutstanding { below } => {
                outstanding < below && !self.window.is_in_initial_slow_start()
            }
            ThinStreams::ApplicationLimited => !self.usage.was_limited(self.recovery.state()),
            ThinStreams::All => true,
        }
    }

    /// Constants of loss recovery in force.
    pub(crate) fn recovery_constants(&self) -> &RecoveryConstants {
        match &self.config.thin.constants {
            Some(constants) if self.is_thin() => constants,
            _ => &self.config.loss.constants,
        }
    }

    /// Whether there are as many duplicates as trigger fast retransmit in a thin stream (modified fast
    /// retransmit): SACK is in use, and there is no new data that would bring more duplicates.
    pub(crate) fn few_duplicates_suffice(&self) -> bool {
        self.config.modified_fast_retransmit
            && self.negotiated.has_sack()
            && self.written.unsent() == 0
            && self.sacked_out() >= self.config.thin.duplicate_threshold.max(1)
            && self.is_thin()
    }

    /// Whether the `timeouts`-th time-out in a row does not back off (linear time-outs).
    pub(crate) fn has_linear_timeout(&self, timeouts: u32) -> bool {
        self.config.linear_timeouts
            && self.state == State::Established
            && timeouts <= self.config.thin.linear_retries
            && self.is_thin()
    }
}
