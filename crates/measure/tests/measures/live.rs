//! Counts under way.

use crate::run::{Run, settings};
use fairwind_measure::{Direction, DropReason, Dropped, FlowId, Observation, QueueId, Settings};
use fairwind_units::{Instant, Span};

fn enqueued(backlog_packets: u32) -> Observation<'static> {
    let backlog_bytes = backlog_packets * 1500;
    let (queue, flow) = (QueueId(0), FlowId(0));
    Observation::Enqueued { queue, flow, wire_bytes: 1500, backlog_packets, backlog_bytes }
}

#[test]
fn live_counts_are_sums_of_groups_and_queues() {
    let mut run = Run::new(&Settings { end: Instant::from_secs(9), ..settings("aab") });
    run.send(0, 0, 0, 1000).send(1, 1, 0, 500).send(2, 2, 0, 100);
    run.acknowledge(40, 0, 1000).acknowledge(61, 1, 500);
    run.send(70, 0, 0, 1000).read(80, 0, 1000).read(81, 1, 500);
    run.at(90, enqueued(3)).at(91, enqueued(5));
    run.at(
        92,
        Observation::Dropped(Dropped {
            flow: FlowId(0),
            direction: Direction::Forward,
            queue: QueueId(0),
            payload_bytes: 1000,
            wire_bytes: 1040,
            reason: DropReason::QueueFull,
            waited: None,
            backlog: None,
        }),
    );
    run.at(93, Observation::Timeout { flow: FlowId(2) });
    let counts = run.collector.live_counts(Instant::from_millis(100));
    assert_eq!((counts.time_s, counts.counted_from_s, counts.is_warm), (0.1, 0.0, true));
    let [a, b] = counts.groups.as_slice() else { panic!("two groups: {counts:?}") };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    assert_eq!((a.payload_bytes_read, b.payload_bytes_read), (1500, 0));
    assert_eq!((a.data_segments_sent, a.data_segments_retransmitted), (3, 1));
    assert_eq!((a.packets_lost, a.timeouts, b.timeouts), (1, 0, 1));
    let latencies: Vec<_> = a.ack_latency.iter().map(|slot| (slot.0 / 1_000_000, slot.1)).collect();
    assert_eq!(latencies, [(40, 1), (60, 1)]);
    let [queue] = counts.queues.as_slice() else { panic!("one queue: {counts:?}") };
    assert_eq!(queue.name, "bottleneck");
    assert_eq!((queue.enqueued_packets, queue.dropped_packets, queue.marked_packets), (2, 1, 0));
    assert_eq!((queue.backlog_packets_sum, queue.backlog_bytes_sum), (8, 12_000));
}

#[test]
fn live_counts_restart_after_warmup() {
    let (warmup, end) = (Span::from_secs(1), Instant::from_secs(9));
    let mut run = Run::new(&Settings { warmup, end, ..settings("a") });
    run.read(500, 0, 700);
    let before = run.collector.live_counts(Instant::from_millis(900));
    assert_eq!((before.groups[0].payload_bytes_read, before.counted_from_s), (700, 0.0));
    run.read(1500, 0, 1000);
    let after = run.collector.live_counts(Instant::from_millis(1600));
    assert_eq!((after.groups[0].payload_bytes_read, after.counted_from_s), (300, 1.0));
    assert!(after.is_warm && !before.is_warm);
}

#[test]
fn live_counts_include_retired_flows() {
    let mut run = Run::new(&Settings { end: Instant::from_secs(9), ..settings("aa") });
    run.read(10, 0, 700).read(20, 1, 40);
    run.collector.retire(FlowId(0), Instant::from_millis(30));
    let counts = run.collector.live_counts(Instant::from_millis(40));
    assert_eq!(counts.groups[0].payload_bytes_read, 740);
}
