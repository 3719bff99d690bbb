//! State of one flow: counters, stream, latencies and milestones; and which flows are *problematic*.
//!
//! Source: RFC 9293 for sequence numbers. The number of problematic connections is asked for in the thesis (table 4.1,
//! "Too congested?"), which defines it nowhere that can be read. Our definition is made of what its authors counted
//! beside it: failed and repeated handshakes, and successive timeouts. A flow is problematic if its connection was
//! never established or was given up, if its SYN was sent again, if [`REPEATED_TIMEOUTS`] or more timeouts came in a
//! row, or if a write waited for [`LONG_WAIT`] or more. Each of these has a column, so that other bounds
//! can be drawn from the same tables.
//!
//! Cost per observation: a few additions; a data segment that
//! continues the stream costs one ring entry, and one that fills a hole a search among the holes.

use crate::distribution::Times;
use crate::observation::{Direction, FailureReason, FlowId};
use crate::ring::Ring;
use crate::stream::{ReceivedBytes, StreamOrigin, clamped};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Flags, Segment};

macro_rules! totals {
    ($($counter:ident),* $(,)?) => {
        /// Counters of a flow, or sums of them over a group, since the end of the warm-up.
        ///
        /// In this order in memory: what a sent packet counts and what is read, what a received one counts, what is
        /// seldom.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[repr(C)]
        pub(crate) struct Totals {
            $(pub(crate) $counter: u64,)*
        }

        impl Totals {
            /// Adds the counters of another flow.
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$counter += other.$counter;)*
            }
        }
    };
}

totals! {
    packets_sent,
    wire_bytes_sent,
    data_segments_sent,
    payload_bytes_sent,
    payload_bytes_read,
    data_segments_retransmitted,
    payload_bytes_retransmitted,
    packets_received,
    wire_bytes_received,
    payload_bytes_received,
    payload_bytes_duplicate,
    ack_packets_sent,
    packets_lost,
    wire_bytes_lost,
    payload_bytes_lost,
    ack_packets_lost,
    timeouts,
    fast_retransmits,
    syn_retries,
    zero_window_probes,
    packets_marked,
    wire_bytes_marked,
    bundles_sent,
    payload_bytes_bundled,
}

/// One flow.
///
/// With a thousand flows each packet finds its flow outside the nearest cache, so its fields lie in
/// the order in which they are needed together: in the first two lines of 64 bytes is everything that a
/// sent packet, or an acknowledgment, changes for each; the next three have what a received one does.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    origin: StreamOrigin,
    /// Behind the highest payload byte sent so far.
    highest_sent: u64,
    sent: UncoveredRanges,
    read: u64,
    written: UncoveredRanges,
    pub(crate) totals: Totals,
    received: ReceivedBytes,
    highest_written: u64,
    /// The flow of the data that goes the other way on the same connection.
    pub(crate) opposite: Option<FlowId>,
    /// Apart from the stretches: a sample changes one line of it.
    pub(crate) ack_latency: Times,
    pub(crate) delivery_latency: Times,
    pub(crate) response_time: Times,
    pub(crate) milestones: Milestones,
    problem_tracker: ProblemTracker,
    /// The numbers of the datagrams that were read, where there are any.
    datagrams_read: Option<Box<ReceivedBytes>>,
}

impl Flow {
    /// A flow of which nothing is known yet; `opposite` is the data that goes the other way on the
    /// same connection.
    pub(crate) fn new(opposite: Option<FlowId>) -> Self {
        Self {
            origin: StreamOrigin::default(),
            highest_sent: 0,
            sent: UncoveredRanges::new(),
            read: 0,
            written: UncoveredRanges::new(),
            totals: Totals::default(),
            received: ReceivedBytes::default(),
            highest_written: 0,
            opposite,
            ack_latency: Times::new(),
            delivery_latency: Times::new(),
            response_time: Times::new(),
            milestones: Milestones::default(),
            problem_tracker: ProblemTracker::default(),
            datagrams_read: None,
        }
    }

    /// Reads a field out of each line of memory that most packets need in captures, for whoever calls it in
    /// advance.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        let latency = u64::from(self.ack_latency.prefetch());
        self.highest_sent ^ self.totals.packets_sent ^ latency ^ self.sent.prefetch()
    }

    #[inline]
    pub(crate) const fn arrived_in_order(&self) -> u64 {
        self.received.next()
    }

    /// Resets the counts; the state of the stream stays.
    pub(crate) fn end_warmup(&mut self) {
        self.totals = Totals::default();
        self.ack_latency = Times::new();
        self.delivery_latency = Times::new();
        self.response_time = Times::new();
        self.problem_tracker.end_warmup();
    }

    /// Problems until `now` of the flow, which was opened at `start`.
    pub(crate) fn problems(&self, start: Instant, now: Instant) -> FlowProblems {
        let is_there = self.received.next() > 0
            || !self.ack_latency.is_empty()
            || now.saturating_since(start) < TIME_TO_BEGIN;
        let read = self.delivery_latency.maximum().map(Span::from_nanos);
        let waiting = self.written.oldest(now);
        FlowProblems::of(&self.problem_tracker, &self.milestones, is_there, read.max(waiting))
    }

    #[inline]
    pub(crate) fn on_forward_sent(&mut self, at: Instant, segment: &Segment, wire_bytes: u32) {
        self.totals.packets_sent += 1;
        self.totals.wire_bytes_sent += u64::from(wire_bytes);
        self.origin.learn(segment);
        if segment.payload_bytes > 0 {
            self.on_data_sent(at, segment);
        }
    }

    /// Distinguishes new bytes from bytes sent before: a segment with nothing new is a retransmission, one that carries
    /// both a bundle.
    #[inline]
    fn on_data_sent(&mut self, at: Instant, segment: &Segment) {
        let payload = u64::from(segment.payload_bytes);
        let end = clamped(self.origin.payload_end(segment, self.highest_sent));
        let new = end.saturating_sub(self.highest_sent);
        self.totals.data_segments_sent += 1;
        self.totals.payload_bytes_sent += payload;
        if new == 0 {
            self.totals.data_segments_retransmitted += 1;
            self.totals.payload_bytes_retransmitted += payload;
        } else {
            if new < payload {
                self.on_bundled(payload - new);
            }
            self.highest_sent = end;
            self.sent.begin(at, end);
        }
    }

    /// Bytes sent before travel again, ahead of new ones.
    #[cold]
    const fn on_bundled(&mut self, old_bytes: u64) {
        self.totals.bundles_sent += 1;
        self.totals.payload_bytes_bundled += old_bytes;
    }

    #[inline]
    pub(crate) fn on_forward_received(&mut self, segment: &Segment, wire_bytes: u32) {
        self.totals.packets_received += 1;
        self.totals.wire_bytes_received += u64::from(wire_bytes);
        if segment.traffic_class.ecn() == Ecn::Ce {
            self.on_marked(wire_bytes);
        }
        self.origin.learn(segment);
        if segment.payload_bytes > 0 {
            let payload = u64::from(segment.payload_bytes);
            let end = self.origin.payload_end(segment, self.received.next());
            let start = clamped(end - i64::from(segment.payload_bytes));
            let new = self.received.insert(start, clamped(end));
            self.totals.payload_bytes_received += payload;
            self.totals.payload_bytes_duplicate += payload - new;
        }
    }

    #[cold]
    pub(crate) fn on_datagram_sent(&mut self, payload_bytes: u32, wire_bytes: u32) {
        self.totals.packets_sent += 1;
        self.totals.wire_bytes_sent += u64::from(wire_bytes);
        self.totals.data_segments_sent += 1;
        self.totals.payload_bytes_sent += u64::from(payload_bytes);
    }

    /// A datagram that has arrived is read; of several with one number the first.
    #[cold]
    pub(crate) fn on_datagram_read(
        &mut self,
        at: Instant,
        payload_bytes: u32,
        written: Option<Instant>,
        number: Option<u64>,
    ) {
        if let Some(number) = number
            && self.datagrams_read.get_or_insert_default().insert(number, number.saturating_add(1))
                == 0
        {
            return;
        }
        self.totals.payload_bytes_read += u64::from(payload_bytes);
        // It has gone its way on its own, whatever else is under way.
        if let Some(written) = written {
            self.delivery_latency.record(at.saturating_since(written).as_nanos());
        }
    }

    /// A packet with a congestion mark arrived.
    #[cold]
    fn on_marked(&mut self, wire_bytes: u32) {
        self.totals.packets_marked += 1;
        self.totals.wire_bytes_marked += u64::from(wire_bytes);
    }

    pub(crate) fn on_timeout(&mut self) {
        self.totals.timeouts += 1;
        self.problem_tracker.on_timeout((self.highest_sent, self.sent.progress()));
    }

    pub(crate) const fn on_syn_retry(&mut self) {
        self.totals.syn_retries += 1;
        self.problem_tracker.on_syn_retry();
    }

    /// A packet of either direction was lost.
    #[inline]
    pub(crate) fn on_dropped(&mut self, direction: Direction, payload_bytes: u32, wire_bytes: u32) {
        match direction {
            Direction::Forward => {
                self.totals.packets_lost += 1;
                self.totals.wire_bytes_lost += u64::from(wire_bytes);
                self.totals.payload_bytes_lost += u64::from(payload_bytes);
            }
            Direction::Reverse => {
                self.totals.ack_packets_lost += u64::from(payload_bytes == 0);
            }
        }
    }

    #[inline]
    pub(crate) fn on_reverse_sent(&mut self, segment: &Segment) {
        self.totals.ack_packets_sent += u64::from(segment.payload_bytes == 0);
    }

    #[inline]
    pub(crate) fn on_reverse_received(&mut self, at: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::ACK)
            && let Some(offset) =
                self.origin.acknowledged(segment.acknowledgment, self.highest_sent)
        {
            self.sent.cover_deferred(at, clamped(offset), &mut self.ack_latency);
        }
    }

    pub(crate) fn on_answered(&mut self, at: Instant, asked: Instant) {
        self.response_time.record(at.saturating_since(asked).as_nanos());
    }

    #[inline]
    pub(crate) fn on_written(&mut self, at: Instant, end_offset: u64) {
        if end_offset > self.highest_written {
            self.highest_written = end_offset;
            self.written.begin(at, end_offset);
        }
    }

    #[inline]
    pub(crate) fn on_read(&mut self, at: Instant, end_offset: u64) {
        if end_offset > self.read {
            self.totals.payload_bytes_read += end_offset - self.read;
            self.read = end_offset;
            self.written.cover(at, end_offset, &mut self.delivery_latency);
        }
    }
}

/// How many stretches may be under way: of full segments a window of more than a gigabyte. Where more are,
/// as in a capture that has lost all acknowledgments, the oldest ones are forgotten.
const MOST_UNDER_WAY: usize = 1 << 20;

/// Consecutive stretches of one stream that have begun their way, and are not covered.
///
/// In this order in memory: most offsets cover no range, which the first field alone shows.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct UncoveredRanges {
    /// End offset of the oldest one, or `u64::MAX`.
    oldest_end: u64,
    /// `(end offset, first instant)`, ascending in both.
    under_way: Ring<(u64, Instant)>,
}

impl UncoveredRanges {
    pub(crate) fn new() -> Self {
        Self { oldest_end: u64::MAX, under_way: Ring::new() }
    }

    /// Prefetches the oldest range.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        self.under_way.first_place().map_or(0, |stretch| stretch.0)
    }

    /// The stream up to `end_offset`, as far as it is new, begins its way.
    #[inline]
    pub(crate) fn begin(&mut self, at: Instant, end_offset: u64) {
        self.oldest_end = self.oldest_end.min(end_offset);
        if self.under_way.len() >= MOST_UNDER_WAY {
            self.forget_oldest();
        }
        self.under_way.push_back((end_offset, at));
    }

    /// Everything before `offset` has arrived: one sample of latency for each stretch that this completes.
    #[inline]
    pub(crate) fn cover(&mut self, at: Instant, offset: u64, latencies: &mut Times) {
        if self.oldest_end <= offset {
            self.complete(at, offset, |latency| latencies.record(latency));
        }
    }

    /// The same, where samples may wait to be counted.
    #[inline]
    pub(crate) fn cover_deferred(&mut self, at: Instant, offset: u64, latencies: &mut Times) {
        if self.oldest_end <= offset {
            self.complete(at, offset, |latency| latencies.record_deferred(latency));
        }
    }

    #[cold]
    fn forget_oldest(&mut self) {
        self.under_way.pop_front();
        self.oldest_end = self.under_way.front().map_or(u64::MAX, |oldest| oldest.0);
    }

    #[inline(never)]
    fn complete(&mut self, at: Instant, offset: u64, mut record: impl FnMut(u64)) {
        let mut oldest_end = u64::MAX;
        self.under_way.pop_front_while(|&(end_offset, began)| {
            if end_offset > offset {
                oldest_end = end_offset;
                return false;
            }
            record(at.saturating_since(began).as_nanos());
            true
        });
        self.oldest_end = oldest_end;
    }

    /// Another number whenever a stretch has been covered since.
    pub(crate) const fn progress(&self) -> u64 {
        self.oldest_end
    }

    /// How long the oldest stretch that is not covered has been under way.
    pub(crate) fn oldest(&self, now: Instant) -> Option<Span> {
        self.under_way.front().map(|(_, began)| now.saturating_since(*began))
    }
}

/// This number of time-outs in a row indicates a failed path: threshold R1 of RFC 1122 §4.2.3.5, the
/// smallest that it allows.
pub(crate) const REPEATED_TIMEOUTS: u64 = 3;

/// After this wait users turn to something else (R. Miller's ten seconds, 1968).
pub(crate) const LONG_WAIT: Span = Span::from_secs(10);

/// A connection that was requested more recently may still be established: the first SYN is not given up earlier
/// (RFC 6298 §2.1).
pub(crate) const TIME_TO_BEGIN: Span = Span::from_secs(1);

/// When a flow first reached its stages. Warm-up does not hide them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Milestones {
    pub(crate) established: Option<Instant>,
    pub(crate) finished: Option<Instant>,
    pub(crate) failed: Option<(Instant, FailureReason)>,
}

impl Milestones {
    /// A connection established after a refusal was not given up: its opener has tried again.
    pub(crate) fn establish(&mut self, at: Instant) {
        if self.established.is_none() {
            self.established = Some(at);
            self.failed = None;
        }
    }

    /// Why the connection was given up; empty if it was not.
    pub(crate) fn failure(&self) -> &'static str {
        self.failed.map_or("", |(_, reason)| reason.name(self.established.is_some()))
    }
}

/// Time-outs and SYN retries of one flow; changes only with these.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProblemTracker {
    /// Repeated SYNs, those of the warm-up included.
    syn_retries: u64,
    /// Bytes sent and acknowledged when the timer last expired.
    progress: Option<(u64, u64)>,
    in_a_row: u64,
    most_in_a_row: u64,
}

impl ProblemTracker {
    /// A SYN was sent again.
    pub(crate) const fn on_syn_retry(&mut self) {
        self.syn_retries += 1;
    }

    /// The retransmission timer expired. What counts as `progress` are new bytes sent, and stretches of new
    /// data that were acknowledged.
    pub(crate) fn on_timeout(&mut self, progress: (u64, u64)) {
        let goes_on = self.progress.replace(progress) == Some(progress);
        self.in_a_row = if goes_on { self.in_a_row + 1 } else { 1 };
        self.most_in_a_row = self.most_in_a_row.max(self.in_a_row);
    }

    /// Begins to count afresh, but for the set-up, which the warm-up does not hide.
    pub(crate) fn end_warmup(&mut self) {
        *self = Self { syn_retries: self.syn_retries, ..Self::default() };
    }
}

/// Problems of a flow when it is over, or at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowProblems {
    /// The connection was never established, or was given up.
    pub(crate) has_failed: bool,
    /// Its SYN was sent again.
    pub(crate) has_repeated_syn: bool,
    /// Most consecutive time-outs without new data acknowledged in between.
    pub(crate) timeouts_in_a_row: u64,
    /// The longest that a write waited to be read whole, or has been waiting since; none of no writes.
    pub(crate) longest_wait: Option<Span>,
}

impl FlowProblems {
    /// `is_there`: the connection was not seen to begin, but it is there, or may come yet.
    pub(crate) fn of(
        problem_tracker: &ProblemTracker,
        milestones: &Milestones,
        is_there: bool,
        longest_wait: Option<Span>,
    ) -> Self {
        let never_came = milestones.established.is_none() && !is_there;
        Self {
            has_failed: never_came || milestones.failed.is_some(),
            has_repeated_syn: problem_tracker.syn_retries > 0,
            timeouts_in_a_row: problem_tracker.most_in_a_row,
            longest_wait,
        }
    }

    pub(crate) fn has_repeated_timeouts(&self) -> bool {
        self.timeouts_in_a_row >= REPEATED_TIMEOUTS
    }

    pub(crate) fn has_waited_long(&self) -> bool {
        self.longest_wait.is_some_and(|wait| wait >= LONG_WAIT)
    }

    pub(crate) fn is_problematic(&self) -> bool {
        self.has_failed
            || self.has_repeated_syn
            || self.has_repeated_timeouts()
            || self.has_waited_long()
    }
}

/// Number of flows of a group by problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ProblemCounts {
    pub(crate) problematic: u64,
    pub(crate) failed: u64,
    pub(crate) with_repeated_syn: u64,
    pub(crate) with_repeated_timeouts: u64,
    pub(crate) with_long_waits: u64,
}

impl ProblemCounts {
    /// Counts one more flow.
    pub(crate) fn add(&mut self, problems: &FlowProblems) {
        self.problematic += u64::from(problems.is_problematic());
        self.failed += u64::from(problems.has_failed);
        self.with_repeated_syn += u64::from(problems.has_repeated_syn);
        self.with_repeated_timeouts += u64::from(problems.has_repeated_timeouts());
        self.with_long_waits += u64::from(problems.has_waited_long());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn hot_fields_lie_in_first_cache_lines() {
        assert!(offset_of!(Flow, totals) + offset_of!(Totals, data_segments_retransmitted) <= 128);
        assert!(offset_of!(Flow, received) + size_of::<u64>() <= 320);
    }

    #[test]
    fn uncovered_ranges_are_discarded_eventually() {
        let most = u64::try_from(MOST_UNDER_WAY).unwrap();
        let (mut stretches, mut latencies) = (UncoveredRanges::new(), Times::new());
        for end_offset in 1..=most + 2 {
            stretches.begin(Instant::from_nanos(end_offset), end_offset);
        }
        assert_eq!(stretches.under_way.len(), MOST_UNDER_WAY);
        // The first two stretches are not known any more, the third one is.
        stretches.cover(Instant::from_nanos(2_000_003), 2, &mut latencies);
        assert_eq!(latencies.count(), 0);
        stretches.cover(Instant::from_nanos(2_000_003), 3, &mut latencies);
        assert_eq!(latencies.maximum(), Some(2_000_000));
    }
}
