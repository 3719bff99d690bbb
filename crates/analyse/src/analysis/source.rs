//! Where packets come from.

use crate::connection::Side;
use fairwind_capture::{Location, Notes, Packet};

/// What a source has next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPacket {
    /// A packet, which has been put where it was asked for.
    Packet,
    /// Nothing now, but more may come.
    Wait,
    /// Nothing any more.
    End,
}

/// Frames that a source has read, and those of them that are no TCP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// All of them.
    pub all: u64,
    /// IP packets of another protocol.
    pub other_protocols: u64,
    /// Frames without an IP packet.
    pub not_ip: u64,
    /// Fragments without a TCP header.
    pub fragments: u64,
    /// Payload bytes of datagrams in these.
    pub fragment_bytes: u64,
    /// Frames of link types that are not read.
    pub unknown_links: u64,
    /// Frames whose kept bytes end before the TCP header does.
    pub cut_short: u64,
    /// TCP packets that were not asked for.
    pub filtered: u64,
    /// Frames whose headers cannot be what they say.
    pub malformed: u64,
}

/// Packets of one tap, in the order in which they were captured.
pub trait PacketSource {
    /// Puts the next packet into `packet`.
    fn next(&mut self, packet: &mut Packet) -> NextPacket;

    /// The same packets from the first one to the last one that there is now, to be looked at beforehand;
    /// `None` where they can be read once only.
    fn reopen(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Whether the next packet, if there is one, can be had without waiting for it.
    fn is_ready(&self) -> bool {
        true
    }

    /// Where the last packet stands.
    fn place(&self) -> Option<Location> {
        None
    }

    /// What was odd so far.
    fn notes(&self) -> Notes {
        Notes::NONE
    }

    /// What was read so far.
    fn frames(&self) -> FrameCounts {
        FrameCounts::default()
    }

    /// Whether a program of this project captured it, so that two sources of one run have one clock, which
    /// counts from the beginning of the run.
    fn is_own_capture(&self) -> bool {
        false
    }

    /// Which side of every connection the tap is near, where that is said.
    fn near(&self) -> Option<Side> {
        None
    }
}
