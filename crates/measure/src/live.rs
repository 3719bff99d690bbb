//! Counts of a measurement under way, for those who watch it.
//!
//! Cost: one pass over the flows and their histograms when it is asked for, nothing otherwise.

use crate::collector::Collector;
use crate::queue::GroupAtQueue;
use crate::rows::GroupSum;
use fairwind_units::Instant;

/// Counts since the measurement began, or since the end of the warm-up if that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveCounts {
    /// Seconds since the experiment began.
    pub time_s: f64,
    /// When what is counted here began, in the same seconds: 0, or the end of the warm-up.
    pub counted_from_s: f64,
    /// Whether the warm-up is over.
    pub is_warm: bool,
    /// One for each group of flows.
    pub groups: Vec<LiveGroup>,
    /// One for each queue.
    pub queues: Vec<LiveQueue>,
}

/// Counts of the flows of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveGroup {
    /// Its name.
    pub name: String,
    /// As the columns of these names in the table `groups`.
    pub payload_bytes_read: u64,
    /// See `payload_bytes_read`.
    pub data_segments_sent: u64,
    /// See `payload_bytes_read`.
    pub data_segments_retransmitted: u64,
    /// See `payload_bytes_read`.
    pub packets_lost: u64,
    /// See `payload_bytes_read`.
    pub timeouts: u64,
    /// ACK latencies: upper end of a slot in nanoseconds, and samples in it.
    pub ack_latency: Vec<(u64, u64)>,
}

/// Counts of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveQueue {
    /// Its name.
    pub name: String,
    /// Accepted packets.
    pub enqueued_packets: u64,
    /// Packets dropped by the queue or lost on the link behind it.
    pub dropped_packets: u64,
    /// Packets marked instead of being dropped.
    pub marked_packets: u64,
    /// Sum of the packets that each accepted packet found waiting.
    pub backlog_packets_sum: u64,
    /// Sum of the bytes of these packets.
    pub backlog_bytes_sum: u64,
}

impl Collector {
    /// What was counted until `now`; nothing changes by it.
    pub fn live_counts(&self, now: Instant) -> LiveCounts {
        let mut sums = self.retired.groups.clone();
        for one in self.open_flows() {
            sums[one.description.group_index()].add(one.description, one.flow, now);
        }
        let seconds = |at: Instant| at.saturating_since(self.settings.origin).as_secs_f64();
        let groups = self.settings.groups.iter().zip(&sums);
        let queues = self.settings.queues.iter().zip(&self.queues);
        LiveCounts {
            time_s: seconds(now),
            counted_from_s: if self.is_warm { seconds(self.measured_from) } else { 0.0 },
            is_warm: self.is_warm,
            groups: groups.map(|(name, sum)| LiveGroup::of(name, sum)).collect(),
            queues: queues
                .map(|(name, queue)| LiveQueue {
                    name: name.clone(),
                    enqueued_packets: queue.sum(|group| group.enqueued).packets,
                    dropped_packets: queue.sum(GroupAtQueue::dropped).packets,
                    marked_packets: queue.sum(|group| group.marked).packets,
                    backlog_packets_sum: saturated(queue.backlog_packets.sum()),
                    backlog_bytes_sum: saturated(queue.backlog_bytes_sum),
                })
                .collect(),
        }
    }
}

fn saturated(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

impl LiveGroup {
    fn of(name: &str, sum: &GroupSum) -> Self {
        let totals = &sum.totals;
        Self {
            name: name.to_owned(),
            payload_bytes_read: totals.payload_bytes_read,
            data_segments_sent: totals.data_segments_sent,
            data_segments_retransmitted: totals.data_segments_retransmitted,
            packets_lost: totals.packets_lost,
            timeouts: totals.timeouts,
            ack_latency: sum.ack_latency.slots().map(|slot| (slot.upper, slot.count)).collect(),
        }
    }
}
