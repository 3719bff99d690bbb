//! What has been sent and is not acknowledged yet, segment by segment, and what waits to be sent.
//!
//! Every transmitted segment is one [`Sent`] in a ring, in sequence order. Indices into the ring
//! are *absolute*: they count segments since the connection began, so that they stay valid while
//! acknowledged segments leave at the front. Counters (what is selectively acknowledged, lost,
//! retransmitted) are kept as segments change their marks, so asking for the flight costs nothing.

mod marks;

use crate::sender::Outgoing;
use fairwind_units::Instant;
use fairwind_wire::{Flags, SequenceNumber};
use std::collections::VecDeque;

/// When a segment was sent: an instant, and the place among the transmissions of that instant, for a
/// virtual clock shows the same one for many (the kernel compares end numbers instead).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Moment {
    at: Instant,
    rank: u16,
}

impl Moment {
    getters! {
        at: Instant,
        /// The place among the transmissions of that instant.
        rank: u16,
    }

    pub(crate) fn new(at: Instant, rank: u16) -> Self {
        Self { at, rank }
    }

    pub(crate) fn is_before(self, other: Self) -> bool {
        self.at < other.at || self.at == other.at && self.rank < other.rank
    }

    /// The moment of the next transmission.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) -> Self {
        self.rank = if self.at == now { self.rank.saturating_add(1) } else { 0 };
        self.at = now;
        *self
    }
}

/// Marks of one transmitted segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    /// Selectively acknowledged.
    pub(crate) const SACKED: Self = Self(1);
    /// Believed lost.
    pub(crate) const LOST: Self = Self(2);
    /// Retransmitted, and that retransmission is believed to be under way.
    pub(crate) const RETRANSMITTED: Self = Self(4);
    /// Those that are counted.
    const COUNTED: Self = Self(Self::SACKED.0 | Self::LOST.0 | Self::RETRANSMITTED.0);
    /// Ends with FIN, which takes the last place of its length.
    pub(crate) const FIN: Self = Self(8);
    /// Ended what the application had written (PSH).
    pub(crate) const PUSH: Self = Self(16);
    /// Found lost by its age, which therefore is not looked at again before it is retransmitted.
    pub(crate) const JUDGED: Self = Self(32);
    /// Sent while the application was what limited the sender.
    pub(crate) const APPLICATION_LIMITED: Self = Self(64);
    /// Was the last of a bundle, that is, of a buffer of the host's.
    pub(crate) const BUNDLE_END: Self = Self(128);

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The control bits of a segment that is sent with these marks.
    #[inline]
    pub(crate) fn flags(self) -> Flags {
        let push = if self.contains(Self::PUSH) { Flags::PSH } else { Flags::NONE };
        if self.contains(Self::FIN) { push | Flags::FIN } else { push }
    }

    /// Of these marks, those that are counted.
    pub(crate) const fn counted(self) -> u8 {
        self.0 & Self::COUNTED.0
    }

    pub(crate) fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(crate) fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// One transmitted segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    sequence: SequenceNumber,
    /// Sequence space taken: payload, and one for FIN.
    length: u32,
    /// When it was sent last.
    transmitted_at: Instant,
    /// Segments delivered since the beginning when it was sent last, modulo 2^32.
    delivered_before: u32,
    /// Place of that transmission among those of the same instant.
    rank: u16,
    /// How often it was sent, saturating.
    transmissions: u8,
    marks: Marks,
}

impl Sent {
    getters! {
        sequence: SequenceNumber,
        length: u32,
        transmitted_at: Instant,
        delivered_before: u32,
        marks: Marks,
    }

    /// Payload in bytes.
    pub(crate) fn payload_bytes(&self) -> u32 {
        self.length - u32::from(self.has_fin())
    }

    pub(crate) fn end(&self) -> SequenceNumber {
        self.sequence + self.length
    }

    /// Forgets what lies below `acknowledged`.
    #[inline]
    fn cut(&mut self, acknowledged: SequenceNumber) {
        if acknowledged.is_after(self.sequence) {
            self.length = self.end().distance_from(acknowledged);
            self.sequence = acknowledged;
        }
    }

    pub(crate) fn has_fin(&self) -> bool {
        self.marks.contains(Marks::FIN)
    }

    /// The segment that carries it.
    pub(crate) fn outgoing(&self) -> Outgoing {
        Outgoing::new(self.sequence, self.payload_bytes(), self.marks.flags())
    }

    /// When it was sent last.
    pub(crate) fn moment(&self) -> Moment {
        Moment::new(self.transmitted_at, self.rank)
    }

    pub(crate) fn is_retransmitted(&self) -> bool {
        self.transmissions > 1
    }
}

/// How many segments an acknowledgment took off the queue, and what they tell about round trips.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    /// Segments wholly acknowledged.
    segments: u32,
    /// Of these, segments not selectively acknowledged before.
    newly_delivered: u32,
    /// The oldest of those that were sent once and not selectively acknowledged before.
    first_original: Option<Original>,
    /// When the youngest of those was sent.
    last_original_at: Option<Instant>,
    /// Whether one of the segments had been retransmitted.
    has_retransmitted: bool,
    /// Whether FIN was among them.
    has_fin: bool,
    /// Whether the oldest segment left over had been selectively acknowledged: the receiver must
    /// have dropped it, or else it would be covered.
    has_reneged: bool,
    /// Payload of a full segment of the bundle that was acknowledged in part, to be cut anew.
    cut: Option<u32>,
}

/// A segment that was sent once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Original {
    sequence: SequenceNumber,
    end: SequenceNumber,
    transmitted_at: Instant,
}

impl Acknowledged {
    getters! {
        segments: u32,
        newly_delivered: u32,
        first_original: Option<Original>,
        last_original_at: Option<Instant>,
        cut: Option<u32>,
        has_retransmitted: bool,
        has_fin: bool,
        has_reneged: bool,
    }

    /// Counts a segment that was wholly acknowledged.
    #[inline]
    fn add(&mut self, sent: &Sent) {
        self.segments += 1;
        self.has_fin |= sent.has_fin();
        self.has_retransmitted |= sent.is_retransmitted();
        if sent.marks.contains(Marks::SACKED) {
            return;
        }
        self.newly_delivered += 1;
        if sent.is_retransmitted() {
            return;
        }
        self.last_original_at = Some(sent.transmitted_at);
        if self.first_original.is_none() {
            self.first_original = Some(Original {
                sequence: sent.sequence,
                end: sent.end(),
                transmitted_at: sent.transmitted_at,
            });
        }
    }

    /// The rest of that bundle makes one segment fewer.
    pub(crate) fn count_merged(&mut self) {
        self.segments += 1;
        self.newly_delivered += 1;
    }
}

impl Original {
    getters! {
        sequence: SequenceNumber,
        end: SequenceNumber,
        transmitted_at: Instant,
    }
}

/// Why a segment is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is believed lost.
    Repair,
    /// To find out whether it is.
    Probe,
}

/// The ring of transmitted segments, its counters, and the bytes not sent yet.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    sent: VecDeque<Sent>,
    /// Absolute index of the segment at the front.
    first: u64,
    /// Bundles sent and not wholly acknowledged.
    bundles: u32,
    sacked: u32,
    lost: u32,
    /// How often a segment was marked lost since the beginning, modulo 2^32.
    losses: u32,
    retransmitted: u32,
    /// Lost segments whose retransmission has not been sent.
    awaiting_retransmission: u32,
    /// No segment below this absolute index awaits its retransmission.
    retransmit_from: u64,
    /// Absolute indices of segments marked lost that nobody has been told of, where somebody wants to be.
    marked_lost: Option<Vec<u64>>,
    /// When a segment was sent last, for the first time or again.
    last_sent: Moment,
    /// Where records of the application end (`MSG_EOR`).
    record_ends: VecDeque<SequenceNumber>,
}

impl SendQueue {
    getters! {
        bundles: u32,
        /// Of the outstanding segments, those selectively acknowledged.
        sacked: u32,
        /// Of the outstanding segments, those believed lost.
        lost: u32,
        losses: u32,
        /// Retransmissions believed to be under way.
        retransmitted: u32,
    }

    /// A record ends before this number, which is sent next.
    #[cold]
    pub(crate) fn note_record_end(&mut self, end: SequenceNumber) {
        let acknowledged = self.sent.front().map_or(end, |oldest| oldest.sequence);
        while self.record_ends.front().is_some_and(|known| known.is_at_or_before(acknowledged)) {
            self.record_ends.pop_front();
        }
        self.record_ends.push_back(end);
    }

    /// The moment of the next transmission.
    pub(crate) fn next_moment(&mut self, now: Instant) -> Moment {
        self.last_sent.advance(now)
    }

    /// Segments sent and not cumulatively acknowledged.
    #[expect(clippy::cast_possible_truncation, reason = "a window holds fewer than 2^32 segments")]
    pub(crate) fn outstanding(&self) -> u32 {
        self.sent.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Absolute index of the oldest outstanding segment (of the next to be sent, if none is).
    pub(crate) fn first_index(&self) -> u64 {
        self.first
    }

    /// Absolute index after the youngest outstanding segment.
    pub(crate) fn end_index(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    fn offset(&self, index: u64) -> usize {
        usize::try_from(index - self.first).expect("an index of an outstanding segment")
    }

    /// The segment at an absolute index.
    pub(crate) fn get(&self, index: u64) -> &Sent {
        &self.sent[self.offset(index)]
    }

    #[inline]
    fn get_mut(&mut self, index: u64) -> &mut Sent {
        let offset = self.offset(index);
        &mut self.sent[offset]
    }

    /// Most segments, of `delivered` in all, that were delivered since an outstanding one was sent.
    pub(crate) fn most_delivered_since(&self, delivered: u32) -> u32 {
        let since = self.sent.iter().map(|sent| delivered.wrapping_sub(sent.delivered_before));
        since.max().unwrap_or(0)
    }

    /// The oldest outstanding segment.
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// Adds a segment that is sent for the first time, when `delivered` segments are known to have arrived.
    #[inline]
    pub(crate) fn push(
        &mut self,
        sequence: SequenceNumber,
        length: u32,
        delivered: u32,
        marks: Marks,
        now: Instant,
    ) {
        let rank = self.next_moment(now).rank();
        self.bundles += u32::from(marks.contains(Marks::BUNDLE_END));
        // Written to where it stays, as one that is copied right after it was written takes its time.
        self.sent.push_back(Sent {
            sequence,
            length,
            transmitted_at: now,
            delivered_before: delivered,
            rank,
            transmissions: 1,
            marks,
        });
    }

    /// Absolute index of the first segment that ends after `sequence`.
    pub(crate) fn index_of(&self, sequence: SequenceNumber) -> u64 {
        self.first + self.sent.partition_point(|sent| sent.end().is_at_or_before(sequence)) as u64
    }

    /// Takes everything up to `acknowledged` off the queue, and hands over what had not been selectively
    /// acknowledged; a segment acknowledged in part is cut.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        acknowledged: SequenceNumber,
        mut on_acknowledged: impl FnMut(&Sent),
    ) -> Acknowledged {
        let mut outcome = Acknowledged::default();
        while let Some(front) = self.sent.front_mut() {
            if front.end().is_after(acknowledged) {
                if acknowledged.is_after(front.sequence) && !front.marks.contains(Marks::BUNDLE_END)
                {
                    outcome.cut = Some(front.length);
                }
                outcome.has_reneged = front.marks.contains(Marks::SACKED);
                front.cut(acknowledged);
                break;
            }
            let marks = front.marks;
            outcome.add(front);
            if !marks.contains(Marks::SACKED) {
                on_acknowledged(front);
            }
            // Read where it lies and dropped then, which saves a copy.
            self.sent.pop_front();
            self.bundles -= u32::from(marks.contains(Marks::BUNDLE_END));
            if marks.contains(Marks::COUNTED) {
                self.forget_marks(marks);
            }
        }
        self.first += u64::from(outcome.segments);
        self.retransmit_from = self.retransmit_from.max(self.first);
        outcome
    }

    fn forget_marks(&mut self, marks: Marks) {
        self.sacked -= u32::from(marks.contains(Marks::SACKED));
        let lost = marks.contains(Marks::LOST);
        let retransmitted = marks.contains(Marks::RETRANSMITTED);
        self.lost -= u32::from(lost);
        self.retransmitted -= u32::from(retransmitted);
        self.awaiting_retransmission -= u32::from(lost && !retransmitted);
    }

    /// Notes that a segment has been sent again; the retransmission of a lost one is believed to be
    /// under way from now on, a probe is not counted.
    pub(crate) fn on_retransmitted(
        &mut self,
        index: u64,
        purpose: Purpose,
        delivered: u32,
        when: Moment,
    ) {
        let sent = self.get_mut(index);
        let marks = sent.marks;
        sent.transmitted_at = when.at();
        sent.rank = when.rank();
        sent.delivered_before = delivered;
        sent.transmissions = sent.transmissions.saturating_add(1);
        sent.marks.clear(Marks::JUDGED);
        if purpose == Purpose::Repair {
            sent.marks.set(Marks::RETRANSMITTED);
            if !marks.contains(Marks::RETRANSMITTED) {
                self.retransmitted += 1;
                self.awaiting_retransmission -= u32::from(marks.contains(Marks::LOST));
            }
        }
    }

    /// Merges the segment behind `index` into it, if together they fit in `limit` bytes, neither is
    /// selectively acknowledged and no record ends between them (Linux `tcp_retrans_try_collapse`). Returns whether it did.
    pub(crate) fn collapse_next(&mut self, index: u64, limit: u32) -> bool {
        let next_index = index + 1;
        if next_index >= self.end_index() {
            return false;
        }
        let (head, next) = (*self.get(index), *self.get(next_index));
        let fits = head.length + next.length <= limit;
        if !fits || head.marks.contains(Marks::SACKED) || next.marks.contains(Marks::SACKED) {
            return false;
        }
        if self.record_ends.contains(&head.end()) {
            return false;
        }
        self.forget_marks(next.marks);
        let offset = self.offset(next_index);
        self.sent.remove(offset);
        if self.retransmit_from > next_index {
            self.retransmit_from -= 1;
        }
        self.bundles -= u32::from(head.marks.contains(Marks::BUNDLE_END));
        let merged = self.get_mut(index);
        merged.marks.clear(Marks::BUNDLE_END);
        merged.length += next.length;
        merged.transmissions = merged.transmissions.max(next.transmissions);
        for mark in [Marks::FIN, Marks::PUSH, Marks::BUNDLE_END] {
            if next.marks.contains(mark) {
                merged.marks.set(mark);
            }
        }
        true
    }
}
