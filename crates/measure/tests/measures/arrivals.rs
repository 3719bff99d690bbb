//! Groups and flows added while measuring.

use crate::run::{Run, count, number, settings};
use fairwind_measure::{
    FlowDescription, FlowId, Observation, ObservationPoints, QueueId, Settings, SettingsError,
    Tables,
};
use fairwind_units::{Instant, Span};

fn flow(group: u32, name: &str, millis: u64) -> FlowDescription {
    let start = Instant::from_millis(millis);
    FlowDescription {
        group,
        name: name.to_owned(),
        start,
        answers: None,
        seen_at: ObservationPoints::EVERYWHERE,
    }
}

fn windows(flows: &str) -> Settings {
    Settings {
        intervals: vec![Span::from_millis(100)],
        per_flow_intervals: true,
        ..settings(flows)
    }
}

/// The column `packets_sent` of `intervals` for one name, in the order of time.
fn sent(tables: &Tables, name: &str) -> Vec<f64> {
    let table = tables.get("intervals").unwrap();
    (0..table.rows())
        .filter(|&row| table.column("name").unwrap().text(row) == Some(name))
        .map(|row| number(tables, "intervals", "packets_sent", row).unwrap())
        .collect()
}

#[test]
fn late_flow_has_same_rows_as_early_one() {
    let mut run = Run::new(&windows("a"));
    run.send(50, 0, 0, 100).send(120, 0, 100, 100);
    let group = run.collector.add_group("late");
    let late = run.collector.add_flow(flow(group, "late-1", 150)).unwrap();
    let again = run.collector.add_flow(flow(0, "a-late", 150)).unwrap();
    assert_eq!((group, late, again), (1, FlowId(1), FlowId(2)));
    run.send(160, late.0, 0, 100).send(170, again.0, 0, 100).send(250, late.0, 100, 100);
    let queue = QueueId(0);
    run.at(
        260,
        Observation::Enqueued {
            queue,
            flow: late,
            wire_bytes: 140,
            backlog_packets: 0,
            backlog_bytes: 0,
        },
    );
    let tables = run.finish(300);
    assert_eq!(sent(&tables, "a"), [1.0, 2.0, 0.0]);
    assert_eq!(sent(&tables, "late"), [0.0, 1.0, 1.0]);
    assert_eq!(sent(&tables, "late-1"), [0.0, 1.0, 1.0]);
    assert_eq!(sent(&tables, "a-late"), [0.0, 1.0, 0.0]);
    assert_eq!(count(&tables, "groups", "flows", 0), 2);
    assert_eq!(count(&tables, "flows", "packets_sent", 1), 2);
    assert_eq!(count(&tables, "queue_drops", "enqueued_packets", 1), 1);
}

#[test]
fn tables_do_not_depend_on_announcement_time() {
    let known = {
        let mut run = Run::new(&windows("ab"));
        run.send(120, 1, 0, 100).acknowledge(220, 1, 100);
        run.finish(300)
    };
    let observed = {
        let mut run = Run::new(&windows("a"));
        let group = run.collector.add_group("b");
        let mut description = flow(group, "b-1", 0);
        description.start = Instant::ZERO;
        run.collector.add_flow(description).unwrap();
        run.send(120, 1, 0, 100).acknowledge(220, 1, 100);
        run.finish(300)
    };
    assert_eq!(format!("{known:?}"), format!("{observed:?}"));
}

#[test]
fn answer_flow_is_acknowledged_by_reverse_data() {
    let mut run = Run::new(&settings("a"));
    let answer = FlowDescription { answers: Some(FlowId(0)), ..flow(0, "answer", 0) };
    let id = run.collector.add_flow(answer.clone()).unwrap();
    run.send(0, 0, 0, 100);
    // The other side's data acknowledges all of it.
    let data = crate::run::acknowledgment(100);
    let data = fairwind_wire::Segment { payload_bytes: 10, ..data };
    run.sent(40, id.0, &data);
    let (direction, wire_bytes) = (fairwind_measure::Direction::Forward, 50);
    run.at(80, Observation::Received { flow: id, direction, segment: &data, wire_bytes });
    assert_eq!(
        run.collector.add_flow(answer),
        Err(SettingsError::AnsweredTwice { flow: 2, name: "answer".into(), answers: 0 })
    );
    let tables = run.finish(100);
    assert_eq!(number(&tables, "flows", "ack_latency_max_s", 0), Some(0.08));
}

#[test]
fn unknown_group_or_answered_flow_is_refused() {
    let mut run = Run::new(&settings("a"));
    let error = run.collector.add_flow(flow(1, "lost", 0)).unwrap_err();
    assert_eq!(error.to_string(), "flow 1 (\"lost\") is in group 1, but only 1 groups are named");
    let answer = FlowDescription { answers: Some(FlowId(1)), ..flow(0, "to itself", 0) };
    let error = run.collector.add_flow(answer).unwrap_err();
    assert!(matches!(error, SettingsError::NothingToAnswer { flow: 1, answers: 1, .. }), "{error}");
}
