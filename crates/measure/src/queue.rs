//! Counts of one queue: arrivals, drops by reason, backlog and waiting times; and runs of losses.
//!
//! The time-weighted backlog is the sum of the packets' waiting times over the measured time
//! (Little's law), which needs no state about the queue's content. Waiting before the end of the
//! warm-up is cut off; a packet still waiting at the end, or dropped out of the queue, adds nothing.
//!
//! Losses of a group are in one run where no packet of the group was spared between them by the same
//! decision: at arrival, where packets stand in the order in which they came (of a queue that drops
//! arrivals only this is all that there is); in the queue, in the order in which they left or were dropped
//! out of it; on the link behind it.

use crate::distribution::{Counts, Times};
use crate::observation::DropReason;
use fairwind_units::Span;
use std::collections::BTreeMap;

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

/// One group at one queue, since the end of the warm-up.
#[derive(Debug, Clone)]
pub(crate) struct GroupAtQueue {
    /// Accepted packets.
    pub(crate) enqueued: Amount,
    /// Packets that left for the link.
    pub(crate) dequeued_packets: u64,
    /// How long packets waited before they left.
    pub(crate) sojourn: Times,
    /// Refused packets.
    refused: Amount,
    /// Packets dropped after they were let in.
    dropped_waiting: u64,
    dropped: [Amount; DropReason::COUNT],
    pub(crate) marked: Amount,
    runs: LossRuns,
    /// Runs that may go on: of arrivals, in the queue, on the link.
    open_runs: [LossRun; 3],
}

impl GroupAtQueue {
    fn new() -> Self {
        Self {
            enqueued: Amount::default(),
            dequeued_packets: 0,
            sojourn: Times::new(),
            refused: Amount::default(),
            dropped_waiting: 0,
            dropped: [Amount::default(); DropReason::COUNT],
            marked: Amount::default(),
            runs: LossRuns::default(),
            open_runs: Default::default(),
        }
    }

    fn on_dropped(&mut self, fate: Fate, connection: u64) {
        let bytes = u64::from(fate.wire_bytes);
        self.dropped[fate.reason.index()].add_packet(bytes);
        // Where the packet stands among those of its group that met the same decision.
        let (row, place) = match (fate.reason, fate.has_waited) {
            (DropReason::LinkLoss, _) => (2, self.dequeued_packets),
            (_, true) => {
                self.dropped_waiting += 1;
                (1, self.dequeued_packets + self.dropped_waiting)
            }
            (_, false) => {
                self.refused.add_packet(bytes);
                (0, self.offered().packets)
            }
        };
        self.open_runs[row].lose(place, connection, &mut self.runs);
    }

    /// What came to the queue, whether it was let in or not.
    pub(crate) const fn offered(&self) -> Amount {
        let mut offered = self.enqueued;
        offered.add(self.refused);
        offered
    }

    /// Packets dropped by the queue, or lost behind it.
    pub(crate) fn dropped(&self) -> Amount {
        total(&self.dropped)
    }

    pub(crate) const fn dropped_for(&self, reason: DropReason) -> Amount {
        self.dropped[reason.index()]
    }

    /// Packets dropped by the queue itself.
    pub(crate) fn dropped_by_queue(&self) -> Amount {
        let mut dropped = self.dropped_for(DropReason::QueueFull);
        dropped.add(self.dropped_for(DropReason::Early));
        dropped
    }

    /// The losses in runs, with those that may go on as if they were over.
    pub(crate) fn loss_runs(&self) -> LossRuns {
        let mut runs = LossRuns { packets: self.offered().packets, ..self.runs.clone() };
        for mut open in self.open_runs.clone() {
            open.end(&mut runs);
        }
        runs
    }
}

/// What became of a packet that was not delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    pub(crate) reason: DropReason,
    /// Whether it had been let in.
    pub(crate) has_waited: bool,
    pub(crate) wire_bytes: u32,
}

/// The greatest backlog, in packets, and the longest wait of each group, in nanoseconds; 0 where there was none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Maxima {
    pub(crate) backlog: u64,
    pub(crate) waits: Vec<u64>,
}

impl Maxima {
    /// The longest wait of any group.
    pub(crate) fn wait(&self) -> u64 {
        self.waits.iter().copied().max().unwrap_or(0)
    }

    /// Takes in a larger maximum.
    pub(crate) fn raise(&mut self, other: &Self) {
        self.backlog = self.backlog.max(other.backlog);
        self.waits.resize(self.waits.len().max(other.waits.len()), 0);
        for (wait, other) in self.waits.iter_mut().zip(&other.waits) {
            *wait = (*wait).max(*other);
        }
    }
}

/// One queue, since the end of the warm-up.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) groups: Vec<GroupAtQueue>,
    /// Packets that accepted arrivals found waiting.
    pub(crate) backlog_packets: Counts,
    /// Sum and maximum of the bytes that accepted arrivals found waiting.
    pub(crate) backlog_bytes_sum: u128,
    pub(crate) backlog_bytes_maximum: u32,
    /// Bytes that accepted arrivals found waiting, only if events are requested: it would cost every packet as much
    /// as all else that is counted here.
    pub(crate) backlog_bytes: Counts,
    /// Sum over packets of nanoseconds waited.
    pub(crate) packet_nanos: u128,
    /// Sum over packets of bytes times nanoseconds waited.
    pub(crate) byte_nanos: u128,
    pub(crate) impaired: ImpairmentCounts,
}

/// Packets to which something else than a loss happened on the link behind a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ImpairmentCounts {
    pub(crate) duplicated: u64,
    pub(crate) damaged: u64,
    pub(crate) reordered: u64,
}

impl Queue {
    pub(crate) fn new(groups: usize) -> Self {
        Self {
            groups: (0..groups).map(|_| GroupAtQueue::new()).collect(),
            backlog_packets: Counts::new(),
            backlog_bytes_sum: 0,
            backlog_bytes_maximum: 0,
            backlog_bytes: Counts::new(),
            packet_nanos: 0,
            byte_nanos: 0,
            impaired: ImpairmentCounts::default(),
        }
    }

    /// A group is added, after those that there are.
    pub(crate) fn add_group(&mut self) {
        self.groups.push(GroupAtQueue::new());
    }

    /// Begins to count afresh.
    pub(crate) fn end_warmup(&mut self) {
        *self = Self::new(self.groups.len());
    }

    #[inline]
    pub(crate) fn on_enqueued(
        &mut self,
        group: usize,
        wire_bytes: u32,
        backlog_packets: u32,
        backlog_bytes: u32,
    ) {
        self.groups[group].enqueued.add_packet(u64::from(wire_bytes));
        self.backlog_packets.record(u64::from(backlog_packets));
        self.backlog_bytes_sum += u128::from(backlog_bytes);
        self.backlog_bytes_maximum = self.backlog_bytes_maximum.max(backlog_bytes);
    }

    /// The distribution of the bytes that an accepted arrival found, where it is asked for.
    pub(crate) fn keep_backlog_bytes(&mut self, backlog_bytes: u32) {
        self.backlog_bytes.record(u64::from(backlog_bytes));
    }

    /// A packet that waited `sojourn` leaves, `measured` after the end of the warm-up.
    #[inline]
    pub(crate) fn on_dequeued(
        &mut self,
        measured: Span,
        group: usize,
        wire_bytes: u32,
        sojourn: Span,
    ) {
        let counted = u128::from(sojourn.min(measured).as_nanos());
        self.packet_nanos += counted;
        self.byte_nanos += counted * u128::from(wire_bytes);
        let group = &mut self.groups[group];
        group.dequeued_packets += 1;
        group.sojourn.record(sojourn.as_nanos());
    }

    /// A packet is let in by an idle queue, and leaves at once.
    #[inline]
    pub(crate) fn on_through(&mut self, group: usize, wire_bytes: u32) {
        self.backlog_packets.record(0);
        let group = &mut self.groups[group];
        group.enqueued.add_packet(u64::from(wire_bytes));
        group.dequeued_packets += 1;
        group.sojourn.record(0);
    }

    /// A packet of `connection` is dropped, or lost on the link.
    pub(crate) fn on_dropped(&mut self, group: usize, connection: u64, fate: Fate) {
        self.groups[group].on_dropped(fate, connection);
    }

    pub(crate) fn on_marked(&mut self, group: usize, wire_bytes: u32) {
        self.groups[group].marked.add_packet(u64::from(wire_bytes));
    }

    /// The sum over the groups.
    pub(crate) fn sum(&self, amount: impl Fn(&GroupAtQueue) -> Amount) -> Amount {
        let amounts: Vec<Amount> = self.groups.iter().map(amount).collect();
        total(&amounts)
    }

    /// The longest waits of groups and the greatest backlog since the last call, see `Distribution::swap_maximum`; from
    /// now on they are compared with what `from` says.
    pub(crate) fn swap_maxima(&mut self, from: &Maxima) -> Maxima {
        let backlog = self.backlog_packets.swap_maximum(from.backlog);
        let waits = self.groups.iter_mut().enumerate().map(|(place, group)| {
            group.sojourn.swap_maximum(from.waits.get(place).copied().unwrap_or(0))
        });
        Maxima { backlog, waits: waits.collect() }
    }

    /// How long packets of all groups waited before they left.
    pub(crate) fn sojourn(&self) -> Times {
        let mut sojourn = Times::new();
        self.groups.iter().for_each(|group| sojourn.add(&group.sojourn));
        sojourn
    }
}

fn total(amounts: &[Amount]) -> Amount {
    let mut sum = Amount::default();
    for amount in amounts {
        sum.add(*amount);
    }
    sum
}

/// Counts of runs that are over.
///
/// ```
/// use fairwind_measure::{LossRun, LossRuns};
///
/// let (mut run, mut runs) = (LossRun::default(), LossRuns::default());
/// // The third and the fourth packet of a row, of two connections, and the ninth.
/// for (place, connection) in [(3, 1), (4, 2), (9, 1)] {
///     run.lose(place, connection, &mut runs);
/// }
/// run.end(&mut runs);
/// assert_eq!((runs.losses, runs.in_succession, runs.among_connections), (3, 2, 2));
/// assert_eq!(runs.lengths, [(1, 1), (2, 1)].into());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LossRuns {
    /// Packets in the row that were counted so far.
    pub packets: u64,
    /// Losses.
    pub losses: u64,
    /// Losses in runs of two or more.
    pub in_succession: u64,
    /// Losses in runs that hit more than one connection.
    pub among_connections: u64,
    /// Losses in runs in which some connection lost more than one packet.
    pub within_connections: u64,
    /// Runs by their length.
    pub lengths: BTreeMap<u64, u64>,
}

/// A run that may go on.
#[derive(Debug, Clone, Default)]
pub struct LossRun {
    /// Place of its last packet in the row.
    last: u64,
    /// For each of its losses the connection that was hit.
    hit: Vec<u64>,
}

impl LossRun {
    /// The packet at `place` of the row, counted from 1, was lost, and was of `connection`. Losses come in
    /// the order of their places; one that does not follow the last one begins another run.
    pub fn lose(&mut self, place: u64, connection: u64, runs: &mut LossRuns) {
        if self.last + 1 != place {
            self.end(runs);
        }
        self.last = place;
        self.hit.push(connection);
    }

    /// The packet at `place` was spared, or will be if it comes: a run that ends before it is over.
    pub fn spare(&mut self, place: u64, runs: &mut LossRuns) {
        if self.last < place {
            self.end(runs);
        }
    }

    /// The run is over, if there is one.
    pub fn end(&mut self, runs: &mut LossRuns) {
        let (Some(first), length) = (self.hit.first(), self.hit.len()) else { return };
        let is_among = self.hit.iter().any(|connection| connection != first);
        self.hit.sort_unstable();
        let is_within = self.hit.windows(2).any(|pair| pair[0] == pair[1]);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        runs.losses += length;
        runs.in_succession += if length > 1 { length } else { 0 };
        runs.among_connections += if is_among { length } else { 0 };
        runs.within_connections += if is_within { length } else { 0 };
        *runs.lengths.entry(length).or_default() += 1;
        self.hit.clear();
    }
}
