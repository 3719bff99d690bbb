//! Which flow a packet belongs to, where a connection carries data both ways.
//!
//! Source: our own definition. A packet that takes a place in its sender's sequence space (payload,
//! SYN or FIN) belongs to the flow of that sender's data, whatever it acknowledges. Any other packet
//! belongs, as an acknowledgment, to the flow of the data that goes the other way. So each packet is
//! of one flow, at every tap and every queue, and nothing is counted twice. What a packet
//! with data acknowledges is not lost on the way: the collector lets it end ACK latencies of the other flow.

use crate::observation::{Direction, FlowId};
use fairwind_wire::Segment;

/// The flows of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionFlows {
    /// The data of the side that opened the connection.
    pub opening: FlowId,
    /// The data that goes the other way; `None` where there is none, and everything belongs to
    /// the opening flow.
    pub answering: Option<FlowId>,
}

impl ConnectionFlows {
    /// The flow that a packet belongs to, and its direction in that flow. `direction` says which
    /// way it goes: forward from the side that opened the connection, reverse to it.
    ///
    /// ```
    /// use fairwind_measure::{ConnectionFlows, Direction, FlowId};
    /// use fairwind_wire::{Flags, Segment};
    ///
    /// let flows = ConnectionFlows { opening: FlowId(0), answering: Some(FlowId(1)) };
    /// let data = Segment { flags: Flags::ACK, payload_bytes: 1000, ..Segment::default() };
    /// let bare = Segment { flags: Flags::ACK, ..Segment::default() };
    /// assert_eq!(flows.attribute(Direction::Reverse, &data), (FlowId(1), Direction::Forward));
    /// assert_eq!(flows.attribute(Direction::Forward, &bare), (FlowId(1), Direction::Reverse));
    /// assert_eq!(flows.attribute(Direction::Reverse, &bare), (FlowId(0), Direction::Reverse));
    /// ```
    #[inline]
    pub fn attribute(self, direction: Direction, segment: &Segment) -> (FlowId, Direction) {
        let Some(answering) = self.answering else { return (self.opening, direction) };
        match (direction, segment.sequence_length() > 0) {
            (Direction::Forward, true) => (self.opening, Direction::Forward),
            (Direction::Reverse, true) => (answering, Direction::Forward),
            (Direction::Forward, false) => (answering, Direction::Reverse),
            (Direction::Reverse, false) => (self.opening, Direction::Reverse),
        }
    }
}
