//! Packets between two taps, and the segments that took longest.

use super::follower::{Follower, Sending};
use crate::connection::{Connection, Side, Wiring};
use crate::one_way::{Arrival, ClockModel, FlowName, FlowPairId, LostPacket};
use crate::slowest::{SeenAt, Wait};
use crate::stream::Held;
use fairwind_capture::Packet;
use fairwind_measure::{ConnectionFlows, Direction, FlowId, Observation, ObservationPoints};
use fairwind_units::{Instant, Span};

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

impl Follower {
    /// The oldest segment that is outstanding, if a wait for it that ended now would be one of the longest.
    #[inline]
    pub(super) fn long_held(&self, flow: FlowId, at: Instant) -> Option<Held> {
        let sent_at = self.streams.oldest_sent_at(flow)?;
        if self.waits.is_long(sent_at, at) { self.streams.stream(flow).oldest_held() } else { None }
    }

    /// So many bytes were acknowledged while `held` was the oldest segment that was outstanding.
    #[cold]
    pub(super) fn end_wait(
        &mut self,
        sending: Sending,
        (at, seen_at): (Instant, SeenAt),
        held: Held,
        acknowledged_bytes: u64,
    ) {
        // A part of a segment was acknowledged, or nothing.
        let Some(bytes_behind) = acknowledged_bytes.checked_sub(held.bytes) else { return };
        let left = self.streams.stream(sending.flow).outstanding_segments();
        let segments_behind = held.behind.saturating_sub(left);
        self.add_wait(sending, (at, seen_at), held, (segments_behind, bytes_behind));
    }

    /// An arrival at `at` has brought `payload_bytes` and more of the stream into order.
    #[inline]
    pub(super) fn note_delivery(
        &mut self,
        sending: Sending,
        at: Instant,
        arrival: &Arrival,
        payload_bytes: u32,
    ) {
        let Some(end) = arrival.in_order_end else { return };
        let start = arrival.in_order_start;
        let delay = Span::from_nanos(arrival.delay.map_or(0, |delay| delay.max(0).cast_unsigned()));
        // A segment that came first and brought itself alone has waited for its own way only.
        let came_as_sent = arrival.repeat == 0 && end - start == u64::from(payload_bytes);
        let began = Instant::ZERO;
        if !came_as_sent || self.waits.is_long(began, began + delay) {
            self.deliver(sending, at, (start, end));
        }
    }

    #[cold]
    fn deliver(&mut self, sending: Sending, at: Instant, (start, end): (u64, u64)) {
        let stream = self.streams.stream(sending.flow);
        let Some(held) = stream.held_at(start).filter(|held| held.end() <= end) else { return };
        if !self.waits.is_long(held.sent_at, at) {
            return;
        }
        let behind = stream.segments_before(end).saturating_sub(stream.segments_before(held.end()));
        self.add_wait(sending, (at, SeenAt::Both), held, (behind, end - held.end()));
    }

    fn add_wait(
        &mut self,
        Sending { slot, side, flow }: Sending,
        (ended_at, seen_at): (Instant, SeenAt),
        held: Held,
        (segments_behind, bytes_behind): (usize, u64),
    ) {
        // What was sent before the measured time belongs to nobody's latency.
        if held.sent_at < self.collector.measured_from() {
            return;
        }
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if held.sent_at < self.rules.counted_from(connection.began) {
            return;
        }
        let group = usize::try_from(self.groups.of_flow(connection, side)).unwrap_or(usize::MAX);
        self.waits.add(Wait {
            flow: self.collector.number_of(flow),
            ends: (connection.end(side), connection.end(side.other())),
            group,
            seen_at,
            held,
            ended_at,
            segments_behind: u64::try_from(segments_behind).unwrap_or(u64::MAX),
            bytes_behind,
        });
    }
}
