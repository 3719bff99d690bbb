//! Traces as a table: one row per point.

use super::flow::FlowTrace;
use super::point::{Kind, Point, Series};
use fairwind_measure::{Column, Table, Values};
use fairwind_units::{Instant, Span};

/// The name of the table.
pub const TRACES: &str = "traces";

/// Name of the flow, and one of its points.
type Row<'a> = (&'a str, Series, Kind, Point);

/// Makes the table `traces`, whose times count from `origin`.
pub fn traces_table(traces: &[FlowTrace], origin: Instant) -> Table {
    let rows: Vec<Row<'_>> = traces
        .iter()
        .flat_map(|trace| {
            let name = trace.name();
            trace.points().into_iter().map(move |(series, kind, point)| (name, series, kind, point))
        })
        .collect();
    let text = |of: &dyn Fn(&Row<'_>) -> String| Values::Text(rows.iter().map(of).collect());
    let number = |of: &dyn Fn(&Row<'_>) -> f64| Values::F64(rows.iter().map(of).collect());
    let columns = [
        ("name", text(&|row| row.0.to_owned())),
        ("series", text(&|row| row.1.name().to_owned())),
        ("kind", text(&|row| row.2.name().to_owned())),
        ("time_s", number(&|row| row.3.at.saturating_since(origin).as_secs_f64())),
        ("low", number(&|row| in_unit(row.1, row.3.low))),
        ("high", number(&|row| in_unit(row.1, row.3.high))),
        ("points", Values::U64(rows.iter().map(|row| row.3.count).collect())),
    ];
    let columns =
        columns.into_iter().map(|(name, values)| Column { name: name.to_owned(), values });
    Table { name: TRACES, columns: columns.collect() }
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
    use crate::trace::Limits;

    #[test]
    fn times_count_from_the_origin_and_round_trips_are_seconds() {
        let mut trace = FlowTrace::new("10.0.0.1:80>10.0.0.2:9".to_owned(), Limits::default());
        trace.on_round_trip(Instant::from_secs(100), Span::from_millis(25));
        trace.on_lost(Instant::from_millis(99_500), 1448, 2896);
        let table = traces_table(&[trace], Instant::from_secs(99));
        let number = |name: &str, row| table.column(name).and_then(|values| values.number(row));
        let text = |name: &str, row| table.column(name).and_then(|values| values.text(row));
        assert_eq!((table.name, table.rows()), ("traces", 2));
        assert_eq!(
            (text("series", 0), text("name", 0)),
            (Some("lost"), Some("10.0.0.1:80>10.0.0.2:9"))
        );
        assert_eq!((number("low", 0), number("high", 0)), (Some(1448.0), Some(2896.0)));
        assert_eq!((number("time_s", 0), number("time_s", 1)), (Some(0.5), Some(1.0)));
        assert_eq!((text("series", 1), number("high", 1)), (Some("rtt"), Some(0.025)));
        assert_eq!(number("points", 1), Some(1.0));
    }
}
