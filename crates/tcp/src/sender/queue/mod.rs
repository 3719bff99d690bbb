//! What has been sent and is not acknowledged yet, segment by segment, and what waits to be sent.
//!
//! Every transmitted segment is one [`Sent`] in a ring, in sequence order. Indices into the ring
//! are *absolute*: they count segments since the connection began, so that they stay valid while
//! acknowledged segments leave at the front. Counters (what is selectively acknowledged, lost,
//! retransmitted) are kept as segments change their marks, so asking for the flight costs nothing.

mod cut;
mod sent;

pub(crate) use sent::{Acknowledged, Marks, Original, Sent};

use crate::sender::loss::{Delivery, Moment};
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;
use std::ops::Range;

/// Why a segment is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is believed lost.
    Repair,
    /// To find out whether it is.
    Probe,
}

/// The ring of transmitted segments, its counters, and the bytes not sent yet.
#[derive(Debug)]
pub(crate) struct SendQueue {
    sent: VecDeque<Sent>,
    /// Absolute index of the segment at the front.
    first: u64,
    /// Bytes written by the application and not sent yet.
    pub(crate) unsent: u64,
    /// FIN is to follow the unsent bytes.
    pub(crate) fin_waiting: bool,
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
}

impl SendQueue {
    pub(crate) fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            first: 0,
            unsent: 0,
            fin_waiting: false,
            bundles: 0,
            sacked: 0,
            lost: 0,
            losses: 0,
            retransmitted: 0,
            awaiting_retransmission: 0,
            retransmit_from: 0,
            marked_lost: None,
        }
    }

    /// Segments sent and not cumulatively acknowledged.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a window holds fewer than 2^32 segments")]
    pub(crate) fn outstanding(&self) -> u32 {
        self.sent.len() as u32
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Bundles sent and not wholly acknowledged.
    #[inline]
    pub(crate) fn bundles(&self) -> u32 {
        self.bundles
    }

    /// Of the outstanding segments, those selectively acknowledged.
    #[inline]
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Of the outstanding segments, those believed lost.
    #[inline]
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// How often a segment was marked lost since the beginning, modulo 2^32.
    #[inline]
    pub(crate) fn losses(&self) -> u32 {
        self.losses
    }

    /// Retransmissions believed to be under way.
    #[inline]
    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Absolute index of the oldest outstanding segment (of the next to be sent, if none is).
    #[inline]
    pub(crate) fn first_index(&self) -> u64 {
        self.first
    }

    /// Absolute index after the youngest outstanding segment.
    #[inline]
    pub(crate) fn end_index(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    #[inline]
    fn offset(&self, index: u64) -> usize {
        usize::try_from(index - self.first).expect("an index of an outstanding segment")
    }

    /// The segment at an absolute index.
    #[inline]
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

    /// Gives a segment that is sent again the marks of its new transmission.
    pub(crate) fn remark_limited(&mut self, index: u64, marks: Marks) {
        let sent = self.get_mut(index);
        sent.marks.clear(Marks::APPLICATION_LIMITED);
        sent.marks.set(marks);
    }

    /// The oldest outstanding segment.
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// Adds a segment that has just been sent for the first time.
    #[inline]
    pub(crate) fn push(&mut self, sent: Sent) {
        self.bundles += u32::from(sent.marks.contains(Marks::BUNDLE_END));
        self.sent.push_back(sent);
    }

    /// Absolute index of the first segment that ends after `sequence`.
    #[inline]
    pub(crate) fn index_of(&self, sequence: SequenceNumber) -> u64 {
        self.first + self.sent.partition_point(|sent| sent.end().is_at_or_before(sequence)) as u64
    }

    /// Takes everything up to `acknowledged` off the queue; a segment acknowledged in part is cut.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        acknowledged: SequenceNumber,
        delivery: &mut Delivery<'_>,
    ) -> Acknowledged {
        let mut outcome = Acknowledged::default();
        while let Some(front) = self.sent.front_mut() {
            if front.end().is_after(acknowledged) {
                if acknowledged.is_after(front.sequence) && !front.marks.contains(Marks::BUNDLE_END)
                {
                    outcome.cut = Some(front.length);
                }
                outcome.reneged = front.marks.contains(Marks::SACKED);
                front.cut(acknowledged);
                break;
            }
            let Some(front) = self.sent.pop_front() else { break };
            outcome.segments += 1;
            self.bundles -= u32::from(front.marks.contains(Marks::BUNDLE_END));
            if front.marks.contains(Marks::COUNTED) {
                self.forget_marks(front.marks);
            }
            outcome.fin |= front.has_fin();
            outcome.retransmitted |= front.is_retransmitted();
            if front.marks.contains(Marks::SACKED) {
                continue;
            }
            outcome.newly_delivered += 1;
            delivery.on_acknowledged(&front);
            if !front.is_retransmitted() {
                outcome.last_original_at = Some(front.transmitted_at);
                if outcome.first_original.is_none() {
                    outcome.first_original = Some(Original {
                        sequence: front.sequence,
                        end: front.end(),
                        transmitted_at: front.transmitted_at,
                    });
                }
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

    /// Marks a segment as selectively acknowledged: not lost any more. A retransmission of it is
    /// believed to be under way still, unless the segment had been taken for lost (Linux
    /// `tcp_sacktag_one`). Returns whether that was news.
    pub(crate) fn mark_sacked(&mut self, index: u64) -> bool {
        let marks = self.get(index).marks;
        if marks.contains(Marks::SACKED) {
            return false;
        }
        let mut left = marks;
        if marks.contains(Marks::LOST) {
            left.clear(Marks::LOST);
            left.clear(Marks::RETRANSMITTED);
        }
        self.forget_marks(marks);
        self.retransmitted += u32::from(left.contains(Marks::RETRANSMITTED));
        self.sacked += 1;
        left.set(Marks::SACKED);
        self.get_mut(index).marks = left;
        self.merge_sacked(index);
        self.merge_sacked(index + 1);
        true
    }

    /// Buffers that have arrived are joined, where they hold segments of one size: should they have to
    /// be sent again, they are cut anew (Linux `tcp_shift_skb_data`).
    fn merge_sacked(&mut self, index: u64) {
        if index <= self.first || index >= self.end_index() {
            return;
        }
        let (head, tail) = (*self.get(index - 1), *self.get(index));
        let joined = head.length == tail.length
            && head.marks.contains(Marks::SACKED)
            && tail.marks.contains(Marks::SACKED)
            && !head.marks.contains(Marks::RETRANSMITTED)
            && !tail.marks.contains(Marks::RETRANSMITTED);
        if !joined {
            return;
        }
        self.bundles -= u32::from(head.marks.contains(Marks::BUNDLE_END));
        self.get_mut(index - 1).marks.clear(Marks::BUNDLE_END);
        if head.marks.contains(Marks::PUSH) {
            self.get_mut(index - 1).marks.clear(Marks::PUSH);
            self.get_mut(index).marks.set(Marks::PUSH);
        }
    }

    /// Marks a segment as lost, unless it is selectively acknowledged; one that was marked already
    /// loses its retransmission (Linux `tcp_mark_skb_lost`).
    pub(crate) fn mark_lost(&mut self, index: u64) {
        let marks = self.get(index).marks;
        let lost = marks.contains(Marks::LOST);
        let retransmitted = marks.contains(Marks::RETRANSMITTED);
        if marks.contains(Marks::SACKED) || lost && !retransmitted {
            return;
        }
        self.losses = self.losses.wrapping_add(1);
        if let Some(marked) = &mut self.marked_lost {
            marked.push(index);
        }
        let sent = self.get_mut(index);
        if lost {
            sent.marks.clear(Marks::RETRANSMITTED);
            self.retransmitted -= 1;
        } else {
            sent.marks.set(Marks::LOST);
            self.lost += 1;
        }
        if lost || !retransmitted {
            self.awaiting_retransmission += 1;
            self.retransmit_from = self.retransmit_from.min(index);
        }
    }

    /// Somebody wants to know of every segment that is marked lost.
    pub(crate) fn note_marked_lost(&mut self) {
        self.marked_lost.get_or_insert_default();
    }

    /// The segments marked lost since this was asked last, each with how many had been until then, it
    /// included; those that are off the queue already are left out.
    pub(crate) fn take_marked_lost(&mut self) -> Vec<(u32, Sent)> {
        let marked = self.marked_lost.as_mut().map(std::mem::take).unwrap_or_default();
        let mut count = self.losses;
        let mut taken = Vec::with_capacity(marked.len());
        for index in marked.into_iter().rev() {
            if (self.first..self.end_index()).contains(&index) {
                taken.push((count, *self.get(index)));
            }
            count = count.wrapping_sub(1);
        }
        taken.reverse();
        taken
    }

    /// Marks a segment as lost by its age.
    pub(crate) fn judge_lost(&mut self, index: u64) {
        self.mark_lost(index);
        self.get_mut(index).marks.set(Marks::JUDGED);
    }

    /// Takes back what was believed of losses.
    pub(crate) fn forget_losses(&mut self) {
        for sent in &mut self.sent {
            sent.marks.clear(Marks::LOST);
        }
        self.lost = 0;
        self.awaiting_retransmission = 0;
    }

    /// A retransmission is known to have arrived as a duplicate (D-SACK).
    pub(crate) fn forget_retransmission(&mut self, index: u64) {
        let sent = self.get_mut(index);
        if !sent.marks.contains(Marks::RETRANSMITTED) {
            return;
        }
        sent.marks.clear(Marks::RETRANSMITTED);
        let lost = sent.marks.contains(Marks::LOST);
        self.retransmitted -= 1;
        if lost {
            self.awaiting_retransmission += 1;
            self.retransmit_from = self.retransmit_from.min(index);
        }
    }

    /// A segment, and those that have arrived and lie in the same buffer: what was joined is not told
    /// apart any more.
    pub(crate) fn joined_around(&self, index: u64) -> Range<u64> {
        let joins = |head: u64| {
            let marks = self.get(head).marks;
            marks.contains(Marks::SACKED)
                && !marks.contains(Marks::BUNDLE_END)
                && self.get(head + 1).marks.contains(Marks::SACKED)
        };
        let mut start = index;
        while start > self.first && joins(start - 1) {
            start -= 1;
        }
        let mut end = index;
        while end + 1 < self.end_index() && joins(end) {
            end += 1;
        }
        start..end + 1
    }

    /// Whether one of these was ever sent again.
    pub(crate) fn is_any_retransmitted(&self, mut indices: Range<u64>) -> bool {
        indices.any(|at| self.get(at).is_retransmitted())
    }

    /// The buffer that holds a segment ends with it from now on.
    pub(crate) fn end_bundle(&mut self, index: u64) {
        let sent = self.get_mut(index);
        if !sent.marks.contains(Marks::BUNDLE_END) {
            sent.marks.set(Marks::BUNDLE_END);
            self.bundles += 1;
        }
    }

    /// Lost segments from `index` on that lie in one buffer and have not been retransmitted, at
    /// most `most`.
    pub(crate) fn lost_in_bundle(&self, index: u64, most: u32) -> u32 {
        let mut count = 0;
        for sent in self.sent.range(self.offset(index)..) {
            let waits = sent.marks.contains(Marks::LOST)
                && !sent.marks.contains(Marks::RETRANSMITTED)
                && !sent.marks.contains(Marks::SACKED);
            if !waits || count == most {
                break;
            }
            count += 1;
            if sent.marks.contains(Marks::BUNDLE_END) {
                break;
            }
        }
        count
    }

    /// Looks for the next to retransmit from the oldest on.
    pub(crate) fn retransmit_from_front(&mut self) {
        self.retransmit_from = self.first;
    }

    /// Forgets all selective acknowledgments (the receiver may renege, RFC 2018 §8).
    pub(crate) fn forget_sacks(&mut self) {
        for sent in &mut self.sent {
            sent.marks.clear(Marks::SACKED);
        }
        self.sacked = 0;
    }

    /// Recounts the marks and compares them with the counters; for debug builds. A long queue is
    /// taken to be in order, so that this never costs more than a fixed number of steps.
    pub(crate) fn is_consistent(&self) -> bool {
        const LONGEST_RECOUNTED: usize = 128;
        if self.sent.len() > LONGEST_RECOUNTED {
            return true;
        }
        let count = |wanted: fn(Marks) -> bool| {
            self.sent.iter().map(|sent| u32::from(wanted(sent.marks))).sum::<u32>()
        };
        let touching = |pair: (&Sent, &Sent)| pair.0.end() == pair.1.sequence;
        let awaiting: fn(Marks) -> bool =
            |marks| marks.contains(Marks::LOST) && !marks.contains(Marks::RETRANSMITTED);
        let passed = self.sent.iter().zip(self.first..self.retransmit_from);
        self.sacked == count(|marks| marks.contains(Marks::SACKED))
            && self.lost == count(|marks| marks.contains(Marks::LOST))
            && self.retransmitted == count(|marks| marks.contains(Marks::RETRANSMITTED))
            && self.awaiting_retransmission == count(awaiting)
            && !passed.into_iter().any(|(sent, _)| awaiting(sent.marks))
            && self.sent.iter().zip(self.sent.iter().skip(1)).all(touching)
    }

    /// The oldest lost segment whose retransmission has not been sent.
    pub(crate) fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.awaiting_retransmission == 0 {
            return None;
        }
        let mut index = self.retransmit_from.max(self.first);
        while index < self.end_index() {
            let marks = self.get(index).marks;
            if marks.contains(Marks::LOST) && !marks.contains(Marks::RETRANSMITTED) {
                self.retransmit_from = index;
                return Some(index);
            }
            index += 1;
        }
        None
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
        sent.transmitted_at = when.at;
        sent.rank = when.rank;
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

    /// Merges the segment behind `index` into it, if together they fit in `limit` bytes and neither
    /// is selectively acknowledged (Linux `tcp_retrans_try_collapse`). Returns whether it did.
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
