//! Segmentation of new data: TSO autosizing, smart framing, redundant data bundling.
//!
//! **TSO autosizing** decides how many segments leave as one buffer, and when one waits to become larger.
//! Source: Linux `tcp_tso_autosize`, `tcp_tso_segs`, `tcp_tso_should_defer`, `tcp_cwnd_test`. Cost per
//! bundle: one or two divisions.
//!
//! **Smart framing** cuts a small window into several segments instead of a few full ones, so that enough
//! segments follow a lost one to detect the loss before the time-out. Source:
//! [`SmartFraming`](crate::SmartFraming).
//! With a window of `w` full segments, `w` less than the `n` of the rule, a segment carries `w / n` of a
//! full one, and `n` may be in flight; from `w = n` on segments are full. For window growth `n` of these
//! segments count as `w`, so the window opens as without framing. At most the bytes of the window and at
//! most `n` segments are in flight. So after the window has opened, a round trip may carry less while small
//! segments are still in flight.
//! Differs: it applies to new data; retransmissions keep their size, or are full segments if
//! retransmissions are merged. During loss recovery the window counts segments normally.
//! Parameters: segments of a small window, 4 (the duplicate threshold plus one). Cost: nothing while off;
//! else a few multiplications per acknowledgment.
//!
//! **Redundant data bundling** sends recent data again, before new data, so that a lost segment delays a
//! thin stream only until its next write. Source: [`RedundantBundling`](crate::RedundantBundling).
//! The receiver needs no support: it accepts the new part of an overlapping segment (RFC 9293 §3.10.7.4).
//! The queue keeps the original segments, so retransmissions carry no more data than without bundling.
//! A lost segment whose data arrives in a bundle leaves no trace in acknowledgments. But if one
//! acknowledges exactly a bundle, including older data for the first time, the older segment was probably
//! lost: the window is reduced as for an echo of congestion. An acknowledgment that was delayed until a
//! bundle arrived looks the same and has the same effect, in the authors' code too.
//! Differs: a D-SACK for data of a bundle does not indicate a spurious retransmission.
//! Cost: while off, one comparison per segment and acknowledgment; else a step per older segment, and a
//! record per outstanding bundle.

use crate::config::{Bundling, BundlingStreams, Gathering, RedundantBundling};
use crate::sender::queue::{Sent, SentFlags};
use crate::sender::{Outgoing, Sender};
use crate::state::{Event, RecoveryState};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SackBlock, SequenceNumber};
use std::collections::VecDeque;

/// Maximum time since the last bundle could leave, and until the next acknowledgment, for which a bundle waits.
const MAX_DEFERRAL: Span = Span::from_millis(1);

impl Sender {
    /// Segments of the largest bundle at the present rate (Linux `tcp_tso_segs`).
    #[inline]
    pub(super) fn max_bundled(&mut self, full: u32) -> u32 {
        let Some(bundling) = self.config.sending.bundling else { return 1 };
        let min = self.plugged_min_bundle().unwrap_or(bundling.min_segments);
        let largest = match self.config.sending.gathering {
            Gathering::Buffers { largest_bytes } => largest_bytes,
            Gathering::Stream => u32::MAX,
        };
        let mut bytes = self.pacer.rate() >> bundling.pacing_shift;
        if let (Some(log), Some(min_rtt)) = (bundling.rtt_log, self.rtt.minimum()) {
            let halvings = min_rtt.as_micros() >> log;
            if halvings < 32 {
                bytes = bytes.saturating_add(u64::from(largest >> halvings));
            }
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(largest);
        (bytes / full).max(min)
    }

    /// Segments of one bundle, of `room` segments in the window.
    #[inline]
    pub(super) fn bundle_quota(&self, room: u32) -> u32 {
        match &self.config.sending.bundling {
            Some(bundling) if bundling.half_window => room.min((self.window.segments() / 2).max(1)),
            _ => room,
        }
    }

    /// Whether the first buffer, of `first` bytes and more than a segment, waits for room for a
    /// larger bundle: only if an acknowledgment is due soon.
    #[inline]
    pub(super) fn waits_for_larger_bundle(
        &mut self,
        first: u32,
        room: u32,
        max: u32,
        now: Instant,
    ) -> bool {
        let Some(bundling) = self.config.sending.bundling else { return false };
        if matches!(self.recovery.state(), RecoveryState::Recovery | RecoveryState::Loss)
            || bundling.by_time && self.departure() + MAX_DEFERRAL < now
        {
            return false;
        }
        let full = self.segment_bytes;
        let peer_room = self.usable_window();
        let window_room = room.saturating_mul(full);
        let limit = peer_room.min(window_room);
        if limit >= max.saturating_mul(full)
            || limit >= first && !self.written.is_first_last()
            || self.is_fair_share(limit, full, &bundling)
            || bundling.by_time && !self.is_acknowledgment_near(now)
        {
            return false;
        }
        if window_room < peer_room && window_room <= first {
            self.budget.note_window_limit();
            return true;
        }
        if window_room >= peer_room && peer_room <= first {
            self.budget.note_peer_limit();
            return true;
        }
        // It will not get larger.
        !(self.written.is_first_sealed()
            || self.written.is_fin_waiting() && self.written.is_first_last())
    }

    /// Whether `limit` bytes are a good part of the window.
    #[inline]
    fn is_fair_share(&self, limit: u32, full: u32, bundling: &Bundling) -> bool {
        match bundling.window_divisor {
            Some(divisor) => {
                let window =
                    self.peer_window.bytes().min(self.window.segments().saturating_mul(full));
                is_at_least_part(limit, window, divisor)
            }
            None => limit > 3 * full,
        }
    }

    /// Whether the acknowledgment of the oldest segment is due within half a round trip and within
    /// a millisecond.
    #[inline]
    fn is_acknowledgment_near(&self, now: Instant) -> bool {
        let Some(head) = self.queue.front() else { return false };
        let smoothed = self.rtt.smoothed().unwrap_or_default();
        let expected = head.transmitted_at() + smoothed;
        expected.saturating_since(now) <= (smoothed / 2).min(MAX_DEFERRAL)
    }
}

/// Whether `limit >= whole / divisor`, without the division; a divisor of 0 counts as 1.
#[inline]
fn is_at_least_part(limit: u32, whole: u32, divisor: u32) -> bool {
    (u64::from(limit) + 1) * u64::from(divisor.max(1)) > u64::from(whole)
}

/// State of smart framing.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    /// The window for which segments are cut at present; `None` while they are full.
    cut_for: Option<SmallWindow>,
    /// Acknowledged small segments that do not make a full one yet, in fractions of `1 / segments`.
    credit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SmallWindow {
    /// Full segments of it.
    window: u32,
    /// Segments that it is cut into.
    segments: u32,
}

impl Sender {
    /// The window, if it is small and there is no recovery.
    fn small_window(&self) -> Option<SmallWindow> {
        let segments = self.config.sending.framing?.segments;
        let window = self.window.segments();
        let holds = window < segments
            && self.state.is_synchronised()
            && !self.recovery.is_recovering()
            && !self.recovery.is_reducing()
            && self.mtu_search.is_none();
        holds.then_some(SmallWindow { window, segments })
    }

    /// Sets the segment size for the present window.
    #[cold]
    pub(crate) fn update_framing(&mut self) {
        let small = self.small_window();
        if small.is_none() && self.framing.cut_for.is_none() {
            return;
        }
        self.framing.cut_for = small;
        self.sync_segment_size();
        self.update_pacing_rate();
        if let Some(SmallWindow { window, segments }) = small {
            let cut = self.segment_bytes * window / segments;
            self.segment_bytes = cut.max(1);
        }
    }

    /// Segments that may be in flight for new data: those of a small window, limited by its bytes.
    pub(crate) fn framed_window(&self) -> u32 {
        let whole = self.window.segments();
        let small = self.small_window().filter(|small| self.framing.cut_for == Some(*small));
        let Some(SmallWindow { segments, .. }) = small else { return whole };
        let cut = self.segment_bytes;
        let outstanding = self.send.next().distance_from(self.send.oldest_unacked());
        let in_flight = outstanding.saturating_sub(self.sacked_out().saturating_mul(cut));
        let room = cut.saturating_mul(segments).saturating_sub(in_flight) / cut;
        (self.in_flight() + room).min(segments).max(whole)
    }

    /// Full segments that `acknowledged` small segments amount to.
    #[cold]
    pub(crate) fn count_full_segments(&mut self, acknowledged: u32) -> u32 {
        let Some(SmallWindow { window, segments }) = self.small_window() else {
            self.framing.credit = 0;
            return acknowledged;
        };
        let credit = self.framing.credit + acknowledged * window;
        self.framing.credit = credit % segments;
        credit / segments
    }
}

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
    /// Forgets acknowledged bundles. Returns whether the acknowledgment is exactly for a bundle,
    /// including older data that was not acknowledged before; `oldest_before` is SND.UNA before it.
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
    pub(crate) fn covers_dsack(&self, block: SackBlock) -> bool {
        self.outstanding.iter().any(|bundle| {
            bundle.start.is_at_or_before(block.left) && block.right.is_at_or_before(bundle.new_from)
        })
    }
}

impl Sender {
    /// The new segment at the end of the queue, preceded by old data if allowed.
    #[cold]
    pub(super) fn with_old_data(&mut self) -> Outgoing {
        let last = *self.queue.get(self.queue.end_index() - 1);
        let sent = &last;
        let Some(rule) = self.config.sending.redundancy else { return sent.outgoing() };
        // FIN and window probes carry no old data.
        let alone = sent.has_fin() || self.budget.is_woken() || !self.is_thin_for_bundling(rule);
        let start = if alone { sent.sequence() } else { self.start_of_bundle(sent, rule) };
        if start == sent.sequence() {
            return sent.outgoing();
        }
        let bundle = Bundle { start, new_from: sent.sequence(), end: sent.end() };
        self.bundles.outstanding.push_back(bundle);
        let pushed = sent.flags().contains(SentFlags::PUSH);
        let flags = if pushed { Flags::PSH } else { Flags::NONE };
        Outgoing::new(start, sent.end().distance_from(start), flags)
    }

    /// Whether the stream was thin before this segment, as the rule defines it.
    fn is_thin_for_bundling(&self, rule: RedundantBundling) -> bool {
        match rule.streams {
            BundlingStreams::Interval => self.has_long_intervals(rule),
            BundlingStreams::Thin => self.is_thin_with(self.queue.outstanding().saturating_sub(1)),
            BundlingStreams::All => true,
        }
    }

    /// Whether fewer segments were in flight before this one than fit in the minimum round trip at the
    /// minimum interval.
    fn has_long_intervals(&self, rule: RedundantBundling) -> bool {
        let Some(min) = self.rtt.minimum() else { return true };
        let interval = rule.min_interval.max(Span::from_micros(1));
        let before = self.in_flight().saturating_sub(1);
        u64::from(before) < min.as_micros() / interval.as_micros()
    }

    /// Start of the bundle that carries `sent`, the last of the queue, and the allowed old data before
    /// it.
    fn start_of_bundle(&self, sent: &Sent, rule: RedundantBundling) -> SequenceNumber {
        let full = self.full_payload();
        let max_bytes = rule.max_bytes.map_or(full, |bytes| bytes.min(full));
        let max_segments = rule.max_segments.unwrap_or(u32::MAX);
        let mut start = sent.sequence();
        let mut index = self.queue.end_index() - 1;
        let mut carried = 0;
        while index > self.queue.first_index() && carried < max_segments {
            index -= 1;
            let older = self.queue.get(index).sequence();
            if sent.end().distance_from(older) > max_bytes {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bundle_part_equals_division(
            (whole, shift) in (any::<u32>(), 0_u32..32), divisor in 0_u32..9, beside in -2_i64..3,
        ) {
            let whole = whole >> shift;
            let part = whole / divisor.max(1);
            let limit = u32::try_from(i64::from(part) + beside).unwrap_or(0);
            prop_assert_eq!(is_at_least_part(limit, whole, divisor), limit >= part);
        }
    }
}
