//! What a packet of a connection, seen at a tap, is to the connection's flows.

use super::side::Side;
use super::vantage::Place;
use crate::one_way::FlowPairId;
use crate::trace::TraceId;
use fairwind_measure::ConnectionFlows;

/// The flows of a connection, and where the taps are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wiring {
    /// The connection's flows.
    pub(crate) flows: ConnectionFlows,
    /// The side that the tap, or the first of two taps, is near.
    pub(crate) place: Place,
    /// The side that each tap is near: what it sends leaves there, what the other sends arrives.
    pub(crate) near: [Side; 2],
    /// What follows it from one tap to the other, where there are two.
    pub(crate) crossing: Option<FlowPairId>,
    /// The traces of its flows, if it is drawn.
    pub(crate) trace: Option<TraceId>,
}

impl Wiring {
    /// Whether a packet that `side` sent has just left it at this tap, rather than come from afar.
    #[inline]
    pub(crate) fn leaves(&self, tap: usize, side: Side) -> bool {
        self.near[tap & 1] == side
    }
}
