//! States of a connection (RFC 9293 §3.3.2), of loss recovery and of Careful Resume; events of a
//! connection; ICMP errors.

/// Where in its life a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No connection.
    #[default]
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// Data flows.
    Established,
    /// Closed here; FIN not acknowledged.
    FinWait1,
    /// Closed here; FIN acknowledged.
    FinWait2,
    /// Closed by the peer, not here.
    CloseWait,
    /// Simultaneous close; our FIN is not acknowledged.
    Closing,
    /// Closed by the peer, then here; our FIN is not acknowledged.
    LastAck,
    /// Both closed; old segments may still come.
    TimeWait,
}

impl State {
    /// Whether the handshake is over and the connection is not closed.
    pub fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Whether new data may be sent.
    pub fn may_send(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }

    /// Whether data may still come.
    pub fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

/// State of loss recovery (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecoveryState {
    /// No sign of congestion.
    #[default]
    Open,
    /// Duplicate or selective acknowledgments, not enough to prove a loss.
    Disorder,
    /// The window is coming down without a loss: congestion was echoed.
    Cwr,
    /// Fast recovery: loss was detected by acknowledgments.
    Recovery,
    /// Repairing after a time-out.
    Loss,
}

impl RecoveryState {
    /// Linux' number of the state (`enum tcp_ca_state`).
    pub const fn number(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Disorder => 1,
            Self::Cwr => 2,
            Self::Recovery => 3,
            Self::Loss => 4,
        }
    }
}

/// Phase of Careful Resume (RFC 9959 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumptionPhase {
    /// The path is checked.
    Reconnaissance,
    /// The window has jumped.
    Unvalidated,
    /// The data of the jump is not acknowledged yet.
    Validating,
    /// The jump was too far.
    SafeRetreat,
    /// It is over.
    Normal(ResumptionEnd),
}

/// Why a careful resumption is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumptionEnd {
    /// There was congestion before the jump.
    Congested,
    /// The round trip is not that of the saved path.
    PathChanged,
    /// The window has grown as far by itself.
    NothingToGain,
    /// There was too little data: the window is the pipe size.
    RateLimited,
    /// All that the jump has sent is acknowledged.
    Validated,
    /// Safe retreat is over.
    Retreated,
    /// A time-out ended it.
    TimedOut,
    /// The connection has ended before.
    Closed,
}

impl ResumptionEnd {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congested => "congested",
            Self::PathChanged => "path-changed",
            Self::NothingToGain => "nothing-to-gain",
            Self::RateLimited => "rate-limited",
            Self::Validated => "validated",
            Self::Retreated => "retreated",
            Self::TimedOut => "timed-out",
            Self::Closed => "closed",
        }
    }
}

impl ResumptionPhase {
    /// Why it is over, where it is.
    pub const fn end(self) -> Option<ResumptionEnd> {
        match self {
            Self::Normal(end) => Some(end),
            _ => None,
        }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reconnaissance => "reconnaissance",
            Self::Unvalidated => "unvalidated",
            Self::Validating => "validating",
            Self::SafeRetreat => "safe-retreat",
            Self::Normal(_) => "normal",
        }
    }
}

/// An event of a connection; ordinary data has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The peer's SYN brought a valid Fast Open cookie: the application may read and write although
    /// the handshake is not over (RFC 7413).
    OpenedEarly,
    /// The three-way handshake is complete.
    Established,
    /// The peer's SYN has arrived: the driver may call
    /// [`Connection::advise`](crate::Connection::advise). Only with a window cache
    /// ([`Growth::shares`](crate::Growth::shares)).
    PeerAsks,
    /// The application has closed the connection. Only with a window cache.
    Closing,
    /// All data is acknowledged, FIN included. Only with a window cache.
    AllAcknowledged,
    /// A careful resumption has come to another phase (RFC 9959).
    Resumption(ResumptionPhase),
    /// A retransmission timer ran out with data outstanding (RFC 6298 §5.4).
    RetransmissionTimeout,
    /// Fast retransmit: loss was detected by duplicate or selective acknowledgments (RFC 5681 §3.2,
    /// RFC 6675 §5).
    FastRetransmit,
    /// An acknowledgment shows that only a bundle of old and new data arrived, so that the older segment
    /// was probably lost (redundant data bundling).
    HiddenLoss,
    /// A tail loss probe was sent: the last segment of a flight, or new data (RFC 8985 §7).
    TailLossProbe,
    /// SYN or SYN-ACK was retransmitted.
    SynRetransmitted,
    /// A closed window was probed (RFC 9293 §3.8.6.1).
    ZeroWindowProbe,
    /// The peer has sent FIN: no more data will come.
    PeerFinished,
    /// Both directions are closed and acknowledged; TIME-WAIT is over, if there was one.
    Closed,
    /// The peer reset the connection.
    Reset,
    /// An ICMP error reports the peer as unreachable; the connection is over, unless it was open and
    /// errors are reported immediately ([`PathConfig::reports_icmp_errors`](crate::PathConfig)).
    Unreachable(Unreachable),
    /// The connection was given up: nothing was acknowledged for too long.
    TimedOut,
}

/// Why a packet did not arrive (ICMP destination unreachable).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreachable {
    /// No route to the network.
    Network,
    /// No route to the host.
    Host,
    /// The host does not know the protocol.
    Protocol,
    /// No listening socket at the port.
    Port,
    /// The route is forbidden, or the packet exceeded its hop limit.
    Refused,
    /// The packet was malformed.
    Malformed,
    /// The packet was too large and must not be fragmented; no smaller one has helped.
    TooLarge,
}

/// An ICMP error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IcmpError {
    /// The packet is too large for the next link.
    TooLarge {
        /// Largest packet of the next link in bytes; 0 if the message does not contain it.
        mtu: u32,
    },
    /// The packet did not arrive.
    Unreachable(Unreachable),
}
