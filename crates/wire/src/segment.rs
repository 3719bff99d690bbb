//! The TCP header as a plain struct, and the traffic class of its packet.

use crate::{Options, SequenceNumber, TCP_HEADER_BYTES};
use std::ops::{BitOr, BitOrAssign};

/// Control bits of a TCP header (RFC 9293 §3.1), with ECE and CWR (RFC 3168) and AE (RFC 9768).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (the former nonce sum).
    pub const AE: Self = Self(0x100);

    /// The flags with these nine bits; others are ignored.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x1ff)
    }

    /// The nine bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether every bit of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether some bit of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const LETTERS: [(Flags, char); 9] = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::URG, 'U'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::AE, 'A'),
        ];
        let text: String =
            LETTERS.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, c)| *c).collect();
        f.write_str(if text.is_empty() { "-" } else { &text })
    }
}

/// One TCP segment: its header, the payload length, and the traffic class of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Sequence number of the first payload byte, or of SYN (SEG.SEQ).
    pub sequence: SequenceNumber,
    /// Next sequence number that the sender expects, with [`Flags::ACK`] (SEG.ACK).
    pub acknowledgment: SequenceNumber,
    /// Window field of the header, not scaled (SEG.WND).
    pub window: u16,
    /// Control bits.
    // Not at a multiple of four bytes: there the compiler tests a bit by reading four bytes, for which the
    // processor waits until it has written all of them.
    pub flags: Flags,
    /// Urgent pointer, with [`Flags::URG`] (SEG.UP).
    pub urgent: u16,
    /// Traffic class of the IP header: DSCP and ECN codepoint.
    pub traffic_class: TrafficClass,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Bytes of TCP header with options.
    #[inline]
    pub const fn header_bytes(&self) -> u32 {
        TCP_HEADER_BYTES + self.options.wire_bytes()
    }

    /// Sequence space that the segment takes: payload, and one each for SYN and FIN (SEG.LEN).
    #[inline]
    pub const fn sequence_length(&self) -> u32 {
        let syn = self.flags.contains(Flags::SYN) as u32;
        let fin = self.flags.contains(Flags::FIN) as u32;
        self.payload_bytes + syn + fin
    }

    /// Sequence number after the end of the segment.
    #[inline]
    pub fn end(&self) -> SequenceNumber {
        self.sequence + self.sequence_length()
    }
}

/// The ECN field of an IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// The transport does not understand marks: `00`.
    #[default]
    NotEct,
    /// ECN-capable transport, L4S (RFC 9331): `01`.
    Ect1,
    /// The transport understands marks: `10`.
    Ect0,
    /// A queue on the path marked the packet: `11`.
    Ce,
}

impl Ecn {
    /// The codepoint in the two lowest bits of `octet`; the others, the DSCP, are ignored.
    #[inline]
    pub const fn from_bits(octet: u8) -> Self {
        match octet & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// Whether a queue may mark the packet in place of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Type of service (IPv4) or traffic class (IPv6): six bits of DSCP (RFC 2474), two of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TrafficClass(u8);

impl TrafficClass {
    /// The octet in the header.
    #[inline]
    pub const fn new(octet: u8) -> Self {
        Self(octet)
    }

    /// The octet in the header.
    #[inline]
    pub const fn octet(self) -> u8 {
        self.0
    }

    /// The two lowest bits.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0)
    }

    /// The same DSCP with another ECN codepoint.
    #[inline]
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self(self.0 & !0b11 | ecn.bits())
    }
}

impl From<Ecn> for TrafficClass {
    /// The default service with this mark.
    #[inline]
    fn from(ecn: Ecn) -> Self {
        Self(ecn.bits())
    }
}
