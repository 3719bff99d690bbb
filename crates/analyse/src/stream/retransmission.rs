//! Segments out of sequence: SYNs, probes, gaps, reordering, bundles and retransmissions.

use super::cause::{AT_ONCE, RetransmissionContext, Verdict, cause};
use super::measures::{Cause, Retransmission, SegmentKind, order_index};
use super::outstanding::{Marks, SentRange};
use super::repair::{Repair, is_earlier};
use super::stream::{NOTHING_MARKED, SeenSegment, Stream};
use crate::connection::ResetVerdict;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SackBlocks, Segment, SequenceNumber};
use std::num::NonZeroU64;
use std::ops::Range;

/// The largest possible window (RFC 7323 §2.3); numbers further off are implausible.
pub(super) const MOST_DISTANT: u64 = 1 << 30;

/// The longest reordering if no round trip is known.
const USUAL_REORDERING: Span = Span::from_millis(3);

/// Pieces of a gap that are searched for the segment after it; filled gaps merge, so there are rarely more than
/// two.
const MOST_PIECES: usize = 8;

impl Stream {
    /// The SYN was acknowledged at this instant, if known, before the stream was followed.
    pub(crate) fn on_set_up(&mut self, acknowledged_at: Option<Instant>) {
        if self.syns > 0
            && let Some(at) = acknowledged_at
        {
            self.end_handshake(at);
        }
        self.syns = 0;
    }

    /// The verdict of the receiver on a reset with this number (RFC 5961 §3.2); `None` if unknown.
    pub(crate) fn reset_verdict(&mut self, sequence: SequenceNumber) -> Option<ResetVerdict> {
        if !self.has_origin() {
            return None;
        }
        let offset = self.offset_of(sequence);
        let window_end = self.window.end().unwrap_or(self.highest + MOST_DISTANT);
        Some(if offset < self.acknowledged {
            ResetVerdict::Ignored
        } else if offset <= self.highest {
            ResetVerdict::Accepted
        } else if offset <= window_end {
            ResetVerdict::Challenged
        } else {
            ResetVerdict::Ignored
        })
    }

    /// The window that was offered before any data.
    pub(crate) fn on_window(&mut self, at: Instant, window: u16) {
        let offering = Segment { window, ..Segment::default() };
        self.measures.window.early += 1;
        self.follow_window(at, &offering, self.acknowledged);
    }

    /// Takes a segment with SYN, or without payload and FIN.
    pub(super) fn on_control(&mut self, at: Instant, seen: SeenSegment<'_>) -> SegmentKind {
        let segment = seen.segment;
        if segment.flags.intersects(Flags::SYN | Flags::RST) {
            return self.on_syn(at, seen);
        }
        // A segment just below the next expected byte is a keep-alive (RFC 9293 §3.8.4). Linux probes closed
        // windows in the same way.
        if self.has_origin()
            && self.highest == self.acknowledged
            && self.offset_of(segment.sequence) + 1 == self.highest
        {
            return self.on_probe();
        }
        SegmentKind::Bare
    }

    #[cold]
    fn on_probe(&mut self) -> SegmentKind {
        let is_closed = self.window.is_closed;
        let rare = self.measures.rare();
        if is_closed {
            rare.window_probes += 1;
            return SegmentKind::WindowProbe;
        }
        rare.keep_alives += 1;
        SegmentKind::KeepAlive
    }

    #[cold]
    fn on_syn(&mut self, at: Instant, seen: SeenSegment<'_>) -> SegmentKind {
        let segment = seen.segment;
        if segment.flags.contains(Flags::RST) {
            return SegmentKind::Bare;
        }
        if self.measures.common.data_segments == 0 && !self.has_acked_data {
            self.start_after_syn(segment);
        }
        if self.syns == 0 {
            self.syn_at = at;
        }
        self.syns = self.syns.saturating_add(1);
        self.learn_own_syn(segment);
        let start = self.offset_of(segment.sequence + 1);
        if segment.payload_bytes == 0 || start != self.highest {
            return SegmentKind::Bare;
        }
        self.advance_time(at, true);
        self.push_new(at, seen, start + u64::from(segment.payload_bytes));
        self.count_segment(at, segment);
        SegmentKind::New
    }

    /// Takes a segment with payload or FIN that does not continue the stream, or enters a closed window.
    #[cold]
    pub(super) fn on_out_of_sequence(
        &mut self,
        at: Instant,
        seen: SeenSegment<'_>,
        start: u64,
        end: u64,
    ) -> SegmentKind {
        let length = end - start;
        if !self.accepts_data(at, seen.segment) {
            return SegmentKind::OutOfOrder;
        }
        // The check may have moved the stream.
        let start = self.offset_of(seen.segment.sequence);
        let end = start + length;
        self.advance_time(at, start >= self.highest);
        if seen.segment.payload_bytes <= 1 && !seen.segment.flags.contains(Flags::FIN) {
            if start + 1 == self.highest && self.highest == self.acknowledged {
                return self.on_probe();
            }
            if self.window.is_closed {
                if start == self.highest {
                    self.push_new(at, seen, end);
                }
                return self.on_probe();
            }
        }
        if start > self.highest {
            self.push_missing(at, start);
        }
        if start == self.highest {
            self.push_new(at, seen, end);
            return SegmentKind::New;
        }
        if end > self.highest && !self.is_repair_with_new_bytes(at, start) {
            return self.on_bundle(at, seen, start, end);
        }
        self.on_old_data(at, seen, start, end)
    }

    /// Adds a range that the tap has not seen.
    pub(super) fn push_missing(&mut self, at: Instant, start: u64) {
        let bytes = start - self.highest;
        let packets = bytes.div_ceil(u64::from(self.full_segment.max(1)));
        let missing = SentRange {
            end: start,
            first_at: at,
            last_at: at,
            packets: u16::try_from(packets).unwrap_or(u16::MAX),
            marks: Marks::MISSING,
            ..SentRange::default()
        };
        self.highest = start;
        self.push(missing);
    }

    /// Whether new bytes after old ones belong to a repair. After a timeout or evidence of a loss, senders fill
    /// retransmissions up with new data, and continue where the last one ended.
    fn is_repair_with_new_bytes(&self, at: Instant, start: u64) -> bool {
        let continues = self.episode.repair == Repair::Timeout && start == self.last_repetition_end;
        let is_oldest = start <= self.acknowledged;
        let silence = at.saturating_since(self.timer_set_at());
        let is_answer = at.saturating_since(self.news_at) <= AT_ONCE
            && self.has_loss_evidence(start, start + 1);
        continues || is_oldest && (silence * 10 >= self.timeout.timeout() * 9 || is_answer)
    }

    fn on_bundle(
        &mut self,
        at: Instant,
        seen: SeenSegment<'_>,
        start: u64,
        end: u64,
    ) -> SegmentKind {
        let redundant = self.highest - start;
        for index in self.outstanding.isolate(start, self.highest) {
            if let Some(sent) = self.outstanding.get_mut(index) {
                sent.marks.set(Marks::BUNDLED);
            }
        }
        self.push_new(at, seen, end);
        let rare = self.measures.rare();
        rare.bundles += 1;
        rare.bundled_bytes += redundant;
        SegmentKind::Bundle { redundant_bytes: u32::try_from(redundant).unwrap_or(u32::MAX) }
    }

    /// Takes a segment of old data, perhaps filled up by a repair.
    fn on_old_data(
        &mut self,
        at: Instant,
        seen: SeenSegment<'_>,
        start: u64,
        end: u64,
    ) -> SegmentKind {
        let old_end = end.min(self.highest);
        let range = self.outstanding.isolate(start, old_end);
        if self.is_copy(&range, seen) {
            self.measures.rare().duplicates += 1;
            return SegmentKind::Duplicate;
        }
        if self.is_reordered(at, &range, seen) {
            return self.fill_gap(at, &range, seen);
        }
        let context = self.retransmission_context(at, start, end, &range);
        let verdict = cause(&context);
        let repetition = self.apply_verdict(verdict, &context, seen, old_end - start);
        let order = self.repeat(at, &range, seen);
        let repeats = self.repeats.get_or_insert_default();
        repeats.add(start, old_end, seen.stamp(), repetition.cause);
        if repetition.is_provisional {
            repeats.doubt_last();
        }
        let repetition = Retransmission { order, ..repetition };
        if seen.segment.payload_bytes > 0 {
            self.count_retransmission(repetition, old_end - start);
        } else {
            self.measures.rare().controls_repeated += 1;
        }
        self.last_repetition_at = at;
        self.last_repetition_end = end;
        if end > self.highest {
            self.push_new(at, seen, end);
        }
        SegmentKind::Retransmission(repetition)
    }

    /// Whether it is a copy of a packet: retransmissions have another IPv4 identification (RFC 6864 §4.1) and
    /// another timestamp.
    fn is_copy(&self, range: &Range<usize>, seen: SeenSegment<'_>) -> bool {
        let identification = seen.identification;
        let stamp = seen.stamp();
        let same = |sent: &SentRange| sent.identification == identification && sent.stamp == stamp;
        if identification == 0 {
            return false;
        }
        if range.is_empty() {
            return self.last_identification == identification && self.last_stamp == stamp;
        }
        range.clone().all(|index| self.outstanding.get(index).is_some_and(same))
    }

    /// Whether it fills a gap and was sent before the data after the gap: its timestamp or identification is
    /// older. If neither decides, it comes too early for a retransmission.
    fn is_reordered(&self, at: Instant, range: &Range<usize>, seen: SeenSegment<'_>) -> bool {
        let gap = range.clone().find_map(|index| {
            self.outstanding.get(index).filter(|sent| sent.marks.contains(Marks::MISSING))
        });
        let Some(gap) = gap else { return false };
        let stamp = seen.stamp();
        // If several were lost together, the next range is missing, too, and shows nothing.
        let has_passed = |sent: &&SentRange| !sent.marks.contains(Marks::MISSING);
        let followers = (range.end..).take(MOST_PIECES);
        let follower = followers.map_while(|index| self.outstanding.get(index)).find(has_passed);
        if let Some(follower) = follower
            && stamp != 0
            && follower.stamp != stamp
        {
            return is_earlier(stamp, follower.stamp);
        }
        let identification = seen.identification;
        if let Some(follower) = follower
            && identification != 0
            && follower.identification != 0
        {
            return follower.identification.wrapping_sub(identification) < 0x8000;
        }
        let allowed = self.timeout.least().map_or(USUAL_REORDERING, |least| least / 2);
        at.saturating_since(gap.first_at) < allowed
    }

    fn fill_gap(
        &mut self,
        at: Instant,
        range: &Range<usize>,
        seen: SeenSegment<'_>,
    ) -> SegmentKind {
        for index in range.clone() {
            if let Some(sent) = self.outstanding.get_mut(index) {
                sent.marks.clear(Marks::MISSING);
                sent.first_at = at;
                sent.last_at = at;
                sent.stamp = seen.stamp();
                sent.identification = seen.identification;
            }
        }
        if let Some(end) = range.clone().last().and_then(|last| self.outstanding.get(last)) {
            self.receiver_rtt.on_gap_filled(at, end.end);
        }
        self.measures.rare().out_of_order += 1;
        SegmentKind::OutOfOrder
    }

    /// Marks the ranges as retransmitted; returns the largest number of retransmissions.
    fn repeat(&mut self, at: Instant, range: &Range<usize>, seen: SeenSegment<'_>) -> u16 {
        let mut order = 1;
        let episode = self.episode.number;
        for index in range.clone() {
            if let Some(sent) = self.outstanding.get_mut(index) {
                sent.repeats = sent.repeats.saturating_add(1);
                sent.last_at = at;
                sent.stamp = seen.stamp();
                sent.identification = seen.identification;
                sent.episode = episode;
                sent.marks.clear(Marks::MISSING);
                order = order.max(sent.repeats);
            }
        }
        if range.len() > 1 && seen.segment.payload_bytes <= self.full_segment {
            self.outstanding.join(range);
        }
        order
    }

    fn count_retransmission(&mut self, repetition: Retransmission, bytes: u64) {
        let cause = repetition.cause.index();
        let order = order_index(repetition.order.into());
        let rare = self.measures.rare();
        rare.segments_by_cause[cause] += 1;
        rare.bytes_by_cause[cause] += bytes;
        rare.segments_by_order[order] += 1;
        rare.bytes_by_order[order] += bytes;
    }

    /// When the retransmission timer was last restarted, as far as a tap can know.
    fn timer_set_at(&self) -> Instant {
        let oldest = self.outstanding.oldest();
        oldest.map_or(self.advanced_at, |sent| sent.last_at.max(self.advanced_at))
    }

    /// Whether data sent after it is known to have arrived.
    fn has_loss_evidence(&self, start: u64, end: u64) -> bool {
        let by_sack = self.highest_sacked > end.max(self.acknowledged);
        let has_sack = self.own_sack == Some(true) && self.other_sack == Some(true);
        by_sack || !has_sack && self.has_repeated_ack && start <= self.acknowledged
    }

    /// Whether SACK may be in use.
    pub(super) fn may_sack(&self) -> bool {
        self.own_sack != Some(false) && self.other_sack != Some(false)
    }

    fn retransmission_context(
        &self,
        at: Instant,
        start: u64,
        end: u64,
        range: &Range<usize>,
    ) -> RetransmissionContext {
        let episode = self.episode.number;
        let is_repeated = range.clone().any(|index| {
            self.outstanding
                .get(index)
                .is_some_and(|sent| sent.repeats > 0 && sent.episode == episode)
        });
        let oldest = self.outstanding.oldest();
        RetransmissionContext {
            side: self.side,
            repair: self.episode.repair,
            is_oldest: start <= self.acknowledged,
            is_last: end >= self.highest,
            is_single: range.len() <= 1,
            is_reneged: start <= self.acknowledged
                && oldest.is_some_and(|sent| sent.marks.contains(Marks::SACKED)),
            has_loss_evidence: self.has_loss_evidence(start, end),
            is_repeated: is_repeated && self.episode.is_under_way(),
            may_sack: self.may_sack(),
            is_blind: self.is_blind,
            is_probing: self.probe_until.is_some(),
            probe_inference: self.probe_inference.shown,
            since_news: at.saturating_since(self.news_at),
            since_repetition: at.saturating_since(self.last_repetition_at),
            since_timer: at.saturating_since(self.timer_set_at()),
            since_oldest: oldest.map_or(Span::ZERO, |sent| at.saturating_since(sent.last_at)),
            is_acknowledged: end <= self.acknowledged,
            was_filled_late: self.receiver_rtt.was_filled_late(at, end, self.timeout.smoothed()),
            since_advance: at.saturating_since(self.advanced_at),
            was_never_seen: oldest
                .is_some_and(|sent| sent.marks.contains(Marks::MISSING) && sent.repeats == 0),
            smoothed_rtt: self.timeout.smoothed(),
            least_rtt: self.timeout.least().unwrap_or_default(),
            is_refuted: self.episode.is_refuted,
            timeout: self.timeout.timeout(),
            probe_wait: self.timeout.probe_wait(),
        }
    }

    /// Applies the result of the rules; the caller fills in the order.
    fn apply_verdict(
        &mut self,
        verdict: Verdict,
        context: &RetransmissionContext,
        seen: SeenSegment<'_>,
        bytes: u64,
    ) -> Retransmission {
        let cause = match verdict {
            Verdict::Is(cause) => cause,
            Verdict::ProbeOrTimeout => {
                let payload = if seen.segment.payload_bytes > 0 { bytes } else { 0 };
                let is_first = self.repeats.is_none();
                self.probe_inference.on_undecided(context.since_timer, payload, is_first);
                Cause::TailLossProbe
            }
        };
        self.probe_inference.on_verdict(verdict, context);
        let begins = match cause {
            Cause::Timeout => {
                if context.is_reneged {
                    self.discard_sack();
                }
                self.begin_timeout()
            }
            Cause::FastRetransmit => self.begin_fast_recovery(),
            Cause::TailLossProbe => {
                self.probe_until = NonZeroU64::new(self.highest);
                false
            }
            Cause::AfterTimeout | Cause::Unknown => false,
        };
        let is_provisional = verdict == Verdict::ProbeOrTimeout;
        Retransmission { order: 1, cause, begins, is_provisional }
    }

    /// The receiver has discarded selectively acknowledged data: all SACK marks are void (RFC 2018 §8).
    #[cold]
    fn discard_sack(&mut self) {
        self.outstanding.discard_sack();
        self.highest_sacked = 0;
        self.last_marked = [NOTHING_MARKED; SackBlocks::CAPACITY];
    }

    fn begin_timeout(&mut self) -> bool {
        self.expired = self.expired.saturating_add(1);
        let place = order_index(self.expired.into());
        self.measures.rare().timeouts_by_row[place] += 1;
        self.episode.begin(Repair::Timeout, self.highest);
        self.measures.time.make_final();
        self.has_lost = true;
        self.probe_until = None;
        true
    }

    fn begin_fast_recovery(&mut self) -> bool {
        let begins = self.episode.repair != Repair::Fast;
        if begins {
            self.episode.begin(Repair::Fast, self.highest);
            self.measures.time.make_final();
            self.measures.rare().fast_recoveries += 1;
            self.has_lost = true;
        }
        begins
    }

    pub(super) fn learn_own_syn(&mut self, segment: &Segment) {
        self.own_sack = Some(segment.options.sack_permitted);
        self.own_mss = segment.options.mss;
        self.has_stamps = segment.options.timestamps.is_some();
        self.window.on_own_syn(segment);
        self.learn_full_segment();
    }

    pub(super) fn learn_other_syn(&mut self, segment: &Segment) {
        self.other_sack = Some(segment.options.sack_permitted);
        self.other_mss = segment.options.mss;
        if self.own_sack.is_some() {
            self.has_stamps &= segment.options.timestamps.is_some();
        } else {
            self.has_stamps = segment.options.timestamps.is_some();
        }
        self.learn_full_segment();
    }

    /// Payload of a full segment: the smaller MSS less the timestamps option (RFC 6691).
    fn learn_full_segment(&mut self) {
        let both = [self.own_mss, self.other_mss];
        if let Some(mss) = both.into_iter().flatten().min() {
            let options = if self.has_stamps { 12 } else { 0 };
            self.full_segment = u32::from(mss).saturating_sub(options).max(1);
        }
    }
}
