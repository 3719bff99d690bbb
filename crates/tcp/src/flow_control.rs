//! Windows: what the peer offers to us, and what we offer to the peer.
//!
//! Source: RFC 9293 §3.8.6, RFC 7323 §2, RFC 1122 §4.2.3.3 (silly windows).

use crate::connection::Connection;
use fairwind_wire::Segment;

impl Connection {
    /// The window of a segment after the handshake, in bytes.
    #[inline]
    pub(crate) fn scaled_window(&self, segment: &Segment) -> u32 {
        u32::from(segment.window) << self.negotiated.send_shift
    }

    pub(crate) fn update_send_window(&mut self, segment: &Segment, window: u32) {
        self.send.window = window;
        if window > self.send.largest_window {
            self.on_larger_window(window);
        }
        self.send.window_set_by = segment.sequence;
        self.send.window_set_at = segment.acknowledgment;
    }

    /// Takes the window of a segment unless the segment is older than the one that set it last
    /// (RFC 9293 §3.10.7.4, SND.WL1 and SND.WL2). Returns whether the window changed.
    #[inline]
    pub(crate) fn follow_window(&mut self, segment: &Segment) -> bool {
        let send = &self.send;
        let newer = send.window_set_by.is_before(segment.sequence)
            || send.window_set_by == segment.sequence
                && send.window_set_at.is_at_or_before(segment.acknowledgment);
        if !newer {
            return false;
        }
        let window = self.scaled_window(segment);
        let changed = window != self.send.window;
        self.update_send_window(segment, window);
        changed
    }

    /// Bytes that the peer's window still has room for.
    #[inline]
    pub(crate) fn usable_window(&self) -> u32 {
        let in_use = self.send.next.distance_from(self.send.oldest_unacked);
        self.send.window.saturating_sub(in_use)
    }

    /// The least that is worth sending into a small window (RFC 9293 §3.8.6.2.1): a full segment,
    /// or half of the largest window seen, or all there is.
    #[inline]
    pub(crate) fn worthwhile_bytes(&self) -> u32 {
        let full = self.negotiated.segment_bytes.min((self.send.largest_window / 2).max(1));
        u32::try_from(self.queue.unsent).map_or(full, |unsent| full.min(unsent.max(1)))
    }

    /// Room up to the furthest number that was ever offered.
    #[inline]
    pub(crate) fn offered_window(&self) -> u32 {
        self.receive.offered.distance_from(self.receive.next)
    }

    /// What is left of the window announced last.
    #[inline]
    pub(crate) fn announced_window(&self) -> u32 {
        if self.receive.announced.is_after(self.receive.next) {
            self.receive.announced.distance_from(self.receive.next)
        } else {
            0
        }
    }

    /// Chooses the window field of a segment and remembers the offer. The right edge moves forward
    /// only by a worthwhile step (RFC 9293 §3.8.6.2.2); it moves back by less than a unit of the
    /// window field, where rounding up would offer more than is free. What was offered before is
    /// taken all the same (RFC 7323 §2.4).
    #[inline]
    pub(crate) fn choose_window(&mut self) -> u16 {
        let shift = self.negotiated.receive_shift;
        let free = self.free_units();
        let field = if self.is_worth_announcing(free << shift) {
            free
        } else {
            self.announced_window().div_ceil(1 << shift).min(free)
        };
        let field = field.min(u32::from(u16::MAX));
        self.receive.announced = self.receive.next + (field << shift);
        self.receive.offered = self.receive.offered.later(self.receive.announced);
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// Free space of the receive buffer in units of the window field.
    #[inline]
    fn free_units(&self) -> u32 {
        let free = self.config.receive_buffer.saturating_sub(self.receive.unread);
        free >> self.negotiated.receive_shift
    }

    /// Whether a window of `bytes` is enough larger than the one announced.
    #[inline]
    fn is_worth_announcing(&self, bytes: u32) -> bool {
        let step = (self.config.receive_buffer / 2).min(u32::from(self.config.mss)).max(1);
        bytes >= self.announced_window().saturating_add(step)
    }

    /// After the application has read: a window that was all but closed is announced anew.
    #[inline]
    pub(crate) fn announce_window_if_opened(&mut self) {
        if self.announced_window() > u32::from(self.config.mss) * 2 {
            return;
        }
        let free = self.free_units() << self.negotiated.receive_shift;
        if self.state.may_receive() && self.is_worth_announcing(free) {
            self.acknowledger.now = true;
        }
    }
}
