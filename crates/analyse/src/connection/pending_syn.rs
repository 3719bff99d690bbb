//! A SYN on the ports of a connection that is open: a new connection, or nothing?
//!
//! Source: RFC 5961 §4. Whoever has an open connection answers such a SYN by a bare acknowledgment, whatever
//! its number, and the connection goes on; a host that has truly begun anew then resets it and asks again. So
//! only the answer tells: SYN with ACK, or a refusal, is about a new connection. Until it comes the SYN is
//! held back.
//! Memory: [`MOST_HELD`] packets for each connection on which a SYN waits for its answer.

use super::endpoints::Side;
use super::lifecycle::LifecycleEvent;
use fairwind_capture::Packet;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// A SYN that was sent so often without an answer begins a connection.
const MOST_HELD: usize = 8;

/// A packet that is held back.
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
    /// Without an answer it begins a connection: nothing was heard of the old one for long.
    is_new_connection: bool,
    /// As it passed, each time.
    held_packets: Vec<HeldPacket>,
}

/// What a packet of the connection says of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SynVerdict {
    /// Nothing.
    Undecided,
    /// There is a new connection, or there was to be one and it is refused.
    NewConnection,
    /// The old connection goes on.
    Dismissed,
}

impl PendingSyn {
    pub(crate) fn new(held: HeldPacket, is_new_connection: bool) -> Self {
        let (sender, sequence) = (held.side, held.packet.segment.sequence);
        Self { sender, sequence, is_new_connection, held_packets: vec![held] }
    }

    /// Whether a SYN asks the same once more.
    pub(crate) fn matches_syn(&self, side: Side, segment: &Segment) -> bool {
        side == self.sender && segment.sequence == self.sequence
    }

    /// It is asked once more; gives whether that is enough to believe that it is meant.
    pub(crate) fn add_repeat(&mut self, held: HeldPacket) -> bool {
        self.held_packets.push(held);
        self.is_new_connection |= self.held_packets.len() >= MOST_HELD;
        self.held_packets.len() >= MOST_HELD
    }

    /// What a packet that is no such SYN says of it.
    pub(crate) fn on_packet(&mut self, side: Side, segment: &Segment) -> SynVerdict {
        let flags = segment.flags;
        if side == self.sender {
            // Whoever goes on with the old connection, or resets it, has asked for no other.
            return SynVerdict::Dismissed;
        }
        let is_meant = flags.contains(Flags::ACK) && segment.acknowledgment == self.sequence + 1;
        if flags.intersects(Flags::SYN | Flags::RST) {
            return if is_meant { SynVerdict::NewConnection } else { SynVerdict::Undecided };
        }
        // A challenge, or what was on its way. It stays a question: the one who asked may yet reset.
        self.is_new_connection = false;
        SynVerdict::Undecided
    }

    /// What was held back, and whether it begins a connection though nobody has answered.
    pub(crate) fn into_packets(self) -> (Vec<HeldPacket>, bool) {
        (self.held_packets, self.is_new_connection)
    }
}
