//! The octet of an IP header that says how a packet wants to be treated, with its congestion mark.

/// The ECN field of an IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// The transport does not understand marks: `00`.
    #[default]
    NotEct,
    /// The transport understands marks, and asks for L4S treatment (RFC 9331): `01`.
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
    /// The octet as it stands in the header.
    #[inline]
    pub const fn new(octet: u8) -> Self {
        Self(octet)
    }

    /// The octet as it stands in the header.
    #[inline]
    pub const fn octet(self) -> u8 {
        self.0
    }

    /// The two lowest bits.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0)
    }

    /// The same service with another congestion mark.
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
