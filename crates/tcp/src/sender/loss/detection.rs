//! Loss detection: by duplicate ACKs, by count, by forward acknowledgment; the reordering degree; lost
//! retransmissions; thin streams. RACK is in `rack`.
//!
//! Source: RFC 8985 §6 (by time), RFC 6675 §4 (by count), RFC 6582 (without SACK), RFC 5827 (early
//! retransmit); Linux `tcp_identify_packet_loss`, `tcp_newreno_mark_lost`, `tcp_rack_reo_wnd`, and
//! `tcp_time_to_recover`, `tcp_update_scoreboard` of Linux 3.16.
//!
//! **Reordering, duplicate ACKs.** Source: Linux `tcp_check_sack_reordering`, `tcp_check_reno_reordering`,
//! `tcp_add_reno_sack`, `tcp_remove_reno_sacks`; RFC 6582 §3.2.
//!
//! **Lost retransmissions**, found by reach. Source: Linux 2.6 `tcp_sacktag_write_queue` (what it calls a lost retransmission). Whatever is sent for the first
//! time after a repair lies behind everything that had been sent when the repair was; so once something there is
//! reported to have arrived, the repair has been overtaken, and is lost. Without forward acknowledgment, and where reordering
//! was seen, the report has to lie as many segments further as prove a loss.
//! Differs: those kernels go through all that is outstanding for each acknowledgment; here repairs wait in the order
//! in which they were sent, which is also that of what had been sent by then, so that only the oldest is looked at.
//! Parameters: [`LostRetransmissions`](crate::LostRetransmissions).
//! Cost: constant per repair.
//!
//! **Thin streams** have too few segments in flight for three duplicate ACKs. Source: Linux `tcp_stream_is_thin`, `tcp_time_to_recover` and `tcp_retransmit_timer` as of 3.16.

use crate::config::{
    Config, EarlyRetransmit, LossDetection, LostRetransmissions, ReorderingDetection,
    WindowReduction,
};
use crate::sender::loss::Pending;
use crate::sender::queue::{Marks, Moment, SendQueue, Sent};
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::{RecoveryState, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;

/// Timers of the kernel's recovery wait at least this long (`TCP_TIMEOUT_MIN_US`).
pub(super) const MIN_WAIT: Span = Span::from_millis(2);

impl Sender {
    /// Marks what this acknowledgment shows to be lost.
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
            LossDetection::Forward => self.mark_losses_by_forward_ack(ack),
        }
        self.mark_lost_repairs(ack);
        if !self.recovery.is_repairing()
            && self.first_duplicate_suffices()
            && self.left_network() > 0
        {
            self.queue.mark_lost(self.queue.first_index());
        }
    }

    /// Without SACK only the oldest segment can be found lost: by duplicates, or by an
    /// acknowledgment of a part (RFC 6582 §3.2 step 5).
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
        if lost && !self.queue.get(first).marks().contains(Marks::LOST) {
            self.queue.mark_lost(first);
            if partial && !self.reduces_in_proportion() {
                self.retransmissions.force();
            }
        }
    }

    fn mark_losses_by_rack(&mut self, ack: &mut AckEvent) {
        let retransmitted = self.queue.retransmitted();
        if self.rack.take_advanced()
            && let Some(wait) = self.detect_by_time(ack.now())
        {
            self.set_timer(Pending::Reordering, ack.now(), wait + MIN_WAIT);
            ack.remove(AckFlags::TIMER_DUE);
        }
        ack.add_if(retransmitted > self.queue.retransmitted(), AckFlags::REPAIR_LOST);
    }

    /// Whether time decides on what is lost.
    pub(crate) fn judges_by_time(&self) -> bool {
        self.negotiated.has_sack() && self.config.loss.detection == LossDetection::Rack
    }

    /// Marks what time shows to be lost; gives how long to wait for what is late.
    pub(super) fn detect_by_time(&mut self, now: Instant) -> Option<Span> {
        let reordering_window = self.reordering_window();
        self.rack.detect(&mut self.queue, &self.scoreboard, reordering_window, now)
    }

    /// How long late segments are waited for: not at all where reordering was never seen and there
    /// is other evidence of loss (Linux `tcp_rack_reo_wnd`).
    fn reordering_window(&self) -> Span {
        if !self.reordering.is_seen() {
            let enough = self.config.loss.rack_duplicate_threshold
                && self.queue.sacked() >= self.reordering.threshold();
            if self.recovery.is_repairing() || enough {
                return Span::ZERO;
            }
        }
        let least = self.rtt.minimum().unwrap_or(Span::MAX);
        self.rack.reordering_window(least, self.rtt.smoothed().unwrap_or(Span::ZERO))
    }

    fn mark_losses_by_count(&mut self, ack: &AckEvent) {
        let enough = self.queue.sacked() >= self.reordering.threshold();
        if !self.recovery.is_repairing() && (enough || self.early_retransmit_is_due(ack.now())) {
            self.queue.mark_lost(self.queue.first_index());
        }
        if ack.has(AckFlags::SACKED) && (enough || self.recovery.is_repairing()) {
            self.scoreboard.mark_losses(&mut self.queue, self.reordering.threshold());
        }
    }

    /// Forward acknowledgment, until reordering is seen.
    fn mark_losses_by_forward_ack(&mut self, ack: &AckEvent) {
        if self.reordering.is_seen() {
            self.mark_losses_by_count(ack);
            return;
        }
        let first = self.queue.first_index();
        let reach = self.scoreboard.highest(&self.queue).map_or(0, |highest| highest + 1 - first);
        let threshold = self.reordering.threshold();
        let enough = reach > u64::from(threshold);
        if !self.recovery.is_repairing() && (enough || self.early_retransmit_is_due(ack.now())) {
            self.queue.mark_lost(first);
        }
        if ack.has(AckFlags::SACKED) && (enough || self.recovery.is_repairing()) {
            self.scoreboard.mark_losses_behind(&mut self.queue, threshold);
        }
    }

    /// With two or three segments outstanding and nothing new to send, all but one of them selectively
    /// acknowledged are enough evidence (RFC 5827 §3.1); it may have to wait a little.
    fn early_retransmit_is_due(&mut self, now: Instant) -> bool {
        let outstanding = self.queue.outstanding();
        let holds = self.config.loss.early_retransmit != EarlyRetransmit::Off
            && outstanding < 4
            && self.left_network() + 1 == outstanding
            && self.left_network() > 0
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
        let pause = (self.rtt.smoothed().unwrap_or_default() / 4).max(MIN_WAIT);
        if self.rto.due() <= now + pause {
            return true;
        }
        self.set_timer(Pending::EarlyRetransmit, now, pause);
        false
    }

    pub(super) fn reduces_in_proportion(&self) -> bool {
        matches!(
            self.config.loss.reduction,
            WindowReduction::Proportional | WindowReduction::ProportionalSafe
        )
    }
}

/// How many segments may overtake one before it counts as lost (`reordering`, `DupThresh`).
#[derive(Debug)]
pub(crate) struct Reordering {
    /// Duplicate ACKs that prove a loss: the configured number, or more where reordering was seen.
    threshold: u32,
    /// How often reordering was seen.
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

    /// Follows changed settings.
    pub(crate) fn reconfigure(&mut self, config: &Config) {
        self.detection = config.loss.reordering;
    }

    pub(crate) fn set_threshold(&mut self, threshold: u32) {
        self.threshold = threshold;
    }

    /// So many duplicates, and still a time-out: reordering was overestimated.
    pub(crate) fn lower_to(&mut self, threshold: u32) {
        self.threshold = self.threshold.min(threshold);
    }

    pub(crate) fn is_seen(&self) -> bool {
        self.events > 0
    }

    /// A segment arrived after one that was sent so many segments later.
    pub(crate) fn on_distance(&mut self, segments: u32) {
        let ReorderingDetection::Measured { greatest } = self.detection else { return };
        if segments > self.threshold {
            self.threshold = segments.min(greatest);
        }
        self.events += 1;
    }

    /// There were more duplicate ACKs than segments that can have arrived.
    fn on_excess_duplicates(&mut self, outstanding: u32) {
        let ReorderingDetection::Measured { greatest } = self.detection else { return };
        self.threshold = outstanding.min(greatest);
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

    /// New data was acknowledged, or a time-out ran out: none counts any more.
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

    /// Of `acknowledged` segments one filled the hole, the others were the duplicates. Returns how
    /// many arrived that no duplicate had reported.
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

    /// At least the holes have not arrived: more duplicates than that show reordering.
    fn limit(&mut self, acknowledged: u32, queue: &SendQueue, reordering: &mut Reordering) {
        let outstanding = queue.outstanding();
        let holes = queue.lost().max(1).min(outstanding);
        if self.count + holes > outstanding {
            self.count = outstanding - holes;
            reordering.on_excess_duplicates(outstanding + acknowledged);
        }
    }
}

/// Retransmissions of one recovery that nothing has overtaken yet, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct LostRetransmits {
    under_way: VecDeque<Retransmission>,
}

/// One segment that was sent again.
#[derive(Debug, Clone, Copy)]
struct Retransmission {
    sequence: SequenceNumber,
    sent: Moment,
    /// End of all that had been sent by then.
    behind: SequenceNumber,
}

impl LostRetransmits {
    /// Takes the oldest one whose `behind` lies `distance` or more below `reached`.
    fn next_overtaken(&mut self, reached: SequenceNumber, distance: u32) -> Option<Retransmission> {
        let oldest = self.under_way.front()?;
        let is_overtaken = reached.is_at_or_after(oldest.behind + distance);
        is_overtaken.then(|| self.under_way.pop_front()).flatten()
    }

    /// Another recovery begins.
    pub(crate) fn clear(&mut self) {
        self.under_way.clear();
    }
}

impl Sender {
    /// Whether reach tells of lost repairs; time does so by itself.
    #[inline]
    fn judges_repairs_by_reach(&self) -> bool {
        self.config.loss.lost_retransmissions == LostRetransmissions::ByReach
            && self.config.loss.detection != LossDetection::Rack
            && self.negotiated.has_sack()
            && self.recovery.state() == RecoveryState::Recovery
    }

    /// A lost segment has been sent again.
    #[inline]
    pub(crate) fn note_repair(&mut self, sent: &Sent) {
        if self.judges_repairs_by_reach() {
            let behind = self.send.next();
            let retransmission =
                Retransmission { sequence: sent.sequence(), sent: sent.moment(), behind };
            self.lost_retransmits.under_way.push_back(retransmission);
        }
    }

    /// Marks repairs lost that something sent after them has overtaken.
    pub(super) fn mark_lost_repairs(&mut self, ack: &AckEvent) {
        if !ack.has(AckFlags::SACKED) || !self.judges_repairs_by_reach() {
            return;
        }
        let reached = self.highest_sacked();
        let counts_reach = self.config.loss.detection == LossDetection::Forward;
        let distance = if counts_reach && !self.reordering.is_seen() {
            1
        } else {
            self.reordering.threshold().saturating_mul(self.segment_bytes)
        };
        while let Some(repair) = self.lost_retransmits.next_overtaken(reached, distance) {
            if repair.sequence.is_before(self.send.oldest_unacked()) {
                continue;
            }
            let index = self.queue.index_of(repair.sequence);
            if index >= self.queue.end_index() {
                continue;
            }
            let sent = self.queue.get(index);
            let is_under_way = sent.marks().contains(Marks::RETRANSMITTED)
                && sent.sequence() == repair.sequence
                && sent.moment() == repair.sent;
            if is_under_way {
                self.queue.mark_lost(index);
            }
        }
    }
}

/// Fewer segments outstanding than this make a stream thin.
const THIN_BELOW: u32 = 4;
/// Time-outs without back-off, at most (Linux `TCP_THIN_LINEAR_RETRIES`).
const LINEAR_RETRIES: u32 = 6;

impl Sender {
    /// Whether the stream is thin: fewer than four segments outstanding, and a loss has ended the
    /// initial slow start.
    pub(crate) fn is_thin(&self) -> bool {
        self.queue.outstanding() < THIN_BELOW && !self.window.is_in_initial_slow_start()
    }

    /// Whether the first duplicate ACK suffices (modified fast retransmit): the stream is thin, SACK
    /// is in use, and there is nothing new whose sending would bring more duplicates.
    pub(crate) fn first_duplicate_suffices(&self) -> bool {
        self.config.modified_fast_retransmit
            && self.negotiated.has_sack()
            && self.written.unsent() == 0
            && self.is_thin()
    }

    /// Whether the time-out that just ran out for the `expired`-th time in a row does not back off
    /// (linear time-outs).
    pub(crate) fn stays_linear(&self, expired: u32) -> bool {
        self.config.linear_timeouts
            && self.state == State::Established
            && expired <= LINEAR_RETRIES
            && self.is_thin()
    }
}
