//! Packets between two taps, and the segments that took longest.

use super::follower::{DataSender, Follower};
use crate::connection::{Side, TapMapping};
use crate::one_way::{Arrival, ClockModel, FlowName, FlowPairId, LostPacket};
use crate::slowest::{SeenAt, Wait};
use crate::stream::OutstandingSegment;
use fairwind_capture::Packet;
use fairwind_measure::{ConnectionFlows, Direction, FlowId, Observation, ObservationPoints};
use fairwind_units::{Instant, Span};

impl Follower {
    /// A packet that `side` sent departs, or arrives at the other side.
    #[inline]
    pub(super) fn on_crossing(
        &mut self,
        pair: FlowPairId,
        at: Instant,
        (slot, side): (u32, Side),
        (leaves, own): (bool, Option<FlowId>),
        packet: &Packet,
    ) {
        let Some(tap_pair) = &mut self.tap_pair else { return };
        let direction = match side {
            Side::Opener => Direction::Forward,
            Side::Answerer => Direction::Reverse,
        };
        let in_order_end = if leaves {
            tap_pair.flows.on_departure(pair, direction, at, packet).in_order_end
        } else {
            let arrival = tap_pair.flows.on_arrival(pair, direction, at, packet);
            if let Some(flow) = own {
                let payload_bytes = packet.segment.payload_bytes;
                self.on_delivery(DataSender { slot, side, flow }, at, &arrival, payload_bytes);
            }
            arrival.in_order_end
        };
        if let (Some(end_offset), Some(flow)) = (in_order_end, own) {
            self.collector.observe(at, Observation::Read { flow, end_offset });
        }
        self.report_losses();
    }

    /// Reports the losses that were found.
    #[inline]
    pub(super) fn report_losses(&mut self) {
        while let Some(lost) =
            self.tap_pair.as_mut().and_then(|tap_pair| tap_pair.flows.next_lost())
        {
            self.report_loss(&lost);
        }
    }

    /// Reports one loss.
    #[cold]
    fn report_loss(&mut self, lost: &LostPacket) {
        let slot = u32::try_from(lost.connection).unwrap_or(u32::MAX);
        let Some(mapping) = self.connections.get_mut(slot).and_then(|open| open.mapping) else {
            return;
        };
        if let (Some(trace), Some(tracer)) = (mapping.trace, &mut self.tracer) {
            let sender = match lost.direction {
                Direction::Forward => Side::Opener,
                Direction::Reverse => Side::Answerer,
            };
            tracer.on_lost(trace, sender, lost);
        }
        let ConnectionFlows { opening, answering } = mapping.flows;
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

    /// Closes the one-way flows of a connection, which is still in its slot.
    pub(super) fn close_pair(&mut self, slot: u32) {
        self.discard_if_before(slot);
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(mapping) = connection.mapping else { return };
        let (Some(pair), Some(tap_pair)) = (mapping.pair, &mut self.tap_pair) else { return };
        let names = [Side::Opener, Side::Answerer].map(|side| connection.flow_name(side));
        let number = |flow| self.collector.number_of(flow).unwrap_or_default();
        let opening = FlowName { number: number(mapping.flows.opening), name: &names[0] };
        let answering = mapping.flows.answering;
        let answering = answering.map(|flow| FlowName { number: number(flow), name: &names[1] });
        tap_pair.flows.close(pair, opening, answering);
        if !connection.is_seen_at_both() {
            tap_pair.one_sided += 1;
            // With one clock both captures watched one path: a packet missing from one was lost.
            if tap_pair.clock == ClockModel::Apart {
                self.part(slot, &mapping);
            }
        }
        self.report_losses();
    }

    /// Only one tap has seen the connection: measures that need the other are unknown.
    fn part(&mut self, slot: u32, mapping: &TapMapping) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let tap = connection.first_tap;
        for (flow, side) in mapping.flows_by_side() {
            let is_near = mapping.leaves(tap, side);
            let seen_at =
                if is_near { ObservationPoints::SENDER } else { ObservationPoints::RECEIVER };
            self.collector.watch(flow, seen_at | ObservationPoints::READER);
        }
    }
}

impl Follower {
    /// The oldest outstanding segment, if a wait for it that ended now would be among the longest.
    #[inline]
    pub(super) fn long_outstanding(&self, flow: FlowId, at: Instant) -> Option<OutstandingSegment> {
        let sent_at = self.streams.stream(flow).oldest_sent_at()?;
        if self.waits.is_long(sent_at, at) {
            self.streams.stream(flow).oldest_outstanding()
        } else {
            None
        }
    }

    /// `acknowledged_bytes` were acknowledged while `segment` was the oldest outstanding one.
    #[cold]
    pub(super) fn end_wait(
        &mut self,
        sender: DataSender,
        (at, seen_at): (Instant, SeenAt),
        segment: OutstandingSegment,
        acknowledged_bytes: u64,
    ) {
        // Only a part of the segment was acknowledged.
        let Some(bytes_behind) = acknowledged_bytes.checked_sub(segment.bytes) else { return };
        let left = self.streams.stream(sender.flow).outstanding_segments();
        let segments_behind = segment.behind.saturating_sub(left);
        self.add_wait(sender, (at, seen_at), segment, (segments_behind, bytes_behind));
    }

    /// An arrival at `at` brought `payload_bytes`, and perhaps more, into order.
    #[inline]
    pub(super) fn on_delivery(
        &mut self,
        sender: DataSender,
        at: Instant,
        arrival: &Arrival,
        payload_bytes: u32,
    ) {
        let Some(end) = arrival.in_order_end else { return };
        let start = arrival.in_order_start;
        let delay = Span::from_nanos(arrival.delay.map_or(0, |delay| delay.max(0).cast_unsigned()));
        // A segment that arrived first and alone waited only for its own delay.
        let came_as_sent = arrival.repeat == 0 && end - start == u64::from(payload_bytes);
        let began = Instant::ZERO;
        if !came_as_sent || self.waits.is_long(began, began + delay) {
            self.deliver(sender, at, (start, end));
        }
    }

    #[cold]
    fn deliver(&mut self, sender: DataSender, at: Instant, (start, end): (u64, u64)) {
        let stream = self.streams.stream(sender.flow);
        let Some(segment) = stream.outstanding_at(start).filter(|segment| segment.end() <= end)
        else {
            return;
        };
        if !self.waits.is_long(segment.sent_at, at) {
            return;
        }
        let behind =
            stream.segments_before(end).saturating_sub(stream.segments_before(segment.end()));
        self.add_wait(sender, (at, SeenAt::Both), segment, (behind, end - segment.end()));
    }

    fn add_wait(
        &mut self,
        DataSender { slot, side, flow }: DataSender,
        (ended_at, seen_at): (Instant, SeenAt),
        segment: OutstandingSegment,
        (segments_behind, bytes_behind): (usize, u64),
    ) {
        // Data sent before the measured time has no latency.
        if segment.sent_at < self.collector.measured_from() {
            return;
        }
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if segment.sent_at < self.rules.counted_from(connection.began) {
            return;
        }
        let group = usize::try_from(self.groups.of_flow(connection, side)).unwrap_or(usize::MAX);
        self.waits.add(Wait {
            flow: self.collector.number_of(flow),
            ends: (connection.end(side), connection.end(side.other())),
            group,
            seen_at,
            segment,
            ended_at,
            segments_behind: u64::try_from(segments_behind).unwrap_or(u64::MAX),
            bytes_behind,
        });
    }
}
