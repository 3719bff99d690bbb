//! Losses of a one-way flow, and arrivals in the instant of their departure.
//!
//! On a path without delay (one capture for both ends, a host with itself) an arrival may be read before its
//! departure. A first transmission waits for its departure anyway; a retransmission or a duplicate
//! acknowledgment would seem to have none. So these wait until the instant is over.

use super::{OneWayFlow, QueryKind};
use crate::one_way::context::{Arrival, CaptureSpan, FlowContext, LostPacket};
use crate::one_way::control::ControlPacket;
use crate::one_way::transmission::Loss;
use fairwind_capture::Packet;
use fairwind_units::{Instant, Span};

/// Payload of a full Ethernet packet without options.
const ETHERNET_SEGMENT: u32 = 1460;
/// Payload that every host accepts (RFC 9293 §3.7.1).
const SMALLEST_SEGMENT: u32 = 536;

impl OneWayFlow {
    /// The oldest departure without outcome.
    pub(in super::super) fn oldest(&self) -> Option<Instant> {
        let early = self.early.front().map(|&(at, _)| at);
        [self.flight.oldest(), self.control.oldest(), early].into_iter().flatten().min()
    }

    /// A departure in the middle of those remembered.
    pub(in super::super) fn middle(&self) -> Instant {
        let middle = if self.flight.len() > self.control.len() {
            self.flight.middle()
        } else {
            self.control.middle()
        };
        middle.unwrap_or(Instant::ZERO)
    }

    /// Counts departures before `before` as lost.
    pub(in super::super) fn settle(
        &mut self,
        before: Instant,
        watch: CaptureSpan,
        context: &mut FlowContext<'_>,
        lost_packets: &mut Vec<LostPacket>,
    ) {
        while self.early.front().is_some_and(|&(at, _)| at < before) {
            let Some((at, packet)) = self.early.pop_front() else { break };
            self.unmatched(at, &packet, context);
        }
        self.expire_tied(before, context);
        let mut losses = std::mem::take(&mut context.scratch.losses);
        losses.clear();
        self.flight.settle(before, self.delivery.in_order_to(), self.cut(), &mut losses);
        let mut control = std::mem::take(&mut self.control);
        control.settle(before, |control| self.lose_control(control, watch, context, lost_packets));
        self.control = control;
        for loss in &losses {
            self.lose(loss, watch, context, lost_packets);
        }
        context.scratch.losses = losses;
    }

    /// Settles all departures at the end.
    pub(in super::super) fn finish(
        &mut self,
        watch: CaptureSpan,
        context: &mut FlowContext<'_>,
        lost_packets: &mut Vec<LostPacket>,
    ) {
        while let Some((at, packet)) = self.early.pop_front() {
            self.unmatched(at, &packet, context);
        }
        self.expire_tied(Instant::MAX, context);
        // Twice the longest delay, and some milliseconds if there was none.
        let slowest = self.slowest.max(0).unsigned_abs();
        let loss_timeout = slowest.saturating_mul(2).saturating_add(10_000_000);
        let lost_before = watch.until.as_nanos().saturating_sub(loss_timeout);
        let lost_before = Instant::from_nanos(lost_before);
        let mut losses = std::mem::take(&mut context.scratch.losses);
        losses.clear();
        let (packets, bytes, ranges) = self.flight.finish(lost_before, self.cut(), &mut losses);
        self.counts.packets_unjudged += packets;
        self.counts.payload_bytes_unjudged += bytes;
        self.counts.ranges_unjudged += ranges;
        let mut control = std::mem::take(&mut self.control);
        self.counts.packets_unjudged += control.finish(lost_before, |control| {
            self.lose_control(control, watch, context, lost_packets);
        });
        for loss in &losses {
            self.lose(loss, watch, context, lost_packets);
        }
        context.scratch.losses = losses;
        let held: Vec<_> = self.delivery.drain().collect();
        for part in held {
            self.record_arrived(&part, Span::ZERO, super::Layers::TRANSPORT, context.spill);
        }
    }

    /// Payload into which the network cuts larger packets: the largest part that arrived, or else an Ethernet
    /// packet or the largest arrival.
    fn cut(&self) -> u64 {
        match self.part_bytes {
            0 => u64::from(self.segment_bytes.max(ETHERNET_SEGMENT)),
            part => u64::from(part.max(SMALLEST_SEGMENT)),
        }
    }

    fn lose_control(
        &mut self,
        control: &ControlPacket,
        watch: CaptureSpan,
        context: &mut FlowContext<'_>,
        lost_packets: &mut Vec<LostPacket>,
    ) {
        if control.at < context.counted_from {
            return;
        }
        if control.at < watch.from {
            self.counts.packets_unjudged += 1;
            return;
        }
        self.counts.packets_lost += 1;
        self.counts.wire_bytes_lost += u64::from(control.wire_bytes);
        self.counts.ack_packets_lost += 1;
        let (origin, tap, connection) = (context.origin, context.tap, context.connection);
        // It left in this group, which the direction may have changed since.
        let group = context.group_at(control.group);
        for series in &mut group.loss_series {
            series.at(origin, control.at, QueryKind::Outcome).packets_lost += 1;
        }
        if control.has_length {
            group.rows[tap].lose(control.ticket, connection);
        }
        lost_packets.push(LostPacket {
            connection: context.connection,
            direction: context.direction,
            at: control.at,
            sequence: None,
            payload_bytes: 0,
            wire_bytes: control.wire_bytes,
            has_length: control.has_length,
        });
    }

    fn lose(
        &mut self,
        loss: &Loss,
        watch: CaptureSpan,
        context: &mut FlowContext<'_>,
        lost_packets: &mut Vec<LostPacket>,
    ) {
        if loss.at < context.counted_from {
            return;
        }
        if loss.at < watch.from {
            self.counts.packets_unjudged += u64::from(loss.is_whole);
            self.counts.payload_bytes_unjudged += loss.payload_bytes;
            self.counts.ranges_unjudged += loss.ranges;
            return;
        }
        let wire_bytes = loss.payload_bytes + loss.ranges * loss.header_bytes;
        let old_bytes = loss.payload_bytes - loss.new_bytes;
        self.counts.packets_lost += u64::from(loss.is_whole);
        self.counts.packets_partly_lost += u64::from(!loss.is_whole);
        self.counts.payload_bytes_lost += loss.payload_bytes;
        self.counts.wire_bytes_lost += wire_bytes;
        self.counts.ranges_lost += loss.ranges;
        self.counts.bundles_lost += u64::from(loss.is_whole && loss.is_bundle);
        let (origin, tap, connection) = (context.origin, context.tap, context.connection);
        let group = context.group();
        for series in &mut group.loss_series {
            let window = series.at(origin, loss.at, QueryKind::Outcome);
            window.packets_lost += u64::from(loss.is_whole);
            window.bytes_lost += loss.payload_bytes;
            window.old_bytes_lost += old_bytes;
            window.ranges_lost += loss.ranges;
            window.ranges_sent += loss.ranges;
        }
        group.rows[tap].lose(loss.ticket, connection);
        // One report per packet in the network.
        let mut left = (loss.payload_bytes, loss.ranges);
        while left.1 > 0 {
            let share = left.0.div_ceil(left.1);
            let start = loss.start + (loss.payload_bytes - left.0);
            left = (left.0 - share, left.1 - 1);
            lost_packets.push(LostPacket {
                connection: context.connection,
                direction: context.direction,
                at: loss.at,
                sequence: self.offsets.sequence(start),
                payload_bytes: u32::try_from(share).unwrap_or(u32::MAX),
                wire_bytes: u32::try_from(share + loss.header_bytes).unwrap_or(u32::MAX),
                has_length: true,
            });
        }
    }
}

/// Limit of tied arrivals.
const MOST_TIED: usize = 16;

impl OneWayFlow {
    /// Holds an arrival, because its departure may follow in the same instant.
    #[cold]
    pub(super) fn hold_tied(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
    ) -> Arrival {
        if self.tied.len() < MOST_TIED {
            self.tied.push((at, *packet));
            return Arrival::default();
        }
        self.on_unmatched_tied(at, packet, context)
    }

    /// Matches tied arrivals with a departure at `at`; returns the offset in order, if it advanced.
    #[cold]
    pub(super) fn match_tied(&mut self, at: Instant, context: &mut FlowContext<'_>) -> Option<u64> {
        let mut in_order_end = self.expire_tied(at, context);
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            let mut arrival = Arrival::default();
            if !self.match_arrival(arrived_at, &packet, context, &mut arrival) {
                arrival = self.on_unmatched_tied(arrived_at, &packet, context);
            }
            in_order_end = arrival.in_order_end.or(in_order_end);
        }
        in_order_end
    }

    /// Tied arrivals before `at` have no departure; returns the offset in order, if it advanced.
    #[cold]
    pub(super) fn expire_tied(
        &mut self,
        at: Instant,
        context: &mut FlowContext<'_>,
    ) -> Option<u64> {
        let mut in_order_end = None;
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            if arrived_at < at {
                let arrival = self.on_unmatched_tied(arrived_at, &packet, context);
                in_order_end = arrival.in_order_end.or(in_order_end);
            } else {
                self.tied.push((arrived_at, packet));
            }
        }
        in_order_end
    }

    /// Takes an arrival without departure; without payload it is a copy.
    fn on_unmatched_tied(
        &mut self,
        at: Instant,
        packet: &Packet,
        context: &mut FlowContext<'_>,
    ) -> Arrival {
        if packet.segment.payload_bytes > 0 {
            return self.unmatched(at, packet, context);
        }
        self.counts.packets_duplicated += 1;
        Arrival::default()
    }
}
