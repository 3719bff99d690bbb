//! What is known of one queue: who arrived, who was dropped and why, how long it was and how long
//! packets waited.
//!
//! The time-weighted backlog is the sum of the packets' waiting times over the measured time
//! (Little's law), which needs no state about the queue's content. Waiting before the end of the
//! warm-up is cut off; a packet still waiting at the end, or dropped out of the queue, adds nothing.

use crate::distribution::{Counts, Times};
use crate::observation::DropReason;
use fairwind_units::Span;

/// A number of packets and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amount {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Amount {
    #[inline]
    const fn add_packet(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    const fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// One queue, since the end of the warm-up.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    dropped_by_reason: [Amount; DropReason::COUNT],
    enqueued_by_group: Vec<Amount>,
    dropped_by_group: Vec<Amount>,
    backlog_packets: Counts,
    backlog_bytes_sum: u128,
    backlog_bytes_maximum: u32,
    sojourn: Times,
    packet_nanos: u128,
    byte_nanos: u128,
}

impl Queue {
    pub(crate) fn new(groups: usize) -> Self {
        Self {
            dropped_by_reason: [Amount::default(); DropReason::COUNT],
            enqueued_by_group: vec![Amount::default(); groups],
            dropped_by_group: vec![Amount::default(); groups],
            backlog_packets: Counts::new(),
            backlog_bytes_sum: 0,
            backlog_bytes_maximum: 0,
            sojourn: Times::new(),
            packet_nanos: 0,
            byte_nanos: 0,
        }
    }

    /// A group is added, after those that there are.
    pub(crate) fn add_group(&mut self) {
        self.enqueued_by_group.push(Amount::default());
        self.dropped_by_group.push(Amount::default());
    }

    /// Begins to count afresh.
    pub(crate) fn end_warmup(&mut self) {
        *self = Self::new(self.enqueued_by_group.len());
    }

    #[inline]
    pub(crate) fn on_enqueued(
        &mut self,
        group: usize,
        wire_bytes: u32,
        backlog_packets: u32,
        backlog_bytes: u32,
    ) {
        self.enqueued_by_group[group].add_packet(u64::from(wire_bytes));
        self.backlog_packets.record(u64::from(backlog_packets));
        self.backlog_bytes_sum += u128::from(backlog_bytes);
        self.backlog_bytes_maximum = self.backlog_bytes_maximum.max(backlog_bytes);
    }

    /// A packet that waited `sojourn` leaves, `measured` after the end of the warm-up.
    #[inline]
    pub(crate) fn on_dequeued(&mut self, measured: Span, wire_bytes: u32, sojourn: Span) {
        let counted = u128::from(sojourn.min(measured).as_nanos());
        self.packet_nanos += counted;
        self.byte_nanos += counted * u128::from(wire_bytes);
        self.sojourn.record(sojourn.as_nanos());
    }

    #[inline]
    pub(crate) fn on_dropped(&mut self, group: usize, reason: DropReason, wire_bytes: u32) {
        self.dropped_by_reason[reason.index()].add_packet(u64::from(wire_bytes));
        self.dropped_by_group[group].add_packet(u64::from(wire_bytes));
    }

    pub(crate) fn enqueued(&self) -> Amount {
        total(&self.enqueued_by_group)
    }

    pub(crate) fn dropped(&self) -> Amount {
        total(&self.dropped_by_reason)
    }

    pub(crate) const fn dropped_for(&self, reason: DropReason) -> Amount {
        self.dropped_by_reason[reason.index()]
    }

    /// What was accepted of each group.
    pub(crate) fn enqueued_by_group(&self) -> &[Amount] {
        &self.enqueued_by_group
    }

    /// What was dropped of each group.
    pub(crate) fn dropped_by_group(&self) -> &[Amount] {
        &self.dropped_by_group
    }

    /// Packets that accepted arrivals found waiting.
    pub(crate) const fn backlog_packets(&self) -> &Counts {
        &self.backlog_packets
    }

    /// Sum of the bytes that accepted arrivals found waiting.
    pub(crate) const fn backlog_bytes_sum(&self) -> u128 {
        self.backlog_bytes_sum
    }

    /// Most bytes that an accepted arrival found waiting.
    pub(crate) const fn backlog_bytes_maximum(&self) -> u32 {
        self.backlog_bytes_maximum
    }

    /// How long packets waited before they left.
    pub(crate) const fn sojourn(&self) -> &Times {
        &self.sojourn
    }

    /// Sum over packets of nanoseconds waited.
    pub(crate) const fn packet_nanos(&self) -> u128 {
        self.packet_nanos
    }

    /// Sum over packets of bytes times nanoseconds waited.
    pub(crate) const fn byte_nanos(&self) -> u128 {
        self.byte_nanos
    }
}

fn total(amounts: &[Amount]) -> Amount {
    let mut sum = Amount::default();
    for amount in amounts {
        sum.add(*amount);
    }
    sum
}
