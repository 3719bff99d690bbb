//! Traces of a simulated capture against the counts of the simulation.

use fairwind_analyse::trace::{
    FlowTrace, PointKind, Selection, Series, TraceLimits, TraceSettings,
};
use fairwind_analyse::{Analysis, CaptureSource, Outcome, Progress, Settings};
use fairwind_capture::{EndOfFile, Input};
use fairwind_measure::{Table, Tables};
use fairwind_scenario::{Document, Experiment};
use fairwind_simulation::{CaptureFiles, Control, Simulation};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

const SCENARIO: &str = r#"
    name = "drawn"
    duration = "30 s"
    [path]
    rate = "2 Mbit/s"
    rtt = "60 ms"
    queue = { discipline = "pfifo", limit = "20 packets" }
    loss = "2 %"
    [[flows]]
    name = "greedy"
    count = 2
    workload = { kind = "greedy" }
    [[flows]]
    name = "thin"
    count = 3
    workload = { kind = "thin", payload = "120 B", interval = "100 ms" }
    [capture]
    points = ["sender", "receiver"]
"#;

fn experiment() -> Experiment {
    let document = Document::parse("test.toml", SCENARIO).unwrap_or_else(|it| panic!("{it}"));
    let point = &document.grid().expect("a grid")[0];
    document.experiment(point).unwrap_or_else(|it| panic!("{it}"))
}

/// The simulation's own tables, and what its captures give with every connection traced: the sender's
/// alone, or both.
fn run_and_analyse(name: &str, is_joined: bool) -> (Tables, Outcome) {
    let path = |point: &str| {
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("drawn-{name}-{point}.pcapng"))
    };
    let create =
        |point| Some(Box::new(File::create(path(point)).expect("a file")) as Box<dyn Write + Send>);
    let files = CaptureFiles { sender: create("sender"), receiver: create("receiver") };
    let simulation = Simulation::with_captures(&experiment(), 7, files).expect("it holds");
    let tables = simulation.run(&Control::default()).expect("it runs").tables;
    let open = |point| {
        CaptureSource::open(vec![Input::Path(path(point))], EndOfFile::Final).expect("a capture")
    };
    let limits = TraceLimits { points: 1 << 20, windows: 500 };
    let traces = TraceSettings {
        selection: Selection::Matching("tcp".parse().expect("a filter")),
        max_connections: 100,
        limits,
        keeps_new_data: false,
    };
    let settings = Settings { traces: Some(traces), ..Settings::default() };
    let mut analysis = if is_joined {
        Analysis::of_two(open("sender"), open("receiver"), settings).expect("they hold")
    } else {
        Analysis::of_one(open("sender"), settings).expect("they hold")
    };
    while analysis.advance(10_000) != Progress::Done {}
    (tables, analysis.finish())
}

/// Each trace, with the flow's row in the simulation's table: the receiver's port counts groups, the
/// sender's the flows of a group.
fn traces(outcome: &Outcome) -> Vec<(usize, &FlowTrace)> {
    let port = |end: &str| end.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let ports =
        |trace: &&FlowTrace| trace.name().split_once('>').map(|(from, to)| (port(to), port(from)));
    let mut found: Vec<&FlowTrace> = outcome.traces.iter().collect();
    found.sort_by_key(ports);
    found.into_iter().enumerate().collect()
}

fn number(flows: &Table, row: usize, column: &str) -> u64 {
    let value = flows.column(column).and_then(|values| values.number(row));
    let value = value.unwrap_or_else(|| panic!("no {column} in row {row}"));
    format!("{value:.0}").parse().expect("a whole number")
}

/// Points of a series, and the bytes that they span.
fn count(trace: &FlowTrace, drawn: Series, is_kind: impl Fn(PointKind) -> bool) -> (u64, u64) {
    let points = trace.points();
    let drawn = points.iter().filter(|(series, kind, _)| *series == drawn && is_kind(*kind));
    drawn.fold((0, 0), |(count, bytes), (.., point)| {
        (count + point.count, bytes + (point.high - point.low))
    })
}

#[test]
fn trace_points_match_segments_and_retransmissions() {
    let (tables, outcome) = run_and_analyse("alone", false);
    let flows = tables.get("flows").unwrap();
    let traces = traces(&outcome);
    assert_eq!(traces.len(), 5);
    for (row, trace) in traces {
        let (segments, bytes) = count(trace, Series::Data, |_| true);
        assert_eq!(segments, number(flows, row, "data_segments_sent"), "{}", trace.name());
        assert_eq!(bytes, number(flows, row, "payload_bytes_sent"));
        let (repeated, bytes) = count(trace, Series::Data, PointKind::is_retransmission);
        assert_eq!(repeated, number(flows, row, "data_segments_retransmitted"));
        assert_eq!(bytes, number(flows, row, "bytes_retransmitted"));
        assert!(repeated > 0);
    }
}

#[test]
fn ack_line_stays_below_data_and_window() {
    let (tables, outcome) = run_and_analyse("lines", false);
    let flows = tables.get("flows").unwrap();
    for (row, trace) in traces(&outcome) {
        let points = trace.points();
        let values = |drawn: Series| -> Vec<u64> {
            points.iter().filter(|(series, ..)| *series == drawn).map(|(.., it)| it.high).collect()
        };
        let (data, acknowledged) = (values(Series::Data), values(Series::Acknowledged));
        assert!(acknowledged.is_sorted());
        let last = data.iter().max().copied().unwrap();
        let sent = number(flows, row, "payload_bytes_sent");
        assert_eq!(last, sent - number(flows, row, "bytes_retransmitted"));
        assert!(acknowledged.last().unwrap() <= &last);
        assert!(values(Series::WindowEdge).iter().max().unwrap() >= &last);
    }
}

#[test]
fn both_captures_draw_all_arrivals_and_losses() {
    let (tables, outcome) = run_and_analyse("joined", true);
    let flows = tables.get("flows").unwrap();
    let traces = traces(&outcome);
    assert_eq!(traces.len(), 5);
    for (row, trace) in traces {
        let (_, bytes) = count(trace, Series::Arrival, |_| true);
        assert_eq!(bytes, number(flows, row, "payload_bytes_received"), "{}", trace.name());
        let (_, sent) = count(trace, Series::Data, |_| true);
        assert_eq!(sent, number(flows, row, "payload_bytes_sent"));
        let (_, lost) = count(trace, Series::Lost, |_| true);
        assert_eq!(lost, number(flows, row, "payload_bytes_lost"));
        assert!(lost > 0);
    }
}
