//! Retransmissions: of lost segments, of the oldest one after a time-out, and probes.
//!
//! Source: Linux `tcp_xmit_recovery`, `tcp_xmit_retransmit_queue`, `tcp_send_loss_probe`,
//! `__tcp_retransmit_skb`; RFC 6675 §4 (`NextSeg`).

use crate::sender::loss::{Pending, Transmission};
use crate::sender::queue::{Marks, Purpose};
use crate::sender::transmit::NagleOverride;
use crate::sender::{Outgoing, Sender};
use crate::state::RecoveryState;
use crate::timestamp::timestamp_at;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

impl Sender {
    /// Whether anything is to be sent for the sake of repair.
    #[inline]
    pub(super) fn is_retransmission_due(&self) -> bool {
        self.recovery.due != Transmission::None || self.recovery.forced || self.recovery.probe.due
    }

    /// The next retransmission or probe, if any.
    #[cold]
    pub(super) fn send_repair(&mut self, now: Instant) -> Option<Outgoing> {
        if self.recovery.probe.due {
            return self.send_tail_probe(now);
        }
        if self.recovery.forced && self.recovery.state == RecoveryState::Loss {
            self.recovery.forced = false;
            if !self.queue.is_empty() {
                self.note_repair_pace(1, self.queue.first_index(), now);
                let outgoing = self.repair(self.queue.first_index(), now);
                self.queue.end_bundle(self.queue.first_index());
                return Some(outgoing);
            }
        }
        if self.recovery.due == Transmission::NewFirst
            && let Some(outgoing) = self.send_frto_data(now)
        {
            return Some(outgoing);
        }
        if self.recovery.due == Transmission::None {
            return None;
        }
        let outgoing = self.send_lost(now);
        if outgoing.is_none() {
            self.recovery.burst = (0, 0);
            self.recovery.due = Transmission::None;
            self.recovery.forced = false;
        }
        outgoing
    }

    /// New data before any retransmission; if there was none to be sent, the trial has failed.
    fn send_frto_data(&mut self, now: Instant) -> Option<Outgoing> {
        self.budget.set_override(NagleOverride::Push);
        if let Some(outgoing) = self.send_new(now) {
            return Some(outgoing);
        }
        if self.send.next.is_after(self.recovery.end) {
            self.recovery.due = Transmission::None;
        } else {
            self.recovery.trial = false;
            self.recovery.due = Transmission::Lost;
        }
        None
    }

    /// The oldest lost segment, if the windows have room for it (RFC 6675 §4 `NextSeg` rule 1).
    fn send_lost(&mut self, now: Instant) -> Option<Outgoing> {
        let full = self.in_flight() >= self.window.segments;
        if self.queue.retransmitted() >= self.queue.lost() || full && !self.recovery.forced {
            return None;
        }
        let next = self.queue.next_to_retransmit();
        let Some(index) = next.filter(|&index| self.is_within_window(index)) else { return None };
        if self.recovery.burst.0 == 0 {
            if self.waits_for_pace(now) {
                return None;
            }
            self.begin_burst(index, now);
        }
        self.recovery.forced = false;
        let outgoing = self.repair(index, now);
        Some(if self.end_burst(index) { outgoing.pushed() } else { outgoing })
    }

    /// Lost segments of one buffer travel together, as the first time.
    fn begin_burst(&mut self, index: u64, now: Instant) {
        let pushed = self.config.sending.bundling.is_some_and(|rule| rule.pushed);
        let ends_here = self.queue.get(index).marks.contains(Marks::BUNDLE_END);
        let count = if pushed && !ends_here {
            let room = self.window.segments.saturating_sub(self.in_flight()).max(1);
            let most = self.most_bundled(self.full_payload());
            self.queue.lost_in_bundle(index, room.min(most))
        } else {
            1
        };
        self.recovery.burst = (count, count);
        self.note_repair_pace(count, index, now);
    }

    /// So many segments from `index` on are about to go again.
    #[inline]
    fn note_repair_pace(&mut self, count: u32, index: u64, now: Instant) {
        if self.has_extras && self.paces() {
            let end = (index + u64::from(count)).min(self.queue.end_index());
            let bytes = (index..end).map(|index| self.queue.get(index).length).sum();
            self.note_pace(bytes, self.full_payload(), now);
        }
    }

    /// The last segment of a burst of several has PSH, and its buffer ends there. Returns whether it is.
    fn end_burst(&mut self, index: u64) -> bool {
        let (left, count) = self.recovery.burst;
        self.recovery.burst.0 = left.saturating_sub(1);
        if left > 1 {
            return false;
        }
        self.queue.end_bundle(index);
        count > 1
    }

    /// A window that has shrunk stops all but the oldest segment, which serves as a probe.
    fn is_within_window(&self, index: u64) -> bool {
        let sequence = self.queue.get(index).sequence;
        let end = self.send.oldest_unacked + self.send.window;
        sequence.is_before(end) || sequence == self.send.oldest_unacked
    }

    /// Sends a lost segment again.
    fn repair(&mut self, index: u64, now: Instant) -> Outgoing {
        self.collapse(index);
        self.cut_to_window(index);
        if self.recovery.is_reducing() {
            self.recovery.reduction.on_sent();
        }
        self.recovery.undo.on_retransmitted(timestamp_at(now));
        let is_oldest = index == self.queue.first_index();
        if is_oldest && self.timers.pending != Pending::Reordering {
            self.timers.pending = Pending::Retransmission;
            let wait = self.rto_within_user_timeout(now) + self.pacing_delay(now);
            self.timers.retransmission.set(now, wait);
        }
        self.retransmit(index, Purpose::Repair, now)
    }

    fn retransmit(&mut self, index: u64, purpose: Purpose, now: Instant) -> Outgoing {
        let marks = self.note_sending(now);
        if self.has_extras {
            self.queue.remark_limited(index, marks);
        }
        let moment = self.recovery.last_sent.advance(now);
        self.queue.on_retransmitted(index, purpose, self.recovery.delivered, moment);
        self.recovery.retransmissions = self.recovery.retransmissions.wrapping_add(1);
        self.send.last_sent = now;
        let sent = *self.queue.get(index);
        self.stats.repeated_bytes += u64::from(sent.length - u32::from(sent.has_fin()));
        if self.judges_by_time() {
            self.recovery.rack.on_retransmitted(sent.sequence, now);
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
        let most = self.most_repaired(sent.sequence);
        if sent.length - u32::from(sent.has_fin()) > most {
            self.cut(index, most);
        }
    }

    /// Payload that may go again from `sequence` on: what the window has room for, beside the SACK
    /// blocks that travel with it.
    #[inline]
    fn most_repaired(&self, sequence: SequenceNumber) -> u32 {
        let end = self.send.oldest_unacked + self.send.window;
        let full = self.full_payload();
        if end.is_after(sequence) { full.min(end.distance_from(sequence)) } else { full }
    }

    #[cold]
    fn cut(&mut self, index: u64, payload: u32) {
        self.queue.cut_at(index, payload);
        self.scoreboard.unsettle(&self.queue);
        self.recovery.rack.reconsider(&self.queue);
        self.recovery.unproven_from = self.queue.first_index();
        // What follows goes apart.
        self.recovery.burst = (1, 1);
    }

    /// Small neighbours travel together, as far as they fit (Linux `tcp_retrans_try_collapse`).
    fn collapse(&mut self, index: u64) {
        if !self.config.collapse_retransmissions {
            return;
        }
        let most = self.most_repaired(self.queue.get(index).sequence);
        while self.queue.collapse_next(index, most) {
            self.scoreboard.on_collapsed(index);
            self.recovery.on_collapsed(index);
        }
    }

    /// New data if there is any that the peer's window has room for, else the last segment again.
    fn send_tail_probe(&mut self, now: Instant) -> Option<Outgoing> {
        if self.has_data_waiting() && (self.budget.is_tail_probe() || self.has_room_for_next()) {
            self.budget.set_override(NagleOverride::Probe);
            let outgoing = self.send_new(now);
            if outgoing.is_some() && !self.budget.has_bundle() {
                self.on_tail_probe_sent(None, now);
            }
            self.recovery.probe.due = self.budget.has_bundle();
            return outgoing;
        }
        self.recovery.probe.due = false;
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
        if self.in_flight() >= self.window.segments || self.waits_for_pace(now) {
            return None;
        }
        let index = self.take_unproven()?;
        Some(self.repair(index, now))
    }

    /// The oldest segment below the highest one known to have arrived (RFC 6675 §4 `NextSeg` rule 3); and once, the
    /// last one that is not known to have arrived (rule 4).
    fn take_unproven(&mut self) -> Option<u64> {
        let end = self.scoreboard.highest(&self.queue)?;
        let mut index = self.recovery.unproven_from.max(self.queue.first_index());
        while index < end {
            index += 1;
            self.recovery.unproven_from = index;
            if self.is_untouched(index - 1) {
                return Some(index - 1);
            }
        }
        if std::mem::replace(&mut self.recovery.rescued, true) {
            return None;
        }
        let last = self.queue.end_index().checked_sub(1)?;
        (last >= end && self.is_untouched(last)).then_some(last)
    }

    fn is_untouched(&self, index: u64) -> bool {
        let marks = self.queue.get(index).marks;
        !marks.contains(Marks::SACKED)
            && !marks.contains(Marks::RETRANSMITTED)
            && !marks.contains(Marks::LOST)
    }
}
