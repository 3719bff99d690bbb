//! Data: retransmissions first, then what is new (see `new_data`).

use crate::connection::Connection;
use crate::send_queue::{Marks, Sent};
use crate::state::RecoveryState;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    #[inline]
    pub(super) fn send_data(&mut self, now: Instant) -> Option<Segment> {
        if self.queue.awaiting_retransmission() > 0
            && let Some(segment) = self.send_retransmission(now)
        {
            return Some(segment);
        }
        if self.has_run()
            && let Some(segment) = self.send_new(now)
        {
            return Some(segment);
        }
        if self.recovery.state == RecoveryState::Recovery && self.negotiated.sack {
            return self.send_unproven(now);
        }
        None
    }

    /// The oldest lost segment, if the window has room for it (RFC 6675 §4 `NextSeg` rule 1).
    fn send_retransmission(&mut self, now: Instant) -> Option<Segment> {
        if !self.recovery.forced && self.in_flight() >= self.window.segments {
            return None;
        }
        let index = self.queue.next_to_retransmit()?;
        self.recovery.forced = false;
        self.collapse(index);
        Some(self.retransmit(index, now))
    }

    /// With nothing new to send, or none that may go, the oldest segment below the highest one known to have arrived,
    /// though its loss is not proven (RFC 6675 §4 `NextSeg` rule 3).
    fn send_unproven(&mut self, now: Instant) -> Option<Segment> {
        if self.in_flight() >= self.window.segments {
            return None;
        }
        let end = self.scoreboard.highest(&self.queue)?;
        let mut index = self.recovery.unproven_from.max(self.queue.first_index());
        while index < end {
            let marks = self.queue.get(index).marks;
            let untouched = !marks.contains(Marks::SACKED)
                && !marks.contains(Marks::RETRANSMITTED)
                && !marks.contains(Marks::LOST);
            index += 1;
            self.recovery.unproven_from = index;
            if untouched {
                return Some(self.retransmit(index - 1, now));
            }
        }
        None
    }

    /// Small neighbours travel together, as far as they fit (Linux `tcp_retrans_try_collapse`).
    fn collapse(&mut self, index: u64) {
        if !self.config.collapse_retransmissions {
            return;
        }
        while self.queue.collapse_next(index, self.negotiated.segment_bytes) {
            self.scoreboard.on_collapsed(index);
            self.recovery.on_collapsed(index);
        }
    }

    fn retransmit(&mut self, index: u64, now: Instant) -> Segment {
        self.queue.on_retransmitted(index, now);
        if index == self.queue.first_index() {
            self.timers.retransmission = now + self.backoff.timeout;
        }
        let sent = *self.queue.get(index);
        self.segment_of(&sent, now)
    }

    /// The segment that carries what `sent` records.
    #[inline]
    pub(super) fn segment_of(&mut self, sent: &Sent, now: Instant) -> Segment {
        let fin = u32::from(sent.has_fin());
        let mut flags = Flags::NONE;
        if sent.marks.contains(Marks::PUSH) {
            flags |= Flags::PSH;
        }
        if fin > 0 {
            flags |= Flags::FIN;
        }
        self.segment_at(sent.sequence, sent.length - fin, flags, now)
    }
}
