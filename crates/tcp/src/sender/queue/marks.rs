//! Marks of outstanding segments (selectively acknowledged, lost, retransmitted), and their cutting into
//! smaller ones when the path has become narrower or the window smaller.
//!
//! Source: Linux `tcp_simple_retransmit`, `tcp_fragment`. Cost: proportional to what is outstanding;
//! it happens once per change of the path.

use crate::sender::queue::{Marks, SendQueue, Sent};
use std::collections::VecDeque;
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

impl SendQueue {
    /// Cuts every bundle that has a segment of more than `full` bytes of payload into segments of that
    /// size and marks them lost, but for what the peer holds. Says whether there was one. Indices
    /// behind it change.
    #[cold]
    pub(crate) fn cut_and_mark_lost(&mut self, full: u32) -> bool {
        let sent = std::mem::take(&mut self.sent);
        let mut cut = VecDeque::with_capacity(sent.len());
        let mut bundle: Vec<Sent> = Vec::new();
        let mut found = 0;
        for one in sent {
            let held = one.marks.contains(Marks::SACKED);
            if held {
                found += cut_bundle(&mut bundle, full, &mut cut);
                cut.push_back(one);
                continue;
            }
            bundle.push(one);
            if one.marks.contains(Marks::BUNDLE_END) {
                found += cut_bundle(&mut bundle, full, &mut cut);
            }
        }
        found += cut_bundle(&mut bundle, full, &mut cut);
        self.sent = cut;
        self.losses = self.losses.wrapping_add(found);
        self.recount();
        found > 0
    }

    /// Parts a segment so that its first part has `payload` bytes, and is apart from the rest. Indices
    /// behind it change.
    #[cold]
    pub(crate) fn cut_at(&mut self, index: u64, payload: u32) {
        let offset = self.offset(index);
        let whole = self.sent[offset];
        let mut first = Sent { length: payload, ..whole };
        first.marks.clear(Marks::FIN);
        first.marks.clear(Marks::PUSH);
        first.marks.set(Marks::BUNDLE_END);
        self.sent[offset] = first;
        let sequence = whole.sequence + payload;
        self.sent.insert(offset + 1, Sent { sequence, length: whole.length - payload, ..whole });
        self.bundles += 1;
        self.recount();
    }

    /// Cuts the rest of the oldest bundle, which was acknowledged in part, anew into segments of
    /// `full` bytes (Linux `tcp_tso_acked`). Returns whether that makes one fewer.
    #[cold]
    pub(crate) fn recut_front(&mut self, full: u32) -> bool {
        let Some(&front) = self.sent.front() else { return false };
        if front.marks.contains(Marks::SACKED) {
            // The peer gave up what it held: nothing is as it was reported.
            return false;
        }
        let count = self.alike_in_front(&front);
        let Some(&last) = self.sent.get(count - 1) else { return false };
        let payload = last.end().distance_from(front.sequence) - u32::from(last.has_fin());
        let needed = usize::try_from(payload.div_ceil(full)).unwrap_or(count);
        let fewer = (1..count).contains(&needed);
        if fewer {
            self.sent.pop_front();
            self.first += 1;
            self.forget_marks(front.marks);
        }
        let left = count - usize::from(fewer);
        let mut sequence = front.sequence;
        for (number, sent) in self.sent.iter_mut().take(left).enumerate() {
            sent.sequence = sequence;
            sent.length =
                if number + 1 == left { last.end().distance_from(sequence) } else { full };
            sequence = sent.end();
        }
        fewer
    }

    /// How many segments at the front lie in one bundle and have the same fate.
    fn alike_in_front(&self, front: &Sent) -> usize {
        let neighbours = self.sent.iter().zip(self.sent.iter().skip(1));
        let alike = |next: &Sent| {
            next.marks.counted() == front.marks.counted()
                && next.transmissions == front.transmissions
        };
        1 + neighbours
            .take_while(|(head, next)| !head.marks.contains(Marks::BUNDLE_END) && alike(next))
            .count()
    }

    /// Counts marks anew.
    fn recount(&mut self) {
        let (mut sacked, mut lost, mut retransmitted, mut awaiting) = (0, 0, 0, 0);
        for sent in &self.sent {
            let is_lost = sent.marks.contains(Marks::LOST);
            let is_retransmitted = sent.marks.contains(Marks::RETRANSMITTED);
            sacked += u32::from(sent.marks.contains(Marks::SACKED));
            lost += u32::from(is_lost);
            retransmitted += u32::from(is_retransmitted);
            awaiting += u32::from(is_lost && !is_retransmitted);
        }
        self.sacked = sacked;
        self.lost = lost;
        self.retransmitted = retransmitted;
        self.awaiting_retransmission = awaiting;
        self.retransmit_from = self.first;
    }
}

/// Moves a bundle over, cut if need be; returns how many segments it had that were too large.
fn cut_bundle(bundle: &mut Vec<Sent>, full: u32, cut: &mut VecDeque<Sent>) -> u32 {
    let is_large = |sent: &&Sent| sent.length - u32::from(sent.has_fin()) > full;
    let found = u32::try_from(bundle.iter().filter(is_large).count()).unwrap_or(u32::MAX);
    if let (true, Some(&first), Some(&last)) = (found > 0, bundle.first(), bundle.last()) {
        let length = last.end().distance_from(first.sequence);
        let whole = Sent { length, marks: last.marks, ..first };
        cut.extend(pieces(whole, length - u32::from(last.has_fin()), full));
    } else {
        cut.extend(bundle.iter());
    }
    bundle.clear();
    found
}

/// Lost pieces of a bundle; what stood at its end stands at the end of the last. Two at a time will
/// travel as a bundle, which ends with PSH.
fn pieces(sent: Sent, payload: u32, full: u32) -> impl Iterator<Item = Sent> {
    let count = payload.div_ceil(full);
    (0..count).map(move |number| {
        let last = number + 1 == count;
        let mut marks = sent.marks;
        marks.clear(Marks::RETRANSMITTED);
        marks.set(Marks::LOST);
        if !last {
            marks.clear(Marks::FIN);
            marks.clear(Marks::PUSH);
            marks.clear(Marks::BUNDLE_END);
            if number % 2 == 1 {
                marks.set(Marks::PUSH);
            }
        }
        let begin = number * full;
        let length = if last { sent.length - begin } else { full };
        Sent { sequence: sent.sequence + begin, length, marks, ..sent }
    })
}
