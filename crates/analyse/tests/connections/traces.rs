//! Traces of selected connections.

use crate::dialogue::{Dialogue, Row, cells, table};
use fairwind_analyse::trace::{Selection, TraceLimits, TraceSettings};
use fairwind_analyse::{Analysis, AnalysisError, Outcome, Settings};
use fairwind_wire::Flags;

fn traced(selection: Selection, max_connections: usize) -> Settings {
    let limits = TraceLimits::default();
    let traces = TraceSettings { selection, max_connections, limits, keeps_new_data: false };
    Settings { traces: Some(traces), ..Settings::default() }
}

pub(crate) fn everything_traced() -> Settings {
    traced(Selection::Matching("tcp".parse().expect("a filter")), usize::MAX)
}

/// A request of 100 bytes, which is sent again after a second, and its answer of 1000.
fn request(dialogue: &mut Dialogue, millis: u64) {
    let micros = millis * 1000;
    dialogue
        .set_up(micros)
        .client(micros + 30_000, Flags::ACK, (1, 1, 100))
        .client(micros + 1_030_000, Flags::ACK, (1, 1, 100))
        .server(micros + 1_050_000, Flags::ACK, (1, 101, 1000))
        .client(micros + 1_050_010, Flags::ACK, (101, 1001, 0))
        .client(micros + 1_060_000, Flags::FIN | Flags::ACK, (101, 1001, 0))
        .server(micros + 1_080_000, Flags::FIN | Flags::ACK, (1001, 102, 0))
        .client(micros + 1_080_010, Flags::ACK, (102, 1002, 0));
}

/// The rows of one series: flow, kind, time, low, high.
fn rows(outcome: &Outcome, series: &str) -> Vec<[String; 5]> {
    let traces = table(outcome, "traces");
    (0..traces.rows())
        .filter(|&row| cells(traces, row, ["series"]) == [series])
        .map(|row| cells(traces, row, ["name", "kind", "time_s", "low", "high"]))
        .collect()
}

const THERE: &str = "10.0.0.1:50000>10.0.0.2:80";
const BACK: &str = "10.0.0.2:80>10.0.0.1:50000";

#[test]
fn both_directions_are_drawn_with_retransmission_causes() {
    let mut dialogue = Dialogue::new();
    request(&mut dialogue, 0);
    let outcome = dialogue.analysed_by(everything_traced());
    let expected = [
        [THERE, "new", "0.03", "0", "100"],
        [THERE, "timeout", "1.03", "0", "100"],
        [BACK, "new", "1.05", "0", "1000"],
    ];
    assert_eq!(rows(&outcome, "data"), expected);
    let acknowledged = [
        [THERE, "", "0.02", "0", "0"],
        [THERE, "", "1.05", "100", "100"],
        [THERE, "", "1.08", "101", "101"],
        [BACK, "", "0.02001", "0", "0"],
        [BACK, "", "1.05001", "1000", "1000"],
        [BACK, "", "1.08001", "1001", "1001"],
    ];
    assert_eq!(rows(&outcome, "acknowledged"), acknowledged);
    let kinds: Vec<_> = rows(&outcome, "mark").into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(kinds, ["syn", "fin", "syn", "fin"]);
    assert_eq!(outcome.traces.len(), 2);
}

#[test]
fn traces_match_name_of_either_flow() {
    let mut dialogue = Dialogue::new();
    request(&mut dialogue, 0);
    for name in [THERE, BACK] {
        let chosen = traced(Selection::Named([name.to_owned()].into()), 12);
        assert_eq!(rows(&dialogue.analysed_by(chosen), "data").len(), 3);
    }
    let other = traced(Selection::Named(["10.0.0.1:50001>10.0.0.2:80".to_owned()].into()), 12);
    assert_eq!(table(&dialogue.analysed_by(other), "traces").rows(), 0);
}

#[test]
fn connection_on_reused_ports_has_separate_trace() {
    let mut dialogue = Dialogue::new();
    request(&mut dialogue, 0);
    request(&mut dialogue, 10_000);
    let outcome = dialogue.analysed_by(everything_traced());
    let data = rows(&outcome, "data");
    assert_eq!(data.len(), 6);
    assert_eq!(data[3], [&format!("{THERE} (2)"), "new", "10.03", "0", "100"]);
}

#[test]
fn too_many_connections_are_counted_and_not_drawn() {
    let mut dialogue = Dialogue::new();
    for number in 0..5 {
        request(&mut dialogue, number * 10_000);
    }
    let outcome =
        dialogue.analysed_by(traced(Selection::Matching("tcp".parse().expect("a filter")), 2));
    assert_eq!(rows(&outcome, "data").len(), 6);
    assert_eq!(outcome.facts.untraced, 3);
}

#[test]
fn traces_are_optional() {
    let outcome = Dialogue::new().set_up(0).analysed();
    assert_eq!(outcome.tables.get("traces"), None);
    assert!(outcome.traces.is_empty());
}

#[test]
fn trace_filter_on_packets_is_refused() {
    let filter = "tcp[tcpflags] & tcp-syn != 0".parse().expect("a filter");
    let settings = traced(Selection::Matching(filter), 12);
    let refused = Analysis::of_one(Row::of(&Dialogue::new()), settings);
    assert!(matches!(refused, Err(AnalysisError::DrawnPackets { .. })));
}
