//! Observations that measures are made of, and the flow that a packet belongs to.
//!
//! Attribution is our own definition. A packet that takes a place in its sender's sequence space (payload, SYN or
//! FIN) belongs to the flow of that sender's data, whatever it acknowledges. Any other packet belongs, as an
//! acknowledgment, to the flow of the data that goes the other way. So each packet is of one flow, at every tap and
//! every queue, and nothing is counted twice. The collector lets the acknowledgment of a packet with data end ACK
//! latencies of the other flow.

use fairwind_units::{Instant, Span};
use fairwind_wire::Segment;

/// A flow: one connection, and the direction in which its data goes. A connection with data both
/// ways is two flows, see [`ConnectionFlows`](crate::ConnectionFlows). Dense: an index into
/// [`Settings::flows`](crate::Settings::flows).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The flow's place in lists of flows.
    ///
    /// # Panics
    /// Where `usize` has fewer than 32 bits and the number does not fit.
    #[inline]
    pub fn index(self) -> usize {
        usize::try_from(self.0).expect("flows are held in memory, so their number fits usize")
    }
}

/// A queue, with the link that it feeds. Dense: an index into
/// [`Settings::queues`](crate::Settings::queues).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct QueueId(pub u32);

impl QueueId {
    /// The queue's place in lists of queues.
    ///
    /// # Panics
    /// Where `usize` has fewer than 32 bits and the number does not fit.
    #[inline]
    pub fn index(self) -> usize {
        usize::try_from(self.0).expect("queues are held in memory, so their number fits usize")
    }
}

/// Which way a packet of a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the flow's data sender to its receiver.
    Forward,
    /// From the receiver back to the data sender.
    Reverse,
}

named_enum! {
    /// Why a packet was dropped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum DropReason {
        /// It found the queue full.
        QueueFull = "queue_full",
        /// The queue discipline dropped it although there was room (active queue management).
        Early = "early",
        /// It was lost or damaged on the link behind the queue.
        LinkLoss = "link_loss",
    }
}

impl DropReason {
    /// Number of reasons.
    pub(crate) const COUNT: usize = 3;

    /// Place of the reason in lists by reason.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Why a connection was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureReason {
    /// The other side has reset it; one that was never established has been refused so (RFC 9293 §3.5.2).
    Reset,
    /// Nothing was heard for too long (RFC 9293 §3.8.3).
    TimedOut,
    /// No way leads to the other side.
    Unreachable,
    /// Something else.
    Other,
}

impl FailureReason {
    /// Its name in tables, for a connection that was established before or not.
    pub(crate) const fn name(self, was_established: bool) -> &'static str {
        match self {
            Self::Reset if was_established => "reset",
            Self::Reset => "refused",
            Self::TimedOut => "timed-out",
            Self::Unreachable => "unreachable",
            Self::Other => "other",
        }
    }
}

named_enum! {
    /// What an endpoint's loss recovery is doing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CongestionState {
        /// Nothing suspicious.
        Open = "open",
        /// Duplicate or selective acknowledgments, not yet enough to act.
        Disorder = "disorder",
        /// The window was reduced without a loss, for ECN or local congestion.
        WindowReduced = "window_reduced",
        /// Fast recovery.
        Recovery = "recovery",
        /// After a retransmission time-out.
        Loss = "loss",
    }
}

/// A packet that was lost in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Its flow.
    pub flow: FlowId,
    /// Its direction.
    pub direction: Direction,
    /// At which queue, or on the link behind it.
    pub queue: QueueId,
    /// Payload bytes in it.
    pub payload_bytes: u32,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// Why.
    pub reason: DropReason,
    /// How long it had waited in the queue; `None` where that did not let it in, or where it was lost
    /// behind it.
    pub waited: Option<Span>,
    /// Packets and bytes that waited there, the dropped one included if it had waited; `None` if not reported.
    pub backlog: Option<(u32, u32)>,
}

/// Assignment to a queue in each of some consecutive frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramesAssigned {
    /// Number of frames, all with the same assignment.
    pub frames: u64,
    /// How long each lasts.
    pub frame: Span,
    /// What a slot carries.
    pub slot_bytes: u32,
    /// Slots of each frame that are the queue's own (CRA).
    pub guaranteed: u32,
    /// Slots of each frame for a rate that was asked for (RBDC).
    pub by_rate: u32,
    /// Slots of each frame for a volume that was asked for (VBDC, AVBDC).
    pub by_volume: u32,
    /// Slots of each frame assigned without a request (FCA).
    pub free: u32,
}

/// An event, reported to [`Collector::observe`](crate::Collector::observe) with its instant.
///
/// `wire_bytes` are the bytes that the packet takes on the link where it is seen, headers included;
/// every tap of one experiment must use the same convention.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A packet leaves the host that made it.
    Sent {
        /// Its flow.
        flow: FlowId,
        /// Its direction.
        direction: Direction,
        /// Its TCP header.
        segment: &'a Segment,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// A packet reaches the host that it was meant for.
    Received {
        /// Its flow.
        flow: FlowId,
        /// Its direction.
        direction: Direction,
        /// Its TCP header.
        segment: &'a Segment,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// A datagram leaves the host that made it. Its flow is one of datagrams, see
    /// [`ObservationPoints::DATAGRAMS`](crate::ObservationPoints::DATAGRAMS).
    DatagramSent {
        /// Its flow.
        flow: FlowId,
        /// Payload bytes in it.
        payload_bytes: u32,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// A datagram is read. Before, it is [`Received`](Self::Received) as any packet is, as a segment
    /// without flags.
    DatagramRead {
        /// Its flow.
        flow: FlowId,
        /// Payload bytes in it.
        payload_bytes: u32,
        /// When it was written; `None` if unknown.
        written: Option<Instant>,
        /// Its number among the datagrams of its flow, in the order in which they were sent: copies that the
        /// network makes of one have the same, and only the first of them counts. `None` if unknown,
        /// and each of them counts.
        number: Option<u64>,
    },
    /// A packet was lost in the network, at a queue or behind it. Where nothing knows the place, name the
    /// queue that the path is watched at.
    Dropped(Dropped),
    /// A packet that a link had damaged, reported as [`Dropped`](Self::Dropped) there, was dropped at
    /// a queue on its further way, or damaged once more: it is one of those that the queue dropped, and no
    /// further loss of its flow.
    DroppedDamaged {
        /// Its flow.
        flow: FlowId,
        /// At which queue, or on the link behind it.
        queue: QueueId,
        /// Bytes on the wire.
        wire_bytes: u32,
        /// Why.
        reason: DropReason,
        /// How long it had waited in the queue, as of those that are whole.
        waited: Option<Span>,
        /// Packets and bytes that waited there, likewise.
        backlog: Option<(u32, u32)>,
    },
    /// A queue marked a packet instead of dropping it (RFC 3168 §5).
    Marked {
        /// The queue.
        queue: QueueId,
        /// The packet's flow.
        flow: FlowId,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// The link behind a queue made a second packet of one that it carries.
    Duplicated {
        /// The queue.
        queue: QueueId,
    },
    /// The link behind a queue damaged a packet, which is also reported as [`Dropped`](Self::Dropped).
    Damaged {
        /// The queue.
        queue: QueueId,
    },
    /// A packet reached the end of the link behind a queue before one that was sent earlier.
    Reordered {
        /// The queue.
        queue: QueueId,
    },
    /// A queue has slots of a carrier in frames of which the first begins at this instant, however long ago that was.
    SlotsAssigned {
        /// The queue.
        queue: QueueId,
        /// The frames.
        frames: FramesAssigned,
    },
    /// A queue sent something in a slot that began at this instant.
    SlotUsed {
        /// The queue.
        queue: QueueId,
        /// Bytes sent, with what the link adds.
        sent_bytes: u32,
    },
    /// The terminal before which a queue stands asked for capacity.
    CapacityRequested {
        /// The queue.
        queue: QueueId,
        /// A rate; `None` where it asked for none.
        bits_per_second: Option<u64>,
        /// Bytes.
        volume_bytes: u64,
    },
    /// A packet left its host and did not reach the other one; place and reason of the loss are unknown. Its
    /// instant is that at which it left, however long ago that was.
    Lost {
        /// Its flow.
        flow: FlowId,
        /// Its direction.
        direction: Direction,
        /// Payload bytes in it.
        payload_bytes: u32,
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// A queue accepted a packet.
    Enqueued {
        /// The queue.
        queue: QueueId,
        /// The packet's flow.
        flow: FlowId,
        /// Bytes on the wire.
        wire_bytes: u32,
        /// Packets that waited there before this one.
        backlog_packets: u32,
        /// Bytes that waited there before this packet.
        backlog_bytes: u32,
    },
    /// A packet left a queue to be transmitted.
    Dequeued {
        /// The queue.
        queue: QueueId,
        /// The packet's flow.
        flow: FlowId,
        /// Bytes on the wire.
        wire_bytes: u32,
        /// How long it had waited.
        sojourn: Span,
    },
    /// The sending application wrote.
    Written {
        /// The flow.
        flow: FlowId,
        /// Bytes written since the stream began, this write included.
        end_offset: u64,
    },
    /// The receiving application read, in order. If the application is not observed: what has arrived in
    /// order at the receiver's host, or, where that is not watched either, what it has acknowledged.
    Read {
        /// The flow.
        flow: FlowId,
        /// Bytes read since the stream began.
        end_offset: u64,
    },
    /// The application that asked has read an answer whole.
    Answered {
        /// The flow that carries its requests.
        flow: FlowId,
        /// When it wrote the first byte of the request.
        asked: Instant,
    },
    /// The data sender's retransmission timer expired (RFC 6298 §5.4).
    Timeout {
        /// The flow.
        flow: FlowId,
    },
    /// The data sender entered fast retransmit (RFC 5681 §3.2), by whatever rule it detects loss.
    FastRetransmit {
        /// The flow.
        flow: FlowId,
    },
    /// A SYN was sent again.
    SynRetry {
        /// The flow.
        flow: FlowId,
    },
    /// The data sender probed a closed window (RFC 9293 §3.8.6.1).
    ZeroWindowProbe {
        /// The flow.
        flow: FlowId,
    },
    /// The application opens the connection, of which it was not known before when that would be: both of its flows
    /// where data goes both ways.
    Opened {
        /// The flow of the side that opens the connection.
        flow: FlowId,
    },
    /// The connection was established at the side that opened it: both of its flows where data goes
    /// both ways.
    Established {
        /// The flow of the side that opened the connection.
        flow: FlowId,
    },
    /// The flow has done all that it was meant to do.
    Finished {
        /// The flow.
        flow: FlowId,
    },
    /// The connection was given up.
    Failed {
        /// The flow.
        flow: FlowId,
        /// Why.
        reason: FailureReason,
    },
    /// A sample of the data sender's state.
    Endpoint {
        /// The flow.
        flow: FlowId,
        /// Congestion window in segments.
        cwnd_packets: u32,
        /// Slow-start threshold in segments; `None` while it is unlimited.
        ssthresh_packets: Option<u32>,
        /// Smoothed round-trip time; `None` before the first measurement.
        smoothed_rtt: Option<Span>,
        /// Segments in flight.
        flight_packets: u32,
        /// What loss recovery is doing.
        state: CongestionState,
    },
}

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

/// A number of packets, and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCount {
    /// Packets.
    pub packets: u32,
    /// Their bytes on the wire.
    pub wire_bytes: u32,
}

impl PacketCount {
    /// Counts one more.
    pub const fn add(&mut self, wire_bytes: u32) {
        self.packets = self.packets.saturating_add(1);
        self.wire_bytes = self.wire_bytes.saturating_add(wire_bytes);
    }
}

/// Packets of a connection that [`ConnectionFlows::attribute`](crate::ConnectionFlows::attribute) gives
/// to the one flow that it has, and would give to the other one if there were two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlyPackets {
    /// Packets of the opener without a place in sequence space, as they left it.
    pub bare_sent: PacketCount,
    /// The same, as they arrived.
    pub bare_received: PacketCount,
    /// Packets of the answerer with a place in sequence space (SYN-ACK), as they left it.
    pub answer_sent: PacketCount,
    /// The same, as they arrived.
    pub answer_received: PacketCount,
}
