//! Time shares of a stream, and data in flight.

use crate::tap::Tap;
use fairwind_analyse::stream::{RowKey, StreamRows};
use fairwind_measure::{Table, Tables};

pub(crate) fn tables(tap: Tap, millis: u64) -> Tables {
    let (_, measures) = tap.finish(millis);
    let mut rows = StreamRows::new(&[50.0, 99.9]);
    let subject = RowKey { flow: Some(7), name: "a>b".to_owned(), group: "thin".to_owned() };
    rows.push(subject, &measures);
    assert_eq!(rows.waiting(), 1);
    let tables = Tables { tables: rows.take() };
    assert_eq!(rows.waiting(), 0);
    tables
}

pub(crate) fn number(table: &Table, column: &str) -> Option<f64> {
    table.column(column).unwrap_or_else(|| panic!("no column {column}")).number(0)
}

/// Ratios, rounded to thousandths.
fn shares(tap: Tap, millis: u64) -> [u64; 4] {
    let tables = tables(tap, millis);
    let table = tables.get("transport").expect("the tests have it");
    [
        "idle_ratio",
        "application_limited_ratio",
        "receiver_limited_ratio",
        "congestion_limited_ratio",
    ]
    .map(|column| {
        let share = number(table, column).expect("the tests have it");
        (0..=1000_u32)
            .find(|&part| (f64::from(part) / 1000.0 - share).abs() < 0.0005)
            .expect("the tests have it")
            .into()
    })
}

#[test]
fn nothing_outstanding_is_idle() {
    let mut tap = Tap::new();
    tap.data(200, 0, 1000);
    tap.ack(300, 1000);
    // A segment outstanding for 100 ms of 1000, and nothing waited behind it.
    assert_eq!(shares(tap, 1000), [900, 100, 0, 0]);
}

/// From 200 to 300 ms the second segment waited for the acknowledgment, then nothing did.
#[test]
fn segment_after_ack_was_window_limited() {
    let mut tap = Tap::new();
    tap.data(200, 0, 1000);
    tap.ack(300, 1000);
    tap.data(300, 1000, 1000);
    tap.ack(400, 2000);
    assert_eq!(shares(tap, 1000), [800, 100, 0, 100]);
}

/// With 800 bytes of window, and nothing outstanding, from 400 to 700 ms.
#[test]
fn small_window_is_receiver_limited_when_idle() {
    let mut tap = Tap::new();
    tap.data(300, 0, 400);
    tap.answer(400, 400, &[], 400, 0);
    tap.answer(700, 400, &[], 4000, 0);
    assert_eq!(shares(tap, 1000), [600, 100, 300, 0]);
}

#[test]
fn short_segment_is_application_limited() {
    let mut tap = Tap::new();
    tap.data(200, 0, 400);
    tap.ack(300, 400);
    assert_eq!(shares(tap, 1000), [900, 100, 0, 0]);
}

/// 250 ms from the first to the second, which no acknowledgment allowed; 150 ms more, and nothing followed.
#[test]
fn full_segments_without_ack_are_application_limited() {
    let mut tap = Tap::new();
    tap.data(200, 0, 1000);
    tap.data(450, 1000, 1000);
    tap.ack(600, 2000);
    assert_eq!(shares(tap, 1000), [600, 400, 0, 0]);
}

#[test]
fn window_below_segment_is_receiver_limited() {
    let mut tap = Tap::new();
    // Scaled by 1: 2000 bytes.
    tap.answer(100, 0, &[], 1000, 0);
    tap.data(200, 0, 1000);
    tap.data(200, 1000, 1000);
    tap.answer(300, 2000, &[], 0, 0);
    tap.answer(500, 2000, &[], 1000, 0);
    assert_eq!(shares(tap, 1000), [700, 0, 300, 0]);
}

#[test]
fn a_repair_is_congestion_also_with_small_segments() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    tap.data(now, from, 100);
    tap.data(now + 10, from + 100, 100);
    tap.data(now + 310, from, 100);
    tap.ack(now + 410, from + 200);
    // Ten round trips of 100 ms with half a segment, then 310 ms until the time-out, and 100 ms.
    assert_eq!(shares(tap, 5000), [718, 262, 0, 20]);
}

#[test]
fn columns_and_definitions_match() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 100);
    tap.data(now + 300, from, 100);
    tap.ack(now + 400, from + 100);
    let faults = crate::definitions::definition_faults(
        &fairwind_analyse::stream::columns(),
        &tables(tap, now + 500),
    );
    assert_eq!(faults, [""; 0]);
}
