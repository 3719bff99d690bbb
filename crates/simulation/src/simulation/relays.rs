//! Relays: connections joined on a host, where data that arrives on the first is written on the second.
//!
//! The server end of the first and the client end of the second connection are *joined*. Delivery latency is measured
//! end to end: a write of the first sender counts as written on every connection that carries it, a write of a relay
//! on none.

use super::Simulation;
use crate::end::{EndId, Side};
use fairwind_measure::{FlowId, Observation};
use fairwind_units::Instant;

impl Simulation {
    /// The endpoint of a joined end has taken a segment.
    #[cold]
    pub(super) fn relay_after_segment(&mut self, id: EndId, joined: EndId, now: Instant) {
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
    pub(super) fn relay(&mut self, from: EndId, to: EndId, now: Instant) {
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
    pub(super) fn on_relayed_end(&mut self, from: EndId, to: EndId, now: Instant) {
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
    pub(super) fn observe_relayed_write(&mut self, id: EndId, end_offset: u64, now: Instant) {
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
