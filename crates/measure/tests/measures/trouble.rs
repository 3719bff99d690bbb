//! Problematic flows and their reasons.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{
    FailureReason, FlowId, Observation, ObservationPoints, Settings, Tables, Values,
};
use fairwind_units::{Instant, Span};

const A: FlowId = FlowId(0);

fn established(run: &mut Run, millis: u64) {
    run.at(millis, Observation::Established { flow: A });
}

#[test]
fn served_flow_is_not_problematic() {
    let mut run = Run::new(&settings("a"));
    established(&mut run, 50);
    run.write(60, 0, 100).send(60, 0, 0, 100).read(110, 0, 100).acknowledge(160, 0, 100);
    let tables = run.finish(5_000);
    assert_eq!(problematic(&tables, 0), Some(false));
    assert_eq!(count(&tables, "flows", "timeouts_in_a_row_max", 0), 0);
    assert_number(&tables, "flows", "longest_wait_s", 0, 0.05);
    for column in [
        "flows_problematic",
        "flows_without_connection",
        "flows_with_syn_retries",
        "flows_with_timeouts_in_a_row",
        "flows_with_long_waits",
    ] {
        assert_eq!(count(&tables, "groups", column, 0), 0, "{column}");
    }
}

#[test]
fn unestablished_connection_is_problematic_after_1_s() {
    let mut described = settings("aaa");
    // Two ask at 0 s, of which one is answered; the third one asks 0.5 s before the end.
    described.flows[2].start = Instant::from_millis(1_500);
    let mut run = Run::new(&described);
    run.at(100, Observation::Established { flow: FlowId(1) });
    let tables = run.finish(2_000);
    let flows = [0, 1, 2].map(|flow| problematic(&tables, flow));
    assert_eq!(flows, [Some(true), Some(false), Some(false)]);
    assert_eq!(count(&tables, "groups", "flows_without_connection", 0), 1);
    assert_eq!(count(&tables, "groups", "flows_problematic", 0), 1);
}

#[test]
fn aborted_connection_is_problematic() {
    let mut run = Run::new(&settings("a"));
    established(&mut run, 50);
    run.at(900, Observation::Failed { flow: A, reason: FailureReason::Reset });
    let tables = run.finish(2_000);
    assert_eq!(problematic(&tables, 0), Some(true));
    assert_eq!(count(&tables, "groups", "flows_without_connection", 0), 1);
}

#[test]
fn syn_retry_makes_flow_problematic() {
    let mut run = Run::new(&Settings { warmup: Span::from_secs(2), ..settings("a") });
    run.syn(0, 0).at(1_000, Observation::SynRetry { flow: A });
    established(&mut run, 1_100);
    let tables = run.finish(4_000);
    assert_eq!(count(&tables, "flows", "syn_retries", 0), 0);
    assert_eq!(count(&tables, "groups", "flows_with_syn_retries", 0), 1);
    assert_eq!(count(&tables, "groups", "flows_problematic", 0), 1);
}

#[test]
fn timeouts_are_consecutive_until_new_data_acked() {
    let timeout = Observation::Timeout { flow: A };
    let mut run = Run::new(&settings("aa"));
    established(&mut run, 50);
    run.send(60, 0, 0, 100).at(300, timeout).at(700, timeout).acknowledge(800, 0, 100);
    run.send(900, 0, 100, 100).at(1_100, timeout);
    assert_eq!(count(&run.collector.snapshot(at(1_200)), "flows", "timeouts_in_a_row_max", 0), 2);
    let early = run.collector.snapshot(at(1_200));
    assert_eq!(count(&early, "groups", "flows_with_timeouts_in_a_row", 0), 0);
    run.at(1_300, timeout).at(1_700, timeout);
    let tables = run.finish(2_000);
    assert_eq!(count(&tables, "flows", "timeouts", 0), 5);
    assert_eq!(count(&tables, "flows", "timeouts_in_a_row_max", 0), 3);
    assert_eq!(problematic(&tables, 0), Some(true));
    assert_eq!(count(&tables, "groups", "flows_with_timeouts_in_a_row", 0), 1);
}

#[test]
fn pending_write_of_10_s_is_problematic() {
    let mut run = Run::new(&settings("a"));
    established(&mut run, 50);
    run.write(100, 0, 100).read(200, 0, 100).write(1_000, 0, 200);
    let before = run.collector.snapshot(at(10_999));
    assert_number(&before, "flows", "longest_wait_s", 0, 9.999);
    assert_eq!(problematic(&before, 0), Some(false));
    let tables = run.finish(11_000);
    assert_number(&tables, "flows", "longest_wait_s", 0, 10.0);
    assert_eq!(count(&tables, "groups", "flows_with_long_waits", 0), 1);
    assert_eq!(count(&tables, "groups", "flows_problematic", 0), 1);
}

#[test]
fn problems_are_unknown_without_sender_tap() {
    let mut described = settings("a");
    described.flows[0].seen_at = ObservationPoints::RECEIVER;
    let tables = Run::new(&described).finish(2_000);
    assert_eq!(problematic(&tables, 0), None);
    for (table, column) in [
        ("flows", "timeouts_in_a_row_max"),
        ("flows", "longest_wait_s"),
        ("groups", "flows_problematic"),
        ("groups", "flows_with_long_waits"),
    ] {
        assert_eq!(number(&tables, table, column, 0), None, "{table}.{column}");
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// What the column says of a flow.
fn problematic(tables: &Tables, flow: usize) -> Option<bool> {
    match tables.get("flows").unwrap().column("problematic").unwrap() {
        Values::Bool(values) => Some(values[flow]),
        Values::OptionalBool(values) => values[flow],
        other => panic!("{other:?} is not yes or no"),
    }
}
