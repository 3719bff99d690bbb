//! Follower: one packet after the other, its connection, and its observations.
//!
//! A packet finds its connection. If it may change the connection's lifecycle (SYN, FIN, RST, or a connection
//! that is not simply open), that is handled first; then the packet becomes observations. Until the position of
//! the tap is known, the connection holds its packets, a handful of the handshake.

use super::settings::{Groups, Rules, tap_position};
use super::streams::Streams;
use crate::connection::{
    Connection, Connections, CountedPart, Ends, HeldPacket, LifecycleEvent, Record, SetUps, Side,
    SlotHint, TapMapping, TapPosition, addresses_of,
};
use crate::one_way::{
    ClockModel, DepartureTaps, FlowPairDescription, FlowPairId, OneWayFlows, OneWaySettings, Tap,
};
use crate::slowest::{LongestWaits, SeenAt};
use crate::stream::SegmentKind;
use crate::trace::{TraceSettings, Tracer};
use crate::turns::TurnRows;
use fairwind_capture::Packet;
use fairwind_measure::{Collector, ConnectionFlows, Direction, FlowId, Observation, Tables};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};
use std::hint::black_box;

/// Flags that may change the lifecycle of a connection.
const LIFECYCLE_FLAGS: Flags =
    Flags::from_bits(Flags::SYN.bits() | Flags::FIN.bits() | Flags::RST.bits());

/// The data that one side of a connection sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataSender {
    /// Slot of the connection.
    pub(super) slot: u32,
    /// The sending side.
    pub(super) side: Side,
    /// Flow of the data.
    pub(super) flow: FlowId,
}

/// Follows packets of all connections.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(super) rules: Rules,
    pub(super) connections: Connections,
    pub(super) collector: Collector,
    pub(super) streams: Streams,
    pub(super) waits: LongestWaits,
    pub(super) turns: TurnRows,
    /// The one-way flows, with two taps.
    pub(super) tap_pair: Option<TapPair>,
    pub(super) records: Vec<Record>,
    /// Connections that ended before counting began.
    pub(super) forgotten: u64,
    pub(super) groups: Groups,
    pub(super) setups: Vec<SetUps>,
    /// Whether all connections have ended.
    pub(super) has_ended: bool,
    /// Traces of the chosen connections.
    pub(super) tracer: Option<Tracer>,
    /// The latest instant so far.
    pub(super) now: Instant,
    /// Resets and other packets that belong to no connection.
    pub(super) strays: u64,
    /// Whether counting has begun.
    pub(super) is_counting: bool,
    /// Whether connections that end before counting begins are discarded.
    pub(super) forgets_early: bool,
}

impl Follower {
    pub(crate) fn new(
        rules: Rules,
        collector: Collector,
        groups: Groups,
        (percentiles, slowest): (&[f64], usize),
        tap_pair: Option<TapPair>,
        traces: Option<TraceSettings>,
        forgets_early: bool,
    ) -> Self {
        Self {
            rules,
            connections: Connections::new(rules.timeouts),
            collector,
            tap_pair,
            streams: Streams::new(groups.names.len(), percentiles),
            waits: LongestWaits::new(slowest),
            turns: TurnRows::new(percentiles),
            records: Vec::new(),
            forgotten: 0,
            setups: vec![SetUps::default(); groups.names.len()],
            groups,
            has_ended: false,
            tracer: traces.map(Tracer::new),
            now: Instant::ZERO,
            strays: 0,
            is_counting: false,
            forgets_early,
        }
    }

    /// Takes a packet seen at `tap`.
    #[inline]
    pub(crate) fn on_packet(&mut self, tap: usize, at: Instant, hint: SlotHint, packet: &Packet) {
        self.now = self.now.max(at);
        if self.now >= self.connections.next_due {
            self.forget_expired();
        }
        let SlotHint { slot, low_sent, .. } = self.connections.verified(hint, packet);
        let Some(connection) = self.connections.get_mut(slot) else {
            return self.on_unknown_connection(tap, at, packet);
        };
        let side = connection.side(low_sent);
        if !connection.is_plain() || packet.segment.flags.intersects(LIFECYCLE_FLAGS) {
            return self.on_lifecycle_packet(slot, tap, at, side, packet);
        }
        connection.count(tap, at, side, packet);
        self.measure(slot, tap, at, (side, LifecycleEvent::None), packet);
    }

    /// Looks up the connection of a packet that was read ahead.
    #[inline]
    pub(super) fn lookup(&self, packet: &Packet) -> SlotHint {
        self.connections.hint(packet)
    }

    /// Prefetches the state that packets read ahead will need.
    #[inline]
    pub(super) fn prefetch(&self, hints: impl Iterator<Item = SlotHint>) {
        let mut read = 0;
        for hint in hints {
            let Some(connection) = self.connections.get(hint.slot) else { continue };
            read ^= connection.prefetch(hint.low_sent);
            let Some(ConnectionFlows { opening, answering }) = connection.flows() else { continue };
            read ^= self.collector.prefetch(opening) ^ self.streams.prefetch(opening);
            if let Some(flow) = answering {
                read ^= self.collector.prefetch(flow) ^ self.streams.prefetch(flow);
            }
        }
        black_box(read);
    }

    /// Takes a packet that was held. Nothing expires meanwhile, because this may run during expiry.
    pub(super) fn replay_packet(&mut self, tap: usize, at: Instant, packet: &Packet) {
        let SlotHint { slot, low_sent, .. } = self.connections.hint(packet);
        let Some(connection) = self.connections.get_mut(slot) else {
            return self.on_unknown_connection(tap, at, packet);
        };
        let side = connection.side(low_sent);
        self.on_lifecycle_packet(slot, tap, at, side, packet);
    }

    /// A packet of an unknown connection.
    #[cold]
    fn on_unknown_connection(&mut self, tap: usize, at: Instant, packet: &Packet) {
        // A reset begins no connection.
        if packet.segment.flags.contains(Flags::RST) {
            self.strays += 1;
            return;
        }
        let slot = self.connections.begin(tap, at, packet, self.groups.of_connection(packet));
        let (_, low_sent) = Ends::of(packet);
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let side = connection.side(low_sent);
        self.on_lifecycle_packet(slot, tap, at, side, packet);
    }

    /// A packet that may change the lifecycle, or that comes before the connection's flows are mapped.
    fn on_lifecycle_packet(
        &mut self,
        slot: u32,
        tap: usize,
        at: Instant,
        side: Side,
        packet: &Packet,
    ) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.lifecycle.is_reopened_by(side, &packet.segment) {
            self.retire(slot);
            return self.on_unknown_connection(tap, at, packet);
        }
        if self.is_for_new_connection(slot, (tap, at), side, packet) {
            return;
        }
        let verdict = self.reset_verdict(slot, side, packet);
        let Some(connection) = self.connections.get_mut(slot) else { return };
        connection.count(tap, at, side, packet);
        let mut event = LifecycleEvent::None;
        if connection.first_tap == tap {
            let before = connection.lifecycle.phase;
            event = connection.on_lifecycle_packet(at, side, &packet.segment, verdict);
            if connection.lifecycle.phase != before {
                self.connections.schedule(slot);
            }
        } else if connection.mapping.is_some_and(|mapping| mapping.leaves(tap, side)) {
            // At the other tap, the last byte is acknowledged as soon as it has arrived.
            event = connection.lifecycle.finished_by(side, &packet.segment);
            if side == Side::Answerer && packet.segment.flags.contains(Flags::SYN) {
                connection.on_syn_ack_left(at);
            }
        }
        self.take(slot, HeldPacket { tap, at, side, event, packet: *packet });
    }

    /// Measures a packet, or holds it while the position of the tap is unknown.
    pub(super) fn take(&mut self, slot: u32, held: HeldPacket) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.mapping.is_none() {
            let near_side =
                self.tap_pair.as_ref().and_then(|tap_pair| tap_pair.first_tap_side(connection));
            let place = near_side
                .map(TapPosition::Near)
                .or_else(|| tap_position(&self.rules, connection, &held));
            let Some(place) = place else {
                connection.held_packets.push(held);
                return;
            };
            self.map_flows(slot, place);
        }
        self.measure_held(slot, &held);
    }

    /// Maps the connection to flows, and measures the held packets.
    pub(super) fn map_flows(&mut self, slot: u32, place: TapPosition) {
        let near_side = place.side();
        let mut mapping = TapMapping {
            flows: ConnectionFlows { opening: FlowId(0), answering: None },
            place,
            near: [near_side, near_side.other()],
            pair: None,
            trace: None,
        };
        mapping.trace = self.begin_trace(slot, &mapping);
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if let Some(tap_pair) = &mut self.tap_pair {
            let counted_from = self.rules.counted_from(connection.began);
            let data_groups =
                [Side::Opener, Side::Answerer].map(|side| self.groups.of_flow(connection, side));
            let groups = (connection.group, data_groups);
            mapping.pair = Some(tap_pair.open(slot, groups, &mapping, counted_from));
        }
        let held = std::mem::take(&mut connection.held_packets);
        mapping.flows.opening = self.add_flow(slot, &mapping, Side::Opener, None);
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.mapping = Some(mapping);
        }
        for held in held {
            self.measure_held(slot, &held);
        }
    }

    /// Measures a held packet and reports its lifecycle event.
    fn measure_held(&mut self, slot: u32, held: &HeldPacket) {
        self.measure(slot, held.tap, held.at, (held.side, held.event), &held.packet);
        self.report_event(slot, held.at, held.event);
    }

    /// Measures a packet, if it lies in the part of its connection that counts.
    #[inline]
    fn measure(
        &mut self,
        slot: u32,
        tap: usize,
        at: Instant,
        who: (Side, LifecycleEvent),
        packet: &Packet,
    ) {
        if self.rules.ages.is_some() {
            self.measure_part(slot, tap, at, who, packet);
        } else {
            self.measure_any(slot, tap, at, who, packet);
        }
    }

    /// Measures a packet of any age.
    #[inline]
    pub(super) fn measure_any(
        &mut self,
        slot: u32,
        tap: usize,
        at: Instant,
        (side, event): (Side, LifecycleEvent),
        packet: &Packet,
    ) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(mapping) = connection.mapping else { return };
        let leaves = mapping.leaves(tap, side);
        let segment = &packet.segment;
        if mapping.flows.answering.is_none() {
            if connection.is_first_answer_data(side, segment) {
                return self.on_first_answer(slot, tap, at, packet);
            }
            if at >= self.collector.measured_from() && connection.part != CountedPart::Before {
                connection.early.count(leaves, side, packet);
            }
            if side == Side::Opener && !(leaves && self.rules.is_joined) {
                connection.on_opener_packet(at, segment);
            }
        }
        let ConnectionFlows { opening, answering } = mapping.flows;
        let (direction, own, opposite) = match side {
            Side::Opener => (Direction::Forward, Some(opening), answering),
            Side::Answerer => (Direction::Reverse, answering, Some(opening)),
        };
        let (who, seen) = ((slot, side), (mapping, tap));
        let (flows, way) = ((own, opposite), (direction, event));
        if event == LifecycleEvent::Foreign || self.accepts_data(at, flows, leaves, packet) {
            self.observe(at, who, seen, flows, way, packet);
        } else {
            self.observe_without_sequence_numbers(at, who, seen, flows, way, packet);
        }
    }

    /// Observes a packet with sequence numbers that do not belong to the connection. Kept out of line, so that the
    /// common path stays in registers.
    #[cold]
    #[inline(never)]
    fn observe_without_sequence_numbers(
        &mut self,
        at: Instant,
        who: (u32, Side),
        seen: (TapMapping, usize),
        flows: (Option<FlowId>, Option<FlowId>),
        way: (Direction, LifecycleEvent),
        packet: &Packet,
    ) {
        self.observe(at, who, seen, flows, way, &without_sequence_numbers(packet));
    }

    /// Observes a packet of its connection.
    #[inline]
    fn observe(
        &mut self,
        at: Instant,
        (slot, side): (u32, Side),
        (mapping, tap): (TapMapping, usize),
        (own, opposite): (Option<FlowId>, Option<FlowId>),
        (direction, event): (Direction, LifecycleEvent),
        packet: &Packet,
    ) {
        let leaves = mapping.leaves(tap, side);
        let segment = &packet.segment;
        if let (Some(trace), Some(tracer)) = (mapping.trace, &mut self.tracer) {
            let shows = |sender| !self.rules.is_joined || mapping.leaves(tap, sender);
            let shows = [Side::Opener, Side::Answerer].map(shows);
            tracer.on_packet(trace, at, side, shows, packet);
        }
        let (flow, direction) = mapping.flows.attribute(direction, segment);
        let wire_bytes = packet.wire_bytes;
        if leaves {
            self.collector.observe(at, Observation::Sent { flow, direction, segment, wire_bytes });
        } else {
            let received = Observation::Received { flow, direction, segment, wire_bytes };
            self.collector.observe(at, received);
        }
        if let Some(pair) = mapping.pair {
            self.on_crossing(pair, at, (slot, side), (leaves, own), packet);
        }
        if event != LifecycleEvent::Foreign {
            self.follow_turns(slot, tap, at, side, segment);
            self.follow_streams(at, (slot, side), (own, opposite), (leaves, event), packet);
        }
    }

    /// Whether the numbers of a packet are plausible for the stream of its data and the one it acknowledges.
    #[inline]
    fn accepts_data(
        &mut self,
        at: Instant,
        (own, opposite): (Option<FlowId>, Option<FlowId>),
        leaves: bool,
        packet: &Packet,
    ) -> bool {
        let (segment, streams) = (&packet.segment, &mut self.streams);
        let own = own.filter(|_| leaves || !self.rules.is_joined);
        let opposite = opposite.filter(|_| !leaves || !self.rules.is_joined);
        own.is_none_or(|flow| streams.stream_mut(flow).accepts_data(at, segment))
            && opposite.is_none_or(|flow| streams.stream_mut(flow).accepts_ack(segment))
    }

    /// Passes a segment with payload to the turns of its connection, and a SYN, which shows where payload begins.
    #[inline]
    fn follow_turns(&mut self, slot: u32, tap: usize, at: Instant, side: Side, segment: &Segment) {
        if (segment.payload_bytes > 0 || segment.flags.contains(Flags::SYN))
            && let Some(connection) = self.connections.get_mut(slot)
        {
            connection.turns[tap & 1].on_segment(at, side, segment);
        }
    }

    /// Passes a packet to the stream of its data and to the one it acknowledges. With two taps, the tap near
    /// the sender serves its stream.
    #[inline]
    fn follow_streams(
        &mut self,
        at: Instant,
        (slot, side): (u32, Side),
        (own, opposite): (Option<FlowId>, Option<FlowId>),
        (leaves, event): (bool, LifecycleEvent),
        packet: &Packet,
    ) {
        let is_joined = self.rules.is_joined;
        let has_payload = packet.segment.payload_bytes > 0;
        if let Some(flow) = own.filter(|_| !leaves && !is_joined && has_payload) {
            self.read_in_order(flow, at);
        }
        if let Some(flow) = own.filter(|_| leaves || !is_joined) {
            self.classify(flow, at, packet);
        }
        if let Some(flow) = opposite.filter(|_| !leaves || !is_joined) {
            let held = if is_joined { None } else { self.long_outstanding(flow, at) };
            let ack = self.streams.stream_mut(flow).on_reverse_packet(at, packet);
            let newly_acknowledged = ack.newly_acknowledged_bytes;
            if newly_acknowledged > 0 && !is_joined {
                self.read(flow, at, newly_acknowledged, event);
                if let Some(held) = held {
                    let sender = DataSender { slot, side: side.other(), flow };
                    let seen_at = if leaves { SeenAt::Receiver } else { SeenAt::Sender };
                    self.end_wait(sender, (at, seen_at), held, newly_acknowledged);
                }
            }
        }
    }

    /// Classifies a packet of a flow's data, and reports retransmissions and probes.
    #[inline]
    fn classify(&mut self, flow: FlowId, at: Instant, packet: &Packet) {
        let stream = self.streams.stream_mut(flow);
        let kind = stream.on_segment(at, &packet.segment, packet.identification);
        if !matches!(kind, SegmentKind::New | SegmentKind::Bare)
            && let Some(observation) = kind.observation(flow)
        {
            self.collector.observe(at, observation);
        }
    }

    /// Data arrived: in-order data counts as read.
    #[inline]
    fn read_in_order(&mut self, flow: FlowId, at: Instant) {
        let end_offset = self.collector.arrived_in_order(flow);
        self.collector.observe(at, Observation::Read { flow, end_offset });
    }

    /// Acknowledged data counts as read, because a capture does not show the application.
    #[inline]
    fn read(&mut self, flow: FlowId, at: Instant, bytes: u64, event: LifecycleEvent) {
        // A FIN takes one sequence number.
        let fin = u64::from(matches!(event, LifecycleEvent::Finished(_)));
        let end_offset = self.streams.acknowledge(flow, bytes.saturating_sub(fin));
        self.collector.observe(at, Observation::Read { flow, end_offset });
    }
}

/// The packet without data, FIN and acknowledgment, which is how it counts if its numbers are implausible.
#[cold]
fn without_sequence_numbers(packet: &Packet) -> Packet {
    let flags = packet.segment.flags;
    let kept = flags.bits() & !(Flags::ACK.bits() | Flags::FIN.bits());
    let flags = Flags::from_bits(kept);
    Packet { segment: Segment { payload_bytes: 0, flags, ..packet.segment }, ..*packet }
}

/// The one-way flows between two taps.
#[derive(Debug)]
pub(crate) struct TapPair {
    pub(super) flows: OneWayFlows,
    pub(super) clock: ClockModel,
    /// The tap at which packets of each direction depart, if packets at both taps show it.
    departure_taps: DepartureTaps,
    /// Connections that only one tap has seen.
    pub(super) one_sided: u64,
}

impl TapPair {
    pub(crate) fn new(
        settings: OneWaySettings,
        departure_taps: DepartureTaps,
        groups: &[String],
    ) -> Self {
        let clock = settings.clock;
        let mut flows = OneWayFlows::new(settings);
        for group in groups {
            flows.add_group(group);
        }
        Self { flows, clock, departure_taps, one_sided: 0 }
    }

    /// The side of a connection that the first tap is near, if packets at both taps show it.
    pub(super) fn first_tap_side(&self, connection: &Connection) -> Option<Side> {
        let (opener, answerer) = (connection.end(Side::Opener), connection.end(Side::Answerer));
        let addresses = addresses_of(opener, answerer)?;
        let departs_there =
            self.departure_taps.departs_at_sender(addresses, (opener.port(), answerer.port()))?;
        Some(if departs_there { Side::Opener } else { Side::Answerer })
    }

    /// Starts to follow a connection between the taps.
    pub(super) fn open(
        &mut self,
        slot: u32,
        (group, data_groups): (u32, [u32; 2]),
        mapping: &TapMapping,
        counted_from: Instant,
    ) -> FlowPairId {
        let opener = if mapping.leaves(0, Side::Opener) { Tap::Sender } else { Tap::Receiver };
        let connection = slot.into();
        self.flows.open(FlowPairDescription {
            group,
            data_groups,
            connection,
            opener,
            counted_from,
        })
    }

    /// Discards counts before `at`, and the closed connections.
    pub(super) fn reset_counts(&mut self, at: Instant) {
        self.flows.reset_counts(at);
        self.one_sided = 0;
    }

    /// Appends all rows that were not taken.
    pub(super) fn rest(&mut self, tables: &mut Tables) {
        while let Some(rows) = self.flows.take_rows(usize::MAX) {
            tables.append(rows);
        }
        tables.append(self.flows.group_tables());
    }
}
