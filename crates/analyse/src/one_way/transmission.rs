//! One packet with payload, from its departure on: which bytes it carried, and which of them have come.

use fairwind_capture::Packet;
use fairwind_units::Instant;

/// What tells the copies of a range apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    /// `TSval` (RFC 7323 §3.2).
    pub(super) stamp: Option<u32>,
    /// Identification of the IPv4 header.
    pub(super) identification: Option<u16>,
}

impl Mark {
    #[inline]
    pub(super) fn of(packet: &Packet) -> Self {
        Self {
            stamp: packet.segment.options.timestamps.map(|stamps| stamps.value),
            identification: packet.identification,
        }
    }

    /// Whether both have a time stamp, and different ones.
    #[inline]
    pub(super) fn differs_in_stamp(self, other: Self) -> bool {
        matches!((self.stamp, other.stamp), (Some(one), Some(two)) if one != two)
    }
}

/// Which sending of its bytes a packet was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copy {
    /// Some of its bytes are new; old ones before them are a bundle (RDB).
    First,
    /// All of its bytes had been sent before: their so manieth retransmission.
    Again(u8),
}

/// Bytes on their way, in stream places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) start: u64,
    pub(super) end: u64,
    /// From here on nothing of it has arrived.
    pub(super) arrived_to: u64,
    pub(super) at: Instant,
    /// Its number among the packets of its group that left at the same tap.
    pub(super) ticket: u64,
    /// Its number among the transmissions of its passage.
    pub(super) order: u32,
    pub(super) wire_bytes: u32,
    /// Bytes before `arrived_to` that have not arrived.
    pub(super) gap_bytes: u32,
    /// Bytes at its beginning that had been sent before.
    pub(super) old_bytes: u32,
    pub(super) mark: Mark,
    pub(super) copy: Copy,
    /// How often its new bytes were sent again.
    pub(super) repeats: u8,
    /// Its fate is known; it is kept for the instant at which its bytes were first sent.
    pub(super) is_judged: bool,
}

impl Transmission {
    /// Bytes that have not arrived.
    #[inline]
    pub(super) fn missing_bytes(&self) -> u64 {
        (self.end - self.arrived_to) + u64::from(self.gap_bytes)
    }

    /// Whether nothing of it has arrived.
    #[inline]
    pub(super) const fn is_untouched(&self) -> bool {
        self.arrived_to == self.start
    }

    #[inline]
    pub(super) const fn payload_bytes(&self) -> u64 {
        self.end - self.start
    }

    /// The first of its bytes that had not been sent before.
    #[inline]
    pub(super) fn new_from(&self) -> u64 {
        self.start + u64::from(self.old_bytes)
    }

    /// Whether it carries old bytes before new ones.
    #[inline]
    pub(super) fn is_bundle(&self) -> bool {
        self.copy == Copy::First && self.old_bytes > 0
    }
}

/// What has come of one transmission in one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The transmission, as it was when this came.
    pub(super) of: Transmission,
    /// Nothing of the transmission is missing now.
    pub(super) is_whole: bool,
}

/// What one transmission has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) at: Instant,
    pub(super) ticket: u64,
    /// Place of the first byte that did not arrive.
    pub(super) start: u64,
    /// Nothing of it arrived.
    pub(super) is_whole: bool,
    /// Bytes that did not arrive.
    pub(super) payload_bytes: u64,
    /// Those of them that had not been sent before.
    pub(super) new_bytes: u64,
    /// Into how many packets the network had cut them.
    pub(super) ranges: u64,
    /// What each of these had beside its payload.
    pub(super) header_bytes: u64,
    /// It is a bundle, whose old bytes were lost with it.
    pub(super) is_bundle: bool,
}
