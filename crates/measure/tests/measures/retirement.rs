//! Retirement of ended flows, which does not change tables.

use crate::run::{INITIAL, Run, acknowledgment, assert_number, count, data, number, settings};
use fairwind_measure::{
    Direction, FlowDescription, FlowId, Observation, ObservationPoints, Settings, SettingsError,
    Table, Tables, Values, fill_rates,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn described(group: u32, name: &str, millis: u64) -> FlowDescription {
    FlowDescription {
        group,
        name: name.to_owned(),
        start: Instant::from_millis(millis),
        answers: None,
        seen_at: ObservationPoints::EVERYWHERE,
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// What happens to a flow.
#[derive(Debug, Clone, Copy)]
enum Event {
    Send,
    SendAgain,
    Arrive,
    Acknowledge,
    Lose,
    Write,
    Read,
    Establish,
    Sample,
}

/// The life of one flow: when it comes, what happens in it after how many milliseconds each, and how long
/// after that it is retired.
#[derive(Debug, Clone)]
struct Life {
    group: u32,
    comes: u64,
    events: Vec<(u64, Event)>,
    lingers: u64,
}

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let event = prop_oneof![
        4 => Just(Event::Send),
        1 => Just(Event::SendAgain),
        4 => Just(Event::Arrive),
        4 => Just(Event::Acknowledge),
        1 => Just(Event::Lose),
        3 => Just(Event::Write),
        3 => Just(Event::Read),
        1 => Just(Event::Establish),
        1 => Just(Event::Sample),
    ];
    let life =
        (0..2_u32, 0..400_u64, proptest::collection::vec((0..40_u64, event), 0..15), 0..200_u64);
    let life =
        life.prop_map(|(group, comes, events, lingers)| Life { group, comes, events, lingers });
    proptest::collection::vec(life, 1..12)
}

/// What is done, in the order of time.
#[derive(Debug, Clone, Copy)]
enum Action {
    Add(usize),
    Happen(usize, Event),
    Retire(usize),
    Take,
}

fn script(lives: &[Life], takes: &[u64]) -> Vec<(u64, Action)> {
    let mut script = Vec::new();
    for (flow, life) in lives.iter().enumerate() {
        let mut millis = life.comes;
        script.push((millis, Action::Add(flow)));
        for &(gap, event) in &life.events {
            millis += gap;
            script.push((millis, Action::Happen(flow, event)));
        }
        script.push((millis + life.lingers, Action::Retire(flow)));
    }
    script.extend(takes.iter().map(|&millis| (millis, Action::Take)));
    // A stable sort keeps what belongs to one flow in its order.
    script.sort_by_key(|(millis, _)| *millis);
    script
}

fn described_run() -> Settings {
    Settings {
        warmup: Span::from_millis(200),
        intervals: vec![Span::from_millis(50), Span::from_millis(130)],
        per_flow_intervals: true,
        keeps_endpoint_samples: true,
        ..settings("ab")
    }
}

/// Counters that make each event of a flow another one.
#[derive(Default, Clone, Copy)]
struct Progress {
    sent: u64,
    arrived: u64,
    written: u64,
    read: u64,
}

fn happen(run: &mut Run, millis: u64, flow: FlowId, event: Event, progress: &mut Progress) {
    match event {
        Event::Send => {
            run.send(millis, flow.0, progress.sent, 100);
            progress.sent += 100;
        }
        Event::SendAgain => {
            run.send(millis, flow.0, progress.sent.saturating_sub(100), 100);
            progress.sent = progress.sent.max(100);
        }
        Event::Arrive => {
            run.receive(millis, flow.0, progress.arrived, 70);
            progress.arrived += 70;
        }
        Event::Acknowledge => {
            run.acknowledge(millis, flow.0, progress.sent);
        }
        Event::Lose => {
            let direction = Direction::Forward;
            let (payload_bytes, wire_bytes) = (100, 140);
            run.at(millis, Observation::Lost { flow, direction, payload_bytes, wire_bytes });
        }
        Event::Write => {
            progress.written += 90;
            run.write(millis, flow.0, progress.written);
        }
        Event::Read => {
            progress.read = progress.written.min(progress.read + 130);
            run.read(millis, flow.0, progress.read);
        }
        Event::Establish => {
            run.at(millis, Observation::Established { flow });
        }
        Event::Sample => {
            run.at(
                millis,
                Observation::Endpoint {
                    flow,
                    cwnd_packets: 3,
                    ssthresh_packets: None,
                    smoothed_rtt: None,
                    flight_packets: 2,
                    state: fairwind_measure::CongestionState::Open,
                },
            );
        }
    }
}

/// The tables of a run, in chunks; `retires` says whether flows that are over are retired.
fn play(script: &[(u64, Action)], lives: &[Life], retires: bool) -> (Vec<Tables>, u64) {
    let mut run = Run::new(&described_run());
    let mut ids = vec![FlowId(0); lives.len()];
    let mut progress = vec![Progress::default(); lives.len()];
    let (mut chunks, mut end) = (Vec::new(), 0);
    for &(millis, action) in script {
        end = millis;
        match action {
            Action::Add(flow) => {
                let description = described(lives[flow].group, &format!("flow {flow}"), millis);
                ids[flow] = run.collector.add_flow(description).unwrap();
            }
            Action::Happen(flow, event) => {
                happen(&mut run, millis, ids[flow], event, &mut progress[flow]);
            }
            Action::Retire(flow) if retires => run.collector.retire(ids[flow], at(millis)),
            Action::Take if retires => chunks.extend(run.collector.take_retired()),
            Action::Retire(_) | Action::Take => {}
        }
    }
    end = end.max(201);
    chunks.push(run.finish(end));
    (chunks, end)
}

/// A table with the rows of all chunks, as text, in the order of their text; without windows of flows
/// in which nothing happened, as there are none of times when a retired flow was not there.
fn merged(chunks: &mut [Tables], name: &str, measured: Span) -> Vec<String> {
    let mut rows = Vec::new();
    for chunk in chunks {
        for table in chunk.tables.iter_mut().filter(|table| table.name == name) {
            fill_rates(table, measured);
            rows.extend((0..table.rows()).filter(|&row| !is_empty_window(table, row)).map(|row| {
                // Waiting times are reported as of the end of the flow.
                let columns = table.columns.iter().filter(|column| column.name != "longest_wait_s");
                let cells = columns.map(|column| cell(&column.values, row));
                cells.collect::<Vec<_>>().join(" | ")
            }));
        }
    }
    rows.sort();
    rows
}

fn is_empty_window(table: &Table, row: usize) -> bool {
    let counted = ["packets_sent", "packets_lost", "throughput_bits_per_second"];
    let counted = counted.iter().chain(&["goodput_bits_per_second"]);
    table.name == "intervals"
        && table.column("scope").unwrap().text(row) == Some("flow")
        && counted.into_iter().all(|name| table.column(name).unwrap().number(row) == Some(0.0))
}

fn cell(values: &Values, row: usize) -> String {
    match values {
        Values::Text(texts) => texts[row].to_owned(),
        Values::Bool(truths) => truths[row].to_string(),
        numbers => format!("{:?}", numbers.number(row)),
    }
}

/// Shares of flows that are gone are added in another order, which the last bits show.
fn assert_same_fairness(left: &Tables, right: &Tables) {
    let (left, right) = (left.get("fairness").unwrap(), right.get("fairness").unwrap());
    assert_eq!(left.rows(), right.rows());
    for column in &left.columns {
        for row in 0..left.rows() {
            let numbers = (column.values.number(row), right.column(&column.name).unwrap());
            match (numbers.0, numbers.1.number(row)) {
                (Some(one), Some(other)) => {
                    assert!((one - other).abs() <= one.abs() * 1e-12, "{}", column.name);
                }
                (one, other) => assert_eq!(one, other, "{}", column.name),
            }
        }
    }
}

proptest! {
    #[test]
    fn retiring_flows_does_not_change_tables(
        lives in lives(), takes in proptest::collection::vec(0..900_u64, 0..6),
    ) {
        let script = script(&lives, &takes);
        let (mut retired, end) = play(&script, &lives, true);
        let (mut kept, _) = play(&script, &lives, false);
        let measured = at(end).saturating_since(at(200));
        let tables = ["flows", "groups", "intervals", "latencies", "latency_histogram", "endpoint"];
        for table in tables {
            prop_assert_eq!(
                merged(&mut retired, table, measured), merged(&mut kept, table, measured), "{}", table
            );
        }
        assert_same_fairness(retired.last().unwrap(), kept.last().unwrap());
    }

    #[test]
    fn memory_follows_the_flows_that_are_open(open in 1..20_usize, flows in 20..200_usize) {
        let mut run = Run::new(&settings("a"));
        let mut ids = std::collections::VecDeque::new();
        for flow in 0..flows {
            if ids.len() == open {
                run.collector.retire(ids.pop_front().unwrap(), at(0));
            }
            let name = flow.to_string();
            let id = run.collector.add_flow(described(0, &name, 0)).unwrap();
            prop_assert!(id.index() <= open, "flow {} lies at {}", flow, id.0);
            prop_assert_eq!(run.collector.number_of(id), Some(flow as u64 + 1));
            ids.push_back(id);
        }
        let tables = run.finish(1);
        prop_assert_eq!(count(&tables, "groups", "flows", 0), flows as u64 + 1);
    }
}

#[test]
fn retired_row_gets_rates_at_the_end() {
    let mut run = Run::new(&settings("a"));
    run.send(0, 0, 0, 100).receive(40, 0, 0, 100).read(40, 0, 100).acknowledge(80, 0, 100);
    assert!(run.collector.take_retired().is_none());
    run.collector.retire(FlowId(0), at(100));
    assert_eq!(run.collector.pending_rows(), 1);
    let mut taken = run.collector.take_retired().unwrap();
    assert_eq!(run.collector.pending_rows(), 0);
    assert_eq!(count(&taken, "flows", "payload_bytes_read", 0), 100);
    assert_number(&taken, "flows", "ack_latency_max_s", 0, 0.08);
    for column in ["measured_s", "throughput_bits_per_second", "goodput_bits_per_second"] {
        assert_eq!(number(&taken, "flows", column, 0), None, "{column}");
    }
    assert_eq!(count(&taken, "latencies", "count", 0), 1);
    taken.tables.iter_mut().for_each(|table| fill_rates(table, Span::from_millis(200)));
    assert_number(&taken, "flows", "measured_s", 0, 0.2);
    assert_number(&taken, "flows", "throughput_bits_per_second", 0, 140.0 * 8.0 / 0.2);
    assert_number(&taken, "flows", "goodput_bits_per_second", 0, 100.0 * 8.0 / 0.2);
    let tables = run.finish(200);
    assert_eq!(tables.get("flows").unwrap().rows(), 0);
    assert_eq!(count(&tables, "groups", "packets_sent", 0), 1);
    assert_number(&tables, "groups", "goodput_bits_per_second", 0, 100.0 * 8.0 / 0.2);
}

#[test]
fn reused_slot_of_retired_flow_starts_empty() {
    let mut run = Run::new(&settings("a"));
    run.write(0, 0, 500).send(0, 0, 0, 500);
    run.collector.retire(FlowId(0), at(10));
    let next = run.collector.add_flow(described(0, "next", 10)).unwrap();
    assert_eq!(next, FlowId(0));
    // Another initial sequence number: nothing of the first flow's stream is known any more.
    let first = data(0, 100);
    let other = SequenceNumber::new(INITIAL) + 70_000;
    let segment = fairwind_wire::Segment { sequence: other, ..first };
    let ack = fairwind_wire::Segment { acknowledgment: other + 100, ..acknowledgment(0) };
    run.sent(20, 0, &segment);
    let (flow, direction) = (next, Direction::Reverse);
    run.at(50, Observation::Received { flow, direction, segment: &ack, wire_bytes: 40 });
    let tables = run.finish(100);
    assert_eq!([0, 1].map(|row| count(&tables, "flows", "flow", row)), [0, 1]);
    assert_eq!(count(&tables, "flows", "bytes_retransmitted", 1), 0);
    assert_number(&tables, "flows", "ack_latency_max_s", 1, 0.03);
    assert_eq!(number(&tables, "flows", "ack_latency_max_s", 0), None);
}

#[test]
fn other_direction_continues_after_retirement() {
    let mut run = Run::new(&settings("a"));
    let answer = FlowDescription { answers: Some(FlowId(0)), ..described(0, "answer", 0) };
    let answer = run.collector.add_flow(answer).unwrap();
    run.send(0, 0, 0, 100);
    run.collector.retire(FlowId(0), at(5));
    let stranger = run.collector.add_flow(described(0, "stranger", 5)).unwrap();
    assert_eq!(stranger, FlowId(0));
    run.send(6, stranger.0, 0, 100);
    // It carries an acknowledgment, but not of the stranger's data.
    let segment = fairwind_wire::Segment { payload_bytes: 10, ..acknowledgment(100) };
    let (flow, direction) = (answer, Direction::Forward);
    run.at(9, Observation::Received { flow, direction, segment: &segment, wire_bytes: 50 });
    let tables = run.finish(10);
    assert_eq!(count(&tables, "flows", "packets_received", 1), 1);
    assert_eq!(number(&tables, "flows", "ack_latency_max_s", 2), None);
}

#[test]
fn nothing_answers_a_retired_flow() {
    let mut run = Run::new(&settings("a"));
    run.collector.retire(FlowId(0), at(5));
    let answer = FlowDescription { answers: Some(FlowId(0)), ..described(0, "answer", 0) };
    let error = run.collector.add_flow(answer).unwrap_err();
    assert!(matches!(error, SettingsError::NothingToAnswer { flow: 1, answers: 0, .. }), "{error}");
}

#[test]
#[should_panic(expected = "a flow is retired once")]
fn a_flow_is_retired_once() {
    let mut run = Run::new(&settings("a"));
    run.collector.retire(FlowId(0), at(5));
    run.collector.retire(FlowId(0), at(5));
}

#[test]
fn retired_flow_has_windows_of_its_lifetime() {
    let mut run = Run::new(&Settings {
        intervals: vec![Span::from_millis(100)],
        per_flow_intervals: true,
        ..settings("a")
    });
    run.send(10, 0, 0, 100);
    let guest = run.collector.add_flow(described(0, "guest", 120)).unwrap();
    run.send(130, guest.0, 0, 100).send(230, guest.0, 100, 100);
    run.collector.retire(guest, at(250));
    let next = run.collector.add_flow(described(0, "next", 260)).unwrap();
    assert_eq!(next, guest);
    run.send(270, next.0, 0, 100).send(310, 0, 100, 100);
    let tables = run.finish(400);
    let intervals = tables.get("intervals").unwrap();
    let mut windows: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in 0..intervals.rows() {
        let name = intervals.column("name").unwrap().text(row).unwrap();
        let number = |column| intervals.column(column).unwrap().number(row).unwrap();
        windows.entry(name).or_default().push((number("start_s"), number("packets_sent")));
    }
    // The guest was added when the first window was the last one with a report.
    assert_eq!(windows["guest"], [(0.0, 0.0), (0.1, 1.0), (0.2, 1.0)]);
    assert_eq!(windows["next"], [(0.0, 0.0), (0.1, 0.0), (0.2, 1.0), (0.3, 0.0)]);
    assert_eq!(windows["a"], [(0.0, 1.0), (0.1, 1.0), (0.2, 2.0), (0.3, 1.0)]);
}

#[test]
fn snapshot_equals_end_without_changes() {
    let mut run = Run::new(&described_run());
    run.send(70, 0, 0, 100).receive(210, 0, 0, 100).send(220, 1, 0, 50);
    run.collector.retire(FlowId(1), at(230));
    let untouched = run.collector.clone();
    let snapshot = run.collector.snapshot(at(300));
    assert_eq!(format!("{snapshot:?}"), format!("{:?}", untouched.clone().finish(at(300))));
    run.send(350, 0, 100, 100);
    let mut other = Run { collector: untouched };
    other.send(350, 0, 100, 100);
    assert_eq!(format!("{:?}", run.finish(500)), format!("{:?}", other.finish(500)));
}

#[test]
fn long_silence_has_no_windows() {
    let mut run = Run::new(&Settings {
        intervals: vec![Span::from_millis(1)],
        max_empty_rows: Some(3),
        ..settings("a")
    });
    run.send(0, 0, 0, 100).send(4, 0, 100, 100).send(9, 0, 200, 100).send(
        u64::MAX / 2_000_000,
        0,
        0,
        1,
    );
    let tables = run.finish(u64::MAX / 1_000_000);
    let intervals = tables.get("intervals").unwrap();
    let starts: Vec<_> =
        (0..intervals.rows()).map(|row| number(&tables, "intervals", "start_s", row)).collect();
    // Three windows of silence behind the first packet are kept; four behind the second one are not.
    let millis = [0.0, 1.0, 2.0, 3.0, 4.0, 9.0].map(|millis: f64| Some(millis / 1e3));
    assert_eq!(starts[..6], millis);
    assert_eq!(starts.len(), 7);
}

#[test]
fn late_reports_of_ended_flow_are_harmless() {
    let mut run = Run::new(&Settings {
        intervals: vec![Span::from_millis(100)],
        per_flow_intervals: true,
        ..settings("a")
    });
    run.send(10, 0, 0, 100);
    run.collector.retire(FlowId(0), at(20));
    run.send(30, 0, 100, 100).send(110, 0, 200, 100);
    let next = run.collector.add_flow(described(0, "next", 120)).unwrap();
    run.send(130, next.0, 0, 100);
    let tables = run.finish(200);
    assert_eq!(count(&tables, "groups", "packets_sent", 0), 2);
    assert_eq!([0, 1].map(|row| count(&tables, "flows", "packets_sent", row)), [1, 1]);
}
