//! Queue events packet by packet, and complete distributions.

use crate::run::{Run, count, number, settings};
use fairwind_measure::{
    Direction, DropReason, Dropped, FlowId, Observation, QueueEventSettings, QueueId, Settings,
    Tables,
};
use fairwind_units::{Instant, Span};

const QUEUE: QueueId = QueueId(0);

fn accepted(queue: QueueId, flow: u32, backlog_packets: u32) -> Observation<'static> {
    let (flow, wire_bytes, backlog_bytes) = (FlowId(flow), 100, 100 * backlog_packets);
    Observation::Enqueued { queue, flow, wire_bytes, backlog_packets, backlog_bytes }
}

fn gone(reason: DropReason, waited: Option<Span>) -> Observation<'static> {
    Observation::Dropped(Dropped {
        flow: FlowId(1),
        direction: Direction::Forward,
        queue: QUEUE,
        payload_bytes: 60,
        wire_bytes: 100,
        reason,
        waited,
        backlog: Some((3, 300)),
    })
}

fn asking(queues: Option<Vec<QueueId>>, most: usize) -> Settings {
    let (from, until) = (Instant::from_millis(10), Instant::from_millis(100));
    Settings {
        queues: vec!["bottleneck".to_owned(), "reverse".to_owned()],
        queue_events: Some(QueueEventSettings { queues, from, until, most }),
        ..settings("ab")
    }
}

fn texts<'a>(tables: &'a Tables, column: &str) -> Vec<&'a str> {
    let table = tables.get("queue_events").unwrap();
    let column = table.column(column).unwrap();
    (0..table.rows()).map(|row| column.text(row).unwrap()).collect()
}

#[test]
fn queue_events_log_fate_of_each_packet() {
    let mut run = Run::new(&asking(None, 10));
    run.at(20, accepted(QUEUE, 0, 2)).at(21, gone(DropReason::QueueFull, None));
    run.at(22, gone(DropReason::Early, Some(Span::from_millis(5))));
    run.at(23, Observation::Marked { queue: QUEUE, flow: FlowId(0), wire_bytes: 100 });
    run.at(24, gone(DropReason::LinkLoss, None));
    let tables = run.finish(1_000);
    assert_eq!(texts(&tables, "event"), ["accepted", "refused", "dropped", "marked", "lost"]);
    assert_eq!(texts(&tables, "reason"), ["", "queue_full", "early", "", "link_loss"]);
    assert_eq!(texts(&tables, "group"), ["a", "b", "b", "a", "b"]);
    assert_eq!(texts(&tables, "queue"), ["bottleneck"; 5]);
    let numbers = |column| [0, 1, 2, 3, 4].map(|row| number(&tables, "queue_events", column, row));
    assert_eq!(numbers("time_s"), [0.02, 0.021, 0.022, 0.023, 0.024].map(Some));
    assert_eq!(numbers("flow"), [0.0, 1.0, 1.0, 0.0, 1.0].map(Some));
    assert_eq!(numbers("wire_bytes"), [Some(100.0); 5]);
    let backlog = [Some(2.0), Some(3.0), Some(3.0), None, Some(3.0)];
    assert_eq!(numbers("backlog_packets"), backlog);
    assert_eq!(numbers("backlog_bytes"), backlog.map(|packets| packets.map(|count| 100.0 * count)));
    assert_eq!(numbers("waited_s"), [None, None, Some(0.005), None, None]);
}

#[test]
fn queue_events_filter_and_count_overflow() {
    let mut run = Run::new(&asking(Some(vec![QueueId(1)]), 2));
    // 9 ms and 100 ms are outside the requested time; at 20 ms it is another queue.
    for (millis, queue) in [(9, 1), (10, 1), (20, 0), (30, 1), (40, 1), (99, 1), (100, 1)] {
        run.at(millis, accepted(QueueId(queue), 0, 0));
    }
    let tables = run.finish(1_000);
    assert_eq!(texts(&tables, "queue"), ["reverse"; 2]);
    assert_eq!(number(&tables, "queue_events", "time_s", 1), Some(0.03));
    assert_eq!(count(&tables, "queues", "events_left_out", 0), 2);
}

#[test]
fn waiting_and_backlog_distributions_are_complete() {
    let mut run = Run::new(&asking(None, 1));
    for (flow, backlog) in [(0, 3), (1, 3), (0, 7)] {
        run.at(1, accepted(QUEUE, flow, backlog));
    }
    for (flow, millis) in [(0, 4), (0, 4), (1, 8)] {
        let (flow, sojourn) = (FlowId(flow), Span::from_millis(millis));
        run.at(10, Observation::Dequeued { queue: QUEUE, flow, wire_bytes: 100, sojourn });
    }
    let tables = run.finish(1_000);
    let rows = |table: &str| {
        let rows = 0..tables.get(table).unwrap().rows();
        rows.map(|row| count(&tables, table, "count", row)).collect::<Vec<_>>()
    };
    assert_eq!(rows("queue_sojourn_histogram"), [2, 1]);
    let bound = |column, row| number(&tables, "queue_sojourn_histogram", column, row).unwrap();
    assert!((bound("lower_s", 0)..bound("upper_s", 0)).contains(&0.004));
    assert!((bound("lower_s", 1)..bound("upper_s", 1)).contains(&0.008));
    // Bytes, as packets, wherever requested: packets 3, 3, 7; bytes 300, 300, 700, in slots wider than one.
    assert_eq!(rows("queue_backlog_histogram"), [2, 1, 2, 1]);
    let backlog = |column, row| count(&tables, "queue_backlog_histogram", column, row);
    assert_eq!([backlog("lower", 0), backlog("upper", 0), backlog("lower", 1)], [3, 4, 7]);
    assert!((backlog("lower", 2)..backlog("upper", 2)).contains(&300));
}
