//! Trace of one flow: one direction's data, and its acknowledgments.

use super::points::{Point, PointKind, RateWindows, Series, ThinnedPoints};
use fairwind_measure::StreamOrigin;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SackBlock, Segment, SequenceNumber};
use std::collections::BTreeMap;

/// The most that a window is shifted (RFC 7323 §2.3).
const GREATEST_SHIFT: u8 = 14;

/// Limits of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimits {
    /// Points per kind and series; beyond, neighbours merge.
    pub points: usize,
    /// Windows of the throughput.
    pub windows: usize,
}

impl Default for TraceLimits {
    /// Five times the pixels of a wide screen, for zooming.
    fn default() -> Self {
        Self { points: 10_000, windows: 200 }
    }
}

/// Trace of one flow.
///
/// It takes packets with their kinds and infers nothing.
#[derive(Debug, Clone)]
pub struct FlowTrace {
    name: String,
    limits: TraceLimits,
    series: BTreeMap<(Series, PointKind), ThinnedPoints>,
    rates: BTreeMap<PointKind, RateWindows>,
    origin: StreamOrigin,
    /// Offset behind the last byte sent.
    sent: u64,
    /// The cumulative acknowledgment; `None` before the first.
    acknowledged: Option<u64>,
    window_edge: Option<u64>,
    /// Window scale of the receiver's SYN; `None` if it was not seen, so that windows are unknown.
    shift: Option<u8>,
    /// Whether the sender's SYN refuses window scaling.
    refuses_scaling: bool,
    is_window_closed: bool,
    /// When the connection was established, if seen.
    established: Option<Instant>,
    was_opened: bool,
    new_data: Option<Vec<NewData>>,
}

/// New bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewData {
    /// When it passed.
    pub at: Instant,
    /// New bytes, one or more.
    pub new_bytes: u64,
    /// Its payload.
    pub payload_bytes: u32,
    /// Whether it ends a write (PSH, RFC 9293 §3.9.1.2).
    pub is_pushed: bool,
}

impl FlowTrace {
    /// An empty trace of the flow `name`.
    pub fn new(name: String, limits: TraceLimits) -> Self {
        Self {
            name,
            limits,
            series: BTreeMap::new(),
            rates: BTreeMap::new(),
            origin: StreamOrigin::default(),
            sent: 0,
            acknowledged: None,
            window_edge: None,
            shift: None,
            refuses_scaling: false,
            is_window_closed: false,
            established: None,
            was_opened: false,
            new_data: None,
        }
    }

    /// The same, keeping every segment of new data in memory.
    #[must_use]
    pub fn keeping_new_data(self) -> Self {
        Self { new_data: Some(Vec::new()), ..self }
    }

    /// When the connection was established at its tap, if seen.
    pub const fn established(&self) -> Option<Instant> {
        self.established
    }

    /// The segments of new data, if they are kept.
    pub fn new_data(&self) -> &[NewData] {
        self.new_data.as_deref().unwrap_or_default()
    }

    /// The flow's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether any data passed.
    pub fn has_data(&self) -> bool {
        !self.rates.is_empty()
    }

    /// A segment of the sender passes the tap of the flow's data.
    pub fn on_sent(&mut self, at: Instant, segment: &Segment, kind: PointKind) {
        let (low, high) = self.place(segment);
        self.mark(at, segment, low, high);
        if segment.flags.contains(Flags::SYN) {
            self.refuses_scaling = segment.options.window_scale.is_none();
            self.was_opened = true;
        }
        if segment.payload_bytes == 0 {
            return;
        }
        self.push(Series::Data, kind, Point::range(at, low, high));
        self.push(Series::SegmentSize, kind, Point::value(at, segment.payload_bytes.into()));
        self.add(PointKind::PayloadSent, at, segment.payload_bytes.into());
        let unique = high.saturating_sub(self.sent.max(low));
        if unique > 0 {
            self.add(PointKind::NewPayloadSent, at, unique);
            self.keep_new(at, segment, unique);
            self.sent = high;
        }
        self.push_flight(at);
    }

    /// A segment of the sender passes the tap near the receiver; `at` on the clock of the other.
    pub fn on_arrival(&mut self, at: Instant, segment: &Segment, kind: PointKind) {
        if segment.payload_bytes > 0 {
            let (low, high) = self.place(segment);
            self.push(Series::Arrival, kind, Point::range(at, low, high));
            self.add(PointKind::PayloadReceived, at, segment.payload_bytes.into());
        }
    }

    /// `payload_bytes` from `sequence` on, sent at `at`, were lost.
    pub fn on_lost(&mut self, at: Instant, sequence: SequenceNumber, payload_bytes: u32) {
        let Some(low) = self.acknowledged_place(sequence) else { return };
        let lost = Point::range(at, low, low.saturating_add(payload_bytes.into()));
        self.push(Series::Lost, PointKind::Only, lost);
    }

    /// A segment of the receiver passes.
    pub fn on_reverse_packet(&mut self, at: Instant, segment: &Segment, answer: AckKind) {
        if segment.flags.contains(Flags::SYN) {
            self.shift = Some(segment.options.window_scale.unwrap_or(0).min(GREATEST_SHIFT));
        }
        if !segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::RST) {
            return;
        }
        if self.was_opened && self.established.is_none() {
            self.established = Some(at);
        }
        // Before any data the origin of the stream is unknown.
        let Some(offset) = self.acknowledged_place(segment.acknowledgment) else { return };
        if self.acknowledged.is_none_or(|before| offset > before) {
            self.acknowledged = Some(offset);
            self.push(Series::Acknowledged, PointKind::Only, Point::value(at, offset));
            self.push_flight(at);
        } else if answer == AckKind::Duplicate {
            self.push(Series::DuplicateAck, PointKind::Only, Point::value(at, offset));
        }
        self.window(at, segment, offset);
        self.selective(at, segment, offset);
    }

    /// A sample of the round-trip time.
    pub fn on_round_trip(&mut self, at: Instant, time: Span) {
        self.push(Series::RoundTripTime, PointKind::Only, Point::value(at, time.as_nanos()));
    }

    /// Changes undecided points to `kind`.
    pub fn decide(&mut self, kind: PointKind) {
        for series in [Series::Data, Series::SegmentSize] {
            let undecided = self.series.remove(&(series, PointKind::Undecided));
            for point in undecided.iter().flat_map(ThinnedPoints::points) {
                self.push(series, kind, point);
            }
        }
    }

    /// All points: by series, kind and time.
    pub fn points(&self) -> Vec<(Series, PointKind, Point)> {
        let drawn = self.series.iter().flat_map(|(&(series, kind), kept)| {
            kept.points().into_iter().map(move |point| (series, kind, point))
        });
        let rates = self.rates.iter().flat_map(|(&kind, rates)| {
            let point = move |(at, rate)| (Series::Throughput, kind, Point::value(at, rate));
            rates.bits_per_second().map(point)
        });
        drawn.chain(rates).collect()
    }

    /// Stream offsets of the first payload byte and behind the last one.
    fn place(&mut self, segment: &Segment) -> (u64, u64) {
        self.origin.learn(segment);
        let high = clamped(self.origin.payload_end(segment, self.sent));
        (high.saturating_sub(segment.payload_bytes.into()), high)
    }

    fn acknowledged_place(&self, number: SequenceNumber) -> Option<u64> {
        self.origin.acknowledged(number, self.sent).map(clamped)
    }

    fn mark(&mut self, at: Instant, segment: &Segment, low: u64, high: u64) {
        for (flag, kind, place) in [
            (Flags::SYN, PointKind::Syn, low),
            (Flags::FIN, PointKind::Fin, high),
            (Flags::RST, PointKind::Reset, high),
        ] {
            if segment.flags.contains(flag) {
                self.push(Series::Mark, kind, Point::value(at, place));
            }
        }
    }

    fn window(&mut self, at: Instant, segment: &Segment, offset: u64) {
        // Windows of SYNs are unscaled, and both sides must scale (RFC 7323 §2.2).
        let is_scaled = !segment.flags.contains(Flags::SYN) && !self.refuses_scaling;
        if let Some(shift) = self.shift {
            let shift = if is_scaled { shift } else { 0 };
            let edge = offset.saturating_add(u64::from(segment.window) << shift);
            if self.window_edge != Some(edge) {
                self.window_edge = Some(edge);
                self.push(Series::WindowEdge, PointKind::Only, Point::value(at, edge));
            }
        }
        let is_closed = segment.window == 0;
        if is_closed && !self.is_window_closed {
            self.push(Series::Mark, PointKind::ZeroWindow, Point::value(at, offset));
        }
        self.is_window_closed = is_closed;
    }

    fn selective(&mut self, at: Instant, segment: &Segment, acknowledged: u64) {
        let range = |block: &SackBlock| {
            Some((self.acknowledged_place(block.left)?, self.acknowledged_place(block.right)?))
        };
        let mut ranges = segment.options.sack.as_slice().iter().filter_map(range);
        let Some((low, high)) = ranges.next().filter(|(low, high)| low < high) else { return };
        // D-SACK (RFC 2883 §4): the first block is acknowledged already, or lies within the second.
        let is_inside = ranges.next().is_some_and(|(from, to)| from <= low && high <= to);
        let is_copy = high <= acknowledged || is_inside;
        let kind = if is_copy { PointKind::DuplicateSack } else { PointKind::Sack };
        self.push(Series::Sack, kind, Point::range(at, low, high));
    }

    fn keep_new(&mut self, at: Instant, segment: &Segment, new_bytes: u64) {
        if let Some(kept) = &mut self.new_data {
            let (payload_bytes, flags) = (segment.payload_bytes, segment.flags);
            let is_pushed = flags.contains(Flags::PSH);
            kept.push(NewData { at, new_bytes, payload_bytes, is_pushed });
        }
    }

    fn push_flight(&mut self, at: Instant) {
        let flight = self.sent.saturating_sub(self.acknowledged.unwrap_or(0));
        self.push(Series::Flight, PointKind::Only, Point::value(at, flight));
    }

    fn push(&mut self, series: Series, kind: PointKind, point: Point) {
        let limit = self.limits.points;
        self.series.entry((series, kind)).or_insert_with(|| ThinnedPoints::new(limit)).push(point);
    }

    fn add(&mut self, kind: PointKind, at: Instant, bytes: u64) {
        let limit = self.limits.windows;
        self.rates.entry(kind).or_insert_with(|| RateWindows::new(limit)).add(at, bytes);
    }
}

/// Kind of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckKind {
    /// A duplicate acknowledgment (RFC 5681 §2).
    Duplicate,
    /// Anything else.
    Other,
}

/// A stream offset; bytes before the origin count as its beginning.
fn clamped(offset: i64) -> u64 {
    offset.max(0).cast_unsigned()
}

#[cfg(test)]
mod tests;
