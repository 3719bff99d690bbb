//! Marks of outstanding segments: selectively acknowledged, lost, retransmitted.

use super::{Marks, SendQueue, Sent};
use std::ops::Range;

impl SendQueue {
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
    #[inline]
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
    #[inline]
    pub(crate) fn is_any_retransmitted(&self, mut indices: Range<u64>) -> bool {
        indices.any(|at| self.get(at).is_retransmitted())
    }

    /// Forgets all selective acknowledgments (the receiver may renege, RFC 2018 §8).
    pub(crate) fn forget_sacks(&mut self) {
        for sent in &mut self.sent {
            sent.marks.clear(Marks::SACKED);
        }
        self.sacked = 0;
    }

    /// Gives a segment that is sent again the marks of its new transmission.
    pub(crate) fn remark_limited(&mut self, index: u64, marks: Marks) {
        let sent = self.get_mut(index);
        sent.marks.clear(Marks::APPLICATION_LIMITED);
        sent.marks.set(marks);
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

    /// Looks for the next to retransmit from the oldest on.
    #[inline]
    pub(crate) fn retransmit_from_front(&mut self) {
        self.retransmit_from = self.first;
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

    /// The buffer that holds a segment ends with it from now on.
    pub(crate) fn end_bundle(&mut self, index: u64) {
        let sent = self.get_mut(index);
        if !sent.marks.contains(Marks::BUNDLE_END) {
            sent.marks.set(Marks::BUNDLE_END);
            self.bundles += 1;
        }
    }
}
