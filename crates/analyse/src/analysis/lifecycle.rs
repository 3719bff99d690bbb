//! Lifecycle of followed connections: flows, new SYNs on known ports (RFC 5961), the part that counts, retirement and
//! rows.
//!
//! Packets before the counted part are followed like all others, so that outstanding data, round trips and
//! windows are known when the part begins; their counts are discarded one by one. Packets after the part are
//! ignored.

use super::follower::Follower;
use super::run::CaptureFacts;
use super::settings::Rules;
use crate::connection::{
    Connection, CountedPart, HeldPacket, LifecycleEvent, PendingSyn, Record, ResetVerdict, SetUps,
    Side, SynVerdict, TapMapping, TapPosition, connections_table, count_setup, setup_tables,
};
use crate::slowest::{LongestWaits, slowest_table};
use crate::stream::{RowKey, TapSide};
use crate::trace::{FlowTrace, TraceId, Tracer, traces_table};
use crate::turns::Turns;
use fairwind_capture::Packet;
use fairwind_measure::{
    ConnectionFlows, FailureReason, FlowDescription, FlowId, Observation, ObservationPoints, Table,
    Tables,
};
use fairwind_units::Instant;
use fairwind_wire::Flags;

impl Follower {
    /// Whether a packet is a new SYN on the connection's ports, or its answer, and was handled: the SYN is held
    /// until it is answered.
    pub(super) fn is_for_new_connection(
        &mut self,
        slot: u32,
        (tap, at): (usize, Instant),
        side: Side,
        packet: &Packet,
    ) -> bool {
        let Some(connection) = self.connections.get_mut(slot) else { return false };
        let segment = &packet.segment;
        if connection.lifecycle.may_be_reopened_by(side, segment) {
            let held =
                HeldPacket { tap, at, side, event: LifecycleEvent::Foreign, packet: *packet };
            self.hold_syn(slot, held);
            return true;
        }
        let Some(pending_syn) = &mut connection.pending_syn else { return false };
        match pending_syn.on_packet(side, segment) {
            SynVerdict::Undecided => false,
            SynVerdict::Dismissed => {
                self.dismiss_pending_syn(slot);
                false
            }
            SynVerdict::NewConnection => {
                self.retire_for(slot, true);
                self.replay_packet(tap, at, packet);
                true
            }
        }
    }

    /// A SYN requests another connection.
    fn hold_syn(&mut self, slot: u32, held: HeldPacket) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if let Some(pending_syn) = &mut connection.pending_syn
            && pending_syn.matches_syn(held.side, &held.packet.segment)
        {
            if pending_syn.add_repeat(held) {
                self.retire_for(slot, true);
            }
            return;
        }
        let silence = held.at.saturating_since(connection.last);
        let is_new_connection = connection.lifecycle.is_probably_over(silence);
        self.dismiss_pending_syn(slot);
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.hold_syn(PendingSyn::new(held, is_new_connection));
        }
    }

    /// The connection goes on: the held SYN counts as one of its packets, without effect.
    fn dismiss_pending_syn(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(pending_syn) = connection.take_pending_syn() else { return };
        self.count_as_own(slot, pending_syn.into_packets().0);
    }

    /// Counts and measures held packets as packets of the connection.
    fn count_as_own(&mut self, slot: u32, held: Vec<HeldPacket>) {
        for held in held {
            let Some(connection) = self.connections.get_mut(slot) else { return };
            connection.count(held.tap, held.at, held.side, &held.packet);
            self.take(slot, held);
        }
    }

    /// The held SYN when the connection ends: returns the packets that begin another connection, to be replayed
    /// after removal. Other packets count as the connection's own.
    pub(super) fn settle_pending_syn(&mut self, slot: u32, is_answered: bool) -> Vec<HeldPacket> {
        let Some(connection) = self.connections.get_mut(slot) else { return Vec::new() };
        let Some(pending_syn) = connection.take_pending_syn() else { return Vec::new() };
        let (held, is_new_connection) = pending_syn.into_packets();
        if is_new_connection || is_answered {
            return held;
        }
        self.count_as_own(slot, held);
        Vec::new()
    }

    /// The verdict of the receiver on a reset that `side` sends.
    pub(super) fn reset_verdict(&mut self, slot: u32, side: Side, packet: &Packet) -> ResetVerdict {
        let segment = &packet.segment;
        if !segment.flags.contains(Flags::RST) {
            return ResetVerdict::Accepted;
        }
        let Some(connection) = self.connections.get_mut(slot) else {
            return ResetVerdict::Accepted;
        };
        let flow = connection.flows().and_then(|flows| match side {
            Side::Opener => Some(flows.opening),
            Side::Answerer => flows.answering,
        });
        flow.and_then(|flow| self.streams.stream_mut(flow).reset_verdict(segment.sequence))
            .unwrap_or_else(|| connection.lifecycle.reset_verdict_without_data(side, segment))
    }
}

impl Follower {
    /// Measures a packet if only a part of each connection counts.
    #[cold]
    pub(super) fn measure_part(
        &mut self,
        slot: u32,
        tap: usize,
        at: Instant,
        who: (Side, LifecycleEvent),
        packet: &Packet,
    ) {
        let Some(ages) = self.rules.ages else { return };
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let part = ages.part(connection.began, at);
        let before = std::mem::replace(&mut connection.part, part);
        let (from, until) =
            (self.rules.counted_from(connection.began), self.rules.counted_until(connection.began));
        match (before, part) {
            (CountedPart::Before, CountedPart::Within) => self.discard_counts(slot, from),
            (CountedPart::Before | CountedPart::Within, CountedPart::After) => {
                self.discard_if_before(slot);
                self.end_part(slot, until);
            }
            _ => {}
        }
        if part == CountedPart::After {
            return;
        }
        self.measure_any(slot, tap, at, who, packet);
        if part == CountedPart::Before {
            self.discard_counts(slot, at);
        }
    }

    /// Discards the counts of a connection that ends before its part begins.
    pub(super) fn discard_if_before(&mut self, slot: u32) {
        let connection = self.connections.get_mut(slot);
        let Some(connection) = connection.filter(|it| it.part == CountedPart::Before) else {
            return;
        };
        let at = connection.last;
        self.end_part(slot, at);
        self.discard_counts(slot, at);
    }

    /// Discards the counts of a connection up to `at`.
    fn discard_counts(&mut self, slot: u32, at: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(mapping) = connection.mapping else { return };
        connection.turns.iter_mut().for_each(Turns::reset_counts);
        for (flow, _) in mapping.flows_by_side() {
            self.streams.stream_mut(flow).reset_counts(at);
            self.collector.reset_flow_counts(flow);
        }
        if let (Some(tap_pair), Some(pair)) = (&mut self.tap_pair, mapping.pair) {
            tap_pair.flows.reset_connection_counts(pair);
        }
    }

    /// The stream of the answers begins late: it counts from the beginning of the part.
    pub(super) fn start_counting_answers(&mut self, slot: u32, flow: FlowId) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if self.rules.ages.is_some() && connection.part == CountedPart::Within {
            let from = self.rules.counted_from(connection.began);
            self.streams.stream_mut(flow).reset_counts(from);
        }
    }

    /// Stops counting a connection at `at`.
    fn end_part(&mut self, slot: u32, at: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let pair = connection.mapping.and_then(|mapping| mapping.pair);
        if let (Some(tap_pair), Some(pair)) = (&mut self.tap_pair, pair) {
            tap_pair.flows.end(pair, at);
            self.report_losses();
        }
    }
}

impl Follower {
    /// Retires connections with an expired timeout.
    #[cold]
    pub(super) fn forget_expired(&mut self) {
        while let Some(slot) = self.connections.expired(self.now) {
            self.retire(slot);
        }
    }

    /// Retires a connection: its row is written and its state is freed.
    pub(super) fn retire(&mut self, slot: u32) {
        self.retire_for(slot, false);
    }

    /// Retires a connection; `is_replaced` says that another one has begun on its ports.
    pub(super) fn retire_for(&mut self, slot: u32, is_replaced: bool) {
        let of_another = self.settle_pending_syn(slot, is_replaced);
        self.retire_one(slot);
        for held in of_another {
            self.replay_packet(held.tap, held.at, &held.packet);
        }
    }

    fn retire_one(&mut self, slot: u32) {
        // Without evidence, the tap counts as near the opener.
        self.map_flows_if_undecided(slot);
        self.fail_if_challenged(slot);
        self.close_pair(slot);
        let Some(connection) = self.connections.remove(slot) else { return };
        for (flow, side) in connection.mapping.iter().flat_map(TapMapping::flows_by_side) {
            self.retire_flow(&connection, flow, side);
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
        if let Some(mapping) = &connection.mapping {
            self.turns.push(&subject, group, side, mapping, &connection.turns);
        }
        let timeouts = self.streams.retire(flow, counted_until, group, subject);
        if timeouts > 0 {
            self.waits.settle(number);
        }
        for _ in 0..timeouts {
            self.collector.observe(at, Observation::Timeout { flow });
        }
        self.collector.retire(flow, at);
    }

    /// The index of a flow's group, and the flow's key in tables.
    pub(super) fn subject(
        &self,
        connection: &Connection,
        flow: FlowId,
        side: Side,
    ) -> (usize, RowKey) {
        let group = self.groups.of_flow(connection, side);
        let group = usize::try_from(group).expect("groups are held in memory");
        let subject = RowKey {
            flow: self.collector.number_of(flow),
            name: connection.flow_name(side),
            group: self.groups.names[group].clone(),
        };
        (group, subject)
    }

    /// No packet followed a reset that lay within the window: the receiver accepted it.
    fn fail_if_challenged(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.lifecycle.is_reset_challenged() {
            let last = connection.last;
            self.report_event(slot, last, LifecycleEvent::Aborted);
        }
    }

    fn map_flows_if_undecided(&mut self, slot: u32) {
        if self.connections.get_mut(slot).is_some_and(|connection| connection.mapping.is_none()) {
            self.map_flows(slot, TapPosition::Unknown(Side::Opener));
        }
    }
}

impl Follower {
    /// Adds the flow of the data that `side` sends.
    pub(super) fn add_flow(
        &mut self,
        slot: u32,
        mapping: &TapMapping,
        side: Side,
        answers: Option<FlowId>,
    ) -> FlowId {
        let Some(connection) = self.connections.get_mut(slot) else { return FlowId::default() };
        let description = FlowDescription {
            group: self.groups.of_flow(connection, side),
            name: connection.flow_name(side),
            start: connection.began,
            answers,
            seen_at: points(&self.rules, mapping, side),
        };
        let (at, tap_side) = (connection.began, tap_side(&self.rules, mapping, side));
        let added = self.collector.add_flow(description);
        let flow = added.expect("the group is there, and a flow is answered once");
        self.streams.begin(flow, at, tap_side);
        flow
    }

    /// Starts to trace a connection, if it was chosen.
    pub(super) fn begin_trace(&mut self, slot: u32, mapping: &TapMapping) -> Option<TraceId> {
        let tracer = self.tracer.as_mut()?;
        let connection = self.connections.get_mut(slot)?;
        let sides = [Side::Opener, Side::Answerer];
        tracer.begin(
            connection.began,
            self.rules.counted_from(connection.began),
            sides.map(|side| connection.end(side)),
            sides.map(|side| tap_side(&self.rules, mapping, side)),
        )
    }

    /// The first data in the other direction becomes a flow.
    #[cold]
    pub(super) fn on_first_answer(&mut self, slot: u32, tap: usize, at: Instant, packet: &Packet) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(mut mapping) = connection.mapping else { return };
        let opening = Some(mapping.flows.opening);
        let flow = self.add_flow(slot, &mapping, Side::Answerer, opening);
        mapping.flows.answering = Some(flow);
        let Some(connection) = self.connections.get_mut(slot) else { return };
        connection.mapping = Some(mapping);
        self.collector.reattribute(mapping.flows.opening, flow, &connection.early.packets);
        // Both SYNs passed before this flow was known. With two taps, the one near the answerer serves its
        // data, whichever came first.
        let is_first_tap =
            !self.rules.is_joined || mapping.leaves(connection.first_tap, Side::Answerer);
        let (syns, acknowledged_at) = connection.set_up_at(is_first_tap);
        let window = connection.early_window;
        let stream = self.streams.stream_mut(flow);
        for (side, (at, syn)) in syns {
            if side == Side::Answerer {
                stream.on_segment(at, &syn, None);
            } else {
                stream.on_acknowledgment(at, &syn);
            }
        }
        stream.on_set_up(acknowledged_at);
        if let Some(window) = window {
            stream.on_window(at, window);
        }
        self.start_counting_answers(slot, flow);
        self.measure_any(slot, tap, at, (Side::Answerer, LifecycleEvent::None), packet);
    }

    /// Reports an event in a connection's lifecycle.
    pub(super) fn report_event(&mut self, slot: u32, at: Instant, event: LifecycleEvent) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(mapping) = connection.mapping else { return };
        let ConnectionFlows { opening, answering } = mapping.flows;
        let mut observe = |at, observation| self.collector.observe(at, observation);
        match event {
            LifecycleEvent::None | LifecycleEvent::Foreign => {}
            LifecycleEvent::SynRetry => observe(at, Observation::SynRetry { flow: opening }),
            LifecycleEvent::Established => {
                // Near the opener the connection is established when the SYN-ACK arrives, elsewhere when the
                // acknowledgment passes at the latest.
                let answered =
                    connection.lifecycle.syn_of(Side::Answerer).map(|offer| offer.first_at);
                let is_near = mapping.leaves(connection.first_tap, Side::Opener);
                let at = answered.filter(|_| is_near).unwrap_or(at);
                observe(at, Observation::Established { flow: opening });
            }
            LifecycleEvent::Aborted => {
                for flow in std::iter::once(opening).chain(answering) {
                    observe(at, Observation::Failed { flow, reason: FailureReason::Reset });
                }
            }
            LifecycleEvent::Finished(side) => {
                let flow = if side == Side::Opener { Some(opening) } else { answering };
                if let Some(flow) = flow {
                    observe(at, Observation::Finished { flow });
                }
            }
        }
    }
}

/// The points at which a flow is observed.
fn points(rules: &Rules, mapping: &TapMapping, side: Side) -> ObservationPoints {
    if rules.is_joined {
        ObservationPoints::SENDER | ObservationPoints::RECEIVER | ObservationPoints::READER
    } else if mapping.leaves(0, side) {
        ObservationPoints::SENDER | ObservationPoints::READER
    } else {
        ObservationPoints::RECEIVER | ObservationPoints::READER
    }
}

/// The tap that serves the stream of `side`.
fn tap_side(rules: &Rules, mapping: &TapMapping, side: Side) -> TapSide {
    if rules.is_joined || mapping.leaves(0, side) { TapSide::Sender } else { TapSide::Receiver }
}

impl Follower {
    /// Flows of open connections, each with the last packet of its connection.
    fn open_flows(&self) -> Vec<(FlowId, Instant, usize, RowKey)> {
        let mut flows = Vec::new();
        for (_, connection) in self.connections.open() {
            let Some(mapping) = connection.mapping else { continue };
            for (flow, side) in mapping.flows_by_side() {
                let (group, subject) = self.subject(connection, flow, side);
                let last = self.rules.counted_until(connection.began).min(connection.last);
                flows.push((flow, last, group, subject));
            }
        }
        flows
    }

    /// Rows that can be taken.
    pub(crate) fn rows(&self) -> usize {
        let tap_pair = self.tap_pair.as_ref().map_or(0, |tap_pair| tap_pair.flows.pending_rows());
        self.records.len() + self.streams.rows.waiting() + self.collector.pending_rows() + tap_pair
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
        self.turns.reset_counts();
        self.connections.each_mut(|connection| {
            connection.turns.iter_mut().for_each(Turns::reset_counts);
        });
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
        self.streams.rows.take();
        self.turns.reset_counts();
        self.collector.take_retired();
        if let Some(tap_pair) = &mut self.tap_pair {
            tap_pair.flows.discard_closed();
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
        tables.tables.extend(self.streams.rows.take());
        tables.tables.push(self.turns.take());
        if let Some(tap_pair) = &mut self.tap_pair {
            tables.append(tap_pair.flows.take_rows(most).into_iter().flatten());
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
            tap_pair.flows.finish();
        }
    }

    /// Ends everything; measured time ends at `end`.
    pub(crate) fn finish(mut self, origin: Instant, end: Instant) -> (Tables, Vec<FlowTrace>) {
        self.end();
        let mut tables = self.collector.finish(end);
        tables.tables.extend(self.streams.finish(&self.groups.names));
        tables.tables.push(self.turns.finish(&self.groups.names));
        if let Some(tap_pair) = &mut self.tap_pair {
            tap_pair.rest(&mut tables);
        }
        let groups = &self.groups.names;
        tables.append(closing_tables(groups, &self.records, &self.setups, &self.waits, origin));
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
        tables.tables.push(self.turns_so_far());
        tables.append(self.tap_pair.iter().flat_map(|tap_pair| tap_pair.flows.group_tables()));
        let mut setups = self.setups.clone();
        let open = self.connections.open();
        let records = self.records.iter().cloned();
        let records: Vec<Record> =
            records.chain(open.iter().map(|(_, connection)| connection.record())).collect();
        for record in &records[self.records.len()..] {
            count_setup(&mut setups, record);
        }
        tables.append(closing_tables(&self.groups.names, &records, &setups, &self.waits, origin));
        tables
    }

    /// The turns as if all connections ended now.
    fn turns_so_far(&self) -> Table {
        let mut turns = self.turns.clone();
        for (_, connection) in self.connections.open() {
            let Some(mapping) = &connection.mapping else { continue };
            for (flow, side) in mapping.flows_by_side() {
                let (group, subject) = self.subject(connection, flow, side);
                turns.push(&subject, group, side, mapping, &connection.turns);
            }
        }
        turns.finish(&self.groups.names)
    }

    /// Fills in the facts that the follower has.
    pub(crate) fn fill_facts(&self, facts: &mut CaptureFacts) {
        facts.strays = self.strays;
        facts.one_sided = self.tap_pair.as_ref().map_or(0, |tap_pair| tap_pair.one_sided);
        facts.beyond_windows =
            self.tap_pair.as_ref().map_or(0, |tap_pair| tap_pair.flows.packets_beyond_windows());
        facts.untraced = self.tracer.as_ref().map_or(0, Tracer::omitted);
        facts.connections = self.connections.began - self.forgotten;
        facts.most_open = u64::try_from(self.connections.most()).unwrap_or(u64::MAX);
    }
}

/// The tables about connections, their handshakes and the longest waits.
fn closing_tables(
    groups: &[String],
    records: &[Record],
    setups: &[SetUps],
    waits: &LongestWaits,
    origin: Instant,
) -> [Table; 4] {
    let [setups, retries] = setup_tables(groups, setups);
    let slowest = slowest_table(&waits.longest_first(), origin, groups);
    [connections_table(records, origin, groups), setups, retries, slowest]
}
