//! Results of an analysis: tables, traces and facts about the captures.

use super::follower::Follower;
use super::source::FrameCounts;
use super::tap_pair::TapPair;
use crate::connection::{Record, SetUps, Side, connections_table, count_setup, setup_tables};
use crate::slowest::slowest_table;
use crate::stream::RowKey;
use crate::trace::{FlowTrace, Tracer, traces_table};
use fairwind_capture::{Notes, Packet};
use fairwind_measure::{FlowId, Tables};
use fairwind_units::Instant;

/// Results of an analysis.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The tables, without rows that were taken before.
    pub tables: Tables,
    /// Points of the traced flows, as in the table `traces`.
    pub traces: Vec<FlowTrace>,
    /// Anomalies of each input.
    pub notes: Vec<Notes>,
    /// Facts about the captures.
    pub facts: CaptureFacts,
}

/// Facts about the captures as a whole.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CaptureFacts {
    /// Origin of times in tables.
    pub origin: Instant,
    /// Instant of the latest TCP packet.
    pub last: Instant,
    /// Frames of each tap; zero if packets do not come out of frames.
    pub frames: [FrameCounts; 2],
    /// TCP packets of each tap.
    pub packets: [u64; 2],
    /// Bytes of these packets on the link.
    pub wire_bytes: [u64; 2],
    /// TCP packets outside the requested time.
    pub outside: u64,
    /// Packets that belong to no connection and begin none: resets.
    pub strays: u64,
    /// Timestamps a day ahead of the last one, or more than a second behind.
    pub clock_steps: u64,
    /// Connections in only one of two captures; they are analysed from that one.
    pub one_sided: u64,
    /// Nanoseconds subtracted from the second tap's timestamps; `None` with one clock or one tap.
    pub clock_offset_nanos: Option<i64>,
    /// Packets in both captures, of those that were compared for the offset; some thousands are enough.
    pub clock_packets: u64,
    /// Packets in windows beyond the limit, so that no row of losses over time has them: the windows are too
    /// short.
    pub beyond_windows: u64,
    /// Chosen connections that were not traced because there were too many.
    pub untraced: u64,
    /// Connections, without those that ended before counting began.
    pub connections: u64,
    /// Most connections open at once.
    pub most_open: u64,
}

impl CaptureFacts {
    pub(super) fn count(&mut self, tap: usize, batch: &PacketBatch) {
        self.last = self.last.max(batch.last);
        self.packets[tap & 1] += batch.packets;
        self.wire_bytes[tap & 1] += batch.wire_bytes;
    }
}

/// Packets of one tap handled in one batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PacketBatch {
    last: Instant,
    pub(super) packets: u64,
    wire_bytes: u64,
}

impl PacketBatch {
    #[inline]
    pub(super) fn count(&mut self, at: Instant, packet: &Packet) {
        self.last = self.last.max(at);
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_bytes);
    }
}

impl Follower {
    /// Flows of open connections, each with the last packet of its connection.
    fn open_flows(&self) -> Vec<(FlowId, Instant, usize, RowKey)> {
        let mut flows = Vec::new();
        for (_, connection) in self.connections.open() {
            let Some(mapping) = connection.mapping else { continue };
            let opening = Some((mapping.flows.opening, Side::Opener));
            let answering = mapping.flows.answering.map(|flow| (flow, Side::Answerer));
            for (flow, side) in opening.into_iter().chain(answering) {
                let (group, subject) = self.subject(connection, flow, side);
                let last = self.rules.counted_until(connection.began).min(connection.last);
                flows.push((flow, last, group, subject));
            }
        }
        flows
    }

    /// Rows that can be taken.
    pub(crate) fn rows(&self) -> usize {
        let tap_pair = self.tap_pair.as_ref().map_or(0, TapPair::pending_rows);
        self.records.len() + self.streams.waiting() + self.collector.pending_rows() + tap_pair
    }

    /// Starts counting at `at`. A warm-up applies only to the tables that runs have, too; the other tables
    /// cover the whole capture.
    #[cold]
    pub(crate) fn begin_counting(&mut self, at: Instant) {
        self.is_counting = true;
        if !self.forgets_early {
            return;
        }
        self.streams.reset_counts(at);
        if let Some(tap_pair) = &mut self.tap_pair {
            tap_pair.reset_counts(at);
        }
        self.forget_rows();
        self.collector.discard_retired();
    }

    /// Discards the rows of closed connections, and their handshakes.
    fn forget_rows(&mut self) {
        self.forgotten += u64::try_from(self.records.len()).unwrap_or(0);
        self.records.clear();
        self.setups.fill_with(SetUps::default);
        self.streams.take_tables();
        self.collector.take_retired();
        if let Some(tap_pair) = &mut self.tap_pair {
            tap_pair.forget_rows();
        }
    }

    /// Discards the rows of connections that end before counting begins, so that memory is bounded by open
    /// connections.
    #[cold]
    pub(crate) fn forget_early_rows(&mut self) -> bool {
        let is_early = self.forgets_early && !self.is_counting;
        if is_early {
            self.forget_rows();
        }
        is_early
    }

    /// The rows of closed connections.
    pub(crate) fn take_rows(&mut self, origin: Instant, most: usize) -> Tables {
        let records = std::mem::take(&mut self.records);
        let mut tables = self.collector.take_retired().unwrap_or(Tables { tables: Vec::new() });
        tables.tables.extend(self.streams.take_tables());
        if let Some(tap_pair) = &mut self.tap_pair {
            tables.append(tap_pair.take_rows(most));
        }
        tables.tables.push(connections_table(&records, origin, &self.groups.names));
        tables
    }

    /// Ends all connections after the last packet. Their rows can still be taken in parts.
    pub(crate) fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        // An unanswered SYN begins a connection when the one before it ends.
        loop {
            let open: Vec<u32> =
                self.connections.open().into_iter().map(|(slot, _)| slot).collect();
            if open.is_empty() {
                break;
            }
            for slot in open {
                self.retire(slot);
            }
        }
        if let Some(tap_pair) = &mut self.tap_pair {
            tap_pair.finish();
        }
    }

    /// Ends everything; measured time ends at `end`.
    pub(crate) fn finish(mut self, origin: Instant, end: Instant) -> (Tables, Vec<FlowTrace>) {
        self.end();
        let mut tables = self.collector.finish(end);
        tables.tables.extend(self.streams.finish(&self.groups.names));
        if let Some(tap_pair) = &mut self.tap_pair {
            tap_pair.rest(&mut tables);
        }
        tables.tables.push(connections_table(&self.records, origin, &self.groups.names));
        tables.tables.extend(setup_tables(&self.groups.names, &self.setups));
        let waits = self.waits.longest_first();
        tables.tables.push(slowest_table(&waits, origin, &self.groups.names));
        let traces = self.tracer.map(|tracer| tracer.finish(end));
        if let Some(traces) = &traces {
            tables.tables.push(traces_table(traces, origin));
        }
        (tables, traces.unwrap_or_default())
    }

    /// The tables as if all connections ended now.
    pub(crate) fn snapshot(&self, origin: Instant) -> Tables {
        let mut tables = self.collector.snapshot(self.now);
        let streams = self.streams.snapshot(&self.open_flows(), &self.groups.names);
        tables.tables.extend(streams);
        tables.tables.extend(self.tap_pair.iter().flat_map(|tap_pair| tap_pair.snapshot().tables));
        let mut setups = self.setups.clone();
        let open = self.connections.open();
        let records = self.records.iter().cloned();
        let records: Vec<Record> =
            records.chain(open.iter().map(|(_, connection)| connection.record())).collect();
        for record in &records[self.records.len()..] {
            count_setup(&mut setups, record);
        }
        tables.tables.push(connections_table(&records, origin, &self.groups.names));
        tables.tables.extend(setup_tables(&self.groups.names, &setups));
        let waits = self.waits.longest_first();
        tables.tables.push(slowest_table(&waits, origin, &self.groups.names));
        tables
    }

    /// Fills in the facts that the follower has.
    pub(crate) fn fill_facts(&self, facts: &mut CaptureFacts) {
        facts.strays = self.strays;
        facts.one_sided = self.tap_pair.as_ref().map_or(0, |tap_pair| tap_pair.one_sided);
        facts.beyond_windows = self.tap_pair.as_ref().map_or(0, TapPair::packets_beyond_windows);
        facts.untraced = self.tracer.as_ref().map_or(0, Tracer::omitted);
        facts.connections = self.connections.began() - self.forgotten;
        facts.most_open = u64::try_from(self.connections.most()).unwrap_or(u64::MAX);
    }
}
