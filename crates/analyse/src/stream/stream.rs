//! State of a stream, and segments that continue it.

use super::cause::{AT_ONCE, ProbeInference};
use super::limits::{OfferedWindow, SenderLimit};
use super::measures::{Cause, ProbeUseCounts, SegmentKind, StreamMeasures, TapSide};
use super::outstanding::{Marks, Outstanding, SentRange};
use super::repair::{RepairEpisode, RetransmissionHistory};
use super::rtt::{ReceiverSideRtt, TimeoutEstimate};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SackBlocks, Segment, SequenceNumber};
use std::num::NonZeroU64;

/// Offset of the first payload byte; above 0, because earlier bytes have offsets, too.
pub(super) const ORIGIN: u64 = 1 << 32;
/// Fewer packets in flight than this make a stream thin (Linux `tcp_stream_is_thin`).
const THIN_BELOW: u64 = 4;
/// An empty SACK range.
pub(super) const NOTHING_MARKED: (u64, u64) = (u64::MAX, 0);
/// Payload of a full segment if no SYN was seen (RFC 9293 §3.7.1).
const DEFAULT_SEGMENT: u32 = 536;

/// One direction's data of one connection at one tap.
///
/// Memory order: fields of every packet first, rare ones last, because with thousands of streams each packet
/// misses the caches. Of four cache lines the third is for acknowledgments, the others for every packet; then
/// come the measures.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Stream {
    /// Offset behind the last byte that was sent.
    pub(super) highest: u64,
    /// Offset behind the last byte that is acknowledged in order.
    pub(super) acknowledged: u64,
    /// Instant of the last packet of either direction.
    pub(super) now: Instant,
    /// When an acknowledgment last brought news.
    pub(super) news_at: Instant,
    /// Instant of the last data segment.
    last_data_at: Instant,
    /// Sequence number of [`ORIGIN`].
    pub(super) origin: Option<SequenceNumber>,
    pub(super) outstanding: Outstanding,
    pub(super) window: OfferedWindow,
    /// Payload of a full segment.
    pub(super) full_segment: u32,
    /// Timestamp of the last segment.
    pub(super) last_stamp: u32,
    /// Payload bytes of the last data segment.
    last_size: u32,
    pub(super) last_identification: u16,
    /// What limits the sender since the last packet.
    pub(super) limit: SenderLimit,
    /// Whether the last new segment was not full.
    pub(super) was_partial: bool,
    /// Whether a loss has ended the initial slow start.
    pub(super) has_lost: bool,
    /// Whether data was acknowledged.
    pub(super) has_acked_data: bool,
    /// Whether an acknowledgment was repeated, with any window.
    pub(super) has_repeated_ack: bool,
    pub(super) side: TapSide,
    /// Data segments of the last size that are not in the distribution yet: most have the size of the one
    /// before.
    sizes_alike: u32,
    pub(super) timeout: TimeoutEstimate,
    /// When an acknowledgment last advanced.
    pub(super) advanced_at: Instant,
    /// Duplicate acknowledgments in a row.
    pub(super) duplicates: u32,
    /// Timeouts since the last progress.
    pub(super) expired: u16,
    /// SYNs that are not acknowledged.
    pub(super) syns: u16,
    pub(super) episode: RepairEpisode,
    /// The acknowledgment of this offset answers the last probe.
    pub(super) probe_until: Option<NonZeroU64>,
    pub(super) probe_inference: ProbeInference,
    pub(super) measures: StreamMeasures,
    pub(super) has_stamps: bool,
    /// Whether the capture cut options of acknowledgments.
    pub(super) is_blind: bool,
    /// Whether the SYNs of both sides allow SACK.
    pub(super) own_sack: Option<bool>,
    pub(super) other_sack: Option<bool>,
    pub(super) own_mss: Option<u16>,
    pub(super) other_mss: Option<u16>,
    /// When the SYN was sent.
    pub(super) syn_at: Instant,
    /// Offset behind the highest byte that was selectively acknowledged.
    pub(super) highest_sacked: u64,
    /// Ranges that the last SACK blocks have marked; empty ones where none.
    pub(super) last_marked: [(u64, u64); SackBlocks::CAPACITY],
    pub(super) last_repetition_at: Instant,
    pub(super) last_repetition_end: u64,
    /// Offset behind a segment with an implausible number.
    pub(super) far_end: Option<u64>,
    /// An implausible acknowledgment.
    pub(super) far_acknowledgment: Option<u64>,
    pub(super) repeats: Option<Box<RetransmissionHistory>>,
    /// Round trips, with the tap near the receiver.
    pub(super) receiver_rtt: ReceiverSideRtt,
}

impl Stream {
    /// A new stream; its first packet passes at `at`.
    pub fn new(at: Instant) -> Self {
        let mut measures = StreamMeasures::default();
        measures.beginning.streams = 1;
        Self {
            highest: ORIGIN,
            acknowledged: ORIGIN,
            origin: None,
            limit: SenderLimit::Idle,
            was_partial: false,
            has_lost: false,
            has_acked_data: false,
            side: TapSide::Sender,
            full_segment: DEFAULT_SEGMENT,
            now: at,
            last_data_at: at,
            advanced_at: at,
            news_at: Instant::ZERO,
            outstanding: Outstanding::from_offset(ORIGIN),
            window: OfferedWindow::default(),
            timeout: TimeoutEstimate::default(),
            highest_sacked: 0,
            last_marked: [NOTHING_MARKED; SackBlocks::CAPACITY],
            duplicates: 0,
            has_repeated_ack: false,
            expired: 0,
            episode: RepairEpisode::default(),
            probe_until: None,
            last_repetition_at: Instant::ZERO,
            last_repetition_end: 0,
            far_end: None,
            far_acknowledgment: None,
            is_blind: false,
            own_sack: None,
            other_sack: None,
            syn_at: at,
            syns: 0,
            own_mss: None,
            other_mss: None,
            has_stamps: false,
            last_stamp: 0,
            last_size: 0,
            sizes_alike: 0,
            last_identification: 0,
            probe_inference: ProbeInference::default(),
            repeats: None,
            receiver_rtt: ReceiverSideRtt::default(),
            measures,
        }
    }

    /// Sets the position of the tap.
    pub const fn set_side(&mut self, side: TapSide) {
        self.side = side;
    }

    /// Position of the tap.
    pub const fn side(&self) -> TapSide {
        self.side
    }

    /// The measures so far; windows and sizes are complete after [`finish`](Self::finish).
    pub const fn measures(&self) -> &StreamMeasures {
        &self.measures
    }

    /// Bytes outstanding.
    pub const fn flight_bytes(&self) -> u64 {
        self.highest - self.acknowledged
    }

    /// Packets outstanding; a packet joined by offload counts as the segments it becomes.
    pub const fn flight_packets(&self) -> u64 {
        self.outstanding.packets()
    }

    /// Prefetches the cache lines that most packets of either direction need.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        let StreamMeasures { common, acks, spacings, rtts, .. } = &self.measures;
        self.highest
            ^ u64::from(self.full_segment)
            ^ self.timeout.first_field()
            ^ self.probe_until.map_or(0, NonZeroU64::get)
            ^ common.data_segments
            ^ acks.acknowledgments
            ^ u64::from(spacings.prefetch() ^ rtts.prefetch())
            ^ self.outstanding.prefetch()
    }

    /// Classifies a segment of the data's direction that passes at `at`. `identification` is that of its IPv4
    /// header.
    #[inline]
    pub fn on_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        identification: Option<u16>,
    ) -> SegmentKind {
        let seen = SeenSegment { segment, identification: identification.unwrap_or(0) };
        if self.side == TapSide::Receiver {
            let offsets = (self.acknowledged, self.highest);
            self.receiver_rtt.on_segment(at, segment, &mut self.timeout, offsets);
        }
        if segment.payload_bytes == 0 && !segment.flags.contains(Flags::FIN)
            || segment.flags.intersects(Flags::SYN | Flags::RST)
        {
            return self.on_control(at, seen);
        }
        let start = self.offset_of(segment.sequence);
        let end = start
            + u64::from(segment.payload_bytes)
            + u64::from(segment.flags.contains(Flags::FIN));
        let is_new = start == self.highest && !self.window.is_closed;
        let kind = if is_new {
            self.advance_time(at, true);
            if self.probe_inference.is_watching() {
                self.probe_inference.on_new_data(at);
            }
            self.push_new(at, seen, end);
            SegmentKind::New
        } else {
            self.on_out_of_sequence(at, seen, start, end)
        };
        if segment.payload_bytes > 0 {
            self.count_segment(at, segment);
        }
        self.last_data_at = at;
        self.limit = self.current_limit();
        kind
    }

    /// Discards the counts before `at`; the state stays.
    pub(crate) fn reset_counts(&mut self, at: Instant) {
        self.advance_time(at, false);
        self.sizes_alike = 0;
        self.window.reset_counts();
        self.probe_inference.reset_counts();
        self.measures = self.measures.restarted(at, self.has_acked_data);
    }

    /// Ends the stream, and decides provisional causes by its own evidence or else by that of its group.
    /// Returns timeouts that counted as probes until now.
    pub fn finish(&mut self, at: Instant, probe_use: &mut ProbeUseCounts) -> u64 {
        self.advance_time(at, false);
        self.window.finish(self.now, &mut self.measures.window);
        self.record_sizes();
        if !self.has_acked_data {
            self.measures.beginning.discard_initial_window();
        }
        let (segments, bytes) = self.probe_inference.settle(probe_use);
        if segments > 0 {
            let rare = self.measures.rare();
            rare.recount(segments, bytes, Cause::TailLossProbe, Cause::Timeout);
            rare.timeouts_by_row[0] += segments;
        }
        segments
    }

    /// The offset of a sequence number, near the highest one. The first number is the origin, unless a SYN was
    /// seen.
    #[inline]
    pub(super) fn offset_of(&mut self, sequence: SequenceNumber) -> u64 {
        let origin = *self.origin.get_or_insert(sequence);
        let low_bits = low_bits(self.highest - ORIGIN);
        let distance = sequence.distance_from(origin + low_bits).cast_signed();
        self.highest.wrapping_add_signed(distance.into())
    }

    /// Sets the origin.
    pub(super) const fn set_origin(&mut self, first: SequenceNumber) {
        self.origin = Some(first);
        self.highest = ORIGIN;
        self.acknowledged = ORIGIN;
    }

    /// Whether the origin is known.
    #[inline]
    pub(super) const fn has_origin(&self) -> bool {
        self.origin.is_some()
    }

    /// Takes a round trip between the tap and the receiver; near the sender it sets the sender's timeout.
    #[inline]
    pub(super) fn sample_timeout(&mut self, rtt: Span) {
        if self.side == TapSide::Sender {
            self.timeout.sample(rtt, self.acknowledged, self.highest);
        }
    }

    /// Counts the time since the last packet.
    #[inline]
    pub(super) fn advance_time(&mut self, at: Instant, brings_new_data: bool) {
        let span = at.saturating_since(self.now);
        // New data without an acknowledgment before it: the application had no data before.
        let was_waited_for = brings_new_data
            && self.limit == SenderLimit::Congestion
            && at.saturating_since(self.news_at) > AT_ONCE
            && span > AT_ONCE
            && !self.episode.is_under_way();
        let limit = if was_waited_for { SenderLimit::Application } else { self.limit };
        self.measures.time.add(limit, span);
        if limit == SenderLimit::Idle && span > AT_ONCE {
            self.measures.time.attribute_to_application();
        }
        if self.has_lost && self.outstanding.packets() < THIN_BELOW {
            self.measures.time.thin += span;
        }
        self.now = self.now.max(at);
    }

    /// What limits the sender from now on.
    #[inline]
    pub(super) fn current_limit(&self) -> SenderLimit {
        let lacks_room = self.window.lacks_room(self.highest, self.full_segment.into());
        if self.highest == self.acknowledged {
            if lacks_room { SenderLimit::ReceiverWindow } else { SenderLimit::Idle }
        } else if self.episode.is_under_way() {
            SenderLimit::Congestion
        } else if lacks_room {
            SenderLimit::ReceiverWindow
        } else if self.was_partial {
            SenderLimit::Application
        } else {
            SenderLimit::Congestion
        }
    }

    /// Counts a segment with payload.
    #[inline]
    pub(super) fn count_segment(&mut self, at: Instant, segment: &Segment) {
        let flight = self.highest - self.acknowledged;
        let packets = self.outstanding.packets();
        let common = &mut self.measures.common;
        if common.data_segments > 0 {
            self.measures
                .spacings
                .record_deferred(at.saturating_since(self.last_data_at).as_nanos());
        } else {
            self.measures.beginning.first_data_at = Some(at);
        }
        common.data_segments += 1;
        common.payload_bytes += u64::from(segment.payload_bytes);
        common.flight_bytes_sum += flight;
        common.flight_packets_sum += packets;
        common.flight_bytes_max = common.flight_bytes_max.max(flight);
        common.flight_packets_max = common.flight_packets_max.max(packets);
        if packets < THIN_BELOW {
            common.few_in_flight += 1;
            common.thin += u64::from(self.has_lost);
        }
        if segment.payload_bytes == self.last_size && self.sizes_alike < u32::MAX {
            self.sizes_alike += 1;
        } else {
            self.record_sizes();
            self.last_size = segment.payload_bytes;
            self.sizes_alike = 1;
        }
    }

    /// Adds the sizes that wait to the distribution.
    #[inline(never)]
    fn record_sizes(&mut self) {
        self.measures.sizes.record_many(self.last_size.into(), self.sizes_alike.into());
        self.sizes_alike = 0;
    }

    /// Adds a segment at the end of the stream.
    #[inline]
    pub(super) fn push_new(&mut self, at: Instant, seen: SeenSegment<'_>, end: u64) {
        let payload = seen.segment.payload_bytes;
        let packets = if payload <= self.full_segment {
            1
        } else {
            u16::try_from(payload.div_ceil(self.full_segment)).unwrap_or(u16::MAX)
        };
        let sent = SentRange {
            end,
            first_at: at,
            last_at: at,
            stamp: seen.stamp(),
            identification: seen.identification,
            repeats: 0,
            packets,
            episode: 0,
            marks: Marks::default(),
        };
        self.was_partial = payload < self.full_segment;
        if self.episode.is_under_way() {
            self.measures.time.make_final();
        } else {
            self.measures.time.begin_provisional();
        }
        self.last_stamp = sent.stamp;
        self.last_identification = sent.identification;
        if !self.has_acked_data {
            self.measures.beginning.add_to_window(packets.into(), payload.into());
        }
        self.highest = end;
        self.push(sent);
    }

    #[inline]
    pub(super) fn push(&mut self, sent: SentRange) {
        if let Some(forgotten) = self.outstanding.push(sent, self.has_acked_data) {
            self.acknowledged = self.acknowledged.max(forgotten);
            self.measures.rare().forgotten_ranges += 1;
        }
    }
}

#[inline]
pub(super) fn low_bits(offset: u64) -> u32 {
    u32::try_from(offset & u64::from(u32::MAX)).unwrap_or(0)
}

/// A segment of the data's direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenSegment<'a> {
    pub(super) segment: &'a Segment,
    /// Identification of its IPv4 header, 0 without.
    pub(super) identification: u16,
}

impl SeenSegment<'_> {
    /// Its timestamp, 0 without.
    #[inline]
    pub(super) fn stamp(self) -> u32 {
        self.segment.options.timestamps.map_or(0, |stamps| stamps.value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::measures::DataCounters;
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn hot_fields_lie_in_few_cache_lines() {
        let measures = offset_of!(Stream, measures);
        assert!(offset_of!(Stream, outstanding) < 64);
        assert_eq!(offset_of!(Stream, timeout), 128);
        assert_eq!(offset_of!(Stream, episode), 192);
        assert_eq!((measures, size_of::<DataCounters>()), (256, 64));
        assert_eq!(offset_of!(StreamMeasures, sizes), 128);
    }
}
