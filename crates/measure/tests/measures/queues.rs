//! Backlog, waiting and drops of a queue.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{
    Direction, DropReason, Dropped, FlowId, Observation, QueueEventSettings, QueueId, Settings,
};
use fairwind_units::{Instant, Span};
use proptest::prelude::*;

const QUEUE: QueueId = QueueId(0);

fn enqueued(flow: u32, wire_bytes: u32, backlog_packets: u32) -> Observation<'static> {
    let backlog_bytes = backlog_packets * 1_000;
    let flow = FlowId(flow);
    Observation::Enqueued { queue: QUEUE, flow, wire_bytes, backlog_packets, backlog_bytes }
}

fn dequeued(wire_bytes: u32, millis: u64) -> Observation<'static> {
    dequeued_of(0, wire_bytes, millis)
}

fn dequeued_of(flow: u32, wire_bytes: u32, millis: u64) -> Observation<'static> {
    let (flow, sojourn) = (FlowId(flow), Span::from_millis(millis));
    Observation::Dequeued { queue: QUEUE, flow, wire_bytes, sojourn }
}

fn dropped(flow: u32, wire_bytes: u32, reason: DropReason) -> Observation<'static> {
    dropped_after(None, flow, wire_bytes, reason)
}

fn dropped_after(
    waited: Option<Span>,
    flow: u32,
    wire_bytes: u32,
    reason: DropReason,
) -> Observation<'static> {
    Observation::Dropped(Dropped {
        flow: FlowId(flow),
        direction: Direction::Forward,
        queue: QUEUE,
        payload_bytes: 0,
        wire_bytes,
        reason,
        waited,
        backlog: Some((2, 1_500)),
    })
}

fn marked(flow: u32, wire_bytes: u32) -> Observation<'static> {
    Observation::Marked { queue: QUEUE, flow: FlowId(flow), wire_bytes }
}

#[test]
fn mean_backlog_is_waiting_over_measured_time() {
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
fn mean_backlog_excludes_warm_up() {
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
fn late_report_of_warm_up_departure_is_ignored() {
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
fn arrivals_report_backlog() {
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
fn drops_are_counted_by_reason_and_group() {
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

#[test]
fn group_drops_have_reason_and_offered_share() {
    let mut run = Run::new(&settings("ab"));
    // Group a: 1000 B let in and dropped later, 500 B let in, 500 B refused early, 500 B lost on the link.
    run.at(0, enqueued(0, 1_000, 0)).at(1, enqueued(0, 500, 1)).at(2, enqueued(0, 500, 1));
    run.at(3, dropped(0, 500, DropReason::Early));
    run.at(4, dropped_after(Some(Span::from_millis(4)), 0, 1_000, DropReason::Early));
    run.at(5, dequeued(500, 4)).at(6, dropped(0, 500, DropReason::LinkLoss));
    // Group b: 100 B are refused of 400 B.
    run.at(7, dropped(1, 100, DropReason::QueueFull)).at(8, enqueued(1, 300, 1));
    let tables = run.finish(1_000);
    for (column, of_a, of_b) in [
        ("packets", 3, 1),
        ("bytes", 2_000, 100),
        ("enqueued_packets", 3, 1),
        ("offered_packets", 4, 2),
        ("offered_bytes", 2_500, 400),
        ("drops_queue_full_packets", 0, 1),
        ("drops_queue_full_bytes", 0, 100),
        ("drops_early_packets", 2, 0),
        ("drops_early_bytes", 1_500, 0),
        ("drops_link_loss_packets", 1, 0),
        ("drops_link_loss_bytes", 500, 0),
    ] {
        assert_eq!(count(&tables, "queue_drops", column, 0), of_a, "{column}");
        assert_eq!(count(&tables, "queue_drops", column, 1), of_b, "{column}");
    }
    assert_number(&tables, "queue_drops", "packet_drop_ratio", 0, 0.5);
    assert_number(&tables, "queue_drops", "byte_drop_ratio", 0, 0.6);
    assert_number(&tables, "queue_drops", "packet_drop_ratio", 1, 0.5);
    assert_number(&tables, "queue_drops", "byte_drop_ratio", 1, 0.25);
}

#[test]
fn marks_are_counted_by_queue_and_group() {
    let mut run = Run::new(&settings("aab"));
    run.at(0, marked(0, 1_500)).at(1, marked(1, 1_000)).at(2, marked(2, 160));
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "queues", "marks_packets", 0), 3);
    assert_eq!(count(&tables, "queues", "marks_bytes", 0), 2_660);
    assert_eq!(count(&tables, "queue_drops", "marked_packets", 0), 2);
    assert_eq!(count(&tables, "queue_drops", "marked_bytes", 0), 2_500);
    assert_eq!(count(&tables, "queue_drops", "marked_bytes", 1), 160);
    assert_eq!(count(&tables, "queue_drops", "packets", 0), 0);
}

#[test]
fn each_group_has_its_own_waiting_times() {
    let mut run = Run::new(&settings("ab"));
    for millis in 1..=100 {
        run.at(millis, dequeued_of(0, 1_000, millis));
    }
    run.at(200, dequeued_of(1, 1_000, 150));
    let tables = run.finish(1_000);
    assert_number(&tables, "queue_drops", "sojourn_mean_s", 0, 0.050_5);
    for (percentile, seconds) in [("p50", 0.05), ("p90", 0.09), ("p99", 0.099)] {
        let column = format!("sojourn_{percentile}_s");
        let value = number(&tables, "queue_drops", &column, 0).unwrap();
        assert!((seconds..seconds * 1.01).contains(&value), "{column} is {value}");
    }
    assert_number(&tables, "queue_drops", "sojourn_max_s", 0, 0.1);
    assert_number(&tables, "queue_drops", "sojourn_max_s", 1, 0.15);
    assert_number(&tables, "queues", "sojourn_max_s", 0, 0.15);
}

#[test]
fn queue_windows_count_arrivals_and_departures() {
    // 0 to 1 s: three packets find 0, 4 and 2; two leave after 100 and 300 ms; one is dropped, one marked.
    // 1 to 2 s: one finds 1, none leaves. 2 to 3 s: nothing. 3 to 4 s: one leaves after 1.5 s.
    let mut described = settings("a");
    described.queue_interval = Some(Span::from_secs(1));
    let mut run = Run::new(&described);
    run.at(0, enqueued(0, 1_000, 0)).at(10, enqueued(0, 1_000, 4)).at(20, enqueued(0, 1_000, 2));
    run.at(100, dequeued(1_000, 100)).at(310, dequeued(1_000, 300)).at(320, marked(0, 1_000));
    run.at(400, dropped(0, 1_000, DropReason::QueueFull)).at(1_000, enqueued(0, 1_000, 1));
    run.at(3_500, dequeued(1_000, 1_500));
    let tables = run.finish(4_000);
    let rows = |column: &str| -> Vec<Option<f64>> {
        (0..4).map(|row| number(&tables, "queue_intervals", column, row)).collect()
    };
    let known = |values: [f64; 4]| values.map(Some).to_vec();
    assert_eq!(rows("start_s"), known([0.0, 1.0, 2.0, 3.0]));
    assert_eq!(rows("enqueued_packets"), known([3.0, 1.0, 0.0, 0.0]));
    assert_eq!(rows("drops_packets"), known([1.0, 0.0, 0.0, 0.0]));
    assert_eq!(rows("marks_packets"), known([1.0, 0.0, 0.0, 0.0]));
    assert_eq!(rows("arrival_backlog_mean_packets"), [Some(2.0), Some(1.0), None, None]);
    assert_eq!(rows("arrival_backlog_max_packets"), [Some(4.0), Some(1.0), None, None]);
    assert_eq!(rows("sojourn_mean_s"), [Some(0.2), None, None, Some(1.5)]);
    assert_eq!(rows("sojourn_max_s"), [Some(0.3), None, None, Some(1.5)]);
    assert_number(&tables, "queues", "sojourn_max_s", 0, 1.5);
    assert_number(&tables, "queues", "arrival_backlog_max_packets", 0, 4.0);
    assert_eq!(tables.get("queue_intervals").map(fairwind_measure::Table::rows), Some(4));
}

#[test]
fn queue_windows_begin_after_warm_up() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let counted = |described: &fairwind_measure::Settings| {
        let mut run = Run::new(described);
        run.at(500, enqueued(0, 1_000, 7)).at(1_500, enqueued(0, 1_000, 3));
        let tables = run.finish(4_000);
        let rows = tables.get("queue_intervals").map(fairwind_measure::Table::rows);
        let most = number(&tables, "queue_intervals", "arrival_backlog_max_packets", 0);
        (rows, most, number(&tables, "queue_intervals", "start_s", 0))
    };
    assert_eq!(counted(&described).0, Some(0));
    described.queue_interval = Some(Span::from_secs(2));
    assert_eq!(counted(&described), (Some(1), Some(3.0), Some(1.0)));
}

#[test]
fn link_impairments_are_counted_after_warm_up() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let mut run = Run::new(&described);
    for at in [500, 1_500] {
        run.at(at, Observation::Duplicated { queue: QUEUE });
        run.at(at, Observation::Damaged { queue: QUEUE });
        run.at(at, dropped(0, 1_000, DropReason::LinkLoss));
        run.at(at, Observation::Reordered { queue: QUEUE });
    }
    run.at(1_600, Observation::Reordered { queue: QUEUE });
    let tables = run.finish(2_000);
    assert_eq!(count(&tables, "queues", "duplicated_packets", 0), 1);
    assert_eq!(count(&tables, "queues", "damaged_packets", 0), 1);
    assert_eq!(count(&tables, "queues", "drops_link_loss_packets", 0), 1);
    assert_eq!(count(&tables, "queues", "reordered_packets", 0), 2);
}

proptest! {
    #[test]
    fn idle_queue_counts_arrival_and_departure(
        passing in proptest::collection::vec((0_u32..3, 40_u32..1_501, any::<bool>()), 0..60),
    ) {
        let settings = Settings {
            warmup: Span::from_millis(300),
            queue_interval: Some(Span::from_millis(100)),
            queue_events: Some(QueueEventSettings {
                queues: None,
                from: Instant::ZERO,
                until: Instant::MAX,
                most: 1_000,
            }),
            ..settings("aab")
        };
        let (mut at_once, mut apart) = (Run::new(&settings), Run::new(&settings));
        for (millis, (flow, wire_bytes, is_idle)) in (0..).step_by(20).zip(passing) {
            let backlog = if is_idle { 0 } else { 2 };
            let waited = 9 * u64::from(backlog);
            apart.at(millis, enqueued(flow, wire_bytes, backlog));
            apart.at(millis, dequeued_of(flow, wire_bytes, waited));
            if is_idle {
                let (at, flow) = (Instant::from_millis(millis), FlowId(flow));
                at_once.collector.observe_through(at, QUEUE, flow, wire_bytes);
            } else {
                at_once.at(millis, enqueued(flow, wire_bytes, backlog));
                at_once.at(millis, dequeued_of(flow, wire_bytes, waited));
            }
        }
        prop_assert_eq!(at_once.finish(1_210), apart.finish(1_210));
    }
}
