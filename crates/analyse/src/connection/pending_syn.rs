//! A SYN on the ports of a connection that is open: a new connection, or nothing?
//!
//! Source: RFC 5961 §4. Whoever has an open connection answers such a SYN by a bare acknowledgment, whatever
//! its number, and the connection goes on; a host that has truly begun anew then resets it and asks again. So
//! only the answer tells: SYN with ACK, or a refusal, is about a new connection. Until it comes the SYN is
//! held back.
//! Memory: [`MOST_HELD`] packets for each connection on which a SYN waits for its answer.

use super::endpoints::Side;
use super::lifecycle::Turn;
use fairwind_capture::Packet;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// A SYN that was sent so often without an answer begins a connection.
const MOST_HELD: usize = 8;

/// A packet that is held back.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) tap: usize,
    pub(crate) at: Instant,
    pub(crate) side: Side,
    pub(crate) turn: Turn,
    pub(crate) packet: Packet,
}

/// A SYN that waits for its answer.
#[derive(Debug)]
pub(crate) struct Question {
    asked_by: Side,
    sequence: SequenceNumber,
    /// Without an answer it begins a connection: nothing was heard of the old one for long.
    is_likely: bool,
    /// As it passed, each time.
    held: Vec<Held>,
}

/// What a packet of the connection says of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Nothing.
    None,
    /// There is a new connection, or there was to be one and it is refused.
    Anew,
    /// The old connection goes on.
    Dismissed,
}

impl Question {
    pub(crate) fn new(held: Held, is_likely: bool) -> Self {
        let (asked_by, sequence) = (held.side, held.packet.segment.sequence);
        Self { asked_by, sequence, is_likely, held: vec![held] }
    }

    /// Whether a SYN asks the same once more.
    pub(crate) fn is_same(&self, side: Side, segment: &Segment) -> bool {
        side == self.asked_by && segment.sequence == self.sequence
    }

    /// It is asked once more; gives whether that is enough to believe that it is meant.
    pub(crate) fn repeat(&mut self, held: Held) -> bool {
        self.held.push(held);
        self.is_likely |= self.held.len() >= MOST_HELD;
        self.held.len() >= MOST_HELD
    }

    /// What a packet that is no such SYN says of it.
    pub(crate) fn answered_by(&mut self, side: Side, segment: &Segment) -> Answer {
        let flags = segment.flags;
        if side == self.asked_by {
            // Whoever goes on with the old connection, or resets it, has asked for no other.
            return Answer::Dismissed;
        }
        let is_meant = flags.contains(Flags::ACK) && segment.acknowledgment == self.sequence + 1;
        if flags.intersects(Flags::SYN | Flags::RST) {
            return if is_meant { Answer::Anew } else { Answer::None };
        }
        // A challenge, or what was on its way. It stays a question: the one who asked may yet reset.
        self.is_likely = false;
        Answer::None
    }

    /// What was held back, and whether it begins a connection though nobody has answered.
    pub(crate) fn settle(self) -> (Vec<Held>, bool) {
        (self.held, self.is_likely)
    }
}
