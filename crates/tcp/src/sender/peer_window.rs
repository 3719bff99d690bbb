//! The peer's window (SND.WND).
//!
//! Source: RFC 9293 §3.8.6, RFC 7323 §2.

use crate::sender::Sender;
use fairwind_wire::{Segment, SequenceNumber};

/// The window that the peer offers (SND.WND).
#[derive(Debug, Default)]
pub(crate) struct PeerWindow {
    /// In bytes.
    bytes: u32,
    /// Largest window ever offered.
    largest: u32,
    /// Sequence number of the segment that set the window (SND.WL1).
    set_by: SequenceNumber,
}

impl PeerWindow {
    /// The window of the peer's SYN.
    pub(crate) fn begin(&mut self, bytes: u32) {
        self.bytes = bytes;
        self.largest = 0;
    }

    /// In bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Largest window ever offered.
    #[inline]
    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }

    /// The peer has offered a larger window than before.
    pub(crate) fn set_largest(&mut self, largest: u32) {
        self.largest = largest;
    }

    /// Whether the window of a segment, which acknowledges something new if `advances`, is newer than the
    /// one known (RFC 9293 §3.10.7.4, Linux `tcp_may_update_window`).
    #[inline]
    fn is_newer(&self, sequence: SequenceNumber, window: u32, advances: bool) -> bool {
        advances
            || self.set_by.is_before(sequence)
            || self.set_by == sequence && (window > self.bytes || window == 0)
    }
}

impl Sender {
    /// The window of a segment after the handshake, in bytes.
    #[inline]
    pub(crate) fn scaled_window(&self, segment: &Segment) -> u32 {
        u32::from(segment.window) << self.negotiated.send_shift()
    }

    pub(crate) fn update_send_window(&mut self, segment: &Segment, window: u32) {
        self.peer_window.bytes = window;
        if window > self.peer_window.largest {
            self.on_larger_window(window);
        }
        self.peer_window.set_by = segment.sequence;
    }

    /// Takes the window of a segment that acknowledges more, was sent later than the one that set the
    /// window last, or at the same time and offers more or nothing at all (RFC 9293 §3.10.7.4, Linux
    /// `tcp_may_update_window`). Returns whether it did: then the segment is no duplicate.
    #[inline]
    pub(crate) fn update_window(&mut self, segment: &Segment) -> bool {
        let window = self.scaled_window(segment);
        let advances = segment.acknowledgment.is_after(self.send.oldest_unacked());
        let newer = self.peer_window.is_newer(segment.sequence, window, advances);
        if newer {
            self.update_send_window(segment, window);
        }
        newer
    }

    /// Bytes that the peer's window still has room for.
    #[inline]
    pub(crate) fn usable_window(&self) -> u32 {
        self.peer_window.bytes.saturating_sub(self.send.outstanding())
    }

    /// The least that is worth sending into a small window (RFC 9293 §3.8.6.2.1): a full segment,
    /// or half of the largest window seen, or all there is.
    #[inline]
    pub(crate) fn worthwhile_bytes(&self) -> u32 {
        let full = self.segment_bytes.min((self.peer_window.largest() / 2).max(1));
        u32::try_from(self.written.unsent()).map_or(full, |unsent| full.min(unsent.max(1)))
    }
}
