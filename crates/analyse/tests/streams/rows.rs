//! Columns, each with a value computed by hand.

use crate::tap::Tap;
use crate::time::{number, tables};
use fairwind_measure::Table;

fn assert_numbers(table: &Table, expected: &[(&str, f64)]) {
    for &(column, value) in expected {
        let found = number(table, column).unwrap_or(f64::NAN);
        assert!((found - value).abs() <= value.abs() * 0.01, "{column}: {found}, not {value}");
    }
}

/// Four segments of 1000 bytes at 200 ms; the second is lost, repeated at 300 ms, and acknowledged at
/// 400 ms; one of 200 bytes goes at 500 ms and is acknowledged at 620 ms.
fn one_loss() -> Tap {
    let mut tap = Tap::new();
    for segment in 0..4 {
        tap.data(200, segment * 1000, 1000);
    }
    tap.ack(300, 1000);
    tap.sack(300, 1000, &[(2000, 3000)]);
    tap.data(300, 1000, 1000);
    tap.sack(300, 1000, &[(2000, 4000)]);
    tap.ack(400, 4000);
    tap.data(500, 4000, 200);
    tap.answer(620, 4200, &[], 6_000, 0);
    tap
}

#[test]
fn one_loss_has_expected_measures() {
    let tables = tables(one_loss(), 1000);
    let table = tables.get("transport").unwrap();
    let expected = [
        ("streams", 1.0),
        ("observed_s", 1.0),
        ("data_segments", 6.0),
        ("payload_bytes", 5200.0),
        ("retransmitted_segments", 1.0),
        ("retransmitted_bytes", 1000.0),
        ("estimated_loss_ratio", 1.0 / 6.0),
        ("fast_retransmit_segments", 1.0),
        ("timeout_segments", 0.0),
        ("after_timeout_segments", 0.0),
        ("tail_loss_probe_segments", 0.0),
        ("unknown_segments", 0.0),
        ("fast_recoveries", 1.0),
        ("timeouts", 0.0),
        ("spurious_by_report", 0.0),
        ("spurious_by_timestamp", 0.0),
        ("fin_retransmissions", 0.0),
        // SYN with ACK is one, too.
        ("acknowledgments", 6.0),
        ("duplicate_acks", 2.0),
        ("sack_segments", 2.0),
        ("sack_blocks", 2.0),
        ("reports_of_duplicates", 0.0),
        ("zero_windows", 0.0),
        ("zero_window_s", 0.0),
        // Four of 20 000 bytes, then one of 12 000.
        ("window_min_bytes", 12_000.0),
        ("window_mean_bytes", 18_400.0),
        ("window_max_bytes", 20_000.0),
        // 1000, 2000, 3000, 4000; 3000; 200.
        ("flight_mean_bytes", 13_200.0 / 6.0),
        ("flight_max_bytes", 4000.0),
        ("flight_mean_packets", 14.0 / 6.0),
        ("flight_max_packets", 4.0),
        ("initial_window_mean_packets", 4.0),
        ("initial_window_mean_bytes", 4000.0),
        ("few_in_flight_ratio", 5.0 / 6.0),
        // The repetition and what follows it.
        ("thin_ratio", 2.0 / 6.0),
        ("handshake_rtt_mean_s", 0.1),
        // At 300 ms three (one in order, two out of it), none of the repetition, and the last.
        ("rtt_samples", 4.0),
        ("rtt_min_s", 0.1),
        ("rtt_mean_s", 0.105),
        ("rtt_p50_s", 0.1),
        ("rtt_p99_s", 0.12),
        ("rtt_max_s", 0.12),
        ("thin_time_ratio", 0.7),
    ];
    assert_numbers(table, &expected);
}

#[test]
fn distributions_and_counts_by_order_of_one_loss() {
    let tables = tables(one_loss(), 1000);
    let repeated = tables.get("retransmissions").unwrap();
    let text = |column: &str, row| repeated.column(column).unwrap().text(row).unwrap().to_owned();
    let rows: Vec<_> = (0..repeated.rows())
        .map(|row| {
            let number = |column: &str| repeated.column(column).unwrap().number(row);
            (text("kind", row), text("value", row), number("count"), number("bytes"))
        })
        .collect();
    let row = |kind: &str, value: &str, count, bytes| {
        (kind.to_owned(), value.to_owned(), Some(count), bytes)
    };
    let expected = [
        row("cause", "fast_retransmit", 1.0, Some(1000.0)),
        row("order", "1", 1.0, Some(1000.0)),
        row("duplicate_ack", "1", 1.0, None),
        row("duplicate_ack", "2", 1.0, None),
    ];
    assert_eq!(rows, expected);
    let sizes = tables.get("stream_sizes").unwrap();
    assert_numbers(
        sizes,
        &[
            ("count", 6.0),
            ("min_bytes", 200.0),
            ("mean_bytes", 5200.0 / 6.0),
            ("p50_bytes", 1000.0),
            ("max_bytes", 1000.0),
        ],
    );
    let times = tables.get("stream_times").unwrap();
    let kinds: Vec<_> = (0..times.rows())
        .map(|row| {
            let number = |column: &str| times.column(column).unwrap().number(row).unwrap();
            let kind = times.column("kind").unwrap().text(row).unwrap().to_owned();
            (kind, number("count"), number("max_s"))
        })
        .collect();
    let row = |kind: &str, count, max| (kind.to_owned(), count, max);
    let expected =
        [row("rtt", 4.0, 0.12), row("inter_transmission", 5.0, 0.2), row("ack_after_1", 1.0, 0.2)];
    assert_eq!(kinds, expected);
}

#[test]
fn groups_have_the_sums_of_their_streams() {
    let (_, mut group) = one_loss().finish(1000);
    let (_, other) = one_loss().finish(1000);
    group.merge(&other);
    assert_eq!((group.data_segments(), group.retransmissions()), (12, 2));
}

#[test]
fn unacknowledged_initial_window_is_unknown() {
    let mut tap = Tap::new();
    tap.data(200, 0, 1000);
    let tables = tables(tap, 1000);
    let table = tables.get("transport").unwrap();
    assert_eq!(number(table, "initial_window_mean_bytes"), None);
    assert_eq!(number(table, "rtt_min_s"), None);
}
