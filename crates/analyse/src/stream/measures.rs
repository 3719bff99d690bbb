//! Results of a stream (kinds of segments, causes, acknowledgment events), its counters and distributions, and those
//! of a group.

use super::limits::{AckCounts, TimeShares, WindowCounts};
use fairwind_measure::{Counts, FlowId, Observation, Times, named_enum};
use fairwind_units::{Instant, Span};

/// Position of the tap relative to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TapSide {
    /// At or near the data sender, or unknown: causes are inferred from acknowledgments.
    #[default]
    Sender,
    /// Near the data receiver: reactions to an acknowledgment come a round trip later, and packets lost on the
    /// path are not seen.
    Receiver,
}

named_enum! {
    /// Cause of a retransmission.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Cause {
        /// Acknowledgments showed a loss (RFC 5681 §3.2, RFC 6675 §5, RFC 8985 §6).
        FastRetransmit = "fast_retransmit",
        /// The retransmission timer expired (RFC 6298 §5.4).
        Timeout = "timeout",
        /// It followed a timeout in the same repair (RFC 5681 §3.1).
        AfterTimeout = "after_timeout",
        /// A tail loss probe (RFC 8985 §7).
        TailLossProbe = "tail_loss_probe",
        /// Nothing at the tap explains it.
        Unknown = "unknown",
    }
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 5;

    /// All causes, in the order of tables.
    pub const ALL: [Self; Self::COUNT] = [
        Self::FastRetransmit,
        Self::Timeout,
        Self::AfterTimeout,
        Self::TailLossProbe,
        Self::Unknown,
    ];

    /// Its index in lists by cause.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A retransmitted segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// How often its bytes have been retransmitted, now included; the maximum over its bytes.
    pub order: u16,
    /// Its cause.
    pub cause: Cause,
    /// Whether it is the first of its repair.
    pub begins: bool,
    /// Whether it may be a probe or a timeout of a single segment; it counts as a probe until the stream ends.
    pub is_provisional: bool,
}

/// Use of tail loss probes by the senders of a group, which decides for streams without evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProbeUseCounts {
    /// Streams with a sender that uses tail loss probes.
    pub probing: u64,
    /// Streams with a sender that does not.
    pub waiting: u64,
}

/// Kind of a packet of the data's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// Neither payload nor FIN.
    Bare,
    /// New data only.
    New,
    /// Retransmitted data, perhaps filled up with new bytes.
    Retransmission(Retransmission),
    /// New bytes after outstanding ones that are repeated in advance (redundant data bundling).
    Bundle {
        /// Payload bytes that had been sent before.
        redundant_bytes: u32,
    },
    /// Reordered: it passes the tap after later data.
    OutOfOrder,
    /// A copy of a packet, made by the network or the capture.
    Duplicate,
    /// A keep-alive while nothing is outstanding (RFC 9293 §3.8.4).
    KeepAlive,
    /// A probe of a closed window (RFC 9293 §3.8.6.1).
    WindowProbe,
}

impl SegmentKind {
    /// The observation for `flow` beyond that the packet was sent.
    pub fn observation(self, flow: FlowId) -> Option<Observation<'static>> {
        match self {
            Self::WindowProbe => Some(Observation::ZeroWindowProbe { flow }),
            Self::Retransmission(Retransmission { cause: Cause::Timeout, .. }) => {
                Some(Observation::Timeout { flow })
            }
            Self::Retransmission(Retransmission {
                cause: Cause::FastRetransmit,
                begins: true,
                ..
            }) => Some(Observation::FastRetransmit { flow }),
            _ => None,
        }
    }
}

/// Effect of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckEvent {
    /// Bytes that it newly acknowledges in order; FIN counts as one.
    pub newly_acknowledged_bytes: u64,
    /// Bytes that it newly acknowledges out of order (SACK).
    pub newly_sacked_bytes: u64,
    /// Round-trip time: from the newest segment that it acknowledges in order. The segment was sent once, or the
    /// timestamp identifies its transmission (RFC 6298 §3).
    pub rtt: Option<Span>,
    /// Duplicates in a row, this one included; 0 if it is none (RFC 5681 §2).
    pub duplicates: u32,
    /// Retransmissions that it proves spurious.
    pub spurious: u32,
}

/// Retransmissions from this order on count together.
pub(crate) const ORDERS: usize = 10;

/// Measures of a stream, or of all streams of a group.
///
/// Memory order: one cache line that data changes, one that every packet or acknowledgment changes.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct StreamMeasures {
    pub(super) common: DataCounters,
    pub(super) time: TimeShares,
    pub(super) acks: AckCounts,
    pub(super) sizes: Counts,
    pub(super) spacings: Times,
    pub(super) rtts: Times,
    pub(super) rare: Option<Box<RareCounters>>,
    pub(super) window: WindowCounts,
    pub(super) beginning: InitialCounters,
}

/// Counters that every data segment changes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DataCounters {
    pub(super) data_segments: u64,
    pub(super) payload_bytes: u64,
    /// Sum, over data segments, of the bytes in flight after each.
    pub(super) flight_bytes_sum: u64,
    /// The same in packets.
    pub(super) flight_packets_sum: u64,
    pub(super) flight_bytes_max: u64,
    pub(super) flight_packets_max: u64,
    /// Data segments sent with fewer than four packets in flight.
    pub(super) few_in_flight: u64,
    /// Of these, the ones sent after the initial slow start.
    pub(super) thin: u64,
}

/// Counters of the first packets of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InitialCounters {
    pub(super) streams: u64,
    pub(super) initial_packets: u64,
    pub(super) initial_bytes: u64,
    /// Streams with a captured initial window.
    pub(super) initial_windows: u64,
    /// Streams with a timed handshake, and the sum of these times.
    pub(super) handshakes: u64,
    pub(super) handshake: Span,
    /// When the first data segment passed.
    pub(super) first_data_at: Option<Instant>,
}

/// Counters that few streams need. Those that many acknowledgments change come first in memory.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(super) struct RareCounters {
    pub(super) sack_blocks: u64,
    pub(super) sack_segments: u64,
    pub(super) duplicate_acks_by_order: [u64; ORDERS],
    pub(super) reports_of_duplicates: u64,
    pub(super) segments_by_cause: [u64; Cause::COUNT],
    pub(super) bytes_by_cause: [u64; Cause::COUNT],
    pub(super) segments_by_order: [u64; ORDERS],
    pub(super) bytes_by_order: [u64; ORDERS],
    pub(super) fast_recoveries: u64,
    /// Timeouts by how many expired in a row.
    pub(super) timeouts_by_row: [u64; ORDERS],
    pub(super) spurious_by_report: [u64; Cause::COUNT],
    pub(super) spurious_by_stamp: [u64; Cause::COUNT],
    pub(super) controls_repeated: u64,
    pub(super) bundles: u64,
    pub(super) bundled_bytes: u64,
    pub(super) keep_alives: u64,
    pub(super) window_probes: u64,
    pub(super) out_of_order: u64,
    pub(super) duplicates: u64,
    pub(super) missing_bytes: u64,
    pub(super) forgotten_ranges: u64,
    /// Segments with implausible sequence numbers.
    pub(super) out_of_window: u64,
    /// ACK latency by number of retransmissions.
    pub(super) latency_by_order: [Times; ORDERS],
}

/// Index of the `order`-th retransmission, counted from 1.
pub(super) fn order_index(order: u64) -> usize {
    usize::try_from(order.saturating_sub(1)).unwrap_or(ORDERS).min(ORDERS - 1)
}

impl StreamMeasures {
    /// Empty measures of a stream from `at` on, of which these are the measures until then.
    pub(super) fn restarted(&self, at: Instant, has_acked_data: bool) -> Self {
        let mut restarted = Self::default();
        restarted.time = self.time.restarted();
        restarted.window.close(at);
        // An initial window counts as a whole where it ends.
        if !has_acked_data {
            restarted.beginning = self.beginning;
        }
        restarted.beginning.streams = 1;
        restarted.beginning.first_data_at = None;
        restarted
    }

    /// The rare counters, created on first use.
    #[cold]
    pub(super) fn rare(&mut self) -> &mut RareCounters {
        self.rare.get_or_insert_default()
    }

    /// Windows known in bytes.
    pub(super) const fn windows(&self) -> u64 {
        self.acks.acknowledgments + self.window.early - self.window.unknown
    }

    /// Data segments.
    pub const fn data_segments(&self) -> u64 {
        self.common.data_segments
    }

    /// Retransmitted data segments; bundles, network copies and window probes are none.
    pub fn retransmissions(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.segments_by_cause.iter().sum())
    }

    /// Data segments retransmitted for this cause.
    pub fn retransmissions_for(&self, cause: Cause) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.segments_by_cause[cause.index()])
    }

    /// Discards ACK times of each kind of which `others` have samples.
    pub(super) fn discard_ack_times_known_by(&mut self, others: &Self) {
        if !others.rtts.is_empty() {
            self.rtts = Times::new();
        }
        if others.beginning.handshakes > 0 {
            (self.beginning.handshakes, self.beginning.handshake) = (0, Span::ZERO);
        }
        let has_latencies =
            |rare: &RareCounters| rare.latency_by_order.iter().any(|of| !of.is_empty());
        if others.rare.as_deref().is_some_and(has_latencies)
            && let Some(rare) = &mut self.rare
        {
            rare.latency_by_order = Default::default();
        }
    }

    /// Adds the measures of another stream or group.
    pub fn merge(&mut self, other: &Self) {
        self.common.merge(&other.common);
        self.time.merge(&other.time);
        self.acks.merge(&other.acks);
        self.beginning.merge(&other.beginning);
        self.window.merge(&other.window);
        self.sizes.add(&other.sizes);
        self.spacings.add(&other.spacings);
        self.rtts.add(&other.rtts);
        if let Some(rare) = &other.rare {
            self.rare().merge(rare);
        }
    }
}

impl DataCounters {
    fn merge(&mut self, other: &Self) {
        self.data_segments += other.data_segments;
        self.payload_bytes += other.payload_bytes;
        self.flight_bytes_sum = self.flight_bytes_sum.saturating_add(other.flight_bytes_sum);
        self.flight_packets_sum = self.flight_packets_sum.saturating_add(other.flight_packets_sum);
        self.flight_bytes_max = self.flight_bytes_max.max(other.flight_bytes_max);
        self.flight_packets_max = self.flight_packets_max.max(other.flight_packets_max);
        self.few_in_flight += other.few_in_flight;
        self.thin += other.thin;
    }
}

impl InitialCounters {
    /// Adds a packet of the initial window.
    #[cold]
    pub(super) const fn add_to_window(&mut self, packets: u64, bytes: u64) {
        self.initial_windows = 1;
        self.initial_packets += packets;
        self.initial_bytes += bytes;
    }

    /// Discards the initial window: its end is unknown because it was not acknowledged.
    pub(super) const fn discard_initial_window(&mut self) {
        (self.initial_windows, self.initial_packets, self.initial_bytes) = (0, 0, 0);
    }

    fn merge(&mut self, other: &Self) {
        self.streams += other.streams;
        self.initial_packets += other.initial_packets;
        self.initial_bytes += other.initial_bytes;
        self.initial_windows += other.initial_windows;
        self.handshakes += other.handshakes;
        self.handshake += other.handshake;
        let both = [self.first_data_at, other.first_data_at];
        self.first_data_at = both.into_iter().flatten().min();
    }
}

impl AckCounts {
    fn merge(&mut self, other: &Self) {
        self.acknowledgments += other.acknowledgments;
        self.window_sum = self.window_sum.saturating_add(other.window_sum);
    }
}

impl WindowCounts {
    fn merge(&mut self, other: &Self) {
        self.unknown += other.unknown;
        self.early += other.early;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.closings += other.closings;
        self.closed += other.closed;
    }
}

fn add_each<const N: usize>(sum: &mut [u64; N], more: &[u64; N]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

impl RareCounters {
    fn merge(&mut self, other: &Self) {
        add_each(&mut self.segments_by_cause, &other.segments_by_cause);
        add_each(&mut self.bytes_by_cause, &other.bytes_by_cause);
        add_each(&mut self.segments_by_order, &other.segments_by_order);
        add_each(&mut self.bytes_by_order, &other.bytes_by_order);
        self.fast_recoveries += other.fast_recoveries;
        add_each(&mut self.timeouts_by_row, &other.timeouts_by_row);
        add_each(&mut self.spurious_by_report, &other.spurious_by_report);
        add_each(&mut self.spurious_by_stamp, &other.spurious_by_stamp);
        self.controls_repeated += other.controls_repeated;
        self.bundles += other.bundles;
        self.bundled_bytes += other.bundled_bytes;
        self.keep_alives += other.keep_alives;
        self.window_probes += other.window_probes;
        self.out_of_order += other.out_of_order;
        self.duplicates += other.duplicates;
        self.missing_bytes += other.missing_bytes;
        self.forgotten_ranges += other.forgotten_ranges;
        self.out_of_window += other.out_of_window;
        add_each(&mut self.duplicate_acks_by_order, &other.duplicate_acks_by_order);
        self.sack_blocks += other.sack_blocks;
        self.sack_segments += other.sack_segments;
        self.reports_of_duplicates += other.reports_of_duplicates;
        for (sum, more) in self.latency_by_order.iter_mut().zip(&other.latency_by_order) {
            sum.add(more);
        }
    }

    /// Moves counts of undecided retransmissions to another cause.
    pub(super) fn recount(&mut self, segments: u64, bytes: u64, from: Cause, to: Cause) {
        let (from, to) = (from.index(), to.index());
        let segments = segments.min(self.segments_by_cause[from]);
        let bytes = bytes.min(self.bytes_by_cause[from]);
        self.segments_by_cause[from] -= segments;
        self.segments_by_cause[to] += segments;
        self.bytes_by_cause[from] -= bytes;
        self.bytes_by_cause[to] += bytes;
    }
}

/// Sums over a group.
///
/// A single tap sees one direction of a connection depart and the other arrive. For arriving data its ACK times
/// are those between tap and receiver, close to zero, and must not be mixed with round trips. So ACK times are
/// those of departing streams, if there are any.
#[derive(Debug, Clone, Default)]
pub struct GroupMeasures {
    leaving: StreamMeasures,
    arriving: StreamMeasures,
}

impl GroupMeasures {
    /// Adds the measures of a stream seen from `side`.
    pub fn add(&mut self, side: TapSide, measures: &StreamMeasures) {
        match side {
            TapSide::Sender => self.leaving.merge(measures),
            TapSide::Receiver => self.arriving.merge(measures),
        }
    }

    /// The sum of all streams, with ACK times of departing streams only, if there are any.
    pub fn sum(&self) -> StreamMeasures {
        let mut sum = self.arriving.clone();
        sum.discard_ack_times_known_by(&self.leaving);
        sum.merge(&self.leaving);
        sum
    }
}
