//! Traces of the chosen connections, and the table `traces`.
//!
//! A chosen connection has a trace and a [`Stream`] for each direction of data. The stream classifies segments
//! as for the other tables; it runs once more here, so that connections without traces cost nothing.

use super::flow::{AckKind, FlowTrace, TraceLimits};
use super::points::{Point, PointKind, Series};
use crate::connection::{Side, addresses_of, flow_name};
use crate::one_way::LostPacket;
use crate::stream::{Cause, ProbeUseCounts, SegmentKind, Stream, TapSide};
use fairwind_capture::{Filter, Packet};
use fairwind_measure::{Table, TableBuilder, TableDefinition, table_columns};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Which connections are traced.
#[derive(Debug, Clone)]
pub enum Selection {
    /// Connections with a flow of one of these names.
    Named(BTreeSet<String>),
    /// Connections of which one direction of data matches this filter of addresses and ports.
    Matching(Filter),
}

/// Settings of traces.
#[derive(Debug, Clone)]
pub struct TraceSettings {
    /// The connections to trace.
    pub selection: Selection,
    /// Limit of connections; those that begin first are traced.
    pub max_connections: usize,
    /// Limits of each flow.
    pub limits: TraceLimits,
    /// Whether every segment of new data is kept, see [`FlowTrace::new_data`].
    pub keeps_new_data: bool,
}

impl TraceSettings {
    /// The filter, if it asks for packets instead of flows.
    pub(crate) fn filter_of_packets(&self) -> Option<&Filter> {
        match &self.selection {
            Selection::Matching(filter) => Some(filter).filter(|it| !it.is_connection_filter()),
            Selection::Named(_) => None,
        }
    }
}

/// A traced connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TraceId(u32);

/// Traces of chosen connections; memory is bounded by their limits.
#[derive(Debug)]
pub(crate) struct Tracer {
    settings: TraceSettings,
    /// Flows of the opener's and of the answerer's data.
    connections: Vec<[TracedFlow; 2]>,
    /// Connections by name.
    named: BTreeMap<String, u32>,
    omitted: u64,
    /// Points begin here, except for SYNs, which give the origin.
    shown_from: Instant,
}

/// One flow.
#[derive(Debug)]
struct TracedFlow {
    trace: FlowTrace,
    stream: Stream,
    /// Points begin here.
    shown_from: Instant,
}

impl Tracer {
    /// No traces.
    pub(crate) const fn new(settings: TraceSettings) -> Self {
        Self {
            settings,
            connections: Vec::new(),
            named: BTreeMap::new(),
            omitted: 0,
            shown_from: Instant::ZERO,
        }
    }

    /// Draws points from this instant on.
    pub(crate) const fn show_from(&mut self, shown_from: Instant) {
        self.shown_from = shown_from;
    }

    /// Begins the trace of a chosen connection. `ends` are the opener's and the answerer's endpoints, `sides`
    /// the position of the tap for each. A repeated name gets a number. Points begin at `shown_from`.
    pub(crate) fn begin(
        &mut self,
        at: Instant,
        shown_from: Instant,
        ends: [SocketAddr; 2],
        sides: [TapSide; 2],
    ) -> Option<TraceId> {
        let [opener, answerer] = ends;
        let directions = [(opener, answerer), (answerer, opener)];
        let names = directions.map(|(from, to)| flow_name(from, to));
        let is_chosen = match &self.settings.selection {
            Selection::Named(chosen) => names.iter().any(|name| chosen.contains(name)),
            Selection::Matching(filter) => directions.iter().any(|(from, to)| {
                addresses_of(*from, *to)
                    .is_some_and(|both| filter.matches_endpoints(&both, from.port(), to.port()))
            }),
        };
        if !is_chosen {
            return None;
        }
        if self.connections.len() >= self.settings.max_connections {
            self.omitted = self.omitted.saturating_add(1);
            return None;
        }
        let trace = TraceId(u32::try_from(self.connections.len()).ok()?);
        let [opening, answering] = names;
        let times = self.named.entry(opening.clone()).or_default();
        *times += 1;
        let times = *times;
        let TraceSettings { limits, keeps_new_data, .. } = self.settings;
        let traced = |name: String, side| {
            let name = if times == 1 { name } else { format!("{name} ({times})") };
            let mut stream = Stream::new(at);
            stream.set_side(side);
            let trace = FlowTrace::new(name, limits);
            let trace = if keeps_new_data { trace.keeping_new_data() } else { trace };
            TracedFlow { trace, stream, shown_from }
        };
        let [of_opening, of_answering] = sides;
        self.connections.push([traced(opening, of_opening), traced(answering, of_answering)]);
        Some(trace)
    }

    /// A packet of a traced connection, sent by `side`, passes a tap at `at`. `shows` says for the opener's and
    /// the answerer's data whether this tap draws it; at the other one it arrives.
    pub(crate) fn on_packet(
        &mut self,
        trace: TraceId,
        at: Instant,
        side: Side,
        shows: [bool; 2],
        packet: &Packet,
    ) {
        let shown_from = self.shown_from;
        let Some(flows) = self.connection(trace) else { return };
        let is_shown =
            at >= shown_from.max(flows[0].shown_from) || packet.segment.flags.contains(Flags::SYN);
        for (sender, flow) in [Side::Opener, Side::Answerer].into_iter().zip(flows) {
            match (sender == side, shows[sender.index()]) {
                (true, true) => flow.on_data(at, packet, is_shown),
                (false, true) => flow.on_reverse_packet(at, packet, is_shown),
                (true, false) if is_shown => {
                    flow.trace.on_arrival(at, &packet.segment, PointKind::Only);
                }
                (_, false) => {}
            }
        }
    }

    /// A packet of `sender` was lost.
    pub(crate) fn on_lost(&mut self, trace: TraceId, sender: Side, lost: &LostPacket) {
        if let (Some(flows), Some(sequence)) = (self.connection(trace), lost.sequence) {
            flows[sender.index()].trace.on_lost(lost.at, sequence, lost.payload_bytes);
        }
    }

    fn connection(&mut self, trace: TraceId) -> Option<&mut [TracedFlow; 2]> {
        self.connections.get_mut(usize::try_from(trace.0).ok()?)
    }

    /// Chosen connections beyond the limit.
    pub(crate) const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Ends all traces at `at`; returns those of flows with data, in the order of their connections.
    pub(crate) fn finish(self, at: Instant) -> Vec<FlowTrace> {
        let mut probe_use = ProbeUseCounts::default();
        let flows = self.connections.into_iter().flatten();
        let traces = flows.map(|flow| flow.finish(at, &mut probe_use));
        traces.filter(FlowTrace::has_data).collect()
    }
}

impl TracedFlow {
    fn finish(mut self, at: Instant, probe_use: &mut ProbeUseCounts) -> FlowTrace {
        let timeouts = self.stream.finish(at, probe_use);
        self.trace.decide(if timeouts > 0 { PointKind::Timeout } else { PointKind::TailLossProbe });
        self.trace
    }

    fn on_data(&mut self, at: Instant, packet: &Packet, is_shown: bool) {
        let kind = self.stream.on_segment(at, &packet.segment, packet.identification);
        if is_shown {
            self.trace.on_sent(at, &packet.segment, kind_of(kind));
        }
    }

    fn on_reverse_packet(&mut self, at: Instant, packet: &Packet, is_shown: bool) {
        let facts = self.stream.on_reverse_packet(at, packet);
        if !is_shown {
            return;
        }
        let answer = if facts.duplicates > 0 { AckKind::Duplicate } else { AckKind::Other };
        self.trace.on_reverse_packet(at, &packet.segment, answer);
        if let Some(time) = facts.rtt {
            self.trace.on_round_trip(at, time);
        }
    }
}

/// The point kind of a segment.
const fn kind_of(kind: SegmentKind) -> PointKind {
    match kind {
        SegmentKind::Bare | SegmentKind::New => PointKind::New,
        SegmentKind::Bundle { .. } => PointKind::Bundle,
        SegmentKind::OutOfOrder => PointKind::OutOfOrder,
        SegmentKind::Duplicate => PointKind::NetworkDuplicate,
        SegmentKind::KeepAlive => PointKind::KeepAlive,
        SegmentKind::WindowProbe => PointKind::WindowProbe,
        SegmentKind::Retransmission(again) => match again.cause {
            Cause::FastRetransmit => PointKind::FastRetransmit,
            Cause::Timeout => PointKind::Timeout,
            Cause::AfterTimeout => PointKind::AfterTimeout,
            Cause::TailLossProbe if again.is_provisional => PointKind::Undecided,
            Cause::TailLossProbe => PointKind::TailLossProbe,
            Cause::Unknown => PointKind::Retransmission,
        },
    }
}

/// The name of the table.
const TRACES: &str = "traces";

/// What its columns mean.
pub(crate) const COLUMNS: TableDefinition = (TRACES, &[POINTS]);

table_columns! {
    POINTS: with_point['a](Row<'a>, origin: Instant);
    "name", "text", with(|row| row.0.to_owned()), "The flow, as in the other tables; later flows with the same addresses and ports have a number appended.";
    "series", "text", with(|row| row.1.name().to_owned()), "Series of the point: data, arrival, lost, acknowledged, window_edge, sack, duplicate_ack, mark, rtt, flight, throughput, segment_size.";
    "kind", "text", with(|row| row.2.name().to_owned()), "Kind within the series: for data and segment_size the cause of transmission, for sack whether it reports a duplicate, for mark its name, for throughput what is counted.";
    "time_s", "s", with(|row| row.3.at.saturating_since(origin).as_secs_f64()), "Time since the first packet; for merged points that of the first one, for throughput the beginning of its window.";
    "low", "number", with(|row| in_unit(row.1, row.3.low)), "The smallest value: offset in the stream (from 0), bytes of flight and segment_size, seconds of rtt, bit/s of throughput.";
    "high", "number", with(|row| in_unit(row.1, row.3.high)), "The largest value; for data the offset behind its last byte.";
    "points", "points", with(|row| row.3.count), "Number of points in this row: if there are too many to draw, neighbours in time are merged.";
}

/// Flow name, and a point.
type Row<'a> = (&'a str, Series, PointKind, Point);

/// Makes the table `traces`, with times from `origin` on.
pub fn traces_table(traces: &[FlowTrace], origin: Instant) -> Table {
    let rows: Vec<Row<'_>> = traces
        .iter()
        .flat_map(|trace| {
            let name = trace.name();
            trace.points().into_iter().map(move |(series, kind, point)| (name, series, kind, point))
        })
        .collect();
    with_point(TableBuilder::new(TRACES, &rows), origin).build()
}

/// Value in the unit of the table: seconds for times, otherwise unchanged.
#[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
fn in_unit(series: Series, value: u64) -> f64 {
    match series {
        Series::RoundTripTime => Span::from_nanos(value).as_secs_f64(),
        _ => value as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceLimits;
    use super::super::points::{Point, Series};
    use super::*;
    use fairwind_units::Span;
    use fairwind_wire::{Segment, SequenceNumber};

    fn tracer(selection: Selection) -> Tracer {
        let limits = TraceLimits::default();
        Tracer::new(TraceSettings { selection, max_connections: 3, limits, keeps_new_data: false })
    }

    const THERE: &str = "10.0.0.1:5000>10.0.0.2:80";
    const BACK: &str = "10.0.0.2:80>10.0.0.1:5000";

    fn matching(filter: &str) -> Selection {
        Selection::Matching(filter.parse().expect("a filter"))
    }

    /// From a port of 10.0.0.1 to port 80 of 10.0.0.2.
    fn begin(tracer: &mut Tracer, port: u16) -> Option<TraceId> {
        let ends = [([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 80).into()];
        tracer.begin(Instant::ZERO, Instant::ZERO, ends, [TapSide::Sender, TapSide::Receiver])
    }

    fn packet(sequence: u32, payload_bytes: u32, acknowledgment: u32) -> Packet {
        let segment = Segment {
            sequence: SequenceNumber::new(sequence),
            acknowledgment: SequenceNumber::new(acknowledgment),
            flags: Flags::ACK,
            window: 1000,
            payload_bytes,
            ..Segment::default()
        };
        Packet { segment, ..Packet::EMPTY }
    }

    fn names(traces: &[FlowTrace]) -> Vec<&str> {
        traces.iter().map(FlowTrace::name).collect()
    }

    #[test]
    fn traces_match_by_name_and_number_reused_names() {
        let mut tracer = tracer(Selection::Named([THERE.to_owned()].into()));
        assert_eq!(begin(&mut tracer, 5001), None);
        for _ in 0..2 {
            let trace = begin(&mut tracer, 5000).expect("chosen");
            let data = packet(0, 100, 0);
            tracer.on_packet(trace, Instant::ZERO, Side::Opener, [true; 2], &data);
        }
        assert_eq!(names(&tracer.finish(Instant::ZERO)), [THERE, &format!("{THERE} (2)")]);
    }

    #[test]
    fn first_matches_are_traced_and_others_counted() {
        let mut tracer = tracer(matching("dst portrange 5005-5009"));
        for port in 5000..5010 {
            let trace = begin(&mut tracer, port);
            assert_eq!(trace.is_some(), (5005..5008).contains(&port));
        }
        assert_eq!(tracer.omitted(), 2);
    }

    #[test]
    fn both_directions_have_traces_with_kinds_and_rtts() {
        let mut tracer = tracer(matching("port 80"));
        let trace = begin(&mut tracer, 5000).expect("chosen");
        let ms = |millis| Instant::ZERO + Span::from_millis(millis);
        let rows = [
            (0, Side::Opener, packet(0, 100, 0)),
            (50, Side::Answerer, packet(0, 300, 100)),
            (60, Side::Opener, packet(100, 100, 300)),
            (2060, Side::Opener, packet(100, 100, 300)),
        ];
        for (at, side, packet) in rows {
            tracer.on_packet(trace, ms(at), side, [true; 2], &packet);
        }
        let flows = tracer.finish(ms(3000));
        assert_eq!(names(&flows), [THERE, BACK]);
        let table = traces_table(&flows, Instant::ZERO);
        let row = |row: usize| {
            let text = |name| table.column(name).and_then(|values| values.text(row)).unwrap_or("");
            let high = table.column("high").and_then(|values| values.number(row));
            (text("name").to_owned(), text("series").to_owned(), text("kind").to_owned(), high)
        };
        let rows: Vec<_> = (0..table.rows()).map(row).collect();
        let has = |name: &str, series: &str, kind: &str, high: f64| {
            rows.contains(&(name.to_owned(), series.to_owned(), kind.to_owned(), Some(high)))
        };
        assert!(has(THERE, "data", "new", 100.0), "{rows:?}");
        assert!(has(THERE, "data", "timeout", 200.0), "{rows:?}");
        assert!(has(THERE, "rtt", "", 0.05), "{rows:?}");
        assert!(has(BACK, "acknowledged", "", 300.0), "{rows:?}");
    }

    #[test]
    fn packets_before_shown_part_are_not_drawn() {
        let mut tracer = tracer(matching("port 80"));
        let ends = [([10, 0, 0, 1], 5000).into(), ([10, 0, 0, 2], 80).into()];
        let sides = [TapSide::Sender, TapSide::Receiver];
        let shown_from = Instant::from_secs(1);
        let trace = tracer.begin(Instant::ZERO, shown_from, ends, sides).expect("chosen");
        let data = packet(0, 100, 0);
        for at in [Instant::ZERO, Instant::from_secs(2)] {
            tracer.on_packet(trace, at, Side::Opener, [true; 2], &data);
        }
        let flows = tracer.finish(Instant::from_secs(3));
        let table = traces_table(&flows, Instant::ZERO);
        let kinds = table.column("kind").expect("kinds");
        let drawn: Vec<_> = (0..table.rows()).filter_map(|row| kinds.text(row)).collect();
        assert!(drawn.contains(&"timeout") && !drawn.contains(&"new"), "{drawn:?}");
    }

    #[test]
    fn two_taps_draw_arrivals_at_the_far_tap() {
        let mut tracer = tracer(matching("port 80"));
        let trace = begin(&mut tracer, 5000).expect("chosen");
        let (near_opener, near_answerer) = ([true, false], [false, true]);
        let data = packet(0, 100, 0);
        tracer.on_packet(trace, Instant::ZERO, Side::Opener, near_opener, &data);
        tracer.on_packet(trace, Instant::from_millis(9), Side::Opener, near_answerer, &data);
        let [flow] = &tracer.finish(Instant::from_secs(1))[..] else { panic!("one flow has data") };
        let points = flow.points();
        let of = |series| -> Vec<Point> {
            points.iter().filter(|point| point.0 == series).map(|point| point.2).collect()
        };
        assert_eq!(of(Series::Arrival), [Point::range(Instant::from_millis(9), 0, 100)]);
    }

    #[test]
    fn times_start_at_origin_and_rtts_are_seconds() {
        let mut trace = FlowTrace::new("10.0.0.1:80>10.0.0.2:9".to_owned(), TraceLimits::default());
        trace.on_round_trip(Instant::from_secs(100), Span::from_millis(25));
        let data = Segment { payload_bytes: 1448, ..Segment::default() };
        trace.on_sent(Instant::from_millis(99_500), &data, PointKind::New);
        trace.on_lost(Instant::from_millis(99_500), data.sequence, 1448);
        let table = traces_table(&[trace], Instant::from_secs(99));
        let number = |name: &str, row| table.column(name).and_then(|values| values.number(row));
        let text = |name: &str, row| table.column(name).and_then(|values| values.text(row));
        let row = |series| (0..table.rows()).find(|&row| text("series", row) == Some(series));
        let (lost, rtt) = (row("lost").expect("a loss"), row("rtt").expect("a round trip"));
        assert_eq!(text("name", lost), Some("10.0.0.1:80>10.0.0.2:9"));
        assert_eq!((number("low", lost), number("high", lost)), (Some(0.0), Some(1448.0)));
        assert_eq!((number("time_s", lost), number("time_s", rtt)), (Some(0.5), Some(1.0)));
        assert_eq!((number("high", rtt), number("points", rtt)), (Some(0.025), Some(1.0)));
    }
}
