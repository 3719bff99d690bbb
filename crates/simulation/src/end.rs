//! Ends of connections, each with its endpoint and the application that writes there; and streams of datagrams, which are
//! applications without endpoints.
//!
//! Every connection has two ends, which differ only in what they are given: the client opens the connection
//! and writes, the server listens, and writes where the workload wants responses.

use crate::packet::{Datagram, EndId, HostNumber, host_number};
use fairwind_assembly::{DatagramPlan, DelayQueue, FlowPlan, NextConnection};
use fairwind_measure::{ConnectionFlows, Direction, FlowId};
use fairwind_network::NodeId;
use fairwind_tcp::{Config, Connection, Ports};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use fairwind_workload::{Application, Datagrams};
use std::sync::Arc;

/// An application at an end, and what the send buffer has no room for.
pub(crate) struct Writer {
    /// The flow of the data that it writes.
    pub(crate) flow: FlowId,
    pub(crate) application: Application,
    /// When the application stops; [`Instant::MAX`] for never, and once it has.
    stop: Instant,
    /// Bytes written since the beginning.
    written_bytes: u64,
    /// Written bytes that wait for room in the send buffer.
    blocked_bytes: u64,
    has_closed: bool,
}

impl Writer {
    /// Lets the application write: the bytes written since the beginning if it does. They count as written whether
    /// or not the send buffer has room for them.
    #[inline]
    pub(crate) fn poll_write(&mut self, now: Instant, endpoint: &mut Connection) -> Option<u64> {
        // A kernel wakes who waits for room once the endpoint is writable, not whenever there is room (Linux
        // `sk_stream_write_space`). What waited is sent before the next write, which would else fill up its buffer.
        if self.blocked_bytes > 0 && endpoint.is_writable() {
            self.push(endpoint);
        }
        if self.application.is_filling() && !endpoint.is_writable() {
            return None;
        }
        let unsent = endpoint.unsent_bytes() + self.blocked_bytes;
        let bytes = self.application.poll_write(now, unsent)?;
        self.written_bytes += bytes;
        self.blocked_bytes += bytes;
        self.push(endpoint);
        Some(self.written_bytes)
    }

    /// Hands the endpoint what waits for room.
    #[inline]
    fn push(&mut self, endpoint: &mut Connection) {
        self.blocked_bytes -= endpoint.write(self.blocked_bytes);
    }

    /// Closes the endpoint if the application has nothing more to write, and the endpoint took all.
    #[inline]
    pub(crate) fn close_if_finished(&mut self, endpoint: &mut Connection) {
        if !self.has_closed && self.blocked_bytes == 0 && self.application.is_finished() {
            self.has_closed = true;
            endpoint.close();
        }
    }
}

/// How an end listens.
struct Listener {
    config: Arc<Config>,
    ports: Ports,
    sequence: SequenceNumber,
}

impl Listener {
    fn listen(&self) -> Connection {
        Connection::listen(self.config.clone(), self.ports, self.sequence)
    }
}

/// The settings of an endpoint, and its initial sequence number.
pub(crate) struct EndpointStart {
    pub(crate) config: Arc<Config>,
    pub(crate) sequence: SequenceNumber,
}

pub(crate) struct End {
    pub(crate) endpoint: Connection,
    /// The application that writes here; `None` if this end only reads.
    pub(crate) writer: Option<Writer>,
    /// The flow of the data that arrives here, if any does.
    pub(crate) reads: Option<FlowId>,
    pub(crate) flows: ConnectionFlows,
    /// Which way its packets go: forward from the client.
    pub(crate) direction: Direction,
    pub(crate) host: HostNumber,
    pub(crate) node: NodeId,
    pub(crate) peer_node: NodeId,
    /// The end on the same host that a relay joins to this one.
    pub(crate) joined: Option<EndId>,
    /// How long the host delays pure ACKs of this end.
    pub(crate) ack_delay: Span,
    /// When the application opens the connection; [`Instant::MAX`] once it has, and for a server. Far beyond the end
    /// while another connection has to be over before.
    pub(crate) start: Instant,
    pub(crate) is_established: bool,
    /// Whether the peer has finished and a relay has not read everything yet.
    pub(crate) has_peer_finished: bool,
    /// The connection that follows this one, until it has been started.
    pub(crate) successor: Option<NextConnection>,
    listener: Option<Listener>,
}

impl End {
    /// The two ends of the connection of a plan, the client's first; relays are joined later.
    pub(crate) fn pair(plan: FlowPlan, client: EndpointStart, server: EndpointStart) -> [Self; 2] {
        let flows = plan.connection();
        let ports = Ports { local: plan.sender_port, remote: plan.receiver_port };
        let writer = |flow, application, stop| Writer {
            flow,
            application,
            stop,
            written_bytes: 0,
            blocked_bytes: 0,
            has_closed: false,
        };
        let listener = Listener {
            config: server.config,
            ports: Ports { local: plan.receiver_port, remote: plan.sender_port },
            sequence: server.sequence,
        };
        let response = plan.response.map(|it| writer(it.flow, it.application, Instant::MAX));
        let client = Self {
            endpoint: Connection::connect(client.config, ports, client.sequence),
            writer: Some(writer(plan.flow, plan.application, plan.stop)),
            reads: flows.answering,
            flows,
            direction: Direction::Forward,
            host: host_number(plan.sender_node),
            node: plan.sender_node,
            peer_node: plan.receiver_node,
            joined: None,
            ack_delay: plan.ack_delay,
            start: plan.start,
            is_established: false,
            has_peer_finished: false,
            successor: plan.next,
            listener: None,
        };
        let server = Self {
            endpoint: listener.listen(),
            writer: response,
            reads: Some(plan.flow),
            flows,
            direction: Direction::Reverse,
            host: host_number(plan.receiver_node),
            node: plan.receiver_node,
            peer_node: plan.sender_node,
            joined: None,
            ack_delay: Span::ZERO,
            start: Instant::MAX,
            is_established: false,
            has_peer_finished: false,
            successor: None,
            listener: Some(listener),
        };
        [client, server]
    }

    /// The flow of the data that is written here, if any is.
    pub(crate) fn written_flow(&self) -> Option<FlowId> {
        self.writer.as_ref().map(|writer| writer.flow)
    }

    /// When this end has something to do by the clock.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        if self.start != Instant::MAX {
            return self.start;
        }
        let deadline = self.endpoint.next_deadline();
        match &self.writer {
            None => deadline,
            Some(writer) => deadline.min(writer.application.next_write()).min(writer.stop),
        }
    }

    /// Performs due work, except for writing and sending.
    #[inline]
    pub(crate) fn on_deadline(&mut self, now: Instant) {
        if let Some(writer) = &mut self.writer
            && writer.stop <= now
        {
            writer.stop = Instant::MAX;
            writer.application.end();
            writer.has_closed = true;
            self.endpoint.close();
        }
        if self.endpoint.next_deadline() <= now {
            self.endpoint.on_deadline(now);
        }
    }

    /// Listens again after a handshake that failed.
    pub(crate) fn listen_again(&mut self) {
        if let Some(listener) = &self.listener {
            self.endpoint = listener.listen();
        }
    }
}

/// All streams of datagrams; those that are due at the same instant write in the order in which they were scheduled.
#[derive(Default)]
pub(crate) struct DatagramStreams {
    streams: Vec<DatagramStream>,
    /// The streams by their deadlines.
    schedule: DelayQueue<usize>,
}

impl DatagramStreams {
    pub(crate) fn new(plans: Vec<DatagramPlan>) -> Self {
        let mut streams = Self::default();
        for plan in plans {
            streams.streams.push(DatagramStream::new(plan));
            streams.schedule(streams.streams.len() - 1);
        }
        streams
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.schedule.next_deadline()
    }

    /// Takes a stream that is due off the schedule.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<usize> {
        self.schedule.pop_due(now).map(|(_, place)| place)
    }

    /// Schedules the stream if it has anything more to write.
    pub(crate) fn schedule(&mut self, place: usize) {
        let deadline = self.streams[place].datagrams.deadline();
        if deadline < Instant::MAX {
            self.schedule.insert(deadline, place);
        }
    }

    pub(crate) fn stream(&mut self, place: usize) -> &mut DatagramStream {
        &mut self.streams[place]
    }
}

pub(crate) struct DatagramStream {
    pub(crate) flow: FlowId,
    pub(crate) sender_node: NodeId,
    pub(crate) receiver_node: NodeId,
    ports: (u16, u16),
    datagrams: Datagrams,
    /// How many have left.
    sent: u64,
}

impl DatagramStream {
    fn new(plan: DatagramPlan) -> Self {
        Self {
            flow: plan.flow,
            sender_node: plan.sender_node,
            receiver_node: plan.receiver_node,
            ports: (plan.sender_port, plan.receiver_port),
            datagrams: Datagrams::new(plan.application, (plan.start, plan.stop), plan.most_payload),
            sent: 0,
        }
    }

    /// The next datagram that the application writes now, if it writes any.
    pub(crate) fn poll_datagram(&mut self, now: Instant) -> Option<Datagram> {
        let payload_bytes = self.datagrams.poll_payload(now)?;
        let datagram = Datagram::new(self.ports, payload_bytes, self.sent, now);
        self.sent += 1;
        Some(datagram)
    }
}
