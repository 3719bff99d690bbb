//! Flags of outstanding segments (SACKED, LOST, RETRANSMITTED), and fragmentation of segments when the
//! path MTU or the window has shrunk.
//!
//! Source: Linux `tcp_simple_retransmit`, `tcp_fragment`. Cost: proportional to the outstanding segments, once per
//! change of the path.

use crate::sender::queue::{SendQueue, Sent, SentFlags};
use std::collections::VecDeque;
use std::ops::Range;

impl SendQueue {
    /// Marks a segment as selectively acknowledged and no longer lost. Its retransmission still counts as in
    /// flight, unless the segment was marked lost (Linux `tcp_sacktag_one`). Returns whether the flag is
    /// new.
    pub(crate) fn mark_sacked(&mut self, index: u64) -> bool {
        let flags = self.get(index).flags;
        if flags.contains(SentFlags::SACKED) {
            return false;
        }
        let mut left = flags;
        if flags.contains(SentFlags::LOST) {
            left.clear(SentFlags::LOST);
            left.clear(SentFlags::RETRANSMITTED);
        }
        self.uncount(flags);
        self.retransmitted += u32::from(left.contains(SentFlags::RETRANSMITTED));
        self.sacked += 1;
        left.set(SentFlags::SACKED);
        self.get_mut(index).flags = left;
        self.merge_sacked(index);
        self.merge_sacked(index + 1);
        true
    }

    /// Joins selectively acknowledged buffers with segments of one size (Linux `tcp_shift_skb_data`).
    fn merge_sacked(&mut self, index: u64) {
        if index <= self.first || index >= self.end_index() {
            return;
        }
        let (head, tail) = (*self.get(index - 1), *self.get(index));
        let joined = head.length == tail.length
            && head.flags.contains(SentFlags::SACKED)
            && tail.flags.contains(SentFlags::SACKED)
            && !head.flags.contains(SentFlags::RETRANSMITTED)
            && !tail.flags.contains(SentFlags::RETRANSMITTED);
        if !joined {
            return;
        }
        self.bundles -= u32::from(head.flags.contains(SentFlags::BUNDLE_END));
        self.get_mut(index - 1).flags.clear(SentFlags::BUNDLE_END);
        if head.flags.contains(SentFlags::PUSH) {
            self.get_mut(index - 1).flags.clear(SentFlags::PUSH);
            self.get_mut(index).flags.set(SentFlags::PUSH);
        }
    }

    /// Marks a segment as lost, unless it is selectively acknowledged; one that was marked already
    /// loses its retransmission (Linux `tcp_mark_skb_lost`).
    pub(crate) fn mark_lost(&mut self, index: u64) {
        let flags = self.get(index).flags;
        let lost = flags.contains(SentFlags::LOST);
        let retransmitted = flags.contains(SentFlags::RETRANSMITTED);
        if flags.contains(SentFlags::SACKED) || lost && !retransmitted {
            return;
        }
        self.losses = self.losses.wrapping_add(1);
        if let Some(marked) = &mut self.marked_lost {
            marked.push(index);
        }
        let sent = self.get_mut(index);
        if lost {
            sent.flags.clear(SentFlags::RETRANSMITTED);
            self.retransmitted -= 1;
        } else {
            sent.flags.set(SentFlags::LOST);
            self.lost += 1;
        }
        if lost || !retransmitted {
            self.awaiting_retransmission += 1;
            self.retransmit_from = self.retransmit_from.min(index);
        }
    }

    /// Begins to collect the segments that are marked lost.
    pub(crate) fn track_marked_lost(&mut self) {
        self.marked_lost.get_or_insert_default();
    }

    /// The outstanding segments marked lost since the last call, each with the running count of losses.
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

    pub(crate) fn mark_rack_lost(&mut self, index: u64) {
        self.mark_lost(index);
        self.get_mut(index).flags.set(SentFlags::RACK_LOST);
    }

    /// Clears all LOST flags, for an undo.
    pub(crate) fn clear_losses(&mut self) {
        for sent in &mut self.sent {
            sent.flags.clear(SentFlags::LOST);
        }
        self.lost = 0;
        self.awaiting_retransmission = 0;
    }

    /// Clears the RETRANSMITTED flag of a segment, after a D-SACK or a time-out.
    pub(crate) fn clear_retransmitted(&mut self, index: u64) {
        let sent = self.get_mut(index);
        if !sent.flags.contains(SentFlags::RETRANSMITTED) {
            return;
        }
        sent.flags.clear(SentFlags::RETRANSMITTED);
        let lost = sent.flags.contains(SentFlags::LOST);
        self.retransmitted -= 1;
        if lost {
            self.awaiting_retransmission += 1;
            self.retransmit_from = self.retransmit_from.min(index);
        }
    }

    /// Range of the selectively acknowledged segments that share a buffer with a segment.
    pub(crate) fn coalesced_around(&self, index: u64) -> Range<u64> {
        let joins = |head: u64| {
            let flags = self.get(head).flags;
            flags.contains(SentFlags::SACKED)
                && !flags.contains(SentFlags::BUNDLE_END)
                && self.get(head + 1).flags.contains(SentFlags::SACKED)
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

    /// Whether one of the segments was ever retransmitted.
    pub(crate) fn is_any_retransmitted(&self, mut indices: Range<u64>) -> bool {
        indices.any(|at| self.get(at).is_retransmitted())
    }

    /// Clears all SACKED flags (the receiver has reneged, RFC 2018 §8).
    pub(crate) fn clear_sacked(&mut self) {
        for sent in &mut self.sent {
            sent.flags.clear(SentFlags::SACKED);
        }
        self.sacked = 0;
    }

    pub(crate) fn set_transmit_flags(&mut self, index: u64, flags: SentFlags) {
        let sent = self.get_mut(index);
        sent.flags.clear(SentFlags::APPLICATION_LIMITED);
        sent.flags.set(flags);
    }

    /// Recounts the flags and compares them with the counters, for debug builds. Skips long queues to
    /// bound the cost.
    pub(crate) fn is_consistent(&self) -> bool {
        const MAX_RECOUNTED: usize = 128;
        if self.sent.len() > MAX_RECOUNTED {
            return true;
        }
        let count = |wanted: fn(SentFlags) -> bool| {
            self.sent.iter().map(|sent| u32::from(wanted(sent.flags))).sum::<u32>()
        };
        let touching = |pair: (&Sent, &Sent)| pair.0.end() == pair.1.sequence;
        let awaiting: fn(SentFlags) -> bool =
            |flags| flags.contains(SentFlags::LOST) && !flags.contains(SentFlags::RETRANSMITTED);
        let passed = self.sent.iter().zip(self.first..self.retransmit_from);
        self.sacked == count(|flags| flags.contains(SentFlags::SACKED))
            && self.lost == count(|flags| flags.contains(SentFlags::LOST))
            && self.retransmitted == count(|flags| flags.contains(SentFlags::RETRANSMITTED))
            && self.awaiting_retransmission == count(awaiting)
            && !passed.into_iter().any(|(sent, _)| awaiting(sent.flags))
            && self.sent.iter().zip(self.sent.iter().skip(1)).all(touching)
    }

    /// The oldest lost segment whose retransmission has not been sent.
    pub(crate) fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.awaiting_retransmission == 0 {
            return None;
        }
        let mut index = self.retransmit_from.max(self.first);
        while index < self.end_index() {
            let flags = self.get(index).flags;
            if flags.contains(SentFlags::LOST) && !flags.contains(SentFlags::RETRANSMITTED) {
                self.retransmit_from = index;
                return Some(index);
            }
            index += 1;
        }
        None
    }

    /// Starts the search for the next retransmission at the oldest segment.
    pub(crate) fn retransmit_from_front(&mut self) {
        self.retransmit_from = self.first;
    }

    /// Lost segments from `index` on that lie in one buffer and are not retransmitted, at most `limit`.
    pub(crate) fn lost_in_bundle(&self, index: u64, limit: u32) -> u32 {
        let mut count = 0;
        for sent in self.sent.range(self.offset(index)..) {
            let waits = sent.flags.contains(SentFlags::LOST)
                && !sent.flags.contains(SentFlags::RETRANSMITTED)
                && !sent.flags.contains(SentFlags::SACKED);
            if !waits || count == limit {
                break;
            }
            count += 1;
            if sent.flags.contains(SentFlags::BUNDLE_END) {
                break;
            }
        }
        count
    }

    pub(crate) fn end_bundle(&mut self, index: u64) {
        let sent = self.get_mut(index);
        if !sent.flags.contains(SentFlags::BUNDLE_END) {
            sent.flags.set(SentFlags::BUNDLE_END);
            self.bundles += 1;
        }
    }
}

impl SendQueue {
    /// Cuts every bundle that has a segment of more than `full` bytes of payload into segments of that
    /// size and marks them lost, except selectively acknowledged ones. Returns whether there was one.
    /// Later indices change.
    #[cold]
    pub(crate) fn cut_and_mark_lost(&mut self, full: u32) -> bool {
        let sent = std::mem::take(&mut self.sent);
        let mut cut = VecDeque::with_capacity(sent.len());
        let mut bundle: Vec<Sent> = Vec::new();
        let mut found = 0;
        for one in sent {
            let held = one.flags.contains(SentFlags::SACKED);
            if held {
                found += cut_bundle(&mut bundle, full, &mut cut);
                cut.push_back(one);
                continue;
            }
            bundle.push(one);
            if one.flags.contains(SentFlags::BUNDLE_END) {
                found += cut_bundle(&mut bundle, full, &mut cut);
            }
        }
        found += cut_bundle(&mut bundle, full, &mut cut);
        self.sent = cut;
        self.losses = self.losses.wrapping_add(found);
        self.recount();
        found > 0
    }

    /// Splits a segment after `payload` bytes; the first part ends its bundle. Later indices change.
    #[cold]
    pub(crate) fn cut_at(&mut self, index: u64, payload: u32) {
        let offset = self.offset(index);
        let whole = self.sent[offset];
        let mut first = Sent { length: payload, ..whole };
        first.flags.clear(SentFlags::FIN);
        first.flags.clear(SentFlags::PUSH);
        first.flags.set(SentFlags::BUNDLE_END);
        self.sent[offset] = first;
        let sequence = whole.sequence + payload;
        self.sent.insert(offset + 1, Sent { sequence, length: whole.length - payload, ..whole });
        self.bundles += 1;
        self.recount();
    }

    /// Cuts the rest of the oldest bundle, which was acknowledged in part, into segments of `full` bytes
    /// again (Linux `tcp_tso_acked`). Returns whether that makes one fewer.
    #[cold]
    pub(crate) fn recut_front(&mut self, full: u32) -> bool {
        let Some(&front) = self.sent.front() else { return false };
        if front.flags.contains(SentFlags::SACKED) {
            // The receiver has reneged.
            return false;
        }
        let count = self.alike_at_front(&front);
        let Some(&last) = self.sent.get(count - 1) else { return false };
        let payload = last.end().distance_from(front.sequence) - u32::from(last.has_fin());
        let needed = usize::try_from(payload.div_ceil(full)).unwrap_or(count);
        let fewer = (1..count).contains(&needed);
        if fewer {
            self.sent.pop_front();
            self.first += 1;
            self.uncount(front.flags);
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

    /// Number of segments at the front that lie in one bundle and have the same counted flags.
    fn alike_at_front(&self, front: &Sent) -> usize {
        let neighbours = self.sent.iter().zip(self.sent.iter().skip(1));
        let alike = |next: &Sent| {
            next.flags.counted() == front.flags.counted()
                && next.transmissions == front.transmissions
        };
        1 + neighbours
            .take_while(|(head, next)| !head.flags.contains(SentFlags::BUNDLE_END) && alike(next))
            .count()
    }

    fn recount(&mut self) {
        let (mut sacked, mut lost, mut retransmitted, mut awaiting) = (0, 0, 0, 0);
        for sent in &self.sent {
            let is_lost = sent.flags.contains(SentFlags::LOST);
            let is_retransmitted = sent.flags.contains(SentFlags::RETRANSMITTED);
            sacked += u32::from(sent.flags.contains(SentFlags::SACKED));
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

/// Moves a bundle to `cut`, in smaller segments where needed; returns how many of its segments were too
/// large.
fn cut_bundle(bundle: &mut Vec<Sent>, full: u32, cut: &mut VecDeque<Sent>) -> u32 {
    let is_large = |sent: &&Sent| sent.length - u32::from(sent.has_fin()) > full;
    let found = u32::try_from(bundle.iter().filter(is_large).count()).unwrap_or(u32::MAX);
    if let (true, Some(&first), Some(&last)) = (found > 0, bundle.first(), bundle.last()) {
        let length = last.end().distance_from(first.sequence);
        let whole = Sent { length, flags: last.flags, ..first };
        cut.extend(pieces(whole, length - u32::from(last.has_fin()), full));
    } else {
        cut.extend(bundle.iter());
    }
    bundle.clear();
    found
}

/// Cuts a bundle into lost segments; flags of its end go to the last one. Every second one ends with PSH,
/// because two travel as a bundle.
fn pieces(sent: Sent, payload: u32, full: u32) -> impl Iterator<Item = Sent> {
    let count = payload.div_ceil(full);
    (0..count).map(move |number| {
        let last = number + 1 == count;
        let mut flags = sent.flags;
        flags.clear(SentFlags::RETRANSMITTED);
        flags.set(SentFlags::LOST);
        if !last {
            flags.clear(SentFlags::FIN);
            flags.clear(SentFlags::PUSH);
            flags.clear(SentFlags::BUNDLE_END);
            if number % 2 == 1 {
                flags.set(SentFlags::PUSH);
            }
        }
        let begin = number * full;
        let length = if last { sent.length - begin } else { full };
        Sent { sequence: sent.sequence + begin, length, flags, ..sent }
    })
}
