//! ICMP errors about segments of this connection.

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
