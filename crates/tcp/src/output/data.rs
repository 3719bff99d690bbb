//! Data: retransmissions first, then what is new, as far as both windows allow.

use crate::config::Nagle;
use crate::connection::Connection;
use crate::send_queue::{Marks, Sent};
use crate::state::{RecoveryState, State};
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
        if (self.queue.unsent > 0 || self.queue.fin_waiting)
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
    fn segment_of(&mut self, sent: &Sent, now: Instant) -> Segment {
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

    /// New data, if the congestion window, the peer's window and Nagle's rule allow.
    #[inline]
    fn send_new(&mut self, now: Instant) -> Option<Segment> {
        if self.in_flight_for_new_data() >= self.window.segments {
            self.note_usage(true, now);
            return None;
        }
        let bytes = self.sendable_bytes(now)?;
        if self.queue.is_empty() {
            // With nothing outstanding a segment may go whatever the window falls to.
            self.end_idle(now);
        }
        let remaining = self.queue.unsent - u64::from(bytes);
        let with_fin = self.queue.fin_waiting && remaining == 0 && self.fin_fits_behind(bytes);
        let segment = self.transmit(bytes, remaining == 0, with_fin, now);
        let limited = self.in_flight() >= self.window.segments;
        self.note_usage(limited, now);
        Some(segment)
    }

    /// Payload bytes of a full-sized segment as of now: SACK blocks travel with new data, and take
    /// their share of it.
    #[inline]
    fn full_payload(&self) -> u32 {
        if self.reassembly.is_empty() {
            return self.negotiated.segment_bytes;
        }
        let blocks = self.reassembly.sack_blocks(self.negotiated.sack_room(0)).as_slice().len();
        self.negotiated.segment_bytes_beside(blocks)
    }

    /// Payload bytes of the next new segment; 0 for a FIN alone, `None` where it must wait.
    #[inline]
    fn sendable_bytes(&mut self, now: Instant) -> Option<u32> {
        let full = self.full_payload();
        let available = u32::try_from(self.queue.unsent).unwrap_or(u32::MAX).min(full);
        let usable = self.usable_window();
        let bytes = available.min(usable);
        if bytes == full {
            return Some(bytes);
        }
        if available == 0 {
            return self.fin_fits_behind(0).then_some(0);
        }
        if bytes > 0 && std::mem::take(&mut self.small_window_overridden) {
            return Some(bytes);
        }
        if bytes < available && bytes < self.worthwhile_bytes() {
            // A closed or silly window: nothing is out whose ACK could open it, so probe.
            if self.queue.is_empty() && self.timers.persist == Instant::MAX {
                self.arm_persist(now);
            }
            return None;
        }
        if self.waits_by_nagle() { None } else { Some(bytes) }
    }

    /// Whether the peer's window has room for FIN after `bytes` bytes. Alone and with nothing
    /// outstanding it goes into a closed window too: its repetitions then are the probes.
    #[inline]
    fn fin_fits_behind(&self, bytes: u32) -> bool {
        self.usable_window() > bytes || bytes == 0 && self.queue.is_empty()
    }

    /// Whether a segment that is not full-sized has to wait (RFC 896).
    #[inline]
    fn waits_by_nagle(&self) -> bool {
        if self.queue.fin_waiting {
            return false;
        }
        match self.config.nagle {
            Nagle::Off => false,
            Nagle::Classic => !self.queue.is_empty(),
            Nagle::Minshall => !self.queue.is_empty() && self.is_small_outstanding(),
        }
    }

    /// Whether the last small segment is not acknowledged. One sent 2^31 bytes ago and more seems to
    /// lie ahead of all that was sent.
    #[inline]
    fn is_small_outstanding(&self) -> bool {
        let small_end = self.send.small_end;
        small_end.is_after(self.send.oldest_unacked) && small_end.is_at_or_before(self.send.next)
    }

    #[inline]
    fn transmit(&mut self, bytes: u32, pushes: bool, with_fin: bool, now: Instant) -> Segment {
        let mut marks = Marks::default();
        if pushes && bytes > 0 {
            marks.set(Marks::PUSH);
        }
        if with_fin {
            marks.set(Marks::FIN);
            self.queue.fin_waiting = false;
        }
        let sent = Sent {
            sequence: self.send.next,
            length: bytes + u32::from(with_fin),
            transmitted_at: now,
            transmissions: 1,
            marks,
        };
        // Before the handshake is over, the timer is the SYN-ACK's (Linux `tcp_rearm_rto`).
        if self.timers.retransmission == Instant::MAX
            || self.queue.is_empty() && self.state != State::SynReceived
        {
            self.timers.retransmission = now + self.backoff.timeout;
        }
        self.queue.push(sent);
        self.queue.unsent -= u64::from(bytes);
        self.send.next = sent.end();
        self.send.last_sent = now;
        self.acknowledger.on_data_sent(now);
        if bytes < self.full_payload() {
            self.send.small_end = self.send.next;
        }
        self.segment_of(&sent, now)
    }

    /// Sending resumes with nothing in flight: the window may have gone stale (RFC 5681 §4.1).
    fn end_idle(&mut self, now: Instant) {
        let last = self.send.last_sent;
        if last == Instant::ZERO || last == now {
            return;
        }
        let idle = now.saturating_since(last);
        self.usage.restart(&self.config, &mut self.window, idle, self.backoff.timeout, now);
        self.congestion.on_idle_end(last, now);
    }

    #[inline]
    fn note_usage(&mut self, limited: bool, now: Instant) {
        let (oldest, next) = (self.send.oldest_unacked, self.send.next);
        self.usage.note(limited, self.queue.outstanding(), oldest, next);
        let open = self.recovery.state == RecoveryState::Open;
        let timeout = self.backoff.timeout;
        self.usage.validate(&self.config, &mut self.window, &self.queue, open, timeout, now);
    }
}
