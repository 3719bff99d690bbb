//! Frames, and TCP packets decoded from them.

use crate::NoteKind;
use fairwind_units::Instant;
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, Options, Segment, SequenceNumber, TrafficClass};
use std::net::Ipv4Addr;

/// What a frame begins with: the link types of the registry <https://www.tcpdump.org/linktypes.html> that
/// can carry TCP and are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// The family of the address, in the byte order of the machine that captured (BSD loopback, 0).
    Null,
    /// Ethernet, with or without VLAN tags (1).
    Ethernet,
    /// The IP header (raw IP: 101, and 12 or 14 in old files; 228 and 229 where the version is fixed).
    Raw,
    /// The family of the address, in network order (`OpenBSD` loopback, 108).
    Loop,
    /// Linux cooked capture, version 1 (113).
    LinuxCooked,
    /// Linux cooked capture, version 2 (276).
    LinuxCooked2,
    /// Another one, which is counted and not read.
    Other(u32),
}

impl LinkType {
    /// The link type of a number in the registry, as capture files have it.
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            108 => Self::Loop,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            other => Self::Other(other),
        }
    }
}

/// One frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// When it was captured, since 1970.
    pub at: Instant,
    /// What its bytes begin with.
    pub link: LinkType,
    /// Number of the interface in its section of the file, from 0; 0 in files that know no interfaces.
    pub interface: u32,
    /// Bytes that the frame had on the link.
    pub original_bytes: u32,
    /// The bytes that were kept of it, from its beginning.
    pub bytes: &'a [u8],
    /// Its number in the input, counted from 1 as other readers do.
    pub number: u64,
    /// Where its record begins, in bytes from the beginning of the (decompressed) file.
    pub offset: u64,
}

/// One TCP packet found in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured, since 1970.
    pub at: Instant,
    /// Number of its frame in the input.
    pub number: u64,
    /// Bytes of the frame on the link, its header included: what `measure` calls bytes on the wire.
    pub wire_bytes: u32,
    /// Who sent it to whom.
    pub addresses: Addresses,
    /// The identification of the IPv4 header; `None` for IPv6. It distinguishes copies of a packet from
    /// retransmissions.
    pub identification: Option<u16>,
    /// Time to live, or hop limit.
    pub hop_limit: u8,
    /// Its anomalies, though it could be read.
    pub anomalies: Anomalies,
    /// Where in the frame the IP header begins, in bytes.
    pub ip_at: u16,
    /// Where in the frame the TCP header begins, in bytes.
    pub tcp_at: u16,
    /// Its TCP header; the payload's length is what the IP header says, not what was captured.
    pub segment: Segment,
}

impl Packet {
    /// A place for [`decode`](crate::decode) to write to.
    pub const EMPTY: Self = Self {
        at: Instant::ZERO,
        number: 0,
        wire_bytes: 0,
        addresses: Addresses::V4 {
            source: Ipv4Addr::UNSPECIFIED,
            destination: Ipv4Addr::UNSPECIFIED,
        },
        identification: None,
        hop_limit: 0,
        anomalies: Anomalies::NONE,
        ip_at: 0,
        tcp_at: 0,
        segment: Segment {
            source_port: 0,
            destination_port: 0,
            sequence: SequenceNumber::new(0),
            acknowledgment: SequenceNumber::new(0),
            flags: Flags::NONE,
            window: 0,
            urgent: 0,
            traffic_class: TrafficClass::new(0),
            payload_bytes: 0,
            options: Options::NONE,
        },
    };
}

/// Anomalies of a packet that could be read: a set of the constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Anomalies(u8);

impl Anomalies {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The IP header says a length of zero, as before a network card has cut a packet to size
    /// (segmentation offload); the frame's length was taken.
    pub const LENGTH_OF_FRAME: Self = Self(1);
    /// The IP header says more bytes than the frame had; the frame's length was taken.
    pub const LENGTH_BEYOND_FRAME: Self = Self(2);
    /// It is the first fragment of a datagram, and its payload is that of this fragment only.
    pub const FIRST_FRAGMENT: Self = Self(4);
    /// The kept bytes end within the TCP options; those that are whole were read.
    pub const OPTIONS_CUT: Self = Self(8);
    /// A TCP option does not have the length of its kind; all were ignored.
    pub const OPTIONS_MALFORMED: Self = Self(16);

    /// Each anomaly, and its message.
    pub const ALL: [(Self, NoteKind); 5] = [
        (
            Self::LENGTH_OF_FRAME,
            of_packets(
                "length_of_frame",
                "an IP header says no length, as before segmentation by the network card, so the frame's \
                 was taken",
            ),
        ),
        (
            Self::LENGTH_BEYOND_FRAME,
            of_packets(
                "length_beyond_frame",
                "the length in an IP header exceeds the frame, so the frame's length was used",
            ),
        ),
        (
            Self::FIRST_FRAGMENT,
            of_packets(
                "first_fragments",
                "the first fragment of a datagram was read without the others",
            ),
        ),
        (
            Self::OPTIONS_CUT,
            of_packets(
                "options_cut",
                "the kept bytes end within the TCP options, so the last ones are unknown",
            ),
        ),
        (
            Self::OPTIONS_MALFORMED,
            of_packets(
                "options_malformed",
                "a TCP option has an impossible length, so the packet's options are ignored",
            ),
        ),
    ];

    /// Whether nothing is odd.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every one of `others` is in the set.
    #[inline]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The set with these as well.
    #[inline]
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

const fn of_packets(name: &'static str, says: &'static str) -> NoteKind {
    NoteKind::new(name, says, "packet", "packets")
}

/// Why a frame gives no TCP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// IP, but another protocol (its number).
    OtherProtocol(u8),
    /// A fragment of a datagram with TCP, without a TCP header that can be read, and the bytes of the
    /// datagram's payload that it has. Fragments are not put together.
    Fragment {
        /// Payload bytes of the datagram in this fragment.
        bytes: u32,
    },
    /// Neither IPv4 nor IPv6 (ARP and the like).
    NotIp,
    /// A link type that is not read (its number in the registry).
    UnknownLink(u32),
    /// The kept bytes end before the end of the TCP header without options.
    CutShort,
    /// A length or version that cannot be; what, in words.
    Malformed(&'static str),
}
