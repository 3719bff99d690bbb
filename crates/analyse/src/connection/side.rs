//! The two sides of a connection, and what each has sent.

use fairwind_capture::Packet;
use fairwind_wire::Flags;

/// One side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The side that asked for the connection (the first SYN).
    Opener,
    /// The side that answered.
    Answerer,
}

impl Side {
    /// Its place in pairs.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Opener => 0,
            Self::Answerer => 1,
        }
    }

    /// The side at the other end.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Answerer,
            Self::Answerer => Self::Opener,
        }
    }

    /// The side as it stands in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opener => "opener",
            Self::Answerer => "answerer",
        }
    }
}

/// What one side has sent, as counted at one tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sent {
    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) data_packets: u64,
    pub(crate) payload_bytes: u64,
    /// Packets that carry neither payload nor SYN, FIN or RST.
    pub(crate) bare_acknowledgments: u64,
    pub(crate) largest_payload_bytes: u32,
    /// Every flag that was set in some packet.
    pub(crate) flags: Flags,
    /// Of its first packet.
    pub(crate) hop_limit: u8,
}

const MARKS: Flags = Flags::from_bits(Flags::SYN.bits() | Flags::FIN.bits() | Flags::RST.bits());

impl Sent {
    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet) {
        let segment = &packet.segment;
        if self.packets == 0 {
            self.hop_limit = packet.hop_limit;
        }
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_bytes);
        self.flags |= segment.flags;
        if segment.payload_bytes > 0 {
            self.data_packets += 1;
            self.payload_bytes += u64::from(segment.payload_bytes);
            self.largest_payload_bytes = self.largest_payload_bytes.max(segment.payload_bytes);
        } else if !segment.flags.intersects(MARKS) {
            self.bare_acknowledgments += 1;
        }
    }
}
