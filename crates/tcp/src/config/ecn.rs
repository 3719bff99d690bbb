//! Explicit congestion notification: who asks for it, and what is accepted.

use fairwind_wire::TrafficClass;

/// How marks are fed back to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnFeedback {
    /// Not at all: marks are not understood.
    None,
    /// One signal per round trip (RFC 3168).
    Classic,
    /// Counters of packets and bytes (RFC 9768); not there yet, and the same as [`Self::Classic`].
    Accurate,
}

/// Which segments carry the option of Accurate ECN (Linux `tcp_ecn_option`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccurateEcnOption {
    /// None.
    Never,
    /// Those for which the draft demands it, with as few counters as it allows.
    Required,
    /// Those for which the draft demands it, with all counters.
    Complete,
    /// Every one that has room.
    Always,
}

/// Switches of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnConfig {
    /// The most that our own SYN asks for (Linux `tcp_ecn`).
    pub outgoing: EcnFeedback,
    /// The most that is agreed to when the peer asks (Linux `tcp_ecn`).
    pub incoming: EcnFeedback,
    /// A repeated SYN asks no more, because the first one may have been lost for asking (RFC 3168
    /// §6.1.1.1; Linux `tcp_ecn_fallback`).
    pub fallback: bool,
    /// Which segments carry the option of Accurate ECN.
    pub option: AccurateEcnOption,
    /// Options of Accurate ECN per round trip where nothing demands one (Linux
    /// `tcp_ecn_option_beacon`).
    pub option_beacon: u32,
    /// The service that packets ask for; its two lowest bits are ECN's and not looked at (`IP_TOS`).
    pub service: TrafficClass,
}

impl EcnConfig {
    /// Nothing: before RFC 3168 came into use.
    pub const fn off() -> Self {
        Self {
            outgoing: EcnFeedback::None,
            incoming: EcnFeedback::None,
            fallback: true,
            option: AccurateEcnOption::Complete,
            option_beacon: 3,
            service: TrafficClass::new(0),
        }
    }

    /// RFC 3168 where the peer asks for it, as Linux does since 2.6.31 and FreeBSD since 11.
    pub const fn when_asked() -> Self {
        Self { incoming: EcnFeedback::Classic, ..Self::off() }
    }
}
