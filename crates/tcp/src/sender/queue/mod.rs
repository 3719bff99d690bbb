//! Retransmission queue: segments that are sent and not acknowledged.
//!
//! Every transmitted segment is one [`Sent`] in a ring, in sequence order. Indices into the ring
//! are *absolute*: they count segments since the connection began, so that they stay valid while
//! acknowledged segments leave at the front. Counters (selectively acknowledged, lost,
//! retransmitted) follow the flags of segments, so the flight size costs nothing.

mod sent_flags;

use crate::sender::Outgoing;
use fairwind_units::Instant;
use fairwind_wire::{Flags, SequenceNumber};
use std::collections::VecDeque;

/// Order of a transmission: its instant, and its rank among those of the same instant. A virtual clock
/// shows the same instant for many (the kernel compares end numbers instead).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TransmitOrder {
    at: Instant,
    rank: u16,
}

impl TransmitOrder {
    getters! {
        at: Instant,
        rank: u16,
    }

    pub(crate) fn new(at: Instant, rank: u16) -> Self {
        Self { at, rank }
    }

    pub(crate) fn is_before(self, other: Self) -> bool {
        self.at < other.at || self.at == other.at && self.rank < other.rank
    }

    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) -> Self {
        self.rank = if self.at == now { self.rank.saturating_add(1) } else { 0 };
        self.at = now;
        *self
    }
}

/// Flags of a transmitted segment (`TCP_SKB_CB(skb)->sacked`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SentFlags(u8);

impl SentFlags {
    /// Selectively acknowledged.
    pub(crate) const SACKED: Self = Self(1);
    /// Believed lost.
    pub(crate) const LOST: Self = Self(2);
    /// Retransmitted, and the retransmission is believed to be in flight.
    pub(crate) const RETRANSMITTED: Self = Self(4);
    /// Flags with a counter in the queue.
    const COUNTED: Self = Self(Self::SACKED.0 | Self::LOST.0 | Self::RETRANSMITTED.0);
    /// Ends with FIN, which is the last number of its length.
    pub(crate) const FIN: Self = Self(8);
    /// Ended a write of the application (PSH).
    pub(crate) const PUSH: Self = Self(16);
    /// Marked lost by RACK, which skips it until it is retransmitted.
    pub(crate) const RACK_LOST: Self = Self(32);
    /// Sent while the application limited the sender.
    pub(crate) const APPLICATION_LIMITED: Self = Self(64);
    /// The last of a bundle, that is, of one buffer of the host (`skb`).
    pub(crate) const BUNDLE_END: Self = Self(128);

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Control bits of the TCP header for a segment with these flags.
    #[inline]
    pub(crate) fn control_bits(self) -> Flags {
        let push = if self.contains(Self::PUSH) { Flags::PSH } else { Flags::NONE };
        if self.contains(Self::FIN) { push | Flags::FIN } else { push }
    }

    /// The flags with a counter in the queue.
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
    transmitted_at: Instant,
    /// Segments delivered before the last transmission, modulo 2^32.
    delivered_before: u32,
    /// Rank of the last transmission among those of the same instant.
    rank: u16,
    /// Number of transmissions, saturating.
    transmissions: u8,
    flags: SentFlags,
}

impl Sent {
    getters! {
        sequence: SequenceNumber,
        length: u32,
        transmitted_at: Instant,
        delivered_before: u32,
        flags: SentFlags,
    }

    /// Payload in bytes.
    pub(crate) fn payload_bytes(&self) -> u32 {
        self.length - u32::from(self.has_fin())
    }

    pub(crate) fn end(&self) -> SequenceNumber {
        self.sequence + self.length
    }

    /// Drops the bytes below `acknowledged`.
    #[inline]
    fn cut(&mut self, acknowledged: SequenceNumber) {
        if acknowledged.is_after(self.sequence) {
            self.length = self.end().distance_from(acknowledged);
            self.sequence = acknowledged;
        }
    }

    pub(crate) fn has_fin(&self) -> bool {
        self.flags.contains(SentFlags::FIN)
    }

    pub(crate) fn outgoing(&self) -> Outgoing {
        Outgoing::new(self.sequence, self.payload_bytes(), self.flags.control_bits())
    }

    /// Order of the last transmission.
    pub(crate) fn transmit_order(&self) -> TransmitOrder {
        TransmitOrder::new(self.transmitted_at, self.rank)
    }

    pub(crate) fn is_retransmitted(&self) -> bool {
        self.transmissions > 1
    }
}

/// Segments that a cumulative acknowledgment took off the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    /// Segments wholly acknowledged.
    segments: u32,
    /// Of these, segments not selectively acknowledged before.
    newly_delivered: u32,
    /// The oldest of those that were sent once and not selectively acknowledged before.
    first_original: Option<Original>,
    /// Transmission time of the youngest of those.
    last_original_at: Option<Instant>,
    /// Whether one of the segments had been retransmitted.
    has_retransmitted: bool,
    /// Whether FIN was among them.
    has_fin: bool,
    /// Whether the receiver has reneged: the oldest segment left had been selectively acknowledged.
    has_reneged: bool,
    /// Full segment size of a bundle that was acknowledged in part and must be cut again.
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

    /// Counts a segment that is wholly acknowledged.
    #[inline]
    fn add(&mut self, sent: &Sent) {
        self.segments += 1;
        self.has_fin |= sent.has_fin();
        self.has_retransmitted |= sent.is_retransmitted();
        if sent.flags.contains(SentFlags::SACKED) {
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

    /// Counts one more segment, because the rest of that bundle makes one fewer.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetransmitReason {
    /// The segment is marked lost.
    Lost,
    /// Tail loss probe.
    Probe,
}

/// The ring of transmitted segments and its counters.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    sent: VecDeque<Sent>,
    /// Absolute index of the segment at the front.
    first: u64,
    /// Bundles sent and not wholly acknowledged.
    bundles: u32,
    sacked: u32,
    lost: u32,
    /// Segments marked lost since the beginning, modulo 2^32.
    losses: u32,
    retransmitted: u32,
    /// Lost segments whose retransmission has not been sent.
    awaiting_retransmission: u32,
    /// No segment below this absolute index awaits its retransmission.
    retransmit_from: u64,
    /// Absolute indices of segments marked lost since the last report; `None` without tracking.
    marked_lost: Option<Vec<u64>>,
    /// Order of the last transmission of any segment.
    last_sent: TransmitOrder,
    /// Where records of the application end (`MSG_EOR`).
    record_ends: VecDeque<SequenceNumber>,
}

impl SendQueue {
    getters! {
        bundles: u32,
        /// Outstanding segments that are selectively acknowledged.
        sacked: u32,
        /// Outstanding segments that are marked lost.
        lost: u32,
        losses: u32,
        /// Retransmissions believed to be in flight.
        retransmitted: u32,
        /// Absolute index of the oldest outstanding segment, or of the next one to be sent.
        first_index: u64 = first,
    }

    #[cold]
    pub(crate) fn note_record_end(&mut self, end: SequenceNumber) {
        let acknowledged = self.sent.front().map_or(end, |oldest| oldest.sequence);
        while self.record_ends.front().is_some_and(|known| known.is_at_or_before(acknowledged)) {
            self.record_ends.pop_front();
        }
        self.record_ends.push_back(end);
    }

    pub(crate) fn next_transmit_order(&mut self, now: Instant) -> TransmitOrder {
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

    /// Maximum number of segments, of `delivered` in all, that were delivered since an outstanding one was
    /// sent.
    pub(crate) fn max_delivered_since(&self, delivered: u32) -> u32 {
        let since = self.sent.iter().map(|sent| delivered.wrapping_sub(sent.delivered_before));
        since.max().unwrap_or(0)
    }

    /// The oldest outstanding segment.
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// Adds a new segment, sent after `delivered` segments were delivered.
    #[inline]
    pub(crate) fn push(
        &mut self,
        sequence: SequenceNumber,
        length: u32,
        delivered: u32,
        flags: SentFlags,
        now: Instant,
    ) {
        let rank = self.next_transmit_order(now).rank();
        self.bundles += u32::from(flags.contains(SentFlags::BUNDLE_END));
        // Written in place, because a copy right after a write stalls.
        self.sent.push_back(Sent {
            sequence,
            length,
            transmitted_at: now,
            delivered_before: delivered,
            rank,
            transmissions: 1,
            flags,
        });
    }

    /// Absolute index of the first segment that ends after `sequence`.
    pub(crate) fn index_of(&self, sequence: SequenceNumber) -> u64 {
        self.first + self.sent.partition_point(|sent| sent.end().is_at_or_before(sequence)) as u64
    }

    /// Takes everything up to `acknowledged` off the queue. Calls `on_acknowledged` for segments that had not
    /// been selectively acknowledged, and cuts a segment that is acknowledged in part.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        acknowledged: SequenceNumber,
        mut on_acknowledged: impl FnMut(&Sent),
    ) -> Acknowledged {
        let mut outcome = Acknowledged::default();
        while let Some(front) = self.sent.front_mut() {
            if front.end().is_after(acknowledged) {
                if acknowledged.is_after(front.sequence)
                    && !front.flags.contains(SentFlags::BUNDLE_END)
                {
                    outcome.cut = Some(front.length);
                }
                outcome.has_reneged = front.flags.contains(SentFlags::SACKED);
                front.cut(acknowledged);
                break;
            }
            let flags = front.flags;
            outcome.add(front);
            if !flags.contains(SentFlags::SACKED) {
                on_acknowledged(front);
            }
            // Read in place and dropped then, which saves a copy.
            self.sent.pop_front();
            self.bundles -= u32::from(flags.contains(SentFlags::BUNDLE_END));
            if flags.contains(SentFlags::COUNTED) {
                self.uncount(flags);
            }
        }
        self.first += u64::from(outcome.segments);
        self.retransmit_from = self.retransmit_from.max(self.first);
        outcome
    }

    fn uncount(&mut self, flags: SentFlags) {
        self.sacked -= u32::from(flags.contains(SentFlags::SACKED));
        let lost = flags.contains(SentFlags::LOST);
        let retransmitted = flags.contains(SentFlags::RETRANSMITTED);
        self.lost -= u32::from(lost);
        self.retransmitted -= u32::from(retransmitted);
        self.awaiting_retransmission -= u32::from(lost && !retransmitted);
    }

    /// Records a retransmission; one of a lost segment is counted as in flight, a probe is not.
    pub(crate) fn on_retransmitted(
        &mut self,
        index: u64,
        reason: RetransmitReason,
        delivered: u32,
        when: TransmitOrder,
    ) {
        let sent = self.get_mut(index);
        let flags = sent.flags;
        sent.transmitted_at = when.at();
        sent.rank = when.rank();
        sent.delivered_before = delivered;
        sent.transmissions = sent.transmissions.saturating_add(1);
        sent.flags.clear(SentFlags::RACK_LOST);
        if reason == RetransmitReason::Lost {
            sent.flags.set(SentFlags::RETRANSMITTED);
            if !flags.contains(SentFlags::RETRANSMITTED) {
                self.retransmitted += 1;
                self.awaiting_retransmission -= u32::from(flags.contains(SentFlags::LOST));
            }
        }
    }

    /// Merges the segment after `index` into it, if both fit in `limit` bytes, neither is selectively
    /// acknowledged and no record ends between them (Linux `tcp_retrans_try_collapse`). Returns whether it
    /// did.
    pub(crate) fn collapse_next(&mut self, index: u64, limit: u32) -> bool {
        let next_index = index + 1;
        if next_index >= self.end_index() {
            return false;
        }
        let (head, next) = (*self.get(index), *self.get(next_index));
        let fits = head.length + next.length <= limit;
        if !fits || head.flags.contains(SentFlags::SACKED) || next.flags.contains(SentFlags::SACKED)
        {
            return false;
        }
        if self.record_ends.contains(&head.end()) {
            return false;
        }
        self.uncount(next.flags);
        let offset = self.offset(next_index);
        self.sent.remove(offset);
        if self.retransmit_from > next_index {
            self.retransmit_from -= 1;
        }
        self.bundles -= u32::from(head.flags.contains(SentFlags::BUNDLE_END));
        let merged = self.get_mut(index);
        merged.flags.clear(SentFlags::BUNDLE_END);
        merged.length += next.length;
        merged.transmissions = merged.transmissions.max(next.transmissions);
        for flag in [SentFlags::FIN, SentFlags::PUSH, SentFlags::BUNDLE_END] {
            if next.flags.contains(flag) {
                merged.flags.set(flag);
            }
        }
        true
    }
}
