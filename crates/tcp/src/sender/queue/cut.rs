//! Cutting what is outstanding into smaller segments, when the path has become narrower or the window
//! smaller.
//!
//! Source: Linux `tcp_simple_retransmit`, `tcp_fragment`. Cost: proportional to what is outstanding;
//! it happens once per change of the path.

use super::{Marks, SendQueue, Sent};
use std::collections::VecDeque;

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
