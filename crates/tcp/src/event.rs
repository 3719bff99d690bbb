//! What happens to a connection that its driver or an observer wants to know.
//!
//! ICMP errors about segments of this connection.

use crate::window_cache::ResumptionPhase;

/// Something rare that happened; the ordinary course of data has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The peer's SYN brought a valid Fast Open cookie: the application may read and write although
    /// the handshake is not over (RFC 7413).
    OpenedEarly,
    /// The three-way handshake is complete.
    Established,
    /// The peer's SYN has arrived: what is remembered of it may be told by now
    /// ([`Connection::advise`](crate::Connection::advise)). Only where the host remembers
    /// ([`Growth::shares`](crate::Growth::shares)).
    PeerAsks,
    /// The application has closed the connection. Only where the host remembers.
    Closing,
    /// All that was sent is acknowledged, FIN included. Only where the host remembers.
    AllAcknowledged,
    /// A careful resumption has come to another phase (RFC 9959).
    Resumption(ResumptionPhase),
    /// A retransmission timer ran out with data outstanding (RFC 6298 §5.4).
    RetransmissionTimeout,
    /// Loss was found by duplicate or selective acknowledgments (RFC 5681 §3.2, RFC 6675 §5).
    FastRetransmit,
    /// An acknowledgment shows that only a bundle of old and new data arrived, so that the older segment
    /// was probably lost (redundant data bundling).
    HiddenLoss,
    /// The last segment of a flight was sent again, or new data, to find out about losses (RFC 8985 §7).
    TailLossProbe,
    /// SYN, or SYN with ACK, was sent again.
    SynRetransmitted,
    /// A closed window was probed (RFC 9293 §3.8.6.1).
    ZeroWindowProbe,
    /// The peer has sent FIN: no more data will come.
    PeerFinished,
    /// Both directions are closed and acknowledged; TIME-WAIT is over, if there was one.
    Closed,
    /// The peer reset the connection.
    Reset,
    /// The path says that the peer cannot be reached; the connection is over, unless it was open and
    /// such complaints are told at once ([`PathConfig::reports_icmp_errors`](crate::PathConfig)).
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
    /// Nobody listens at the port.
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
