//! Whether a packet's numbers can belong to the stream.
//!
//! Source: our own rule. A sender goes no further than the window that the other side offers, so what lies
//! further off is a damaged number, or somebody else's packet, and following it would make repetitions of
//! everything that comes after it. It is let pass; but where the next one continues it, the capture has missed
//! what lies between, or the stream has begun anew. What is offered is known where both SYNs were seen;
//! else it is what can be offered at all.

use super::stream::{NOTHING_MARKED, ORIGIN, Stream, low_bits};
use super::unusual::MOST_DISTANT;
use fairwind_units::Instant;
use fairwind_wire::{Flags, SackBlocks, Segment, SequenceNumber};

/// So many of the largest windows that were offered may be missing from a capture at once.
const MOST_WINDOWS: u64 = 4;
/// Nothing nearer than this is too far off: a capture may begin with the window that an old SYN offered.
const LEAST_REACH: u64 = 1 << 20;

impl Stream {
    /// Whether the numbers of a segment of the data's direction belong to the stream, as far as can be known.
    #[inline]
    pub fn admits(&mut self, at: Instant, segment: &Segment) -> bool {
        let is_next = self.next_number() == Some(segment.sequence);
        is_next || !carries_data(segment) || self.admits_unusual(at, segment)
    }

    #[cold]
    fn admits_unusual(&mut self, at: Instant, segment: &Segment) -> bool {
        let start = self.offset_of(segment.sequence);
        if start == self.highest {
            return true;
        }
        let end = start + u64::from(segment.payload_bytes);
        if start <= self.highest + self.reach() && end + MOST_DISTANT >= self.acknowledged {
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

    /// Whether a segment of the other direction acknowledges what can have been sent; of SYN and RST that is not
    /// asked.
    #[inline]
    pub fn admits_acknowledgment(&mut self, segment: &Segment) -> bool {
        let was_sent =
            self.next_number().is_some_and(|next| segment.acknowledgment.is_at_or_before(next));
        was_sent || !acknowledges(segment) || self.admits_number(segment)
    }

    /// The number behind the last byte that was sent, once one is known.
    #[inline]
    fn next_number(&self) -> Option<SequenceNumber> {
        Some(self.origin? + low_bits(self.highest - ORIGIN))
    }

    pub(super) fn admits_number(&mut self, segment: &Segment) -> bool {
        let offset = self.offset_of(segment.acknowledgment);
        offset <= self.highest || self.admits_unseen(offset)
    }

    /// Something is acknowledged that the tap has not seen.
    #[cold]
    fn admits_unseen(&mut self, offset: u64) -> bool {
        let reach = self.reach();
        if offset - self.highest <= reach {
            self.far_acknowledgment = None;
            return true;
        }
        if offset - self.highest > MOST_DISTANT {
            return false;
        }
        // Another one that says the same, or a little more, is believed.
        let known = self.far_acknowledgment.replace(offset);
        known.is_some_and(|known| (known..=known + reach).contains(&offset))
    }

    /// How far ahead of what was seen the next segment may lie.
    fn reach(&self) -> u64 {
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

    /// A SYN passes before any data: the stream begins behind it.
    pub(super) fn begin_behind(&mut self, syn: &Segment) {
        self.restart(syn.sequence + 1);
    }
}

/// Whether a segment's sequence number tells where data lies.
#[inline]
fn carries_data(segment: &Segment) -> bool {
    let is_data = segment.payload_bytes > 0 || segment.flags.contains(Flags::FIN);
    is_data && !segment.flags.intersects(Flags::SYN | Flags::RST)
}

/// Whether a segment acknowledges data of a connection that is open.
#[inline]
fn acknowledges(segment: &Segment) -> bool {
    segment.flags.contains(Flags::ACK) && !segment.flags.intersects(Flags::SYN | Flags::RST)
}
