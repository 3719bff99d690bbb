//! What is remembered of one transmitted segment, and what an acknowledgment takes off.

use crate::sender::Outgoing;
use crate::sender::loss::Moment;
use fairwind_units::Instant;
use fairwind_wire::{Flags, SequenceNumber};

/// Marks of one transmitted segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    /// Selectively acknowledged.
    pub(crate) const SACKED: Self = Self(1);
    /// Believed lost.
    pub(crate) const LOST: Self = Self(2);
    /// Retransmitted, and that retransmission is believed to be under way.
    pub(crate) const RETRANSMITTED: Self = Self(4);
    /// Those that are counted.
    pub(super) const COUNTED: Self = Self(Self::SACKED.0 | Self::LOST.0 | Self::RETRANSMITTED.0);
    /// Ends with FIN, which takes the last place of its length.
    pub(crate) const FIN: Self = Self(8);
    /// Ended what the application had written (PSH).
    pub(crate) const PUSH: Self = Self(16);
    /// Found lost by its age, which therefore is not looked at again before it is retransmitted.
    pub(crate) const JUDGED: Self = Self(32);
    /// Sent while the application was what limited the sender.
    pub(crate) const APPLICATION_LIMITED: Self = Self(64);
    /// Was the last of a bundle, that is, of a buffer of the host's.
    pub(crate) const BUNDLE_END: Self = Self(128);

    #[inline]
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The control bits of a segment that is sent with these marks.
    #[inline]
    pub(crate) fn flags(self) -> Flags {
        let push = if self.contains(Self::PUSH) { Flags::PSH } else { Flags::NONE };
        if self.contains(Self::FIN) { push | Flags::FIN } else { push }
    }

    /// Of these marks, those that are counted.
    pub(crate) const fn counted(self) -> u8 {
        self.0 & Self::COUNTED.0
    }

    #[inline]
    pub(crate) fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[inline]
    pub(crate) fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// One transmitted segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) sequence: SequenceNumber,
    /// Sequence space taken: payload, and one for FIN.
    pub(crate) length: u32,
    /// When it was sent last.
    pub(crate) transmitted_at: Instant,
    /// Segments delivered since the beginning when it was sent last, modulo 2^32.
    pub(crate) delivered_before: u32,
    /// Place of that transmission among those of the same instant.
    pub(crate) rank: u16,
    /// How often it was sent, saturating.
    pub(crate) transmissions: u8,
    pub(crate) marks: Marks,
}

impl Sent {
    #[inline]
    pub(crate) fn end(&self) -> SequenceNumber {
        self.sequence + self.length
    }

    /// Forgets what lies below `acknowledged`.
    #[inline]
    pub(super) fn cut(&mut self, acknowledged: SequenceNumber) {
        if acknowledged.is_after(self.sequence) {
            self.length = self.end().distance_from(acknowledged);
            self.sequence = acknowledged;
        }
    }

    #[inline]
    pub(crate) fn has_fin(&self) -> bool {
        self.marks.contains(Marks::FIN)
    }

    /// The segment that carries it.
    #[inline]
    pub(crate) fn outgoing(&self) -> Outgoing {
        let payload = self.length - u32::from(self.has_fin());
        Outgoing::new(self.sequence, payload, self.marks.flags())
    }

    /// When it was sent last.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        Moment { at: self.transmitted_at, rank: self.rank }
    }

    /// Whether it was ever sent again.
    #[inline]
    pub(crate) fn is_retransmitted(&self) -> bool {
        self.transmissions > 1
    }
}

/// How many segments an acknowledgment took off the queue, and what they tell about round trips.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    /// Segments wholly acknowledged.
    pub(crate) segments: u32,
    /// Of these, segments not selectively acknowledged before.
    pub(crate) newly_delivered: u32,
    /// The oldest of those that were sent once and not selectively acknowledged before.
    pub(crate) first_original: Option<Original>,
    /// When the youngest of those was sent.
    pub(crate) last_original_at: Option<Instant>,
    /// Whether one of the segments had been retransmitted.
    pub(crate) retransmitted: bool,
    /// Whether FIN was among them.
    pub(crate) fin: bool,
    /// Whether the oldest segment left over had been selectively acknowledged: the receiver must
    /// have dropped it, or else it would be covered.
    pub(crate) reneged: bool,
    /// Payload of a full segment of the bundle that was acknowledged in part, to be cut anew.
    pub(crate) cut: Option<u32>,
}

/// A segment that was sent once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Original {
    pub(crate) sequence: SequenceNumber,
    pub(crate) end: SequenceNumber,
    pub(crate) transmitted_at: Instant,
}
