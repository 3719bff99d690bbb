//! Retransmissions: of lost segments, of the oldest one after a time-out, and probes.
//!
//! Source: Linux `tcp_xmit_recovery`, `tcp_xmit_retransmit_queue`, `tcp_send_loss_probe`,
//! `__tcp_retransmit_skb`; RFC 6675 §4 (`NextSeg`).

use crate::sender::loss::{Pending, Transmission};
use crate::sender::queue::{Marks, Purpose};
use crate::sender::transmit::NagleOverride;
use crate::sender::{Outgoing, Sender};
use crate::state::RecoveryState;
use crate::timers::timestamp_at;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Retransmissions that are due, and the burst under way.
#[derive(Debug, Default)]
pub(crate) struct Retransmissions {
    due: Transmission,
    /// The oldest segment goes out whatever is in flight (a time-out; RFC 6675 §5 step 4.3).
    forced: bool,
    /// The last segment was retransmitted without proof of loss in this recovery already.
    rescued: bool,
    /// Segments of the burst under way that have not left yet.
    burst_left: u32,
    /// Segments of the burst under way.
    burst: u32,
    /// Segments below this absolute index were retransmitted without proof of loss already.
    unproven_from: u64,
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

    /// Fast recovery begins: `forced` if the oldest segment goes out whatever is in flight.
    pub(crate) fn begin_recovery(&mut self, forced: bool, first_index: u64) {
        self.forced = forced;
        self.unproven_from = first_index;
        self.rescued = false;
    }

    /// A time-out: only the oldest segment goes out.
    pub(crate) fn begin_loss(&mut self) {
        self.due = Transmission::None;
        self.forced = true;
    }

    /// Outstanding segments were cut: indices have changed.
    pub(crate) fn on_cut(&mut self, first_index: u64) {
        self.unproven_from = first_index;
    }

    /// The segment behind `index` was merged into it.
    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.unproven_from > index + 1 {
            self.unproven_from -= 1;
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

    /// A segment of the burst has left. Returns whether it ends the burst, and whether that had several.
    fn advance_burst(&mut self) -> (bool, bool) {
        let left = self.burst_left;
        self.burst_left = left.saturating_sub(1);
        (left <= 1, self.burst > 1)
    }
}

impl Sender {
    /// Whether anything is to be sent for the sake of repair.
    pub(super) fn is_retransmission_due(&self) -> bool {
        self.retransmissions.due != Transmission::None
            || self.retransmissions.forced
            || self.tail_probe.is_due()
    }

    /// The next retransmission or probe, if any.
    #[cold]
    pub(super) fn send_repair(&mut self, now: Instant) -> Option<Outgoing> {
        if self.tail_probe.is_due() {
            return self.send_tail_probe(now);
        }
        if self.retransmissions.forced && self.recovery.state() == RecoveryState::Loss {
            self.retransmissions.forced = false;
            if !self.queue.is_empty() {
                self.note_repair_pace(1, self.queue.first_index(), now);
                let outgoing = self.repair(self.queue.first_index(), now);
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

    /// New data before any retransmission; if there was none to be sent, the trial has failed.
    fn send_frto_data(&mut self, now: Instant) -> Option<Outgoing> {
        self.budget.set_override(NagleOverride::Push);
        if let Some(outgoing) = self.send_new(now) {
            return Some(outgoing);
        }
        if self.send.next().is_after(self.recovery.end()) {
            self.retransmissions.set_due(Transmission::None);
        } else {
            self.frto.stop();
            self.retransmissions.set_due(Transmission::Lost);
        }
        None
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
        let outgoing = self.repair(index, now);
        Some(if self.end_burst(index) { outgoing.pushed() } else { outgoing })
    }

    /// Lost segments of one buffer travel together, as the first time.
    fn begin_burst(&mut self, index: u64, now: Instant) {
        let pushed = self.config.sending.bundling.is_some_and(|rule| rule.pushed);
        let ends_here = self.queue.get(index).marks().contains(Marks::BUNDLE_END);
        // The urgent pointer differs from segment to segment.
        let count = if pushed && !ends_here && !self.urgent.is_set() {
            let room = self.window.segments().saturating_sub(self.in_flight()).max(1);
            let most = self.most_bundled(self.full_payload());
            self.queue.lost_in_bundle(index, room.min(most))
        } else {
            1
        };
        self.retransmissions.begin_burst(count);
        self.note_repair_pace(count, index, now);
    }

    /// So many segments from `index` on are about to go again.
    #[inline]
    fn note_repair_pace(&mut self, count: u32, index: u64, now: Instant) {
        if !self.fast_path.is_plain() && self.paces() {
            let end = (index + u64::from(count)).min(self.queue.end_index());
            let bytes = (index..end).map(|index| self.queue.get(index).length()).sum();
            self.note_pace(bytes, self.full_payload(), now);
        }
    }

    /// The last segment of a burst of several has PSH, and its buffer ends there. Returns whether it is.
    fn end_burst(&mut self, index: u64) -> bool {
        let (ends, several) = self.retransmissions.advance_burst();
        if ends {
            self.queue.end_bundle(index);
        }
        ends && several
    }

    /// A window that has shrunk stops all but the oldest segment, which serves as a probe.
    fn is_within_window(&self, index: u64) -> bool {
        let sequence = self.queue.get(index).sequence();
        let end = self.send.oldest_unacked() + self.peer_window.bytes();
        sequence.is_before(end) || sequence == self.send.oldest_unacked()
    }

    /// Sends a lost segment again.
    fn repair(&mut self, index: u64, now: Instant) -> Outgoing {
        self.collapse(index);
        self.cut_to_window(index);
        if self.recovery.is_reducing() {
            self.reduction.on_sent();
        }
        self.undo.on_retransmitted(timestamp_at(now));
        let is_oldest = index == self.queue.first_index();
        if is_oldest && self.rto.pending() != Pending::Reordering {
            self.rto.set_pending(Pending::Retransmission);
            let wait = self.rto_within_user_timeout(now) + self.pacing_delay(now);
            self.rto.arm(now, wait);
        }
        self.retransmit(index, Purpose::Repair, now)
    }

    fn retransmit(&mut self, index: u64, purpose: Purpose, now: Instant) -> Outgoing {
        let marks = self.note_sending(now);
        if !self.fast_path.is_plain() {
            self.queue.remark_limited(index, marks);
        }
        let moment = self.queue.next_moment(now);
        self.queue.on_retransmitted(index, purpose, self.deliveries.segments(), moment);
        self.stats.on_retransmission();
        self.send.on_data_sent(now);
        let sent = *self.queue.get(index);
        self.stats.on_repeated_bytes(sent.payload_bytes());
        if self.judges_by_time() {
            self.rack.on_retransmitted(sent.sequence(), now);
        }
        if purpose == Purpose::Repair {
            self.note_repair(&sent);
        }
        sent.outgoing()
    }

    /// A segment that a window which has shrunk since has no room for is cut to it, and one that
    /// leaves no room for SACK blocks to what does (Linux `__tcp_retransmit_skb`); the oldest one
    /// goes whole where there is no room at all.
    #[inline]
    fn cut_to_window(&mut self, index: u64) {
        let sent = *self.queue.get(index);
        let most = self.most_repaired(sent.sequence());
        if sent.payload_bytes() > most {
            self.cut(index, most);
        }
    }

    /// Payload that may go again from `sequence` on: what the window has room for, beside the SACK
    /// blocks that travel with it.
    #[inline]
    fn most_repaired(&self, sequence: SequenceNumber) -> u32 {
        let end = self.send.oldest_unacked() + self.peer_window.bytes();
        let full = self.full_payload();
        if end.is_after(sequence) { full.min(end.distance_from(sequence)) } else { full }
    }

    #[cold]
    fn cut(&mut self, index: u64, payload: u32) {
        self.queue.cut_at(index, payload);
        self.scoreboard.unsettle(&self.queue);
        self.rack.reconsider(&self.queue);
        self.retransmissions.on_cut(self.queue.first_index());
        // What follows goes apart.
        self.retransmissions.begin_burst(1);
    }

    /// Small neighbours travel together, as far as they fit (Linux `tcp_retrans_try_collapse`).
    fn collapse(&mut self, index: u64) {
        if !self.config.collapse_retransmissions {
            return;
        }
        let most = self.most_repaired(self.queue.get(index).sequence());
        while self.queue.collapse_next(index, most) {
            self.scoreboard.on_collapsed(index);
            self.retransmissions.on_collapsed(index);
            self.rack.on_collapsed(index);
            self.duplicate_acks.on_collapsed();
        }
    }

    /// New data if there is any that the peer's window has room for, else the last segment again.
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
        // The window may have shrunk over it: then there is nothing to ask.
        if self.queue.is_empty() || !self.is_within_window(last) {
            return None;
        }
        self.cut_to_window(last);
        self.note_repair_pace(1, last, now);
        let outgoing = self.retransmit(last, Purpose::Probe, now);
        self.on_tail_probe_sent(Some(Purpose::Probe), now);
        Some(outgoing)
    }

    /// A segment whose loss is not proven, where nothing new may go.
    #[cold]
    pub(super) fn send_unproven(&mut self, now: Instant) -> Option<Outgoing> {
        if self.in_flight() >= self.window.segments() || self.waits_for_pace(now) {
            return None;
        }
        let index = self.take_unproven()?;
        Some(self.repair(index, now))
    }

    /// The oldest segment below the highest one known to have arrived (RFC 6675 §4 `NextSeg` rule 3); and once, the
    /// last one that is not known to have arrived (rule 4).
    fn take_unproven(&mut self) -> Option<u64> {
        let end = self.scoreboard.highest(&self.queue)?;
        let mut index = self.retransmissions.unproven_from.max(self.queue.first_index());
        while index < end {
            index += 1;
            self.retransmissions.unproven_from = index;
            if self.is_untouched(index - 1) {
                return Some(index - 1);
            }
        }
        if std::mem::replace(&mut self.retransmissions.rescued, true) {
            return None;
        }
        let last = self.queue.end_index().checked_sub(1)?;
        (last >= end && self.is_untouched(last)).then_some(last)
    }

    fn is_untouched(&self, index: u64) -> bool {
        let marks = self.queue.get(index).marks();
        !marks.contains(Marks::SACKED)
            && !marks.contains(Marks::RETRANSMITTED)
            && !marks.contains(Marks::LOST)
    }
}
