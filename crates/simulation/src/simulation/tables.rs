//! Samples, captures and the tables that are made from endpoints at the end.

use super::Simulation;
use crate::end::End;
use crate::packet::{EndId, Side};
use fairwind_measure::{
    CongestionState, ControlComplaint, FlowId, Observation, SenderCounts, SenderRow, Table,
    remembered_table, resumptions_table,
};
use fairwind_tcp::{Connection, RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Simulation {
    /// Samples all endpoints that are open and send data: those of clients, then those of servers.
    pub(super) fn sample(&mut self, now: Instant) {
        for side in [Side::Client, Side::Server] {
            for end in self.ends.iter().skip(side as usize).step_by(2) {
                if let Some(flow) = end.written_flow()
                    && end.start == Instant::MAX
                    && end.endpoint.state().is_synchronised()
                {
                    self.collector.observe(now, endpoint_sample(flow, &end.endpoint));
                }
            }
        }
        if let Some(every) = self.sample_every {
            self.next_sample = now + every;
        }
    }

    /// Captures a segment that arrives, and samples its endpoint before it looks at the segment, as the kernel's
    /// tracepoint does: as far as the experiment asks for it.
    #[cold]
    pub(super) fn record_arrival(&mut self, to: EndId, segment: &Segment, now: Instant) {
        if self.recorder.wants(to.connection()) {
            let offset = self.stream_offset(to.peer(), segment);
            self.recorder.record(now, to.peer(), to.side(), segment, offset);
        }
        let end = &self.ends[to.index()];
        if self.samples_at_acks
            && let Some(flow) = end.written_flow()
            && end.endpoint.state() == State::Established
        {
            self.collector.observe(now, endpoint_sample(flow, &end.endpoint));
        }
    }

    /// Captures the segment in the network's reserved slot.
    #[cold]
    pub(super) fn record_departure(&mut self, from: EndId, now: Instant) {
        let segment = *self.network.reserve().segment_mut();
        let offset = self.stream_offset(from, &segment);
        self.recorder.record(now, from, from.side(), &segment, offset);
    }

    /// Where the payload of a segment stands in the data of the end that sent it.
    fn stream_offset(&self, from: EndId, segment: &Segment) -> u64 {
        match segment.payload_bytes {
            0 => 0,
            _ => self.ends[from.index()].endpoint.stream_offset(segment.sequence),
        }
    }

    /// What kept each data sender from sending, for connections that have started.
    pub(super) fn sender_rows(&self) -> Vec<SenderRow> {
        let started = self.ends.chunks_exact(2).filter(|pair| self.has_started(&pair[0]));
        let row = |end: &End| {
            let flow: FlowId = end.written_flow()?;
            self.collector.sender_row(flow, self.end, sender_counts(&end.endpoint, self.end))
        };
        let mut rows: Vec<_> = started.flatten().filter_map(row).collect();
        rows.sort_by_key(SenderRow::flow);
        rows
    }

    /// Whether a client's connection has been opened; a relay's is once a client has connected to the relay.
    fn has_started(&self, client: &End) -> bool {
        let is_connected = |joined: EndId| self.ends[joined.index()].is_established;
        client.start == Instant::MAX && client.joined.is_none_or(is_connected)
    }

    /// Complaints about congestion controls, by group and text.
    pub(super) fn control_complaints(&mut self) -> Vec<ControlComplaint> {
        self.external_controls.complaints(&mut self.ends)
    }

    /// The tables of window caches, without those that would be empty.
    pub(super) fn window_cache_tables(&self) -> Vec<Table> {
        let Some(caches) = self.window_caches.as_deref() else { return Vec::new() };
        let tables =
            [resumptions_table(&caches.resumptions()), remembered_table(caches.entries(self.end))];
        tables.into_iter().filter(|table| table.rows() > 0).collect()
    }
}

/// The counters of an endpoint that sends data, until `end`.
fn sender_counts(sender: &Connection, end: Instant) -> SenderCounts {
    let info = sender.tcp_info(end);
    SenderCounts {
        busy: info.busy.unwrap_or_default(),
        window_limited: info.window_limited.unwrap_or_default(),
        buffer_limited: info.buffer_limited.unwrap_or_default(),
        segments_retransmitted: info.total_retransmissions.unwrap_or_default(),
        cwnd_packets: info.congestion_window,
        in_slow_start: info
            .slow_start_threshold
            .is_none_or(|threshold| info.congestion_window < threshold),
    }
}

fn endpoint_sample(flow: FlowId, sender: &Connection) -> Observation<'static> {
    Observation::Endpoint {
        flow,
        cwnd_packets: sender.congestion_window(),
        ssthresh_packets: sender.slow_start_threshold(),
        smoothed_rtt: sender.smoothed_rtt(),
        flight_packets: sender.flight(),
        state: match sender.recovery_state() {
            RecoveryState::Open => CongestionState::Open,
            RecoveryState::Disorder => CongestionState::Disorder,
            RecoveryState::Cwr => CongestionState::WindowReduced,
            RecoveryState::Recovery => CongestionState::Recovery,
            RecoveryState::Loss => CongestionState::Loss,
        },
    }
}
