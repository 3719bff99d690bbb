//! What flows of datagrams do: packets leave at instants, and arrive or do not.

use super::Simulation;
use crate::packet::SimulatedPacket;
use fairwind_assembly::{Sink, Tap};
use fairwind_measure::{Collector, FlowId, Observation, QueueId};
use fairwind_units::Instant;

/// The collector under another name: what the network does on behalf of datagrams is code of its own, so
/// that what it does for segments is compiled for one caller, as if there were no datagrams.
struct Aside<'a>(&'a mut Collector);

impl Sink for Aside<'_> {
    #[expect(clippy::inline_always, reason = "a literal observation becomes its own code only so")]
    #[inline(always)]
    fn observe(&mut self, at: Instant, observation: Observation<'_>) {
        self.0.observe(at, observation);
    }

    #[inline]
    fn observe_through(&mut self, at: Instant, queue: QueueId, flow: FlowId, wire_bytes: u32) {
        self.0.observe_through(at, queue, flow, wire_bytes);
    }
}

impl Simulation {
    /// A stream whose turn is due, if one is, sends what it has to.
    pub(super) fn send_datagrams(&mut self, now: Instant) {
        let Some(place) = self.datagrams.take_turn(now) else { return };
        let stream = self.datagrams.stream(place);
        while let Some(payload_bytes) = stream.datagrams.poll_payload(now) {
            let packet = SimulatedPacket::datagram(
                stream.flow,
                stream.ports,
                (stream.sender_node, stream.receiver_node),
                (self.ip_header_bytes, payload_bytes),
                (now, stream.next_number()),
            );
            let wire_bytes = packet.wire_bytes;
            let flow = FlowId(stream.flow);
            let sent = Observation::DatagramSent { flow, payload_bytes, wire_bytes };
            self.collector.observe(now, sent);
            let tap = &mut Tap { sink: &mut Aside(&mut self.collector), queues: &self.queues };
            self.network.inject(now, stream.sender_node, packet, tap);
        }
        self.datagrams.set_turn(place);
    }

    /// A datagram has reached its host, as any packet does, and is read.
    #[cold]
    pub(super) fn on_datagram(&mut self, at: Instant, packet: &SimulatedPacket) {
        self.data_segments_delivered += 1;
        let read = Observation::DatagramRead {
            flow: FlowId(packet.flow),
            payload_bytes: packet.segment.payload_bytes,
            written: Some(packet.written()),
            number: self.datagrams.number_of(packet.flow, packet.number()),
        };
        self.collector.observe(at, read);
    }
}
