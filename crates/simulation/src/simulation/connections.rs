//! The ends of connections at work: reading, writing, sending, deadlines, events and relays.

use super::Simulation;
use crate::end::End;
use crate::packet::{EndId, Payload, Route, Side, SimulatedPacket};
use fairwind_assembly::{Tap, is_pure_ack};
use fairwind_measure::{Collector, FailureReason, FlowId, Observation};
use fairwind_network::NodeId;
use fairwind_tcp::Event;
use fairwind_units::Instant;

/// Addresses the segment in `packet`, from the end `id` to its peer, and reports that it is sent.
#[inline]
fn address_packet(
    end: &End,
    id: EndId,
    packet: &mut SimulatedPacket,
    ip_header_bytes: u32,
    collector: &mut Collector,
    now: Instant,
) {
    let (flow, direction) = end.flows.attribute(end.direction, packet.segment_mut());
    let route = Route { flow, direction, source: end.host, destination: end.peer_node };
    packet.address(id.peer(), route, ip_header_bytes);
    if let SimulatedPacket { payload: Payload::Segment(_, segment), wire_bytes, .. } = packet {
        let sent = Observation::Sent { flow, direction, segment, wire_bytes: *wire_bytes };
        collector.observe(now, sent);
    }
}

impl Simulation {
    /// The endpoint of an end has taken a segment: the application reads, writes, and the endpoint sends.
    #[inline]
    pub(super) fn after_segment(&mut self, id: EndId, now: Instant) {
        match self.ends[id.index()].joined {
            None => {
                self.read(id, now);
                self.flush(id, now);
            }
            Some(joined) => self.relay_after_segment(id, joined, now),
        }
        self.schedule(id.connection(), now);
    }

    /// Sends what the endpoint has to send before its application answers: a kernel acknowledges at once, so that the
    /// acknowledgment does not travel with the answer (Linux `__tcp_ack_snd_check`, `tcp_cleanup_rbuf`).
    #[cold]
    fn acknowledge(&mut self, id: EndId, now: Instant) {
        loop {
            let segment = self.network.reserve().segment_mut();
            if !self.ends[id.index()].endpoint.poll_segment_into(now, segment) {
                return;
            }
            self.delay_or_transmit(id, now);
        }
    }

    /// The application reads what has arrived in order.
    #[inline]
    fn read(&mut self, id: EndId, now: Instant) {
        let end = &mut self.ends[id.index()];
        let read = end.endpoint.read(now, u32::MAX);
        if read == 0 {
            return;
        }
        let (Some(flow), end_offset) = (end.reads, end.endpoint.received_bytes()) else { return };
        let writer = end.writer.as_mut();
        let answered = writer.and_then(|writer| {
            Some((writer.flow, writer.application.on_read(now, u64::from(read))?))
        });
        self.collector.observe(now, Observation::Read { flow, end_offset });
        if let Some((flow, asked)) = answered {
            self.collector.observe(now, Observation::Answered { flow, asked });
        }
        let end = &self.ends[id.index()];
        if end.writer.is_some() && end.endpoint.is_ack_due() {
            self.acknowledge(id, now);
        }
    }

    /// Lets the application write and the endpoint send, until neither has more; closes the endpoint when the
    /// application is done.
    #[inline]
    pub(super) fn flush(&mut self, id: EndId, now: Instant) {
        loop {
            let end = &mut self.ends[id.index()];
            if let Some(writer) = &mut end.writer {
                if let Some(end_offset) = writer.poll_write(now, &mut end.endpoint) {
                    self.on_written(id, end_offset, now);
                    continue;
                }
                writer.close_if_finished(&mut end.endpoint);
            }
            let packet = self.network.reserve();
            if !end.endpoint.poll_segment_into(now, packet.segment_mut()) {
                if end.endpoint.has_event() {
                    return self.handle_events(id, now);
                }
                self.deadlines[id.connection() as usize][id.side() as usize] = end.deadline();
                return;
            }
            if !end.ack_delay.is_zero() || self.recorder.wants(id.connection()) {
                self.delay_or_transmit(id, now);
                continue;
            }
            let node = end.node;
            address_packet(end, id, packet, self.ip_header_bytes, &mut self.collector, now);
            self.inject(node, now);
        }
    }

    /// Reports what the application has written.
    #[inline]
    fn on_written(&mut self, id: EndId, end_offset: u64, now: Instant) {
        if self.has_relays {
            return self.observe_relayed_write(id, end_offset, now);
        }
        if let Some(flow) = self.ends[id.index()].written_flow() {
            self.collector.observe(now, Observation::Written { flow, end_offset });
        }
    }

    #[cold]
    fn handle_events(&mut self, id: EndId, now: Instant) {
        while let Some(event) = self.ends[id.index()].endpoint.poll_event() {
            self.on_event(id, event, now);
        }
        self.update_deadline(id);
    }

    /// Delays the segment in the reserved slot of the network if it is a pure ACK that is to be delayed, or
    /// transmits it.
    #[cold]
    fn delay_or_transmit(&mut self, id: EndId, now: Instant) {
        if self.ends[id.index()].ack_delay.is_zero() || !self.delay_ack(id, now) {
            self.transmit(id, now);
        }
    }

    /// Puts the segment in the reserved slot of the network into a packet, and the packet on its way.
    #[cold]
    fn transmit(&mut self, id: EndId, now: Instant) {
        if self.recorder.wants(id.connection()) {
            self.record_departure(id, now);
        }
        let end = &self.ends[id.index()];
        let (node, packet) = (end.node, self.network.reserve());
        address_packet(end, id, packet, self.ip_header_bytes, &mut self.collector, now);
        self.inject(node, now);
    }

    /// Gives the packet in the reserved slot to the network.
    #[inline]
    pub(super) fn inject(&mut self, node: NodeId, now: Instant) {
        let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
        self.network.commit(now, node, tap);
    }

    /// Delays the segment in the reserved slot if it is a pure ACK; whether it was delayed.
    fn delay_ack(&mut self, id: EndId, now: Instant) -> bool {
        let segment = *self.network.reserve().segment_mut();
        if !is_pure_ack(&segment) {
            return false;
        }
        let until = now + self.ends[id.index()].ack_delay;
        self.delayed_acks.insert(until, (id, segment));
        self.next_timer = self.next_timer.min(until);
        true
    }

    pub(super) fn send_delayed_ack(&mut self, now: Instant) {
        if let Some((_, (id, segment))) = self.delayed_acks.pop_due(now) {
            *self.network.reserve().segment_mut() = segment;
            self.transmit(id, now);
        }
    }

    #[inline]
    pub(super) fn update_deadline(&mut self, id: EndId) {
        let deadline = self.ends[id.index()].deadline();
        self.deadlines[id.connection() as usize][id.side() as usize] = deadline;
    }

    #[inline]
    pub(super) fn earliest_deadline(&self, connection: u32) -> Instant {
        let [client, server] = self.deadlines[connection as usize];
        client.min(server)
    }

    #[inline]
    pub(super) fn schedule(&mut self, connection: u32, now: Instant) {
        let deadline = self.earliest_deadline(connection);
        self.agenda.schedule(now, connection, deadline);
    }

    /// A connection's turn has come, at the deadline of one of its ends or earlier.
    pub(super) fn on_connection_deadline(&mut self, connection: u32, now: Instant) {
        let [client, server] = self.deadlines[connection as usize];
        if server <= now {
            self.on_end_deadline(EndId::server(connection), now);
        }
        if client <= now {
            self.on_end_deadline(EndId::client(connection), now);
        }
    }

    fn on_end_deadline(&mut self, id: EndId, now: Instant) {
        let end = &mut self.ends[id.index()];
        if end.start == Instant::MAX {
            end.on_deadline(now);
        } else {
            end.start = Instant::MAX;
            self.open(id, now);
        }
        self.flush(id, now);
        if self.has_relays
            && id.side() == Side::Client
            && let Some(relayed) = self.ends[id.index()].joined
        {
            self.relay(relayed, id, now);
        }
    }

    /// A client is about to open its connection.
    #[cold]
    fn open(&mut self, id: EndId, now: Instant) {
        self.collector.observe(now, Observation::Opened { flow: FlowId(id.connection()) });
        if let Some(caches) = &mut self.window_caches {
            caches.on_open(&mut self.ends, id, now);
        }
    }

    /// Something has happened at an endpoint that concerns its application, the measures or a window cache.
    #[cold]
    fn on_event(&mut self, id: EndId, event: Event, now: Instant) {
        if let Some(caches) = &mut self.window_caches {
            caches.on_event(&mut self.ends, id, event, now);
        }
        match event {
            Event::Established => return self.on_established(id, now),
            Event::PeerFinished => return self.on_peer_finished(id, now),
            Event::Reset | Event::TimedOut => return self.on_failure(id, event, now),
            _ => {}
        }
        let Some(flow) = self.ends[id.index()].written_flow() else { return };
        let observation = match event {
            Event::RetransmissionTimeout => Observation::Timeout { flow },
            Event::FastRetransmit => Observation::FastRetransmit { flow },
            Event::SynRetransmitted if id.side() == Side::Client => Observation::SynRetry { flow },
            Event::ZeroWindowProbe => Observation::ZeroWindowProbe { flow },
            _ => return,
        };
        self.collector.observe(now, observation);
    }

    fn on_established(&mut self, id: EndId, now: Instant) {
        let end = &mut self.ends[id.index()];
        end.is_established = true;
        if let Some(writer) = &mut end.writer {
            writer.application.begin(now);
            if id.side() == Side::Client {
                self.collector.observe(now, Observation::Established { flow: writer.flow });
            }
            self.flush(id, now);
        }
        if id.side() == Side::Server
            && let Some(relay) = self.ends[id.index()].joined
        {
            // Flushing opens the relay's connection.
            self.flush(relay, now);
            self.schedule(relay.connection(), now);
        }
    }

    /// The peer has sent all its data.
    fn on_peer_finished(&mut self, id: EndId, now: Instant) {
        let end = &mut self.ends[id.index()];
        if id.side() == Side::Server
            && let Some(relay) = end.joined
        {
            return self.on_relayed_end(id, relay, now);
        }
        if let Some(flow) = end.reads {
            self.collector.observe(now, Observation::Finished { flow });
        }
        match &mut end.writer {
            None => end.endpoint.close(),
            Some(writer) if id.side() == Side::Server || writer.application.ends_with_other() => {
                writer.application.end();
            }
            Some(_) => return,
        }
        self.start_successor(id, now);
        self.flush(id, now);
    }

    /// The connection was reset, or given up after too many time-outs.
    fn on_failure(&mut self, id: EndId, event: Event, now: Instant) {
        let end = &mut self.ends[id.index()];
        if id.side() == Side::Server && !end.is_established {
            return end.listen_again();
        }
        let joined = end.joined;
        let writer = end.writer.as_mut();
        let flow = writer.map(|writer| {
            writer.application.end();
            writer.flow
        });
        if let Some(joined) = joined {
            self.abort(joined, now);
        }
        self.start_successor(id, now);
        if let Some(flow) = flow {
            let timed_out = event == Event::TimedOut;
            let reason = if timed_out { FailureReason::TimedOut } else { FailureReason::Reset };
            self.collector.observe(now, Observation::Failed { flow, reason });
        }
    }

    /// The connection of an end is over for that end: the one that follows it is given its start.
    fn start_successor(&mut self, id: EndId, now: Instant) {
        let Some(next) = self.ends[id.index()].successor.take() else { return };
        let Some(start) = next.start(now) else { return };
        let next = EndId::client(next.flow.0);
        self.ends[next.index()].start = start;
        self.update_deadline(next);
        self.schedule(next.connection(), now);
    }

    /// The endpoint of a joined end has taken a segment.
    #[cold]
    fn relay_after_segment(&mut self, id: EndId, joined: EndId, now: Instant) {
        match id.side() {
            Side::Server => self.relay(id, joined, now),
            Side::Client => {
                self.flush(id, now);
                // There may be room for more data.
                self.relay(joined, id, now);
            }
        }
    }

    /// Moves data from the server end `from` to the client end `to`, as far as there is room, and flushes both.
    #[cold]
    fn relay(&mut self, from: EndId, to: EndId, now: Instant) {
        loop {
            let has_read = self.read_into_relay(from, to, now);
            self.flush(from, now);
            // Asking an endpoint for segments opens its connection, which waits for the first one.
            if !self.ends[from.index()].is_established {
                break;
            }
            self.flush(to, now);
            self.schedule(to.connection(), now);
            if !has_read {
                break;
            }
        }
        self.schedule(from.connection(), now);
    }

    /// Reads as much as the relay has room for; whether that was anything.
    fn read_into_relay(&mut self, from: EndId, to: EndId, now: Instant) -> bool {
        let writer = self.ends[to.index()].writer.as_mut();
        let Some(relay) = writer.and_then(|writer| writer.application.as_relay()) else {
            return false;
        };
        let room = u32::try_from(relay.room()).unwrap_or(u32::MAX);
        let endpoint = &mut self.ends[from.index()].endpoint;
        let read = endpoint.read(now, room);
        if read > 0 {
            let end_offset = endpoint.received_bytes() - u64::from(endpoint.readable_bytes());
            let writer = self.ends[to.index()].writer.as_mut();
            if let Some(relay) = writer.and_then(|writer| writer.application.as_relay()) {
                relay.on_relayed(u64::from(read));
            }
            let flow = FlowId(from.connection());
            self.collector.observe(now, Observation::Read { flow, end_offset });
        }
        self.end_relay_with_data(from, to, now);
        read > 0
    }

    /// Ends the relay if the first sender has finished and all its data has been read.
    fn end_relay_with_data(&mut self, from: EndId, to: EndId, now: Instant) {
        let end = &mut self.ends[from.index()];
        if end.has_peer_finished && end.endpoint.readable_bytes() == 0 {
            end.has_peer_finished = false;
            end.endpoint.close();
            self.end_application(to);
            let flow = FlowId(from.connection());
            self.collector.observe(now, Observation::Finished { flow });
        }
    }

    /// The first sender has sent all its data to the server end `from`.
    fn on_relayed_end(&mut self, from: EndId, to: EndId, now: Instant) {
        self.ends[from.index()].has_peer_finished = true;
        self.end_relay_with_data(from, to, now);
        self.flush(from, now);
        self.flush(to, now);
        self.schedule(to.connection(), now);
    }

    /// Aborts the connection of an end, because the one that is joined to it has failed.
    pub(super) fn abort(&mut self, id: EndId, now: Instant) {
        if id.side() == Side::Client {
            self.end_application(id);
        }
        self.ends[id.index()].endpoint.abort();
        self.flush(id, now);
        self.schedule(id.connection(), now);
    }

    fn end_application(&mut self, id: EndId) {
        if let Some(writer) = &mut self.ends[id.index()].writer {
            writer.application.end();
        }
    }

    /// Reports that the application at an end has written up to `end_offset`, on its flow and on all that carry its
    /// data further.
    #[cold]
    fn observe_relayed_write(&mut self, id: EndId, end_offset: u64, now: Instant) {
        let end = &self.ends[id.index()];
        if end.joined.is_some() {
            return;
        }
        let (mut flow, mut carrier) = (end.written_flow(), id);
        while let Some(written) = flow {
            self.collector.observe(now, Observation::Written { flow: written, end_offset });
            let Some(onward) = self.ends[carrier.peer().index()].joined else { break };
            (flow, carrier) = (self.ends[onward.index()].written_flow(), onward);
        }
    }
}
