//! Lost and unjudged packets of one direction, and arrivals in the instant of their departure.

use super::{Occasion, Passage};
use crate::one_way::context::{Arrival, LostPacket, Shared, Watch};
use crate::one_way::control::Bare;
use crate::one_way::transmission::Loss;
use fairwind_capture::Packet;
use fairwind_units::{Instant, Span};

/// Payload of a full packet on Ethernet, without options.
const ETHERNET_SEGMENT: u32 = 1460;
/// Payload that every host takes (RFC 9293 §3.7.1).
const SMALLEST_SEGMENT: u32 = 536;

impl Passage {
    /// The oldest departure whose fate is unknown.
    pub(in super::super) fn oldest(&self) -> Option<Instant> {
        let early = self.early.front().map(|&(at, _)| at);
        [self.flight.oldest(), self.bare.oldest(), early].into_iter().flatten().min()
    }

    /// A departure in the middle of those that are remembered.
    pub(in super::super) fn middle(&self) -> Instant {
        let middle = if self.flight.len() > self.bare.len() {
            self.flight.middle()
        } else {
            self.bare.middle()
        };
        middle.unwrap_or(Instant::ZERO)
    }

    /// Judges what departed before `before`.
    pub(in super::super) fn settle(
        &mut self,
        before: Instant,
        watch: Watch,
        shared: &mut Shared<'_>,
        told: &mut Vec<LostPacket>,
    ) {
        while self.early.front().is_some_and(|&(at, _)| at < before) {
            let Some((at, packet)) = self.early.pop_front() else { break };
            self.unmatched(at, &packet, shared);
        }
        self.untie_before(before, shared);
        let mut losses = std::mem::take(&mut shared.scratch.losses);
        losses.clear();
        self.flight.settle(before, self.delivery.frontier(), self.cut(), &mut losses);
        let mut bare = std::mem::take(&mut self.bare);
        bare.settle(before, |bare| self.lose_bare(bare, watch, shared, told));
        self.bare = bare;
        for loss in &losses {
            self.lose(loss, watch, shared, told);
        }
        shared.scratch.losses = losses;
    }

    /// Judges everything: nothing more comes.
    pub(in super::super) fn finish(
        &mut self,
        watch: Watch,
        shared: &mut Shared<'_>,
        told: &mut Vec<LostPacket>,
    ) {
        while let Some((at, packet)) = self.early.pop_front() {
            self.unmatched(at, &packet, shared);
        }
        self.untie_before(Instant::MAX, shared);
        // Twice the longest delay, and some milliseconds for those who have seen none.
        let slowest = self.slowest.max(0).unsigned_abs();
        let patience = slowest.saturating_mul(2).saturating_add(10_000_000);
        let lost_before = watch.until.as_nanos().saturating_sub(patience);
        let lost_before = Instant::from_nanos(lost_before);
        let mut losses = std::mem::take(&mut shared.scratch.losses);
        losses.clear();
        let (packets, bytes, ranges) = self.flight.finish(lost_before, self.cut(), &mut losses);
        self.counts.packets_unjudged += packets;
        self.counts.payload_bytes_unjudged += bytes;
        self.counts.ranges_unjudged += ranges;
        let mut bare = std::mem::take(&mut self.bare);
        self.counts.packets_unjudged +=
            bare.finish(lost_before, |bare| self.lose_bare(bare, watch, shared, told));
        for loss in &losses {
            self.lose(loss, watch, shared, told);
        }
        shared.scratch.losses = losses;
        let held: Vec<_> = self.delivery.drain().collect();
        for part in held {
            self.record_arrived(&part, Span::ZERO, super::Layers::TRANSPORT, shared.spill);
        }
    }

    /// Into what the network cuts packets that are larger: the largest part of one that arrived, else
    /// what Ethernet carries or the largest packet that arrived.
    fn cut(&self) -> u64 {
        match self.part_bytes {
            0 => u64::from(self.segment_bytes.max(ETHERNET_SEGMENT)),
            part => u64::from(part.max(SMALLEST_SEGMENT)),
        }
    }

    fn lose_bare(
        &mut self,
        bare: &Bare,
        watch: Watch,
        shared: &mut Shared<'_>,
        told: &mut Vec<LostPacket>,
    ) {
        if bare.at < shared.counted_from {
            return;
        }
        if bare.at < watch.from {
            self.counts.packets_unjudged += 1;
            return;
        }
        self.counts.packets_lost += 1;
        self.counts.wire_bytes_lost += u64::from(bare.wire_bytes);
        self.counts.ack_packets_lost += 1;
        for series in &mut shared.group.loss_series {
            series.at(shared.origin, bare.at, Occasion::Fate).packets_lost += 1;
        }
        if bare.has_length {
            shared.group.rows[shared.tap].lose(bare.ticket, shared.connection);
        }
        told.push(LostPacket {
            connection: shared.connection,
            direction: shared.direction,
            at: bare.at,
            sequence: None,
            payload_bytes: 0,
            wire_bytes: bare.wire_bytes,
            has_length: bare.has_length,
        });
    }

    fn lose(
        &mut self,
        loss: &Loss,
        watch: Watch,
        shared: &mut Shared<'_>,
        told: &mut Vec<LostPacket>,
    ) {
        if loss.at < shared.counted_from {
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
        for series in &mut shared.group.loss_series {
            let window = series.at(shared.origin, loss.at, Occasion::Fate);
            window.packets_lost += u64::from(loss.is_whole);
            window.bytes_lost += loss.payload_bytes;
            window.old_bytes_lost += old_bytes;
            window.ranges_lost += loss.ranges;
            window.ranges_sent += loss.ranges;
        }
        shared.group.rows[shared.tap].lose(loss.ticket, shared.connection);
        // As many packets as the network had made of it.
        let mut left = (loss.payload_bytes, loss.ranges);
        while left.1 > 0 {
            let share = left.0.div_ceil(left.1);
            let start = loss.start + (loss.payload_bytes - left.0);
            left = (left.0 - share, left.1 - 1);
            told.push(LostPacket {
                connection: shared.connection,
                direction: shared.direction,
                at: loss.at,
                sequence: self.places.sequence(start),
                payload_bytes: u32::try_from(share).unwrap_or(u32::MAX),
                wire_bytes: u32::try_from(share + loss.header_bytes).unwrap_or(u32::MAX),
                has_length: true,
            });
        }
    }
}

/// More of one instant has no departure.
const MOST_TIED: usize = 16;

impl Passage {
    /// An arrival whose departure was not seen waits for it to be in the same instant.
    #[cold]
    pub(super) fn tie(&mut self, at: Instant, packet: &Packet, shared: &mut Shared<'_>) -> Arrival {
        if self.tied.len() < MOST_TIED {
            self.tied.push((at, *packet));
            return Arrival::default();
        }
        self.come_alone(at, packet, shared)
    }

    /// Something has departed at `at`: what has waited for it has come. Gives what is in order now, if that is more
    /// than before.
    #[cold]
    pub(super) fn untie(&mut self, at: Instant, shared: &mut Shared<'_>) -> Option<u64> {
        let mut in_order_end = self.untie_before(at, shared);
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            let mut arrival = Arrival::default();
            if !self.match_arrival(arrived_at, &packet, shared, &mut arrival) {
                arrival = self.come_alone(arrived_at, &packet, shared);
            }
            in_order_end = arrival.in_order_end.or(in_order_end);
        }
        in_order_end
    }

    /// What arrived before `at`, and waits, has no departure. Gives what is in order now, if that is more than
    /// before.
    #[cold]
    pub(super) fn untie_before(&mut self, at: Instant, shared: &mut Shared<'_>) -> Option<u64> {
        let mut in_order_end = None;
        for (arrived_at, packet) in std::mem::take(&mut self.tied) {
            if arrived_at < at {
                let arrival = self.come_alone(arrived_at, &packet, shared);
                in_order_end = arrival.in_order_end.or(in_order_end);
            } else {
                self.tied.push((arrived_at, packet));
            }
        }
        in_order_end
    }

    /// An arrival has no departure; without payload it is a copy.
    fn come_alone(&mut self, at: Instant, packet: &Packet, shared: &mut Shared<'_>) -> Arrival {
        if packet.segment.payload_bytes > 0 {
            return self.unmatched(at, packet, shared);
        }
        self.counts.packets_duplicated += 1;
        Arrival::default()
    }
}
