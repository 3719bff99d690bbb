//! One TCP packet, as far as a frame tells.

use fairwind_units::Instant;
use fairwind_wire::Segment;
use fairwind_wire::bytes::Addresses;

/// One TCP packet found in a frame.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// When it was captured, since 1970.
    pub at: Instant,
    /// Number of its frame in the input.
    pub number: u64,
    /// Bytes of the frame on the link, its header included: what `measure` calls bytes on the wire.
    pub wire_bytes: u32,
    /// Who sent it to whom.
    pub addresses: Addresses,
    /// The identification of the IPv4 header; `None` for IPv6. It tells copies of a packet from
    /// retransmissions.
    pub identification: Option<u16>,
    /// Time to live, or hop limit.
    pub hop_limit: u8,
    /// Its TCP header; the payload's length is what the IP header says, not what was captured.
    pub segment: Segment,
}

/// What is in a frame.
#[derive(Debug, Clone, Copy)]
pub enum Decoded {
    /// A TCP packet, its whole header included.
    Tcp(Packet),
    /// IP, but another protocol (its number).
    OtherProtocol(u8),
    /// A fragment of an IP datagram: the first one, with the TCP header, is [`Decoded::Tcp`] where that
    /// can be read; others are this, with the bytes of the datagram's payload that it has.
    Fragment {
        /// Payload bytes of the datagram in this fragment.
        bytes: u32,
    },
    /// Neither IPv4 nor IPv6 (ARP and the like).
    NotIp,
    /// A link type that is not read.
    UnknownLink(u32),
    /// The kept bytes end before the end of the TCP header.
    CutShort,
    /// A length or version that cannot be; what, in words.
    Malformed(&'static str),
}
