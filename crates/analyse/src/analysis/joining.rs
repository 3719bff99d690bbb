//! What two taps tell of a connection: departures and arrivals go to the passages, what is found lost or
//! delivered comes back to the measures.

use super::follower::Follower;
use super::groups::addresses_of;
use super::merge::append;
use super::waiting::Sending;
use crate::connection::{Connection, Side, Wiring};
use crate::one_way::{
    ClockModel, DepartureTaps, FlowName, FlowPairDescription, FlowPairId, LostPacket, OneWayFlows,
    OneWaySettings, Tap,
};
use fairwind_capture::Packet;
use fairwind_measure::{
    ConnectionFlows, Direction, FlowId, Observation, ObservationPoints, Table, Tables,
};
use fairwind_units::Instant;

/// What connects two taps.
#[derive(Debug)]
pub(crate) struct Joint {
    passages: OneWayFlows,
    clock: ClockModel,
    /// Which tap is whose, as far as packets that both have seen tell.
    departure_taps: DepartureTaps,
    /// Connections that only one tap has seen.
    pub(super) one_sided: u64,
}

impl Joint {
    pub(crate) fn new(
        settings: OneWaySettings,
        departure_taps: DepartureTaps,
        groups: &[String],
    ) -> Self {
        let clock = settings.clock;
        let mut passages = OneWayFlows::new(settings);
        for group in groups {
            passages.add_group(group);
        }
        Self { passages, clock, departure_taps, one_sided: 0 }
    }

    /// The side of a connection that the first tap is near, where packets that both taps have seen tell.
    pub(super) fn near_first(&self, connection: &Connection) -> Option<Side> {
        let (opener, answerer) = (connection.end(Side::Opener), connection.end(Side::Answerer));
        let addresses = addresses_of(opener, answerer)?;
        let departs_there =
            self.departure_taps.departs_at_sender(addresses, (opener.port(), answerer.port()))?;
        Some(if departs_there { Side::Opener } else { Side::Answerer })
    }

    /// A connection is to be followed between the taps.
    pub(super) fn open(
        &mut self,
        slot: u32,
        group: u32,
        wiring: &Wiring,
        counted_from: Instant,
    ) -> FlowPairId {
        let opener = if wiring.leaves(0, Side::Opener) { Tap::Sender } else { Tap::Receiver };
        let connection = slot.into();
        self.passages.open(FlowPairDescription { group, connection, opener, counted_from })
    }

    /// Forgets what was counted of a connection so far.
    pub(super) fn reset_connection_counts(&mut self, crossing: FlowPairId) {
        self.passages.reset_connection_counts(crossing);
    }

    /// Nothing of a connection counts from `at` on.
    pub(super) fn end(&mut self, crossing: FlowPairId, at: Instant) {
        self.passages.end(crossing, at);
    }

    pub(super) fn pending_rows(&self) -> usize {
        self.passages.pending_rows()
    }

    /// The rows of connections that are over.
    pub(super) fn take_rows(&mut self, most: usize) -> impl Iterator<Item = Table> {
        self.passages.take_rows(most).into_iter().flatten()
    }

    /// Forgets what was counted before `at`, and the connections that are closed.
    pub(super) fn reset_counts(&mut self, at: Instant) {
        self.passages.reset_counts(at);
        self.one_sided = 0;
    }

    /// Forgets the rows of connections that are over.
    pub(super) fn forget_rows(&mut self) {
        self.passages.discard_closed();
    }

    /// Every connection has been closed.
    pub(super) fn finish(&mut self) {
        self.passages.finish();
    }

    /// Everything that was not taken.
    pub(super) fn rest(&mut self, tables: &mut Tables) {
        while let Some(rows) = self.passages.take_rows(usize::MAX) {
            append(tables, rows);
        }
        append(tables, self.passages.group_tables());
    }

    /// Packets in windows that are too many to be kept.
    pub(super) fn packets_beyond_windows(&self) -> u64 {
        self.passages.packets_beyond_windows()
    }

    /// Sums as of now.
    pub(super) fn snapshot(&self) -> Tables {
        self.passages.group_tables()
    }
}

impl Follower {
    /// A packet that `side` sent has left it, or has come to the other side.
    #[inline]
    pub(super) fn cross(
        &mut self,
        crossing: FlowPairId,
        at: Instant,
        (slot, side): (u32, Side),
        (leaves, own): (bool, Option<FlowId>),
        packet: &Packet,
    ) {
        let Some(joint) = &mut self.joint else { return };
        let direction = match side {
            Side::Opener => Direction::Forward,
            Side::Answerer => Direction::Reverse,
        };
        let in_order_end = if leaves {
            joint.passages.on_departure(crossing, direction, at, packet).in_order_end
        } else {
            let arrival = joint.passages.on_arrival(crossing, direction, at, packet);
            if let Some(flow) = own {
                let payload_bytes = packet.segment.payload_bytes;
                self.note_delivery(Sending { slot, side, flow }, at, &arrival, payload_bytes);
            }
            arrival.in_order_end
        };
        if let (Some(end_offset), Some(flow)) = (in_order_end, own) {
            self.collector.observe(at, Observation::Read { flow, end_offset });
        }
        self.lose_found();
    }

    /// Tells the measures of what was found lost.
    #[inline]
    pub(super) fn lose_found(&mut self) {
        while let Some(lost) = self.joint.as_mut().and_then(|joint| joint.passages.next_lost()) {
            self.lose(&lost);
        }
    }

    /// Tells the measures of a loss.
    #[cold]
    fn lose(&mut self, lost: &LostPacket) {
        let slot = u32::try_from(lost.connection).unwrap_or(u32::MAX);
        let Some(wiring) = self.connections.get_mut(slot).and_then(|open| open.wiring) else {
            return;
        };
        if let (Some(trace), Some(tracer)) = (wiring.trace, &mut self.tracer) {
            let sender = match lost.direction {
                Direction::Forward => Side::Opener,
                Direction::Reverse => Side::Answerer,
            };
            tracer.on_lost(trace, sender, lost);
        }
        let ConnectionFlows { opening, answering } = wiring.flows;
        let (flow, direction) = match (answering, lost.direction, lost.has_length) {
            (None, direction, _) => (opening, direction),
            (Some(_), Direction::Forward, true) => (opening, Direction::Forward),
            (Some(_), Direction::Reverse, false) => (opening, Direction::Reverse),
            (Some(answering), Direction::Reverse, true) => (answering, Direction::Forward),
            (Some(answering), Direction::Forward, false) => (answering, Direction::Reverse),
        };
        let LostPacket { at, payload_bytes, wire_bytes, .. } = *lost;
        let lost = Observation::Lost { flow, direction, payload_bytes, wire_bytes };
        self.collector.observe(at, lost);
    }

    /// Ends what is followed of a connection between the taps; the connection is still in its slot.
    pub(super) fn close_crossing(&mut self, slot: u32) {
        self.forget_if_before(slot);
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(wiring) = connection.wiring else { return };
        let (Some(crossing), Some(joint)) = (wiring.crossing, &mut self.joint) else { return };
        let name = |connection: &Connection, side| connection.flow_name(side);
        let names = [Side::Opener, Side::Answerer].map(|side| name(connection, side));
        let number = |flow| self.collector.number_of(flow).unwrap_or_default();
        let opening = FlowName { number: number(wiring.flows.opening), name: &names[0] };
        let answering = wiring.flows.answering;
        let answering = answering.map(|flow| FlowName { number: number(flow), name: &names[1] });
        joint.passages.close(crossing, opening, answering);
        if !connection.is_seen_at_both() {
            joint.one_sided += 1;
            // Where both captures were watching one path, what the other one lacks was lost.
            if joint.clock == ClockModel::Apart {
                self.part(slot, &wiring);
            }
        }
        self.lose_found();
    }

    /// Only one tap has seen the connection: what the other one would have told is not known.
    fn part(&mut self, slot: u32, wiring: &Wiring) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let tap = connection.first_tap;
        let opening = Some((wiring.flows.opening, Side::Opener));
        let answering = wiring.flows.answering.map(|flow| (flow, Side::Answerer));
        for (flow, side) in opening.into_iter().chain(answering) {
            let is_near = wiring.leaves(tap, side);
            let seen_at =
                if is_near { ObservationPoints::SENDER } else { ObservationPoints::RECEIVER };
            self.collector.watch(flow, seen_at | ObservationPoints::READER);
        }
    }
}
