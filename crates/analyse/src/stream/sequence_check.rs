//! Sequence checks: whether a packet's numbers can belong to the stream, and which segments are outstanding.
//!
//! Source: our own rule. A sender stays within the window that the other side offers. A number further off is damaged,
//! or the packet belongs to another connection; following it would turn everything after it into retransmissions. So
//! the stream ignores it. If the next packet continues it, then the capture has missed what lies between, or the stream
//! has begun anew. The offered window is known if both SYNs were seen; otherwise the largest possible window counts.

use super::measures::Cause;
use super::outstanding::Marks;
use super::retransmission::MOST_DISTANT;
use super::stream::{NOTHING_MARKED, ORIGIN, Stream, low_bits};
use fairwind_units::Instant;
use fairwind_wire::{Flags, SackBlocks, Segment, SequenceNumber};

/// Windows of data that may be missing from a capture in one place.
const MOST_WINDOWS: u64 = 4;
/// Distances below this are plausible: a capture may begin with data in the window of an old SYN.
const LEAST_REACH: u64 = 1 << 20;

impl Stream {
    /// Whether the sequence number of a data segment is plausible.
    #[inline]
    pub fn accepts_data(&mut self, at: Instant, segment: &Segment) -> bool {
        let is_next = self.next_number() == Some(segment.sequence);
        is_next || !carries_data(segment) || self.accepts_distant(at, segment)
    }

    #[cold]
    fn accepts_distant(&mut self, at: Instant, segment: &Segment) -> bool {
        let start = self.offset_of(segment.sequence);
        if start == self.highest {
            return true;
        }
        let end = start + u64::from(segment.payload_bytes);
        if start <= self.highest + self.max_distance() && end + MOST_DISTANT >= self.acknowledged {
            self.far_end = None;
            return true;
        }
        if self.far_end.take() != Some(start) {
            self.far_end = Some(end);
            self.measures.rare().out_of_window += 1;
            return false;
        }
        let is_ahead = start > self.highest && start - self.highest <= MOST_DISTANT;
        if is_ahead {
            self.push_missing(at, start);
        } else {
            self.restart(segment.sequence);
        }
        true
    }

    /// Whether the acknowledgment number of a segment without SYN and RST is plausible.
    #[inline]
    pub fn accepts_ack(&mut self, segment: &Segment) -> bool {
        let was_sent =
            self.next_number().is_some_and(|next| segment.acknowledgment.is_at_or_before(next));
        was_sent || !acknowledges(segment) || self.accepts_ack_number(segment)
    }

    /// The sequence number after the last byte that was sent, if known.
    #[inline]
    fn next_number(&self) -> Option<SequenceNumber> {
        Some(self.origin? + low_bits(self.highest - ORIGIN))
    }

    pub(super) fn accepts_ack_number(&mut self, segment: &Segment) -> bool {
        let offset = self.offset_of(segment.acknowledgment);
        offset <= self.highest || self.accepts_unseen(offset)
    }

    /// Data is acknowledged that the tap has not seen.
    #[cold]
    fn accepts_unseen(&mut self, offset: u64) -> bool {
        let reach = self.max_distance();
        if offset - self.highest <= reach {
            self.far_acknowledgment = None;
            return true;
        }
        if offset - self.highest > MOST_DISTANT {
            return false;
        }
        // A second acknowledgment of about the same number confirms it.
        let known = self.far_acknowledgment.replace(offset);
        known.is_some_and(|known| (known..=known + reach).contains(&offset))
    }

    /// How far ahead of the stream the next segment may lie.
    fn max_distance(&self) -> u64 {
        match self.window.most(&self.measures.window) {
            Some(bytes) => (MOST_WINDOWS * bytes).clamp(LEAST_REACH, MOST_DISTANT),
            None => MOST_DISTANT,
        }
    }

    fn restart(&mut self, first: SequenceNumber) {
        self.set_origin(first);
        self.outstanding.restart(self.highest);
        self.highest_sacked = 0;
        self.last_marked = [NOTHING_MARKED; SackBlocks::CAPACITY];
        self.episode.give_up();
        self.probe_until = None;
    }

    /// A SYN passes before any data: the stream begins after it.
    pub(super) fn start_after_syn(&mut self, syn: &Segment) {
        self.restart(syn.sequence + 1);
    }
}

/// Whether the sequence number is that of data.
#[inline]
fn carries_data(segment: &Segment) -> bool {
    let is_data = segment.payload_bytes > 0 || segment.flags.contains(Flags::FIN);
    is_data && !segment.flags.intersects(Flags::SYN | Flags::RST)
}

/// Whether a segment acknowledges data of an established connection.
#[inline]
fn acknowledges(segment: &Segment) -> bool {
    segment.flags.contains(Flags::ACK) && !segment.flags.intersects(Flags::SYN | Flags::RST)
}

/// An outstanding segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutstandingSegment {
    /// Bytes of the stream before it.
    pub(crate) start: u64,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// When it was first sent.
    pub(crate) sent_at: Instant,
    /// How often it was sent again.
    pub(crate) repeats: u16,
    /// Cause of the last retransmission.
    pub(crate) cause: Option<Cause>,
    /// Whether that cause is provisional.
    pub(crate) is_provisional: bool,
    /// Outstanding segments behind it.
    pub(crate) behind: usize,
}

impl OutstandingSegment {
    /// Bytes of the stream before its end.
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

impl Stream {
    /// When the oldest outstanding segment was first sent.
    #[inline]
    pub(crate) fn oldest_sent_at(&self) -> Option<Instant> {
        self.outstanding.oldest().map(|oldest| oldest.first_at)
    }

    /// The oldest outstanding segment, if the tap saw it.
    #[cold]
    pub(crate) fn oldest_outstanding(&self) -> Option<OutstandingSegment> {
        self.segment(0)
    }

    /// The outstanding segment of the byte behind `place` bytes of the stream, if the tap saw it and the
    /// beginning of the stream.
    #[cold]
    pub(crate) fn outstanding_at(&self, place: u64) -> Option<OutstandingSegment> {
        let offset = ORIGIN.checked_add(place).filter(|_| self.own_sack.is_some())?;
        let index = self.outstanding.index_of(offset);
        self.segment(index).filter(|segment| segment.start <= place)
    }

    /// Number of outstanding segments.
    pub(crate) fn outstanding_segments(&self) -> usize {
        self.outstanding.len()
    }

    /// Outstanding segments that begin before the byte behind `place` bytes of the stream.
    pub(crate) fn segments_before(&self, place: u64) -> usize {
        let last = ORIGIN.saturating_add(place).saturating_sub(1);
        (self.outstanding.index_of(last) + 1).min(self.outstanding.len())
    }

    fn segment(&self, index: usize) -> Option<OutstandingSegment> {
        let sent = self.outstanding.get(index)?;
        if sent.marks.contains(Marks::MISSING) {
            return None;
        }
        let start = self.outstanding.start_of(index);
        let last = self.repeats.as_ref().filter(|_| sent.repeats > 0);
        let last = last.and_then(|repeats| repeats.last_of(start));
        Some(OutstandingSegment {
            start: start.checked_sub(ORIGIN)?,
            bytes: sent.end.saturating_sub(start),
            sent_at: sent.first_at,
            repeats: sent.repeats,
            cause: last.map(|(cause, _)| cause),
            is_provisional: last.is_some_and(|(_, is_provisional)| is_provisional),
            behind: self.outstanding.len().saturating_sub(index + 1),
        })
    }
}
