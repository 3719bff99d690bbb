//! Urgent data on the sending side (RFC 9293 §3.8.5; Linux `tcp_transmit_skb`).

use crate::sender::Sender;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Furthest that an urgent pointer reaches.
const REACH: u32 = 0xffff;

/// The urgent pointer (SND.UP).
#[derive(Debug, Default)]
pub(crate) struct UrgentPointer {
    /// Number after the last byte of urgent data, until that is acknowledged.
    end: Option<SequenceNumber>,
}

impl UrgentPointer {
    /// Whether urgent data waits or is outstanding.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.end.is_some()
    }

    /// Urgent data ends at this number.
    pub(crate) fn set(&mut self, end: SequenceNumber) {
        self.end = Some(end);
    }

    /// Urgent data that has been acknowledged is no longer urgent.
    #[cold]
    pub(crate) fn forget_acked(&mut self, oldest_unacked: SequenceNumber) {
        if self.end.is_some_and(|end| end.is_at_or_before(oldest_unacked)) {
            self.end = None;
        }
    }
}

impl Sender {
    /// Whether urgent data waits or is outstanding.
    #[inline]
    pub(crate) fn has_urgent_data(&self) -> bool {
        self.urgent.is_set()
    }

    /// Sets the urgent pointer of a segment that lies before the end of the urgent data: to the
    /// number after its last byte, or as far as it reaches.
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

    /// Number after the last byte written.
    pub(crate) fn end_of_written(&self) -> SequenceNumber {
        let first = if self.send.next() == self.send.initial() {
            self.send.next() + 1
        } else {
            self.send.next()
        };
        first + u32::try_from(self.written.unsent() & u64::from(u32::MAX)).unwrap_or(0)
    }
}
