//! Connections that are over, and what becomes of them: rows that can be taken, and sums.

use super::follower::Follower;
use super::joining::Joint;
use super::merge::append;
use super::outcome::CaptureFacts;
use crate::connection::{
    Connection, Place, Record, SetUps, Side, Turn, connections_table, setup_tables,
};
use crate::slowest::slowest_table;
use crate::stream::RowKey;
use crate::trace::{FlowTrace, Tracer, traces_table};
use fairwind_measure::{ConnectionFlows, FlowId, Observation, Tables};
use fairwind_units::Instant;

impl Follower {
    /// Forgets what has been silent for too long.
    #[cold]
    pub(super) fn forget_expired(&mut self) {
        while let Some(slot) = self.connections.expired(self.now) {
            self.retire(slot);
        }
    }

    /// Ends a connection: its row is written, and what was kept of it is let go.
    pub(super) fn retire(&mut self, slot: u32) {
        self.retire_for(slot, false);
    }

    /// Ends a connection; `is_replaced` says that another one has begun on its ports.
    pub(super) fn retire_for(&mut self, slot: u32, is_replaced: bool) {
        let of_another = self.settle_question(slot, is_replaced);
        self.retire_one(slot);
        for held in of_another {
            self.on_known_or_stranger(held.tap, held.at, &held.packet);
        }
    }

    fn retire_one(&mut self, slot: u32) {
        // What was never decided is counted as near the opener.
        self.wire_if_undecided(slot);
        self.fail_if_doubted(slot);
        self.close_crossing(slot);
        let Some(connection) = self.connections.remove(slot) else { return };
        if let Some(ConnectionFlows { opening, answering }) =
            connection.wiring.map(|wiring| wiring.flows)
        {
            self.retire_flow(&connection, opening, Side::Opener);
            if let Some(flow) = answering {
                self.retire_flow(&connection, flow, Side::Answerer);
            }
        }
        let record = connection.record();
        count_setup(&mut self.setups, &record);
        self.records.push(record);
    }

    fn retire_flow(&mut self, connection: &Connection, flow: FlowId, side: Side) {
        let at = connection.last;
        let counted_until = self.rules.counted_until(connection.began).min(at);
        let (group, subject) = self.subject(connection, flow, side);
        let number = subject.flow;
        let timeouts = self.streams.retire(flow, counted_until, group, subject);
        if timeouts > 0 {
            self.waits.settle(number);
        }
        for _ in 0..timeouts {
            self.collector.observe(at, Observation::Timeout { flow });
        }
        self.collector.retire(flow, at);
    }

    /// The place of a flow's group, and what the flow is called in tables.
    fn subject(&self, connection: &Connection, flow: FlowId, side: Side) -> (usize, RowKey) {
        let group = self.groups.of_flow(connection, side);
        let group = usize::try_from(group).expect("groups are held in memory");
        let subject = RowKey {
            flow: self.collector.number_of(flow),
            name: connection.flow_name(side),
            group: self.groups.names[group].clone(),
        };
        (group, subject)
    }

    /// The flows of connections that are open, each with the last packet of its connection.
    fn open_flows(&self) -> Vec<(FlowId, Instant, usize, RowKey)> {
        let mut flows = Vec::new();
        for (_, connection) in self.connections.open() {
            let Some(wiring) = connection.wiring else { continue };
            let opening = Some((wiring.flows.opening, Side::Opener));
            let answering = wiring.flows.answering.map(|flow| (flow, Side::Answerer));
            for (flow, side) in opening.into_iter().chain(answering) {
                let (group, subject) = self.subject(connection, flow, side);
                let last = self.rules.counted_until(connection.began).min(connection.last);
                flows.push((flow, last, group, subject));
            }
        }
        flows
    }

    /// Rows that wait to be taken.
    pub(crate) fn rows(&self) -> usize {
        let joint = self.joint.as_ref().map_or(0, Joint::pending_rows);
        self.records.len() + self.streams.waiting() + self.collector.pending_rows() + joint
    }

    /// From `at` on it counts what it follows. The warm-up of a run alone is for the measures that the run has, too:
    /// what captures tell beyond them is of the whole run.
    #[cold]
    pub(crate) fn begin_counting(&mut self, at: Instant) {
        self.is_counting = true;
        if !self.forgets_early {
            return;
        }
        self.streams.reset_counts(at);
        if let Some(joint) = &mut self.joint {
            joint.reset_counts(at);
        }
        self.forget_rows();
        self.collector.discard_retired();
    }

    /// Forgets the rows of what is over, and its set-ups.
    fn forget_rows(&mut self) {
        self.forgotten += u64::try_from(self.records.len()).unwrap_or(0);
        self.records.clear();
        self.setups.fill_with(SetUps::default);
        self.streams.take_tables();
        self.collector.take_retired();
        if let Some(joint) = &mut self.joint {
            joint.forget_rows();
        }
    }

    /// Forgets the rows of what is over before anything counts, so that memory is bounded by what is open.
    #[cold]
    pub(crate) fn forget_early_rows(&mut self) -> bool {
        let is_early = self.forgets_early && !self.is_counting;
        if is_early {
            self.forget_rows();
        }
        is_early
    }

    /// The rows of what is over.
    pub(crate) fn take_rows(&mut self, origin: Instant, most: usize) -> Tables {
        let records = std::mem::take(&mut self.records);
        let mut tables = self.collector.take_retired().unwrap_or(Tables { tables: Vec::new() });
        tables.tables.extend(self.streams.take_tables());
        if let Some(joint) = &mut self.joint {
            append(&mut tables, joint.take_rows(most));
        }
        tables.tables.push(connections_table(&records, origin, &self.groups.names));
        tables
    }

    /// No packet comes any more: all connections end. Their rows can still be taken one part after the
    /// other.
    pub(crate) fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        // A SYN that nobody has answered becomes a connection when the one before it ends.
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
        if let Some(joint) = &mut self.joint {
            joint.finish();
        }
    }

    /// Ends everything, as measured up to `end`.
    pub(crate) fn finish(mut self, origin: Instant, end: Instant) -> (Tables, Vec<FlowTrace>) {
        self.end();
        let mut tables = self.collector.finish(end);
        tables.tables.extend(self.streams.finish(&self.groups.names));
        if let Some(joint) = &mut self.joint {
            joint.rest(&mut tables);
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

    /// The tables as if everything ended now.
    pub(crate) fn snapshot(&self, origin: Instant) -> Tables {
        let mut tables = self.collector.snapshot(self.now);
        let streams = self.streams.snapshot(&self.open_flows(), &self.groups.names);
        tables.tables.extend(streams);
        tables.tables.extend(self.joint.iter().flat_map(|joint| joint.snapshot().tables));
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

    /// What it knows of the captures as a whole.
    pub(crate) fn tell_facts(&self, facts: &mut CaptureFacts) {
        facts.strays = self.strays;
        facts.one_sided = self.joint.as_ref().map_or(0, |joint| joint.one_sided);
        facts.beyond_windows = self.joint.as_ref().map_or(0, Joint::packets_beyond_windows);
        facts.untraced = self.tracer.as_ref().map_or(0, Tracer::omitted);
        facts.connections = self.connections.began() - self.forgotten;
        facts.most_open = u64::try_from(self.connections.most()).unwrap_or(u64::MAX);
    }

    /// Nothing came behind a reset that lay within the window: it was believed.
    fn fail_if_doubted(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.life.is_reset_doubted() {
            let last = connection.last;
            self.tell(slot, last, Turn::Aborted);
        }
    }

    fn wire_if_undecided(&mut self, slot: u32) {
        if self.connections.get_mut(slot).is_some_and(|connection| connection.wiring.is_none()) {
            self.wire(slot, Place::Unknown(Side::Opener));
        }
    }
}

fn count_setup(setups: &mut [SetUps], record: &Record) {
    let group = usize::try_from(record.group).ok();
    if let Some(setups) = group.and_then(|group| setups.get_mut(group)) {
        setups.count(record);
    }
}
