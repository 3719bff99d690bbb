//! Redundant data bundling: what was sent shortly before travels again, ahead of new data, so that the
//! loss of one segment costs a thin stream no more than the time to its next write.
//!
//! Source: [`RedundantBundling`]. The receiver needs nothing: it takes what is new of an overlapping
//! segment (RFC 9293 §3.10.7.4). What is outstanding is kept as it was written, so retransmissions carry
//! no more than they would otherwise.
//!
//! A lost segment whose data arrives in a bundle leaves no trace in acknowledgments. But where one
//! acknowledges just what a bundle brought, and older data of it for the first time, the older segment
//! was probably lost: the window is reduced as for an echo of congestion. An acknowledgment that was
//! delayed until a bundle came looks the same, and is answered the same, by the authors, too.
//!
//! Differs: reports of duplicates (D-SACK) that a bundle explains are not taken for signs of needless
//! retransmissions.
//!
//! Cost: without it, one comparison per segment and acknowledgment; with it, a step per older segment
//! looked at, and a record per bundle outstanding.

use crate::config::RedundantBundling;
use crate::event::Event;
use crate::sender::queue::{Marks, Sent};
use crate::sender::{Outgoing, Sender};
use fairwind_units::Span;
use fairwind_wire::{Flags, SackBlock, SequenceNumber};
use std::collections::VecDeque;

/// A segment that carried old data.
#[derive(Debug, Clone, Copy)]
struct Bundle {
    /// Where the old data begins.
    start: SequenceNumber,
    /// Where the new data begins.
    new_from: SequenceNumber,
    end: SequenceNumber,
}

/// Bundles outstanding, in order.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    outstanding: VecDeque<Bundle>,
}

impl Bundles {
    /// Forgets what is acknowledged. Returns whether just what a bundle brought was acknowledged, and
    /// older data of it was not before, when `oldest_before` was the oldest number outstanding.
    fn acknowledge(&mut self, oldest_before: SequenceNumber, acknowledged: SequenceNumber) -> bool {
        let mut hides_loss = false;
        while let Some(&bundle) = self.outstanding.front()
            && bundle.end.is_at_or_before(acknowledged)
        {
            hides_loss = bundle.end == acknowledged && oldest_before.is_before(bundle.new_from);
            self.outstanding.pop_front();
        }
        hides_loss
    }

    /// Whether a bundle brought `block` again.
    #[inline]
    pub(crate) fn explain(&self, block: SackBlock) -> bool {
        self.outstanding.iter().any(|bundle| {
            bundle.start.is_at_or_before(block.left) && block.right.is_at_or_before(bundle.new_from)
        })
    }
}

impl Sender {
    /// The segment of new data that is the last of the queue, with old data before it where that is
    /// allowed.
    #[cold]
    pub(super) fn with_old_data(&mut self) -> Outgoing {
        let last = *self.queue.get(self.queue.end_index() - 1);
        let sent = &last;
        let Some(rule) = self.config.sending.redundancy else { return sent.outgoing() };
        // Neither FIN nor a probe of a closed window takes anything along.
        let alone = sent.has_fin() || self.budget.is_woken() || !self.is_thin_for_bundling(rule);
        let start = if alone { sent.sequence() } else { self.start_of_bundle(sent, rule) };
        if start == sent.sequence() {
            return sent.outgoing();
        }
        let bundle = Bundle { start, new_from: sent.sequence(), end: sent.end() };
        self.bundles.outstanding.push_back(bundle);
        let pushed = sent.marks().contains(Marks::PUSH);
        let flags = if pushed { Flags::PSH } else { Flags::NONE };
        Outgoing::new(start, sent.end().distance_from(start), flags)
    }

    /// Whether fewer segments were in flight, before this one, than fit into the least round trip at the
    /// least interval.
    fn is_thin_for_bundling(&self, rule: RedundantBundling) -> bool {
        let Some(least) = self.rtt.minimum() else { return true };
        let interval = rule.least_interval.max(Span::from_micros(1));
        let before = self.in_flight().saturating_sub(1);
        u64::from(before) < least.as_micros() / interval.as_micros()
    }

    /// Where a segment begins that carries `sent`, the last of the queue, and as much as is allowed of
    /// what lies before it.
    fn start_of_bundle(&self, sent: &Sent, rule: RedundantBundling) -> SequenceNumber {
        let full = self.full_payload();
        let most_bytes = rule.most_bytes.map_or(full, |bytes| bytes.min(full));
        let most_segments = rule.most_segments.unwrap_or(u32::MAX);
        let mut start = sent.sequence();
        let mut index = self.queue.end_index() - 1;
        let mut carried = 0;
        while index > self.queue.first_index() && carried < most_segments {
            index -= 1;
            let older = self.queue.get(index).sequence();
            if sent.end().distance_from(older) > most_bytes {
                break;
            }
            start = older;
            carried += 1;
        }
        start
    }

    /// Follows an acknowledgment of new data.
    pub(crate) fn on_bundles_acked(
        &mut self,
        oldest_before: SequenceNumber,
        acknowledged: SequenceNumber,
    ) {
        if self.bundles.acknowledge(oldest_before, acknowledged) {
            self.reduce_window();
            self.events.push_back(Event::HiddenLoss);
        }
    }
}
