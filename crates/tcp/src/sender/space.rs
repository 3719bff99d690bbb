//! Send sequence space (RFC 9293 §3.3.1).

use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Send sequence space, and when the sender was active.
#[derive(Debug)]
pub(crate) struct SendSpace {
    /// Oldest unacknowledged number (SND.UNA).
    oldest_unacked: SequenceNumber,
    /// Next number to send (SND.NXT).
    next: SequenceNumber,
    /// Payload bytes acknowledged since the beginning.
    acknowledged_bytes: u64,
    /// When the peer acknowledged last, new data or not.
    last_heard: Instant,
    /// When data was sent last, or else could be sent first (Linux `lsndtime`).
    last_sent: Instant,
    /// When anything was sent last.
    last_transmitted: Instant,
    /// Initial sequence number (ISS).
    initial: SequenceNumber,
}

impl SendSpace {
    /// Nothing sent yet; numbers begin with `initial`.
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

    /// Initial sequence number (ISS).
    #[inline]
    pub(crate) fn initial(&self) -> SequenceNumber {
        self.initial
    }

    /// Oldest unacknowledged number (SND.UNA).
    #[inline]
    pub(crate) fn oldest_unacked(&self) -> SequenceNumber {
        self.oldest_unacked
    }

    /// Next number to send (SND.NXT).
    #[inline]
    pub(crate) fn next(&self) -> SequenceNumber {
        self.next
    }

    /// Sequence space that is outstanding.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.next.distance_from(self.oldest_unacked)
    }

    /// Payload bytes acknowledged since the beginning.
    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged_bytes
    }

    /// When the peer acknowledged last, new data or not.
    pub(crate) fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// When data was sent last, or else could be sent first.
    #[inline]
    pub(crate) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// When anything was sent last.
    #[inline]
    pub(crate) fn last_transmitted(&self) -> Instant {
        self.last_transmitted
    }

    /// SYN goes out.
    pub(crate) fn on_syn_sent(&mut self) {
        self.next = self.next.later(self.initial + 1);
    }

    /// Our SYN is acknowledged.
    pub(crate) fn on_syn_acked(&mut self) {
        self.oldest_unacked = self.initial + 1;
    }

    /// New data goes out, up to `end`.
    #[inline]
    pub(crate) fn on_new_data_sent(&mut self, end: SequenceNumber, now: Instant) {
        self.next = end;
        self.last_sent = now;
    }

    /// Data goes out, or could go out for the first time.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    /// A segment goes out.
    #[inline]
    pub(crate) fn on_transmitted(&mut self, now: Instant) {
        self.last_transmitted = now;
    }

    /// The peer has acknowledged something, new or not.
    #[inline]
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

    /// FIN was acknowledged, which is no payload.
    #[inline]
    pub(crate) fn discount_fin(&mut self, fin: bool) {
        self.acknowledged_bytes -= u64::from(fin);
    }

    /// The connection is closed: nothing is outstanding.
    pub(crate) fn close(&mut self) {
        self.next = self.oldest_unacked;
    }

    /// Stream offset of a number, less than 2^31 from the oldest unacknowledged one.
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
