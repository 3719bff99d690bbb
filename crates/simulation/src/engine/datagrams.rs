//! What flows of datagrams do: packets leave at instants, and arrive or do not.

use super::Simulation;
use crate::packet::SimulatedPacket;
use fairwind_assembly::Tap;
use fairwind_measure::{FlowId, Observation};
use fairwind_units::Instant;

impl Simulation {
    /// It is the turn of the agenda's entry `number`, which is behind those of the connections.
    #[cold]
    pub(super) fn on_datagrams_deadline(&mut self, number: u32, now: Instant) {
        let place = number as usize - self.flows.len();
        // Flows that answer are counted between connections and datagrams, and have no turn of their own.
        let flow = number + self.answering_flows;
        let Some(datagrams) = self.datagrams.get_mut(place) else { return };
        while let Some(payload_bytes) = datagrams.poll_payload(now) {
            let packet = SimulatedPacket::datagram(
                flow,
                datagrams.ports,
                (datagrams.sender_node, datagrams.receiver_node),
                (self.ip_header_bytes, payload_bytes),
                now,
            );
            let wire_bytes = packet.wire_bytes;
            let flow = FlowId(flow);
            let sent = Observation::DatagramSent { flow, payload_bytes, wire_bytes };
            self.collector.observe(now, sent);
            let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
            self.network.inject(now, datagrams.sender_node, packet, tap);
        }
        let deadline = datagrams.deadline();
        self.agenda.reschedule(now, number, deadline);
    }

    /// A datagram has reached its host.
    pub(super) fn on_datagram(&mut self, at: Instant, packet: &SimulatedPacket) {
        self.data_segments_delivered += 1;
        let received = Observation::DatagramReceived {
            flow: FlowId(packet.flow),
            payload_bytes: packet.segment.payload_bytes,
            wire_bytes: packet.wire_bytes,
            written: packet.written(),
        };
        self.collector.observe(at, received);
    }
}
