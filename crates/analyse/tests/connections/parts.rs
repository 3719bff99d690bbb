//! A part of every connection, by its age.

use crate::dialogue::{Dialogue, Pair, cell, cells, table};
use fairwind_analyse::{Outcome, Settings, TimeLimit};
use fairwind_units::Span;
use fairwind_wire::Flags;

/// Writes of 100 bytes every 60 ms from 1.00 s on, each but the first with the one before, and acknowledged
/// after 200 ms.
fn bundles(writes: u32) -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0);
    let mut packets: Vec<(u64, bool, u32)> = Vec::new();
    for write in 0..writes {
        let at = 1_000_000 + u64::from(write) * 60_000;
        packets.extend([(at, true, write), (at + 200_000, false, write)]);
    }
    packets.sort_unstable();
    for (at, is_data, write) in packets {
        let end = (write + 1) * 100 + 1;
        if is_data {
            let start = if write == 0 { 1 } else { end - 200 };
            dialogue.client(at, Flags::ACK, (start, 1, end - start));
        } else {
            dialogue.server(at, Flags::ACK, (1, end, 0));
        }
    }
    dialogue
}

fn from(millis: u64) -> Settings {
    Settings { connection_from: Span::from_millis(millis), ..Settings::default() }
}

fn transport(outcome: &Outcome) -> [String; 6] {
    let columns = [
        "data_segments",
        "retransmitted_segments",
        "bundles",
        "bundled_bytes",
        "rtt_samples",
        "rtt_min_s",
    ];
    cells(table(outcome, "transport"), 0, columns)
}

/// Counted from 1.10 s on are the writes at 1.12, 1.18 and 1.24 s, and the acknowledgments of all five.
#[test]
fn outstanding_data_at_begin_of_part_is_known() {
    let outcome = bundles(5).analysed_by(from(1_100));
    assert_eq!(transport(&outcome), ["3", "0", "3", "300", "5", "0.2"]);
    let flows = table(&outcome, "flows");
    let columns = [
        "data_segments_sent",
        "data_segments_retransmitted",
        "bundles_sent",
        "bundled_bytes_sent",
        "ack_latency_max_s",
        "payload_bytes_read",
    ];
    assert_eq!(cells(flows, 0, columns), ["3", "0", "3", "300", "0.2", "500"]);
    let streams = table(&outcome, "transport");
    // From 1.1 s to the last acknowledgment, at 1.44 s.
    assert_eq!(cell(streams, 0, "observed_s"), "0.34");
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, ["opener_data_packets", "duration_s"]), ["5", "1.44"]);
}

#[test]
fn connection_shorter_than_minimum_age_is_omitted() {
    let outcome = bundles(3).analysed_by(from(5_000));
    assert_eq!(transport(&outcome), ["0", "0", "0", "0", "0", ""]);
    let columns = ["packets_sent", "payload_bytes_read", "established"];
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["0", "0", "true"]);
}

/// Every connection begins with the capture here, so that its age is the time. A part by time ends with the last
/// packet in it, because the rest is unknown; a part by age ends with it.
#[test]
fn part_by_age_equals_part_by_time() {
    let dialogue = bundles(20);
    let span = Span::from_millis;
    let by_time = Settings {
        from: Some(TimeLimit::Since(span(1_330))),
        until: Some(TimeLimit::Since(span(1_790))),
        ..Settings::default()
    };
    let by_age = Settings { connection_until: Some(span(1_790)), ..from(1_330) };
    let tables = ["transport", "retransmissions", "stream_times", "stream_sizes", "slowest"];
    let shown = |outcome: &Outcome| {
        tables.map(|name| {
            let mut table = table(outcome, name).clone();
            table.columns.retain(|column| column.name != "observed_s");
            format!("{table:?}")
        })
    };
    let (by_age, by_time) = (dialogue.analysed_by(by_age), dialogue.analysed_by(by_time));
    assert_eq!(shown(&by_age), shown(&by_time));
    let observed = |outcome: &Outcome| cell(table(outcome, "transport"), 0, "observed_s");
    assert_eq!((observed(&by_age), observed(&by_time)), ("0.46".to_owned(), "0.45".to_owned()));
}

/// 9 ms between the taps. Of the packets with payload, those at 1.12, 1.18 and 1.24 s left in time; the last
/// one came when the connection was too old.
#[test]
fn packets_in_flight_at_end_are_not_lost() {
    let settings = Settings { connection_until: Some(Span::from_millis(1_245)), ..from(1_100) };
    let outcome = Pair::of(&bundles(8)).analysed_by(settings);
    let passages = table(&outcome, "passages");
    let columns = ["data_packets_sent", "bundles_sent", "data_packets_received", "packets_lost"];
    assert_eq!(cells(passages, 0, columns), ["3", "3", "2", "0"]);
    let columns = ["packets_unjudged", "packets_departure_unseen"];
    assert_eq!(cells(passages, 0, columns), ["1", "0"]);
}
