//! Points of a trace: series and kinds, thinning to a bounded number, and rates.

use fairwind_measure::named_enum;
use fairwind_units::{Instant, Span};

named_enum! {
    /// Series of points. Byte numbers are stream offsets; the first payload byte is 0.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Series {
        /// A data segment from its first byte to behind its last, at the sender's tap.
        Data = "data",
        /// The same at the receiver's tap.
        Arrival = "arrival",
        /// A lost data segment, at its departure.
        Lost = "lost",
        /// The cumulative acknowledgment.
        Acknowledged = "acknowledged",
        /// The end of the offered window.
        WindowEdge = "window_edge",
        /// The first SACK block of a segment; others are repetitions (RFC 2018 §4).
        Sack = "sack",
        /// A duplicate acknowledgment (RFC 5681 §2), at its number.
        DuplicateAck = "duplicate_ack",
        /// A SYN, FIN, reset or closed window.
        Mark = "mark",
        /// A sample of the round-trip time.
        RoundTripTime = "rtt",
        /// Bytes in flight.
        Flight = "flight",
        /// Payload per second, in windows of equal length.
        Throughput = "throughput",
        /// Payload bytes of a data segment.
        SegmentSize = "segment_size",
    }
}

named_enum! {
    /// Kind of a point within its series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PointKind {
        /// The only kind of its series.
        Only = "",
        /// New data.
        New = "new",
        /// A bundle: new data behind outstanding data that is repeated (RDB).
        Bundle = "bundle",
        /// Retransmission after evidence of a loss.
        FastRetransmit = "fast_retransmit",
        /// Retransmission by timeout.
        Timeout = "timeout",
        /// Retransmission after a timeout in the same repair (RFC 5681 §3.1).
        AfterTimeout = "after_timeout",
        /// Tail loss probe (RFC 8985 §7).
        TailLossProbe = "tail_loss_probe",
        /// A probe or a timeout of a single segment, undecided.
        Undecided = "tail_loss_probe",
        /// Retransmission of unknown cause.
        Retransmission = "retransmission",
        /// Reordered data.
        OutOfOrder = "out_of_order",
        /// A copy by the network.
        NetworkDuplicate = "network_duplicate",
        /// A keep-alive (RFC 9293 §3.8.4).
        KeepAlive = "keep_alive",
        /// A window probe (RFC 9293 §3.8.6.1).
        WindowProbe = "window_probe",
        /// A SACK block.
        Sack = "sack",
        /// A D-SACK block (RFC 2883).
        DuplicateSack = "duplicate_sack",
        /// SYN.
        Syn = "syn",
        /// FIN.
        Fin = "fin",
        /// RST.
        Reset = "reset",
        /// A closed window.
        ZeroWindow = "zero_window",
        /// All payload sent, retransmissions included.
        PayloadSent = "payload_sent",
        /// New payload sent.
        NewPayloadSent = "new_payload_sent",
        /// All payload that arrived.
        PayloadReceived = "payload_received",
    }
}

impl PointKind {
    /// Whether it is a retransmission.
    pub const fn is_retransmission(self) -> bool {
        matches!(
            self,
            Self::FastRetransmit
                | Self::Timeout
                | Self::AfterTimeout
                | Self::TailLossProbe
                | Self::Undecided
                | Self::Retransmission
        )
    }
}

/// One point, or several merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The first instant.
    pub at: Instant,
    /// The smallest value: bytes, nanoseconds or bits per second.
    pub low: u64,
    /// The largest value.
    pub high: u64,
    /// Points merged into it.
    pub count: u64,
}

impl Point {
    /// A point with one value.
    pub const fn value(at: Instant, value: u64) -> Self {
        Self { at, low: value, high: value, count: 1 }
    }

    /// A point with a range.
    pub const fn range(at: Instant, low: u64, high: u64) -> Self {
        Self { at, low, high, count: 1 }
    }

    /// Whether the ranges overlap or touch.
    pub(super) const fn touches(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Merges `other` into it.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.at = self.at.min(other.at);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.count = self.count.saturating_add(other.count);
    }
}

/// Points of one kind of one series, thinned to a limit.
///
/// Up to the limit every point is kept. Beyond it, points within one *column* of time merge into one that spans
/// from the smallest to the largest value, as in one column of pixels. Columns are as narrow as the limit
/// allows, and ranges that touch merge first. So extremes are never lost, and rare kinds are kept whole. Cost
/// per point: one comparison, and now and then one pass over all points.
#[derive(Debug, Clone)]
pub(super) struct ThinnedPoints {
    points: Vec<Point>,
    limit: usize,
    /// Width of a column; zero while nothing is merged.
    column: Span,
}

/// Which points of a column merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merging {
    /// Points with ranges that touch.
    Touching,
    /// All.
    All,
}

impl ThinnedPoints {
    /// No points, of which at most `limit` will be kept (at least four).
    pub(super) fn new(limit: usize) -> Self {
        Self { points: Vec::new(), limit: limit.max(4), column: Span::ZERO }
    }

    /// Adds a point.
    pub(super) fn push(&mut self, point: Point) {
        let column = self.column;
        if let Some(last) = self.points.last_mut()
            && joins(last, &point, column, Merging::Touching)
        {
            last.absorb(&point);
            return;
        }
        if self.points.len() >= self.limit {
            self.coarsen();
        }
        self.points.push(point);
    }

    /// The points, in the order of time.
    pub(super) fn points(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        points.sort_by_key(|point| point.at);
        points
    }

    /// Frees a quarter of the points: first merges touching ranges in columns of up to four times the width
    /// that the limit allows, then all points in the narrowest sufficient columns.
    ///
    /// Widths depend only on the time that the points span, so that early points are as fine as late ones.
    fn coarsen(&mut self) {
        self.points.sort_by_key(|point| point.at);
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return };
        let span = last.at.saturating_since(first.at).as_nanos();
        let width = (span / u64::try_from(self.limit).unwrap_or(u64::MAX)).max(1);
        let enough = self.limit / 4 * 3;
        for doublings in 0..=2 {
            let column = Span::from_nanos(width.saturating_mul(1 << doublings));
            self.column = self.column.max(column);
            self.bring_together(self.column, Merging::Touching);
            if self.points.len() <= enough {
                return;
            }
        }
        let mut column = Span::from_nanos(width);
        // Ends, because with 64-bit instants all points finally share a column.
        while self.points.len() > enough {
            column = column.saturating_mul(2);
            self.bring_together(column, Merging::All);
        }
    }

    /// Merges neighbours in one column.
    fn bring_together(&mut self, column: Span, merging: Merging) {
        self.points.dedup_by(|later, earlier| {
            let is_joined = joins(earlier, later, column, merging);
            if is_joined {
                earlier.absorb(later);
            }
            is_joined
        });
    }
}

/// Whether two points merge in columns of width `column`.
fn joins(earlier: &Point, later: &Point, column: Span, merging: Merging) -> bool {
    let place = |point: &Point| point.at.as_nanos().checked_div(column.as_nanos());
    place(earlier).is_some()
        && place(earlier) == place(later)
        && (merging == Merging::All || earlier.touches(later))
}

/// Length of the first windows.
const SHORTEST: Span = Span::from_millis(1);

/// Bytes per window of time, in a bounded number of windows. When there are too many, pairs merge into windows
/// of twice the length.
#[derive(Debug, Clone)]
pub(super) struct RateWindows {
    begin: Option<Instant>,
    window: Span,
    bytes: Vec<u64>,
    limit: usize,
}

impl RateWindows {
    /// No bytes, in at most `limit` windows (at least two).
    pub(super) const fn new(limit: usize) -> Self {
        let limit = if limit < 2 { 2 } else { limit };
        Self { begin: None, window: SHORTEST, bytes: Vec::new(), limit }
    }

    /// Adds bytes; instants before the first count in the first window.
    pub(super) fn add(&mut self, at: Instant, bytes: u64) {
        let begin = *self.begin.get_or_insert(at);
        let mut place = self.place(at, begin);
        while place >= self.limit {
            self.halve();
            place = self.place(at, begin);
        }
        if place >= self.bytes.len() {
            self.bytes.resize(place + 1, 0);
        }
        self.bytes[place] = self.bytes[place].saturating_add(bytes);
    }

    /// The beginning and the rate of each window in bits per second.
    pub(super) fn bits_per_second(&self) -> impl Iterator<Item = (Instant, u64)> {
        let begin = self.begin.unwrap_or(Instant::ZERO).as_nanos();
        let window = self.window.as_nanos();
        self.bytes.iter().zip(0_u64..).map(move |(&bytes, place)| {
            let at = begin.saturating_add(place.saturating_mul(window));
            let bits = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(window);
            (Instant::from_nanos(at), u64::try_from(bits).unwrap_or(u64::MAX))
        })
    }

    fn place(&self, at: Instant, begin: Instant) -> usize {
        let place = at.saturating_since(begin).as_nanos() / self.window.as_nanos();
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    fn halve(&mut self) {
        self.window = self.window.saturating_mul(2);
        self.bytes = self
            .bytes
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::Instant;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_keeps_extremes_and_counts(
            limit in 0_usize..64,
            values in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..400),
        ) {
            let mut kept = ThinnedPoints::new(limit);
            for &(at, one, other) in &values {
                kept.push(Point::range(Instant::from_nanos(at), one.min(other), one.max(other)));
            }
            let points = kept.points();
            prop_assert!(points.len() <= limit.max(4));
            let least = values.iter().map(|&(_, one, other)| one.min(other)).min();
            let greatest = values.iter().map(|&(_, one, other)| one.max(other)).max();
            prop_assert_eq!(points.iter().map(|point| point.low).min(), least);
            prop_assert_eq!(points.iter().map(|point| point.high).max(), greatest);
            let count: u64 = points.iter().map(|point| point.count).sum();
            prop_assert_eq!(count, u64::try_from(values.len()).unwrap());
            let first = values.iter().map(|&(at, ..)| at).min();
            prop_assert_eq!(points.first().map(|point| point.at.as_nanos()), first);
            prop_assert!(points.is_sorted_by_key(|point| point.at));
        }
    }

    #[test]
    fn few_points_are_not_merged() {
        let mut kept = ThinnedPoints::new(100);
        let points: Vec<Point> =
            (0..100).map(|n| Point::value(Instant::from_secs(n / 2), n)).collect();
        for point in &points {
            kept.push(*point);
        }
        assert_eq!(kept.points(), points);
    }

    #[test]
    fn touching_ranges_merge_before_distant_ones() {
        // Two rows of segments side by side, a megabyte apart, of 400 segments each.
        let mut kept = ThinnedPoints::new(100);
        for n in 0..400 {
            let (at, byte) = (Instant::from_millis(n), n * 1000);
            kept.push(Point::range(at, byte, byte + 1000));
        }
        let gap = Instant::from_millis(400);
        for n in 0..400 {
            let byte = 1_400_000 + n * 1000;
            kept.push(Point::range(gap + Span::from_millis(n), byte, byte + 1000));
        }
        let points = kept.points();
        assert!(points.len() <= 100);
        assert!(points.iter().all(|point| point.high <= 400_000 || point.low >= 1_400_000));
    }

    #[test]
    fn early_and_late_points_have_equal_resolution() {
        // A saw tooth with ranges that never touch, far beyond the limit.
        let mut kept = ThinnedPoints::new(100);
        for n in 0..100_000 {
            kept.push(Point::value(Instant::from_nanos(n * 1000), n % 1000 * 10));
        }
        let points = kept.points();
        let most = points.iter().map(|point| point.count).max();
        assert!((8..=100).contains(&points.len()), "{} points", points.len());
        assert!(most <= Some(100_000 / 8), "{most:?} points became one");
    }

    #[test]
    fn window_rate_is_bits_over_length() {
        let mut rates = RateWindows::new(10);
        rates.add(Instant::from_millis(5), 1000);
        rates.add(Instant::from_millis(6), 500);
        rates.add(Instant::from_millis(8), 250);
        let found: Vec<_> = rates.bits_per_second().collect();
        let at = Instant::from_millis;
        // 1000 bytes in a millisecond are 8 Mbit/s.
        let expected = [(at(5), 8_000_000), (at(6), 4_000_000), (at(7), 0), (at(8), 2_000_000)];
        assert_eq!(found, expected);
    }

    #[test]
    fn windows_grow_across_a_year_of_silence() {
        let mut rates = RateWindows::new(10);
        for second in 0..100 {
            rates.add(Instant::from_secs(second), 125);
        }
        rates.add(Instant::from_secs(365 * 24 * 3600), 125);
        rates.add(Instant::from_nanos(u64::MAX), 125);
        assert!(rates.bytes.len() <= 10);
        assert_eq!(rates.bytes.iter().sum::<u64>(), 102 * 125);
    }

    #[test]
    fn time_before_origin_counts_at_origin() {
        let mut rates = RateWindows::new(10);
        rates.add(Instant::from_secs(9), 100);
        rates.add(Instant::from_secs(1), 100);
        assert_eq!(
            rates.bits_per_second().collect::<Vec<_>>(),
            [(Instant::from_secs(9), 1_600_000)]
        );
    }
}
