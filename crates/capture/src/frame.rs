//! One frame, as it stands in a capture file.

use fairwind_units::Instant;

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
