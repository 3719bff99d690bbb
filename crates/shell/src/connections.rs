//! Connection tracking: the flows of packets on a shell's path, found as they come.
//!
//! A connection is two flows, one for each direction of its data, from its first SYN on.
//! [`ConnectionFlows`] assigns its packets to them. Packets that are not TCP, and connections without
//! an observed SYN, belong to one of two further flows, so that queues count them.
//!
//! States are derived from packets. A connection and its two flows are *established* when the side that
//! opened it acknowledges the other's SYN. A flow is *finished* when the receiver of its data acknowledges
//! its FIN, and *failed* when a RST comes before. Acknowledged bytes count as *read*. Reads and writes of
//! the applications are not visible, so there is no delivery latency.
//!
//! Cost per packet: reading its headers, and a look-up by addresses and ports.

use fairwind_measure::{
    ConnectionFlows, Direction, FailureReason, FlowDescription, FlowId, Observation,
    ObservationPoints,
};
use fairwind_network::NodeId;
use fairwind_recorder::{FirstEnd, MeasuredPacket, NewFlow, ObservationWriter};
use fairwind_router::{Classification, Classifier};
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::{Addresses, Parsed, parse};
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// The groups of a shell's flows; data that the program sends, data that it receives, and the rest.
pub(super) const GROUPS: [&str; 3] = ["from-program", "to-program", "other"];
/// Place of the rest among the groups.
const OTHER: u32 = 2;
/// The flows that are there from the beginning, in the order of their numbers.
const OF_THE_REST: [(&str, FirstEnd); 2] =
    [("other from the program", FirstEnd::Sender), ("other to the program", FirstEnd::Receiver)];

/// How long a connection that is over is remembered, for what may still come of it: as long as Linux stays in TIME-WAIT.
const REMEMBERED: Span = Span::from_secs(60);

/// Which side of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Program,
    Outside,
}

impl Side {
    /// Place in pairs.
    fn index(self) -> usize {
        usize::from(self == Self::Outside)
    }

    fn other(self) -> Self {
        match self {
            Self::Program => Self::Outside,
            Self::Outside => Self::Program,
        }
    }

    /// Where a flow from here begins.
    fn first(self) -> FirstEnd {
        match self {
            Self::Program => FirstEnd::Sender,
            Self::Outside => FirstEnd::Receiver,
        }
    }
}

/// The ends of a connection: the program's, and the other one.
type Ends = [SocketAddr; 2];

/// State of a connection.
struct Connection {
    opened_by: Side,
    flows: ConnectionFlows,
    /// Sequence number of the SYN that opened it.
    first: SequenceNumber,
    is_established: bool,
    /// The data that each side sends.
    data: [Data; 2],
    /// Whether it waits to be forgotten.
    is_over: bool,
}

/// The data of one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Data {
    /// What follows the last byte that was acknowledged; known from the SYN on.
    acknowledged: Option<SequenceNumber>,
    /// How many bytes those are, since the stream began.
    end_offset: u64,
    /// What follows the FIN, once that was sent.
    ends_at: Option<SequenceNumber>,
    /// Whether the flow is finished or failed.
    is_over: bool,
}

impl Data {
    /// Takes note of an acknowledgment; whether that covers new bytes.
    fn acknowledge(&mut self, number: SequenceNumber) -> bool {
        let Some(before) = self.acknowledged.filter(|before| number.is_after(*before)) else {
            return false;
        };
        self.acknowledged = Some(number);
        let fin = self.ends_at.is_some_and(|end| number.is_at_or_after(end));
        let bytes = number.distance_from(before).saturating_sub(u32::from(fin));
        self.end_offset += u64::from(bytes);
        bytes > 0
    }
}

impl Connection {
    /// The flow of the data that `side` sends.
    fn flow_from(&self, side: Side) -> FlowId {
        match self.flows.answering {
            Some(answering) if side != self.opened_by => answering,
            _ => self.flows.opening,
        }
    }

    /// Which way a packet from `side` goes.
    fn direction_from(&self, side: Side) -> Direction {
        if side == self.opened_by { Direction::Forward } else { Direction::Reverse }
    }
}

/// Finds the flows of packets as they come.
pub(super) struct ConnectionTracker {
    /// Where the program is in the network, and where the outside is.
    nodes: [NodeId; 2],
    /// Whether connections are measured.
    is_measured: bool,
    /// Bytes of each packet that captures keep.
    snap: usize,
    known: HashMap<Ends, Connection>,
    /// Closed connections in the order of their ends, by addresses, ports and the SYN that opened them.
    over: VecDeque<(Instant, Ends, SequenceNumber)>,
    flows: u32,
}

impl ConnectionTracker {
    /// Of packets between these nodes, the program's and the outside's.
    pub(super) fn new(nodes: [NodeId; 2], is_measured: bool, snap: usize) -> Self {
        Self { nodes, is_measured, snap, known: HashMap::new(), over: VecDeque::new(), flows: 0 }
    }

    /// Writes down the flows that are there from the beginning.
    pub(super) fn begin(&mut self, observations: &mut ObservationWriter) {
        if !self.is_measured {
            return;
        }
        for (name, first) in OF_THE_REST {
            let description = FlowDescription {
                group: OTHER,
                name: name.to_owned(),
                start: Instant::ZERO,
                answers: None,
                seen_at: ObservationPoints::EVERYWHERE,
            };
            let flow = self.add_flow(Instant::ZERO, NewFlow { description, first }, observations);
            // Nothing has to be set up here, so nobody is to miss an establishment.
            observations.on_fact(Instant::ZERO, Observation::Established { flow });
        }
    }

    fn add_flow(
        &mut self,
        at: Instant,
        flow: NewFlow,
        observations: &mut ObservationWriter,
    ) -> FlowId {
        let id = FlowId(self.flows);
        self.flows += 1;
        observations.on_flow(at, id, flow, self.snap);
        id
    }

    fn measured(
        &mut self,
        at: Instant,
        from: Side,
        bytes: &[u8],
        observations: &mut ObservationWriter,
    ) -> MeasuredPacket {
        let parsed = parse(bytes).ok();
        let flow = parsed.and_then(|packet| self.of_connection(at, from, &packet, observations));
        flow.unwrap_or_else(|| MeasuredPacket {
            flow: FlowId(u32::from(from == Side::Outside)),
            direction: Direction::Forward,
            segment: Segment::default(),
            is_datagram: false,
        })
    }

    fn of_connection(
        &mut self,
        at: Instant,
        from: Side,
        packet: &Parsed<'_>,
        observations: &mut ObservationWriter,
    ) -> Option<MeasuredPacket> {
        let segment = packet.segment;
        let ends = ends_of(packet, from);
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        let known = self.known.get(&ends);
        if opens && known.is_none_or(|known| known.first != segment.sequence) {
            self.open(at, from, ends, segment.sequence, observations);
        }
        let connection = self.known.get_mut(&ends)?;
        follow(connection, at, from, &segment, observations);
        if !connection.is_over && connection.data.iter().all(|data| data.is_over) {
            connection.is_over = true;
            self.over.push_back((at, ends, connection.first));
        }
        let direction = connection.direction_from(from);
        let (flow, direction) = connection.flows.attribute(direction, &segment);
        Some(MeasuredPacket { flow, direction, segment, is_datagram: false })
    }

    /// Takes note of a connection; one with the same ends that was there before is over.
    fn open(
        &mut self,
        at: Instant,
        by: Side,
        ends: Ends,
        first: SequenceNumber,
        observations: &mut ObservationWriter,
    ) {
        self.forget(at);
        let describe = |from: Side, answers| NewFlow {
            description: FlowDescription {
                group: u32::from(from == Side::Outside),
                name: format!("{} > {}", ends[from.index()], ends[from.other().index()]),
                start: at,
                answers,
                seen_at: ObservationPoints::EVERYWHERE,
            },
            first: from.first(),
        };
        let opening = self.add_flow(at, describe(by, None), observations);
        let answering = self.add_flow(at, describe(by.other(), Some(opening)), observations);
        let connection = Connection {
            opened_by: by,
            flows: ConnectionFlows { opening, answering: Some(answering) },
            first,
            is_established: false,
            data: [Data::default(); 2],
            is_over: false,
        };
        self.known.insert(ends, connection);
    }

    /// Forgets connections that ended long ago: a program may open any number of connections.
    fn forget(&mut self, at: Instant) {
        while let Some((since, ends, first)) = self.over.front()
            && at.saturating_since(*since) > REMEMBERED
        {
            if self.known.get(ends).is_some_and(|known| known.first == *first) {
                self.known.remove(ends);
            }
            self.over.pop_front();
        }
    }
}

/// Updates the state of a connection from a segment of one side.
fn follow(
    connection: &mut Connection,
    at: Instant,
    from: Side,
    segment: &Segment,
    observations: &mut ObservationWriter,
) {
    let flags = segment.flags;
    if flags.contains(Flags::RST) {
        for side in [Side::Program, Side::Outside] {
            if !std::mem::replace(&mut connection.data[side.index()].is_over, true) {
                let (flow, reason) = (connection.flow_from(side), FailureReason::Reset);
                observations.on_fact(at, Observation::Failed { flow, reason });
            }
        }
        return;
    }
    let own = &mut connection.data[from.index()];
    if flags.contains(Flags::SYN) {
        own.acknowledged.get_or_insert(segment.sequence + 1);
    }
    if flags.contains(Flags::FIN) {
        own.ends_at = Some(segment.end());
    }
    if flags.contains(Flags::ACK) {
        follow_acknowledgment(connection, at, from, segment.acknowledgment, observations);
    }
}

/// Updates the state from the acknowledgment number of one side.
fn follow_acknowledgment(
    connection: &mut Connection,
    at: Instant,
    from: Side,
    number: SequenceNumber,
    observations: &mut ObservationWriter,
) {
    if from == connection.opened_by && !connection.is_established {
        connection.is_established = true;
        observations.on_fact(at, Observation::Established { flow: connection.flow_from(from) });
    }
    let flow = connection.flow_from(from.other());
    let data = &mut connection.data[from.other().index()];
    if data.acknowledge(number) {
        observations.on_fact(at, Observation::Read { flow, end_offset: data.end_offset });
    }
    let is_covered = data.ends_at.is_some_and(|end| number.is_at_or_after(end));
    if is_covered && !std::mem::replace(&mut data.is_over, true) {
        observations.on_fact(at, Observation::Finished { flow });
    }
}

impl Classifier for ConnectionTracker {
    #[inline]
    fn classify(
        &mut self,
        at: Instant,
        from: NodeId,
        packet: &[u8],
        observations: &mut ObservationWriter,
    ) -> Classification {
        let side = if from == self.nodes[0] { Side::Program } else { Side::Outside };
        let to = self.nodes[side.other().index()];
        if !self.is_measured {
            return Classification::Untracked(to);
        }
        Classification::Flow(to, self.measured(at, side, packet, observations))
    }
}

/// The ends of the connection of a packet from one side.
fn ends_of(packet: &Parsed<'_>, from: Side) -> Ends {
    let (source, destination): (IpAddr, IpAddr) = match packet.ip.addresses {
        Addresses::V4 { source, destination } => (source.into(), destination.into()),
        Addresses::V6 { source, destination } => (source.into(), destination.into()),
    };
    let ends = [
        SocketAddr::new(source, packet.segment.source_port),
        SocketAddr::new(destination, packet.segment.destination_port),
    ];
    match from {
        Side::Program => ends,
        Side::Outside => [ends[1], ends[0]],
    }
}

#[cfg(test)]
mod tests;
