//! Segments that took longest, and what delayed them: the table `slowest`.
//!
//! A [`Wait`] ends when the oldest outstanding segment is acknowledged (one tap), or when a gap at the receiver is
//! filled (two taps). Segments behind it that became known to have arrived in the same instant waited for it, and
//! count in the same row: one outage is one row, not hundreds.
//! Cost: a comparison for each acknowledgment. Memory: as many waits as were requested.

use crate::connection::flow_name;
use crate::stream::{Cause, OutstandingSegment};
use fairwind_measure::{Table, TableBuilder, TableDefinition, named_enum, table_columns};
use fairwind_units::{Instant, Span};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::net::SocketAddr;

named_enum! {
    /// Where a wait was seen.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum SeenAt {
        /// Near the sender: from departure to acknowledgment.
        Sender = "sender",
        /// Near the receiver: from its passing, or that of later data, to its acknowledgment.
        Receiver = "receiver",
        /// At both taps: from departure until in order.
        Both = "both",
    }
}

/// A segment that was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Number of its flow.
    pub(crate) flow: Option<u64>,
    /// Source and destination.
    pub(crate) ends: (SocketAddr, SocketAddr),
    /// Index of its group.
    pub(crate) group: usize,
    pub(crate) seen_at: SeenAt,
    pub(crate) segment: OutstandingSegment,
    pub(crate) ended_at: Instant,
    /// Segments behind it that waited.
    pub(crate) segments_behind: u64,
    /// Bytes behind it that waited.
    pub(crate) bytes_behind: u64,
}

impl Wait {
    /// Time from the first transmission to the end.
    pub(crate) const fn length(&self) -> Span {
        self.ended_at.saturating_since(self.segment.sent_at)
    }
}

/// The longest waits; of equal ones the first.
#[derive(Debug, Clone)]
pub(crate) struct LongestWaits {
    most: usize,
    /// Waits must be longer than this.
    threshold: Span,
    added: u64,
    shortest_first: BinaryHeap<Reverse<RankedWait>>,
}

/// A wait with its rank.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RankedWait {
    wait: Wait,
    /// Waits added before it.
    number: u64,
}

impl Ord for RankedWait {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.wait.length().cmp(&other.wait.length());
        by_length.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for RankedWait {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl LongestWaits {
    /// No waits; at most `most` are kept.
    pub(crate) const fn new(most: usize) -> Self {
        let threshold = if most == 0 { Span::MAX } else { Span::ZERO };
        Self { most, threshold, added: 0, shortest_first: BinaryHeap::new() }
    }

    /// Whether a wait from `begin` to `end` would be one of the longest.
    #[inline]
    pub(crate) fn is_long(&self, begin: Instant, end: Instant) -> bool {
        end.saturating_since(begin) > self.threshold
    }

    /// Adds a wait, if it is one of the longest.
    pub(crate) fn add(&mut self, wait: Wait) {
        if wait.length() <= self.threshold {
            return;
        }
        let ranked = Reverse(RankedWait { wait, number: self.added });
        self.added += 1;
        if self.shortest_first.len() < self.most {
            self.shortest_first.push(ranked);
        } else if let Some(mut shortest) = self.shortest_first.peek_mut() {
            // In a growing queue each wait is longer than all before.
            *shortest = ranked;
        }
        if self.shortest_first.len() == self.most {
            let shortest = self.shortest_first.peek();
            self.threshold = shortest.map_or(Span::MAX, |Reverse(ranked)| ranked.wait.length());
        }
    }

    /// Probes of a flow have turned out to be timeouts.
    pub(crate) fn settle(&mut self, flow: Option<u64>) {
        // The order does not depend on the cause.
        let mut all = std::mem::take(&mut self.shortest_first).into_vec();
        for Reverse(ranked) in &mut all {
            if ranked.wait.flow == flow && ranked.wait.segment.is_provisional {
                ranked.wait.segment.cause = Some(Cause::Timeout);
            }
        }
        self.shortest_first = all.into();
    }

    /// All waits, the longest first.
    pub(crate) fn longest_first(&self) -> Vec<Wait> {
        let mut all: Vec<&RankedWait> =
            self.shortest_first.iter().map(|Reverse(one)| one).collect();
        all.sort_by(|one, other| other.cmp(one));
        all.into_iter().map(|ranked| ranked.wait.clone()).collect()
    }
}

/// The name of the table.
const SLOWEST: &str = "slowest";

/// What its columns mean.
pub(crate) const COLUMNS: TableDefinition = (SLOWEST, &[WAITS]);

table_columns! {
    WAITS: with_wait(Wait, origin: Instant, groups: &[String]);
    "flow", "number", with(|wait| wait.flow), "The flow's number, as in the table `flows`.";
    "name", "text", with(|wait| flow_name(wait.ends.0, wait.ends.1)), "The flow of the data.";
    "group", "text", with(|wait| groups.get(wait.group).cloned().unwrap_or_default()), "The group's name.";
    "seen_at", "text", with(|wait| wait.seen_at.name().to_owned()), "`sender`: from the first transmission of a segment to its acknowledgment, at the sender's tap. `receiver`: the same at the receiver's tap, so that a lost segment counts from the next one that arrived. `both`: from the first transmission at one tap until the segment and all before it had arrived at the other.";
    "sent_s", "s", with(|wait| wait.segment.sent_at.saturating_since(origin).as_secs_f64()), "When the segment was first sent, since the origin.";
    "wait_s", "s", with(|wait| wait.length().as_secs_f64()), "Duration. The table holds the longest waits of all flows, the longest first.";
    "place_bytes", "B", with(|wait| wait.segment.start), "Bytes of the stream before the segment.";
    "payload_bytes", "B", with(|wait| wait.segment.bytes), "Bytes of the segment; FIN counts as one.";
    "repeats", "packets", with(|wait| u64::from(wait.segment.repeats)), "Number of retransmissions until then.";
    "cause", "text", with(|wait| wait.segment.cause.map_or("", Cause::name).to_owned()), "Cause of its last retransmission: `fast_retransmit`, `timeout`, `after_timeout`, `tail_loss_probe`, `unknown`. Empty if it was not retransmitted: it waited in a queue, or the acknowledgment was late.";
    "segments_behind", "packets", with(|wait| wait.segments_behind), "Later segments that were acknowledged, or became in order, at the same instant. If it was retransmitted, they waited for it (head-of-line blocking).";
    "bytes_behind", "B", with(|wait| wait.bytes_behind), "Bytes of these segments.";
}

/// Makes the table, with times from `origin` on.
pub(crate) fn slowest_table(waits: &[Wait], origin: Instant, groups: &[String]) -> Table {
    with_wait(TableBuilder::new(SLOWEST, waits), origin, groups).build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const END: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

    fn wait(begin: u64, length: u64) -> Wait {
        Wait {
            flow: Some(begin),
            ends: (END, END),
            group: 0,
            seen_at: SeenAt::Sender,
            segment: OutstandingSegment {
                start: 0,
                bytes: 1,
                sent_at: Instant::from_millis(begin),
                repeats: 1,
                cause: Some(Cause::TailLossProbe),
                is_provisional: begin == 3,
                behind: 0,
            },
            ended_at: Instant::from_millis(begin + length),
            segments_behind: 0,
            bytes_behind: 0,
        }
    }

    /// Beginning and length of each, in milliseconds.
    fn kept(waits: &LongestWaits) -> Vec<(u64, u64)> {
        let millis = |wait: &Wait| wait.length().as_nanos() / 1_000_000;
        waits
            .longest_first()
            .iter()
            .map(|one| (one.flow.unwrap_or_default(), millis(one)))
            .collect()
    }

    #[test]
    fn longest_waits_are_kept_first_of_equals() {
        let mut waits = LongestWaits::new(3);
        for (begin, length) in [(1, 5), (2, 9), (3, 7), (4, 7), (5, 1), (6, 8), (7, 7)] {
            waits.add(wait(begin, length));
        }
        assert_eq!(kept(&waits), [(2, 9), (6, 8), (3, 7)]);
        assert!(!waits.is_long(Instant::ZERO, Instant::from_millis(7)));
        assert!(waits.is_long(Instant::ZERO, Instant::from_millis(8)));
    }

    #[test]
    fn zero_requested_waits_keep_none() {
        let mut waits = LongestWaits::new(0);
        waits.add(wait(1, 5));
        assert_eq!(kept(&waits), []);
        assert!(!waits.is_long(Instant::ZERO, Instant::MAX));
    }

    #[test]
    fn settling_affects_only_guesses_of_flow() {
        let mut waits = LongestWaits::new(3);
        waits.add(wait(2, 5));
        waits.add(wait(3, 4));
        waits.settle(Some(2));
        waits.settle(Some(3));
        let causes: Vec<_> = waits.longest_first().iter().map(|one| one.segment.cause).collect();
        assert_eq!(causes, [Some(Cause::TailLossProbe), Some(Cause::Timeout)]);
    }
}
