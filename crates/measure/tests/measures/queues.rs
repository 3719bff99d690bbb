//! Backlog, waiting and drops of a queue.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{Direction, DropReason, FlowId, Observation, QueueId};
use fairwind_units::Span;

const QUEUE: QueueId = QueueId(0);

fn enqueued(flow: u32, wire_bytes: u32, backlog_packets: u32) -> Observation<'static> {
    let backlog_bytes = backlog_packets * 1_000;
    let flow = FlowId(flow);
    Observation::Enqueued { queue: QUEUE, flow, wire_bytes, backlog_packets, backlog_bytes }
}

fn dequeued(wire_bytes: u32, millis: u64) -> Observation<'static> {
    Observation::Dequeued { queue: QUEUE, wire_bytes, sojourn: Span::from_millis(millis) }
}

fn dropped(flow: u32, wire_bytes: u32, reason: DropReason) -> Observation<'static> {
    let (flow, direction) = (FlowId(flow), Direction::Forward);
    Observation::Dropped { flow, direction, queue: QUEUE, payload_bytes: 0, wire_bytes, reason }
}

#[test]
fn the_mean_backlog_is_waiting_time_over_measured_time() {
    // In 1 s: 1000 B wait 200 ms, 500 B wait 400 ms. 0.6 packets; 0.2 x 1000 + 0.4 x 500 = 400 B.
    let mut run = Run::new(&settings("a"));
    run.at(0, enqueued(0, 1_000, 0)).at(100, enqueued(0, 500, 1));
    run.at(200, dequeued(1_000, 200)).at(500, dequeued(500, 400));
    let tables = run.finish(1_000);
    assert_number(&tables, "queues", "backlog_mean_packets", 0, 0.6);
    assert_number(&tables, "queues", "backlog_mean_bytes", 0, 400.0);
    assert_number(&tables, "queues", "sojourn_mean_s", 0, 0.3);
    assert_number(&tables, "queues", "sojourn_max_s", 0, 0.4);
    assert_eq!(count(&tables, "queues", "enqueued_packets", 0), 2);
    assert_eq!(count(&tables, "queues", "enqueued_bytes", 0), 1_500);
}

#[test]
fn waiting_during_the_warm_up_is_not_in_the_mean_backlog() {
    // It waited 300 ms, of these 100 ms after the warm-up of 1 s; measured time is 1 s.
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let mut run = Run::new(&described);
    run.at(800, enqueued(0, 1_000, 5)).at(1_100, dequeued(1_000, 300));
    let tables = run.finish(2_000);
    assert_number(&tables, "queues", "backlog_mean_packets", 0, 0.1);
    assert_number(&tables, "queues", "sojourn_max_s", 0, 0.3);
    assert_eq!(count(&tables, "queues", "enqueued_packets", 0), 0);
    assert_eq!(number(&tables, "queues", "arrival_backlog_max_packets", 0), None);
}

#[test]
fn a_departure_within_the_warm_up_does_not_count_however_late_it_is_told() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let mut run = Run::new(&described);
    run.at(500, enqueued(0, 1_000, 0)).at(1_400, enqueued(0, 1_000, 0));
    run.at(600, dequeued(1_000, 100)).at(1_450, dequeued(1_000, 50));
    let tables = run.finish(2_000);
    assert_number(&tables, "queues", "sojourn_max_s", 0, 0.05);
    assert_number(&tables, "queues", "backlog_mean_packets", 0, 0.05);
}

#[test]
fn arrivals_tell_the_backlog_that_they_find() {
    let mut run = Run::new(&settings("a"));
    for (millis, backlog) in (0..100).zip(0..100) {
        run.at(millis, enqueued(0, 1_000, backlog));
    }
    let tables = run.finish(1_000);
    assert_number(&tables, "queues", "arrival_backlog_mean_packets", 0, 49.5);
    assert_eq!(count(&tables, "queues", "arrival_backlog_p50_packets", 0), 49);
    assert_eq!(count(&tables, "queues", "arrival_backlog_p90_packets", 0), 89);
    assert_eq!(count(&tables, "queues", "arrival_backlog_p99_packets", 0), 98);
    assert_eq!(count(&tables, "queues", "arrival_backlog_max_packets", 0), 99);
    assert_number(&tables, "queues", "arrival_backlog_mean_bytes", 0, 49_500.0);
    assert_eq!(count(&tables, "queues", "arrival_backlog_max_bytes", 0), 99_000);
}

#[test]
fn drops_are_told_by_reason_and_by_group() {
    let mut run = Run::new(&settings("aab"));
    run.at(0, dropped(0, 1_500, DropReason::QueueFull));
    run.at(1, dropped(1, 1_500, DropReason::QueueFull));
    run.at(2, dropped(1, 1_000, DropReason::LinkLoss));
    run.at(3, dropped(2, 160, DropReason::Early));
    run.at(4, enqueued(2, 160, 3));
    let tables = run.finish(1_000);
    for (column, expected) in [
        ("drops_packets", 4),
        ("drops_bytes", 4_160),
        ("drops_queue_full_packets", 2),
        ("drops_queue_full_bytes", 3_000),
        ("drops_early_packets", 1),
        ("drops_early_bytes", 160),
        ("drops_link_loss_packets", 1),
        ("drops_link_loss_bytes", 1_000),
    ] {
        assert_eq!(count(&tables, "queues", column, 0), expected, "{column}");
    }
    assert_eq!(count(&tables, "queue_drops", "packets", 0), 3);
    assert_eq!(count(&tables, "queue_drops", "bytes", 0), 4_000);
    assert_number(&tables, "queue_drops", "share", 0, 0.75);
    assert_number(&tables, "queue_drops", "share", 1, 0.25);
    assert_eq!(count(&tables, "queue_drops", "enqueued_packets", 0), 0);
    assert_eq!(count(&tables, "queue_drops", "enqueued_packets", 1), 1);
    assert_eq!(count(&tables, "queue_drops", "enqueued_bytes", 1), 160);
}
