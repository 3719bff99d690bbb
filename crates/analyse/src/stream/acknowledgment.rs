//! Acknowledgments: cumulative and selective, duplicates, round trips and D-SACK.

use super::measures::{AckEvent, TapSide, order_index};
use super::outstanding::{Marks, SentRange};
use super::stream::{NOTHING_MARKED, ORIGIN, Stream};
use fairwind_capture::{Anomalies, Packet};
use fairwind_units::Instant;
use fairwind_wire::{Flags, SackBlock, SackBlocks, Segment};

/// Segments that an acknowledgment removes from the outstanding ones.
#[derive(Debug, Clone, Copy, Default)]
struct AckedSegments {
    /// When the oldest segment that was not retransmitted was sent.
    oldest_once: Option<Instant>,
    /// When the newest of these was sent.
    newest_once: Option<Instant>,
    /// First transmission of the newest segment, if only bundles have repeated it.
    newest_bundled: Option<Instant>,
    /// Last transmission of the oldest segment, if the echo shows that it arrived.
    named: Option<Instant>,
    /// Whether any was retransmitted.
    has_repeated: bool,
    /// Retransmissions of the oldest segment.
    repeats_of_oldest: u16,
    missing_bytes: u64,
}

impl Stream {
    /// The capture cut options of the other direction, perhaps SACK blocks. From now on missing evidence of a
    /// loss proves nothing, so no cause is inferred from it.
    pub const fn on_cut_options(&mut self) {
        self.is_blind = true;
    }

    /// Takes a packet of the other direction; the capture may have cut its options.
    #[inline]
    pub fn on_reverse_packet(&mut self, at: Instant, packet: &Packet) -> AckEvent {
        if packet.anomalies.contains(Anomalies::OPTIONS_CUT) {
            self.on_cut_options();
        }
        self.on_acknowledgment(at, &packet.segment)
    }

    /// Takes a segment of the other direction.
    #[inline]
    pub fn on_acknowledgment(&mut self, at: Instant, segment: &Segment) -> AckEvent {
        if segment.flags.intersects(Flags::SYN | Flags::RST) {
            self.on_other_syn(at, segment);
        }
        if !segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::RST) {
            return AckEvent::default();
        }
        if self.side == TapSide::Receiver {
            self.receiver_rtt.on_ack_sent(at, segment);
        }
        let offset = self.offset_of(segment.acknowledgment);
        if offset > self.highest {
            if !self.accepts_ack_number(segment) {
                return AckEvent::default();
            }
            self.acknowledge_unseen(offset);
        }
        self.advance_time(at, false);
        let mut event = AckEvent::default();
        self.measures.acks.acknowledgments += 1;
        if offset > self.acknowledged {
            self.advance(at, segment, offset, &mut event);
        } else if offset == self.acknowledged {
            self.check_duplicate_ack(at, segment, &mut event);
        }
        if !segment.options.sack.is_empty() {
            self.on_sack(at, segment, offset, &mut event);
        }
        self.follow_window(at, segment, offset);
        self.limit = self.current_limit();
        event
    }

    /// Takes the window of a segment. That of a SYN is unscaled; that of a reordered acknowledgment is
    /// outdated.
    #[inline]
    pub(super) fn follow_window(&mut self, at: Instant, segment: &Segment, offset: u64) {
        let Self { window, measures, .. } = self;
        let is_news = !segment.flags.contains(Flags::SYN) && offset >= self.acknowledged;
        if is_news && window.may_turn(segment) {
            window.event(at, segment, &mut measures.window);
        }
        let offered = if is_news { window.on_segment(segment, offset) } else { None };
        let Some((bytes, is_new)) = offered else {
            measures.window.unknown += 1;
            return;
        };
        measures.acks.window_sum += u64::from(bytes);
        if is_new {
            measures.window.on_change(bytes);
        }
    }

    #[cold]
    fn on_other_syn(&mut self, at: Instant, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.learn_other_syn(segment);
        let acknowledges = segment.flags.contains(Flags::ACK) && self.has_origin();
        self.window.on_other_syn(segment, acknowledges.then_some(self.acknowledged));
        if acknowledges {
            self.end_handshake(at);
        }
    }

    /// The SYN is acknowledged. Its round trip counts if it was sent once (RFC 6298 §3).
    pub(super) fn end_handshake(&mut self, at: Instant) {
        if self.syns == 1 {
            let rtt = at.saturating_since(self.syn_at);
            self.sample_timeout(rtt);
            self.measures.beginning.handshakes += 1;
            self.measures.beginning.handshake += rtt;
        }
        self.syns = 0;
    }

    /// Data is acknowledged that the tap has not seen: the capture has lost it.
    #[cold]
    fn acknowledge_unseen(&mut self, offset: u64) {
        if self.has_acked_data || self.highest > ORIGIN {
            self.measures.rare().missing_bytes += offset - self.highest;
        }
        self.highest = offset;
    }

    /// The acknowledgment number advances.
    #[inline]
    fn advance(&mut self, at: Instant, segment: &Segment, offset: u64, event: &mut AckEvent) {
        if self.syns > 0 {
            self.end_handshake(at);
        }
        let echo = segment.options.timestamps.map_or(0, |stamps| stamps.echo);
        let mut acked = AckedSegments::default();
        let mut is_first = true;
        let rare = &mut self.measures.rare;
        self.outstanding.acknowledge(offset, |start, sent| {
            if sent.repeats == 0 && sent.marks == Marks::default() {
                acked.oldest_once.get_or_insert(sent.first_at);
                acked.newest_once = Some(sent.first_at);
                acked.newest_bundled = None;
            } else {
                acked.add_repeated_or_marked(start, sent, is_first.then_some(echo));
                if sent.repeats > 0 {
                    let rare = rare.get_or_insert_default();
                    rare.latency_by_order[order_index(sent.repeats.into())]
                        .record(at.saturating_since(sent.first_at).as_nanos());
                }
            }
            is_first = false;
        });
        if acked.repeats_of_oldest > 0 {
            event.spurious += self.detect_spurious(acked.repeats_of_oldest, echo);
        }
        if acked.missing_bytes > 0 {
            self.measures.rare().missing_bytes += acked.missing_bytes;
        }
        event.newly_acknowledged_bytes = offset - self.acknowledged;
        self.acknowledged = offset;
        self.sample(at, &acked, event);
        self.has_acked_data = true;
        self.advanced_at = at;
        self.news_at = at;
        self.duplicates = 0;
        self.has_repeated_ack = false;
        if self.is_repairing() {
            self.follow_repair();
        }
        if self.probe_inference.is_watching() {
            self.probe_inference.on_acknowledged(at, segment.payload_bytes == 0);
        }
    }

    /// The round trip of an advance. If it covers a retransmission, only the oldest segment counts, if its
    /// timestamp identifies the transmission (RFC 6298 §3, RFC 7323 §4).
    #[inline]
    fn sample(&mut self, at: Instant, acked: &AckedSegments, event: &mut AckEvent) {
        let since = |sent: Instant| at.saturating_since(sent);
        let (oldest, newest) = if acked.has_repeated {
            (acked.named, acked.named)
        } else {
            (acked.oldest_once, acked.newest_bundled.or(acked.newest_once))
        };
        // Before a bundle's round trip no other may be known.
        if let Some(sent) = oldest.or(newest) {
            self.sample_timeout(since(sent));
        }
        if let Some(sent) = newest {
            let rtt = since(sent);
            self.measures.rtts.record_deferred(rtt.as_nanos());
            event.rtt = Some(rtt);
        }
    }

    #[inline]
    fn is_repairing(&self) -> bool {
        self.episode.is_under_way() || self.expired > 0 || self.probe_until.is_some()
    }

    #[cold]
    fn follow_repair(&mut self) {
        self.expired = 0;
        self.episode.follow(self.acknowledged, self.may_sack());
        // The probe is outstanding until more than it is acknowledged, or a duplicate shows that it was
        // spurious (RFC 8985 §7.4.2).
        if self.probe_until.is_some_and(|until| self.acknowledged > until.get()) {
            self.probe_until = None;
        }
    }

    /// Counts spurious retransmissions of the oldest segment, which is acknowledged.
    #[cold]
    fn detect_spurious(&mut self, times: u16, echo: u32) -> u32 {
        let (Some(repeats), true) = (&mut self.repeats, echo != 0) else { return 0 };
        let rare = self.measures.rare.get_or_insert_default();
        let mut count = 0;
        for cause in repeats.judge(self.acknowledged, times, echo) {
            rare.spurious_by_stamp[cause.index()] += 1;
            count += 1;
        }
        if count > 0 {
            self.episode.refute();
        }
        count
    }

    /// Duplicate acknowledgment (RFC 5681 §2): data is outstanding, the segment has no payload, SYN or FIN, and
    /// number and window are unchanged.
    #[inline]
    fn check_duplicate_ack(&mut self, at: Instant, segment: &Segment, event: &mut AckEvent) {
        if segment.payload_bytes > 0 || segment.flags.intersects(Flags::SYN | Flags::FIN) {
            return;
        }
        if self.probe_until.is_some_and(|until| self.acknowledged == until.get()) {
            self.probe_until = None;
        }
        if self.highest == self.acknowledged {
            return;
        }
        self.has_repeated_ack = true;
        self.news_at = at;
        if self.window.is_unchanged(segment) {
            self.duplicates = self.duplicates.saturating_add(1);
            event.duplicates = self.duplicates;
            let place = order_index(self.duplicates.into());
            self.measures.rare().duplicate_acks_by_order[place] += 1;
        }
    }

    fn on_sack(&mut self, at: Instant, segment: &Segment, offset: u64, event: &mut AckEvent) {
        let blocks = segment.options.sack.as_slice();
        let rare = self.measures.rare();
        rare.sack_segments += 1;
        rare.sack_blocks += u64::try_from(blocks.len()).unwrap_or(0);
        self.other_sack = Some(true);
        self.own_sack = Some(true);
        let blocks_end = blocks.len();
        let first_new = usize::from(self.is_dsack(blocks, offset));
        if first_new == 1 {
            event.spurious += self.on_dsack(blocks);
        }
        let mut marked = [NOTHING_MARKED; SackBlocks::CAPACITY];
        for (block, marked) in blocks[first_new.min(blocks_end)..].iter().zip(&mut marked) {
            event.newly_sacked_bytes += self.mark_sacked(at, *block, marked, event);
        }
        self.last_marked = marked;
        if event.newly_sacked_bytes > 0 {
            self.news_at = at;
        }
    }

    /// D-SACK: the first block lies below the acknowledgment, or within the second block (RFC 2883 §4).
    fn is_dsack(&mut self, blocks: &[SackBlock], offset: u64) -> bool {
        let Some(first) = blocks.first() else { return false };
        let first = (self.offset_of(first.left), self.offset_of(first.right));
        let is_within_second = blocks.get(1).is_some_and(|second| {
            self.offset_of(second.left) <= first.0 && first.1 <= self.offset_of(second.right)
        });
        first.0 < first.1 && (first.0 < offset || is_within_second)
    }

    #[cold]
    fn on_dsack(&mut self, blocks: &[SackBlock]) -> u32 {
        let Some(block) = blocks.first() else { return 0 };
        let (start, end) = (self.offset_of(block.left), self.offset_of(block.right));
        if self.probe_until.is_some_and(|until| until.get() <= self.acknowledged) {
            self.probe_until = None;
        }
        let rare = self.measures.rare.get_or_insert_default();
        rare.reports_of_duplicates += 1;
        let Some(cause) = self.repeats.as_mut().and_then(|repeats| repeats.report(start, end))
        else {
            return 0;
        };
        rare.spurious_by_report[cause.index()] += 1;
        1
    }

    /// Marks the range of a block; returns the bytes that were not marked before. `marked` becomes the block if
    /// it is valid.
    fn mark_sacked(
        &mut self,
        at: Instant,
        block: SackBlock,
        marked: &mut (u64, u64),
        event: &mut AckEvent,
    ) -> u64 {
        let (start, end) = (self.offset_of(block.left), self.offset_of(block.right));
        if start >= end || end > self.highest || start < self.acknowledged {
            return 0;
        }
        *marked = (start, end);
        let (start, unmarked_end) = self.unmarked(start, end);
        if start == unmarked_end {
            return 0;
        }
        let mut bytes = 0;
        let mut newest_once = None;
        for index in self.outstanding.isolate(start, unmarked_end) {
            let begin = self.outstanding.start_of(index);
            let Some(sent) = self.outstanding.get_mut(index) else { break };
            if sent.marks.contains(Marks::SACKED) {
                continue;
            }
            if sent.repeats == 0 && sent.marks == Marks::default()
                || sent.end == end && sent.went_once_by_itself()
            {
                newest_once = Some(sent.first_at);
            }
            sent.marks.set(Marks::SACKED);
            bytes += sent.end - begin;
        }
        self.highest_sacked = self.highest_sacked.max(end);
        if let Some(sent) = newest_once {
            let rtt = at.saturating_since(sent);
            self.sample_timeout(rtt);
            self.measures.rtts.record_deferred(rtt.as_nanos());
            event.rtt = Some(rtt);
        }
        bytes
    }

    /// The part of a block that is not known to be marked: most blocks are repeated, or grow.
    fn unmarked(&self, start: u64, end: u64) -> (u64, u64) {
        for &(marked_start, marked_end) in &self.last_marked {
            if marked_start == start && marked_end <= end {
                return (marked_end, end);
            }
            if marked_end == end && marked_start >= start {
                return (start, marked_start);
            }
        }
        (start, end)
    }
}

impl AckedSegments {
    #[cold]
    fn add_repeated_or_marked(
        &mut self,
        start: u64,
        sent: &SentRange,
        echo_of_oldest: Option<u32>,
    ) {
        if sent.marks.contains(Marks::MISSING) {
            self.missing_bytes += sent.end - start;
        }
        // A bundle also carries new data: if that was not acknowledged, the bundle did not deliver this.
        self.newest_bundled = sent.went_once_by_itself().then_some(sent.first_at);
        if sent.repeats == 0 {
            return;
        }
        self.has_repeated = true;
        if let Some(echo) = echo_of_oldest {
            self.repeats_of_oldest = sent.repeats;
            if echo != 0 && echo == sent.stamp {
                self.named = Some(sent.last_at);
            }
        }
    }
}
