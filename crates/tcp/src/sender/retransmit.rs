//! Retransmissions: of lost segments, of the oldest one after a time-out, and probes.
//!
//! Source: Linux `tcp_xmit_recovery`, `tcp_xmit_retransmit_queue`, `tcp_send_loss_probe`,
//! `__tcp_retransmit_skb`; RFC 6675 §4 (`NextSeg`).

use crate::sender::loss::{Pending, Transmission};
use crate::sender::queue::{RetransmitReason, SentFlags};
use crate::sender::transmit::NagleOverride;
use crate::sender::{Outgoing, Sender};
use crate::state::RecoveryState;
use crate::timers::timestamp_at;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Retransmissions that are due, and the current burst.
#[derive(Debug, Default)]
pub(crate) struct Retransmissions {
    due: Transmission,
    /// The oldest segment is sent regardless of the flight size (time-out; RFC 6675 §5 step 4.3).
    forced: bool,
    /// The rescue retransmission of this recovery was sent (RFC 6675 §4 `NextSeg` rule 4).
    rescued: bool,
    /// Segments of the current burst that are not sent yet.
    burst_left: u32,
    /// Segments of the current burst.
    burst: u32,
    /// Segments below this absolute index are not retransmitted speculatively any more (rule 3).
    speculative_from: u64,
}

impl Retransmissions {
    pub(crate) fn due(&self) -> Transmission {
        self.due
    }

    pub(crate) fn set_due(&mut self, due: Transmission) {
        self.due = due;
    }

    pub(crate) fn force(&mut self) {
        self.forced = true;
    }

    /// Begins fast recovery: `forced` if the oldest segment is sent regardless of the flight size.
    pub(crate) fn begin_recovery(&mut self, forced: bool, first_index: u64) {
        self.forced = forced;
        self.speculative_from = first_index;
        self.rescued = false;
    }

    /// Begins the loss state: only the oldest segment is sent.
    pub(crate) fn begin_loss(&mut self) {
        self.due = Transmission::None;
        self.forced = true;
    }

    /// Adopts new indices after outstanding segments were cut.
    pub(crate) fn on_cut(&mut self, first_index: u64) {
        self.speculative_from = first_index;
    }

    /// Adopts the merge of the segment after `index` into it.
    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.speculative_from > index + 1 {
            self.speculative_from -= 1;
        }
    }

    fn finish(&mut self) {
        self.due = Transmission::None;
        self.forced = false;
        (self.burst_left, self.burst) = (0, 0);
    }

    fn begin_burst(&mut self, count: u32) {
        (self.burst_left, self.burst) = (count, count);
    }

    /// Counts a sent segment of the burst. Returns whether it is the last, and whether the burst has several.
    fn advance_burst(&mut self) -> (bool, bool) {
        let left = self.burst_left;
        self.burst_left = left.saturating_sub(1);
        (left <= 1, self.burst > 1)
    }
}

impl Sender {
    /// Whether a retransmission or a tail loss probe is due.
    pub(super) fn is_retransmission_due(&self) -> bool {
        self.retransmissions.due != Transmission::None
            || self.retransmissions.forced
            || self.tail_probe.is_due()
    }

    /// The next retransmission or probe, if any.
    #[cold]
    pub(super) fn send_retransmission(&mut self, now: Instant) -> Option<Outgoing> {
        if self.tail_probe.is_due() {
            return self.send_tail_probe(now);
        }
        if self.retransmissions.forced && self.recovery.state() == RecoveryState::Loss {
            self.retransmissions.forced = false;
            if !self.queue.is_empty() {
                self.note_retransmission_pace(1, self.queue.first_index(), now);
                let outgoing = self.retransmit_lost(self.queue.first_index(), now);
                self.queue.end_bundle(self.queue.first_index());
                return Some(outgoing);
            }
        }
        if self.retransmissions.due == Transmission::NewFirst
            && let Some(outgoing) = self.send_frto_data(now)
        {
            return Some(outgoing);
        }
        if self.retransmissions.due == Transmission::None {
            return None;
        }
        let outgoing = self.send_lost(now);
        if outgoing.is_none() {
            self.retransmissions.finish();
        }
        outgoing
    }

    /// The oldest lost segment, if the windows have room for it (RFC 6675 §4 `NextSeg` rule 1).
    fn send_lost(&mut self, now: Instant) -> Option<Outgoing> {
        let full = self.in_flight() >= self.window.segments();
        if self.queue.retransmitted() >= self.queue.lost() || full && !self.retransmissions.forced {
            return None;
        }
        let next = self.queue.next_to_retransmit();
        let index = next.filter(|&index| self.is_within_window(index))?;
        if self.retransmissions.burst_left == 0 {
            if self.waits_for_pace(now) {
                return None;
            }
            self.begin_burst(index, now);
        }
        self.retransmissions.forced = false;
        let outgoing = self.retransmit_lost(index, now);
        Some(if self.end_burst(index) { outgoing.pushed() } else { outgoing })
    }

    /// Begins a burst of the lost segments of one buffer, which travel together like the originals.
    fn begin_burst(&mut self, index: u64, now: Instant) {
        let pushed = self.config.sending.bundling.is_some_and(|rule| rule.pushed);
        let ends_here = self.queue.get(index).flags().contains(SentFlags::BUNDLE_END);
        // The urgent pointer differs from segment to segment.
        let count = if pushed && !ends_here && !self.urgent.is_set() {
            let room = self.window.segments().saturating_sub(self.in_flight()).max(1);
            let limit = self.max_bundled(self.full_payload());
            self.queue.lost_in_bundle(index, room.min(limit))
        } else {
            1
        };
        self.retransmissions.begin_burst(count);
        self.note_retransmission_pace(count, index, now);
    }

    /// Charges the pacer for `count` retransmissions from `index` on.
    #[inline]
    fn note_retransmission_pace(&mut self, count: u32, index: u64, now: Instant) {
        if !self.fast_path.is_plain() && self.paces() {
            let end = (index + u64::from(count)).min(self.queue.end_index());
            let bytes = (index..end).map(|index| self.queue.get(index).length()).sum();
            self.note_pace(bytes, self.full_payload(), now);
        }
    }

    /// Ends the buffer after the last segment of a burst. Returns whether that segment needs PSH, because the
    /// burst has several.
    fn end_burst(&mut self, index: u64) -> bool {
        let (ends, several) = self.retransmissions.advance_burst();
        if ends {
            self.queue.end_bundle(index);
        }
        ends && several
    }

    /// Whether a segment lies within the peer's window. The oldest one always does, as a window probe.
    fn is_within_window(&self, index: u64) -> bool {
        let sequence = self.queue.get(index).sequence();
        let end = self.send.oldest_unacked() + self.peer_window.bytes();
        sequence.is_before(end) || sequence == self.send.oldest_unacked()
    }

    fn retransmit_lost(&mut self, index: u64, now: Instant) -> Outgoing {
        self.collapse(index);
        self.cut_to_window(index);
        if self.recovery.is_reducing() {
            self.reduction.on_sent();
        }
        self.undo.on_retransmitted(timestamp_at(now));
        let is_oldest = index == self.queue.first_index();
        if is_oldest && self.rto.pending() != Pending::Reordering {
            self.rto.set_pending(Pending::Retransmission);
            let wait = self.clamp_rto_to_user_timeout(now) + self.pacing_delay(now);
            self.rto.arm(now, wait);
        }
        self.retransmit(index, RetransmitReason::Lost, now)
    }

    fn retransmit(&mut self, index: u64, reason: RetransmitReason, now: Instant) -> Outgoing {
        let sent_flags = self.note_sending(now);
        if !self.fast_path.is_plain() {
            self.queue.set_transmit_flags(index, sent_flags);
        }
        let moment = self.queue.next_transmit_order(now);
        self.queue.on_retransmitted(index, reason, self.deliveries.segments(), moment);
        self.stats.on_retransmission();
        self.send.on_data_sent(now);
        let sent = *self.queue.get(index);
        self.stats.on_retransmitted_bytes(sent.payload_bytes());
        if self.uses_rack() {
            self.rack.on_retransmitted(sent.sequence(), now);
        }
        if reason == RetransmitReason::Lost {
            self.track_retransmission(&sent);
        }
        sent.outgoing()
    }

    /// Cuts a segment to the room that the peer's window and the SACK blocks leave (Linux
    /// `__tcp_retransmit_skb`). Without any room the oldest segment stays whole.
    #[inline]
    fn cut_to_window(&mut self, index: u64) {
        let sent = *self.queue.get(index);
        let limit = self.max_retransmitted_payload(sent.sequence());
        if sent.payload_bytes() > limit {
            self.cut(index, limit);
        }
    }

    /// Maximum payload of a retransmission at `sequence`, limited by the peer's window and the SACK blocks.
    #[inline]
    fn max_retransmitted_payload(&self, sequence: SequenceNumber) -> u32 {
        let end = self.send.oldest_unacked() + self.peer_window.bytes();
        let full = self.full_payload();
        if end.is_after(sequence) { full.min(end.distance_from(sequence)) } else { full }
    }

    #[cold]
    fn cut(&mut self, index: u64, payload: u32) {
        self.queue.cut_at(index, payload);
        self.scoreboard.restart_scan(&self.queue);
        self.rack.restart_scan(&self.queue);
        self.retransmissions.on_cut(self.queue.first_index());
        // The rest is a separate burst.
        self.retransmissions.begin_burst(1);
    }

    /// Merges small segments that follow, as far as they fit (Linux `tcp_retrans_try_collapse`).
    fn collapse(&mut self, index: u64) {
        if !self.config.collapse_retransmissions {
            return;
        }
        let limit = self.max_retransmitted_payload(self.queue.get(index).sequence());
        while self.queue.collapse_next(index, limit) {
            self.scoreboard.on_collapsed(index);
            self.retransmissions.on_collapsed(index);
            self.rack.on_collapsed(index);
            self.duplicate_acks.on_collapsed();
        }
    }

    /// Sends a tail loss probe: new data if the peer's window has room for it, else the last segment again.
    fn send_tail_probe(&mut self, now: Instant) -> Option<Outgoing> {
        if self.written.has_any() && (self.budget.is_tail_probe() || self.has_room_for_next()) {
            self.budget.set_override(NagleOverride::Probe);
            let outgoing = self.send_new(now);
            if outgoing.is_some() && !self.budget.has_bundle() {
                self.on_tail_probe_sent(None, now);
            }
            self.tail_probe.set_due(self.budget.has_bundle());
            return outgoing;
        }
        self.tail_probe.set_due(false);
        let last = self.queue.end_index().checked_sub(1)?;
        // The window may have shrunk below it.
        if self.queue.is_empty() || !self.is_within_window(last) {
            return None;
        }
        self.cut_to_window(last);
        self.note_retransmission_pace(1, last, now);
        let outgoing = self.retransmit(last, RetransmitReason::Probe, now);
        self.on_tail_probe_sent(Some(RetransmitReason::Probe), now);
        Some(outgoing)
    }

    /// Sends a speculative retransmission, when no new data may be sent (RFC 6675 §4 `NextSeg`).
    #[cold]
    pub(super) fn send_speculative(&mut self, now: Instant) -> Option<Outgoing> {
        if self.in_flight() >= self.window.segments() || self.waits_for_pace(now) {
            return None;
        }
        let index = self.next_speculative()?;
        Some(self.retransmit_lost(index, now))
    }

    /// The oldest unmarked segment below the highest selectively acknowledged one (rule 3), and once the last
    /// unmarked segment (rule 4).
    fn next_speculative(&mut self) -> Option<u64> {
        let end = self.scoreboard.highest(&self.queue)?;
        let mut index = self.retransmissions.speculative_from.max(self.queue.first_index());
        while index < end {
            index += 1;
            self.retransmissions.speculative_from = index;
            if self.is_unmarked(index - 1) {
                return Some(index - 1);
            }
        }
        if std::mem::replace(&mut self.retransmissions.rescued, true) {
            return None;
        }
        let last = self.queue.end_index().checked_sub(1)?;
        (last >= end && self.is_unmarked(last)).then_some(last)
    }

    fn is_unmarked(&self, index: u64) -> bool {
        let sent_flags = self.queue.get(index).flags();
        !sent_flags.contains(SentFlags::SACKED)
            && !sent_flags.contains(SentFlags::RETRANSMITTED)
            && !sent_flags.contains(SentFlags::LOST)
    }
}
