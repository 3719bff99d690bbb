//! A SYN on the ports of an open connection: a new connection, or a stray segment (RFC 5961 §4).
//!
//! A host with an open connection answers such a SYN with a challenge ACK, whatever its number, and the
//! connection goes on. A host that has really restarted then resets the connection and sends its SYN again. So
//! only the answer decides: a SYN-ACK or a refusal belongs to a new connection. The SYN is held until then.
//! Memory: [`MOST_HELD`] packets for each connection with a pending SYN.

use super::endpoints::Side;
use super::lifecycle::LifecycleEvent;
use fairwind_capture::Packet;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// A SYN repeated so often without an answer begins a connection.
const MOST_HELD: usize = 8;

/// A packet that waits for a decision.
#[derive(Debug, Clone)]
pub(crate) struct HeldPacket {
    pub(crate) tap: usize,
    pub(crate) at: Instant,
    pub(crate) side: Side,
    pub(crate) event: LifecycleEvent,
    pub(crate) packet: Packet,
}

/// A SYN that waits for its answer.
#[derive(Debug)]
pub(crate) struct PendingSyn {
    sender: Side,
    sequence: SequenceNumber,
    /// Whether it begins a connection if nobody answers: the old one was silent for long.
    is_new_connection: bool,
    /// All its transmissions.
    held_packets: Vec<HeldPacket>,
}

/// What a packet says about a pending SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SynVerdict {
    /// Nothing.
    Undecided,
    /// It began a new connection, or was refused.
    NewConnection,
    /// The old connection goes on.
    Dismissed,
}

impl PendingSyn {
    pub(crate) fn new(held: HeldPacket, is_new_connection: bool) -> Self {
        let (sender, sequence) = (held.side, held.packet.segment.sequence);
        Self { sender, sequence, is_new_connection, held_packets: vec![held] }
    }

    /// Whether a segment repeats the SYN.
    pub(crate) fn matches_syn(&self, side: Side, segment: &Segment) -> bool {
        side == self.sender && segment.sequence == self.sequence
    }

    /// Adds a repetition; returns whether the SYN now begins a connection.
    pub(crate) fn add_repeat(&mut self, held: HeldPacket) -> bool {
        self.held_packets.push(held);
        self.is_new_connection |= self.held_packets.len() >= MOST_HELD;
        self.held_packets.len() >= MOST_HELD
    }

    /// Takes a packet of the connection that is not this SYN.
    pub(crate) fn on_packet(&mut self, side: Side, segment: &Segment) -> SynVerdict {
        let flags = segment.flags;
        if side == self.sender {
            // The sender goes on with the old connection or resets it.
            return SynVerdict::Dismissed;
        }
        let is_meant = flags.contains(Flags::ACK) && segment.acknowledgment == self.sequence + 1;
        if flags.intersects(Flags::SYN | Flags::RST) {
            return if is_meant { SynVerdict::NewConnection } else { SynVerdict::Undecided };
        }
        // A challenge ACK, or a packet that was under way. The sender of the SYN may still reset.
        self.is_new_connection = false;
        SynVerdict::Undecided
    }

    /// The held packets, and whether they begin a connection without an answer.
    pub(crate) fn into_packets(self) -> (Vec<HeldPacket>, bool) {
        (self.held_packets, self.is_new_connection)
    }
}
