//! What comes out of the network.

use crate::NodeId;
use crate::pool::PacketRef;
use fairwind_units::Instant;

/// A packet that has reached its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<P> {
    /// When it did.
    pub at: Instant,
    /// The destination.
    pub node: NodeId,
    /// The packet.
    pub packet: P,
}

/// A packet that has reached its destination and still lies in the network: to be looked at by
/// [`Network::arrived`](crate::Network::arrived), and taken away by
/// [`Network::release`](crate::Network::release).
#[derive(Debug)]
#[must_use = "it lies there until it is cleared away"]
pub struct DeliveryRef {
    pub(crate) at: Instant,
    pub(crate) packet: PacketRef,
}

impl DeliveryRef {
    /// When it did.
    #[inline]
    pub fn at(&self) -> Instant {
        self.at
    }
}
