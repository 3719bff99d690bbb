//! Traces as a table: one row per point.

use super::flow::FlowTrace;
use super::point::{Point, PointKind, Series};
use fairwind_measure::{Table, TableBuilder, TableDefinition};
use fairwind_units::{Instant, Span};

/// The name of the table.
const TRACES: &str = "traces";

/// What its columns mean.
pub(crate) const COLUMNS: TableDefinition = (TRACES, &[POINTS]);

#[rustfmt::skip]
const POINTS: &[(&str, &str, &str)] = &[
    ("name", "text", "The flow, as in the other tables; of several with the same addresses and ports the later ones have a number behind it."),
    ("series", "text", "What the point belongs to: data, arrival, lost, acknowledged, window_edge, sack, duplicate_ack, mark, rtt, flight, throughput, segment_size."),
    ("kind", "text", "Which kind of the series: of data and segment_size why it was sent, of sack whether it tells of copies, of a mark which, of throughput whose."),
    ("time_s", "s", "When, since the first packet; of points that were brought together the first one, of throughput the beginning of its window."),
    ("low", "number", "The least value: bytes of the stream, whose first is 0, bytes of flight and segment_size, seconds of rtt, bit/s of throughput."),
    ("high", "number", "The greatest value: of data the place behind its last byte."),
    ("points", "points", "How many points this row stands for: where there are too many to be drawn, neighbours in time are brought together."),
];

/// Name of the flow, and one of its points.
type Row<'a> = (&'a str, Series, PointKind, Point);

/// Makes the table `traces`, whose times count from `origin`.
pub fn traces_table(traces: &[FlowTrace], origin: Instant) -> Table {
    let rows: Vec<Row<'_>> = traces
        .iter()
        .flat_map(|trace| {
            let name = trace.name();
            trace.points().into_iter().map(move |(series, kind, point)| (name, series, kind, point))
        })
        .collect();
    TableBuilder::new(TRACES, &rows)
        .with("name", |row| row.0.to_owned())
        .with("series", |row| row.1.name().to_owned())
        .with("kind", |row| row.2.name().to_owned())
        .with("time_s", |row| row.3.at.saturating_since(origin).as_secs_f64())
        .with("low", |row| in_unit(row.1, row.3.low))
        .with("high", |row| in_unit(row.1, row.3.high))
        .with("points", |row| row.3.count)
        .build()
}

/// A point's value in the unit of the table: seconds for times, as it is for bytes and rates.
#[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
fn in_unit(series: Series, value: u64) -> f64 {
    match series {
        Series::RoundTripTime => Span::from_nanos(value).as_secs_f64(),
        _ => value as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceLimits;
    use fairwind_wire::Segment;

    #[test]
    fn times_count_from_the_origin_and_round_trips_are_seconds() {
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
