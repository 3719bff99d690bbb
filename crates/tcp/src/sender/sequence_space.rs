//! Send sequence space (RFC 9293 §3.3.1), the peer's window, and the urgent pointer.
//!
//! Source: RFC 9293 §3.8.6, RFC 7323 §2 (window); RFC 9293 §3.8.5, Linux `tcp_transmit_skb` (urgent
//! data).

use crate::config::ProbeRule;
use crate::sender::Sender;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Send sequence space, and when the sender was active.
#[derive(Debug)]
pub(crate) struct SendSpace {
    /// Oldest unacknowledged number (SND.UNA).
    oldest_unacked: SequenceNumber,
    /// Next number to send (SND.NXT).
    next: SequenceNumber,
    /// Payload bytes acknowledged since the beginning.
    acknowledged_bytes: u64,
    /// Time of the peer's last acknowledgment, new or not.
    last_heard: Instant,
    /// Time of the last data, or of the first opportunity to send data (Linux `lsndtime`).
    last_sent: Instant,
    /// Time of the last segment.
    last_transmitted: Instant,
    /// Initial sequence number (ISS).
    initial: SequenceNumber,
}

impl SendSpace {
    getters! {
        initial: SequenceNumber,
        oldest_unacked: SequenceNumber,
        next: SequenceNumber,
        acknowledged_bytes: u64,
        last_heard: Instant,
        last_sent: Instant,
        last_transmitted: Instant,
    }

    /// Nothing sent; numbers begin with `initial`.
    pub(crate) fn new(initial: SequenceNumber) -> Self {
        Self {
            oldest_unacked: initial,
            next: initial,
            acknowledged_bytes: 0,
            last_heard: Instant::ZERO,
            last_sent: Instant::ZERO,
            last_transmitted: Instant::ZERO,
            initial,
        }
    }

    pub(crate) fn outstanding(&self) -> u32 {
        self.next.distance_from(self.oldest_unacked)
    }

    /// Advances over SYN.
    pub(crate) fn on_syn_sent(&mut self) {
        self.next = self.next.later(self.initial + 1);
    }

    /// Our SYN is acknowledged.
    pub(crate) fn on_syn_acked(&mut self) {
        self.oldest_unacked = self.initial + 1;
    }

    /// Advances over new data up to `end`.
    #[inline]
    pub(crate) fn on_new_data_sent(&mut self, end: SequenceNumber, now: Instant) {
        self.next = end;
        self.last_sent = now;
    }

    /// Records sent data, or the first opportunity to send it.
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    pub(crate) fn on_transmitted(&mut self, now: Instant) {
        self.last_transmitted = now;
    }

    pub(crate) fn on_heard(&mut self, now: Instant) {
        self.last_heard = now;
    }

    /// The peer has acknowledged everything before a number.
    #[inline]
    pub(crate) fn advance(&mut self, acknowledgment: SequenceNumber) {
        let bytes = acknowledgment.distance_from(self.oldest_unacked);
        self.acknowledged_bytes += u64::from(bytes);
        self.oldest_unacked = acknowledgment;
    }

    /// Excludes an acknowledged FIN from the payload count.
    pub(crate) fn discount_fin(&mut self, fin: bool) {
        self.acknowledged_bytes -= u64::from(fin);
    }

    /// Closes the space: nothing is outstanding.
    pub(crate) fn close(&mut self) {
        self.next = self.oldest_unacked;
    }

    /// Stream offset of a number less than 2^31 from SND.UNA.
    pub(crate) fn stream_offset(&self, sequence: SequenceNumber) -> u64 {
        let oldest = self.oldest_unacked;
        let reference = if oldest == self.initial { oldest + 1 } else { oldest };
        if sequence.is_before(reference) {
            self.acknowledged_bytes.saturating_sub(u64::from(reference.distance_from(sequence)))
        } else {
            self.acknowledged_bytes + u64::from(sequence.distance_from(reference))
        }
    }
}

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
    getters! {
        bytes: u32,
        largest: u32,
    }

    /// The window of the peer's SYN.
    pub(crate) fn begin(&mut self, bytes: u32) {
        self.bytes = bytes;
        self.largest = 0;
    }

    /// The peer has offered a larger window than before.
    pub(crate) fn set_largest(&mut self, largest: u32) {
        self.largest = largest;
    }

    /// Whether the window of a segment is newer than the known one (RFC 9293 §3.10.7.4, Linux
    /// `tcp_may_update_window`); `advances` if it acknowledges new data.
    #[inline]
    fn is_newer(&self, sequence: SequenceNumber, window: u32, advances: bool) -> bool {
        advances
            || self.set_by.is_before(sequence)
            || self.set_by == sequence && (window > self.bytes || window == 0)
    }
}

impl Sender {
    /// The window of a segment after the handshake, in bytes.
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

    /// Adopts the window of a segment that acknowledges more, was sent after the segment of the last
    /// update, or was sent together with it and offers more or nothing (RFC 9293 §3.10.7.4, Linux
    /// `tcp_may_update_window`). Returns whether it did; then the segment is no duplicate.
    #[inline]
    pub(crate) fn update_window(&mut self, segment: &Segment) -> bool {
        let window = self.scaled_window(segment);
        let advances = segment.acknowledgment.is_after(self.send.oldest_unacked());
        let newer = self.peer_window.is_newer(segment.sequence, window, advances);
        if newer {
            let before = self.peer_window.bytes();
            self.update_send_window(segment, window);
            // Data that the window held may be stale after idle time (Linux `tcp_ack_update_window`; others
            // count idle time from received data).
            if window != before
                && self.written.unsent() > 0
                && self.config.liveness.probe_rule == ProbeRule::Linux
            {
                self.budget.note_resume(self.queue.is_empty());
            }
        }
        newer
    }

    /// Bytes that the peer's window still has room for.
    pub(crate) fn usable_window(&self) -> u32 {
        self.peer_window.bytes.saturating_sub(self.send.outstanding())
    }

    /// Minimum useful amount for a small window (RFC 9293 §3.8.6.2.1): a full segment, half of the
    /// largest window, or everything.
    #[inline]
    pub(crate) fn worthwhile_bytes(&self) -> u32 {
        let full = self.segment_bytes.min((self.peer_window.largest() / 2).max(1));
        u32::try_from(self.written.unsent()).map_or(full, |unsent| full.min(unsent.max(1)))
    }
}

/// Furthest that an urgent pointer reaches.
const REACH: u32 = 0xffff;

/// The urgent pointer (SND.UP).
#[derive(Debug, Default)]
pub(crate) struct UrgentPointer {
    /// End of the urgent data, until it is acknowledged.
    end: Option<SequenceNumber>,
}

impl UrgentPointer {
    pub(crate) fn is_set(&self) -> bool {
        self.end.is_some()
    }

    /// Urgent data ends at this number.
    pub(crate) fn set(&mut self, end: SequenceNumber) {
        self.end = Some(end);
    }

    /// Forgets acknowledged urgent data.
    #[cold]
    pub(crate) fn forget_acked(&mut self, oldest_unacked: SequenceNumber) {
        if self.end.is_some_and(|end| end.is_at_or_before(oldest_unacked)) {
            self.end = None;
        }
    }
}

impl Sender {
    pub(crate) fn has_urgent_data(&self) -> bool {
        self.urgent.is_set()
    }

    /// Sets the urgent pointer of a segment before the end of the urgent data: to that end, or as
    /// far as it reaches.
    #[cold]
    pub(crate) fn mark_urgent(&self, segment: &mut Segment) {
        let Some(end) = self.urgent.end else { return };
        if !segment.sequence.is_before(end) {
            return;
        }
        segment.urgent = match u16::try_from(end.distance_from(segment.sequence)) {
            Ok(distance) => distance,
            Err(_) if (segment.sequence + REACH).is_after(self.send.next()) => u16::MAX,
            Err(_) => return,
        };
        segment.flags |= Flags::URG;
    }

    pub(crate) fn written_end(&self) -> SequenceNumber {
        let first = if self.send.next() == self.send.initial() {
            self.send.next() + 1
        } else {
            self.send.next()
        };
        first + u32::try_from(self.written.unsent() & u64::from(u32::MAX)).unwrap_or(0)
    }
}
