//! The window that the peer offers to us.
//!
//! Source: RFC 9293 §3.8.6, RFC 7323 §2.

use crate::sender::Sender;
use fairwind_wire::Segment;

impl Sender {
    /// The window of a segment after the handshake, in bytes.
    #[inline]
    pub(crate) fn scaled_window(&self, segment: &Segment) -> u32 {
        u32::from(segment.window) << self.negotiated.send_shift()
    }

    pub(crate) fn update_send_window(&mut self, segment: &Segment, window: u32) {
        self.send.window = window;
        if window > self.send.largest_window {
            self.on_larger_window(window);
        }
        self.send.window_set_by = segment.sequence;
    }

    /// Takes the window of a segment that acknowledges more, was sent later than the one that set the
    /// window last, or at the same time and offers more or nothing at all (RFC 9293 §3.10.7.4, Linux
    /// `tcp_may_update_window`). Returns whether it did: then the segment is no duplicate.
    #[inline]
    pub(crate) fn update_window(&mut self, segment: &Segment) -> bool {
        let window = self.scaled_window(segment);
        let newer = self.may_update_window(segment, window);
        if newer {
            self.update_send_window(segment, window);
        }
        newer
    }

    /// Whether the window of a segment is newer than the one known.
    #[inline]
    pub(crate) fn may_update_window(&self, segment: &Segment, window: u32) -> bool {
        let send = &self.send;
        segment.acknowledgment.is_after(send.oldest_unacked)
            || send.window_set_by.is_before(segment.sequence)
            || send.window_set_by == segment.sequence && (window > send.window || window == 0)
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
        let full = self.segment_bytes.min((self.send.largest_window / 2).max(1));
        u32::try_from(self.queue.unsent).map_or(full, |unsent| full.min(unsent.max(1)))
    }
}
