//! Datagrams: their measures, and those that only connections have.

use fairwind_measure::{
    Collector, Direction, DropReason, Dropped, FlowDescription, FlowId, Observation,
    ObservationPoints, QueueId, Settings, Tables, Values,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::Segment;

const FLOW: FlowId = FlowId(0);

fn settings() -> Settings {
    Settings {
        groups: vec!["calls".to_owned()],
        flows: vec![FlowDescription {
            group: 0,
            name: "call".to_owned(),
            start: Instant::ZERO,
            answers: None,
            seen_at: ObservationPoints::DATAGRAMS,
        }],
        queues: vec!["bottleneck".to_owned()],
        intervals: vec![Span::from_secs(1)],
        percentiles: vec![50.0],
        ..Settings::default()
    }
}

/// Three datagrams of 100 B leave, at 0, 100 and 200 ms; the second is lost, the others take 30 and
/// 50 ms.
fn observed() -> Tables {
    let mut collector = Collector::new(&settings());
    let sent = Observation::DatagramSent { flow: FLOW, payload_bytes: 100, wire_bytes: 128 };
    let segment = Segment { payload_bytes: 100, ..Segment::default() };
    let received = Observation::Received {
        flow: FLOW,
        direction: Direction::Forward,
        segment: &segment,
        wire_bytes: 128,
    };
    let read = |written| Observation::DatagramRead {
        flow: FLOW,
        payload_bytes: 100,
        written: Some(Instant::from_millis(written)),
        number: None,
    };
    let lost = Observation::Dropped(Dropped {
        flow: FLOW,
        direction: Direction::Forward,
        queue: QueueId(0),
        payload_bytes: 100,
        wire_bytes: 128,
        reason: DropReason::QueueFull,
        waited: None,
        backlog: None,
    });
    let facts = [
        (0, sent),
        (30, received),
        (30, read(0)),
        (100, sent),
        (100, lost),
        (200, sent),
        (250, received),
        (250, read(200)),
    ];
    for (milliseconds, fact) in facts {
        collector.observe(Instant::from_millis(milliseconds), fact);
    }
    collector.finish(Instant::from_secs(2))
}

fn number(tables: &Tables, table: &str, column: &str) -> Option<f64> {
    tables.get(table).unwrap().column(column).unwrap().number(0)
}

#[test]
fn datagrams_are_counted_sent_received_lost() {
    let tables = observed();
    let expected = [
        ("packets_sent", 3.0),
        ("wire_bytes_sent", 384.0),
        ("data_segments_sent", 3.0),
        ("payload_bytes_sent", 300.0),
        ("packets_received", 2.0),
        ("wire_bytes_received", 256.0),
        ("payload_bytes_received", 200.0),
        ("payload_bytes_read", 200.0),
        ("packets_lost", 1.0),
        ("wire_bytes_lost", 128.0),
        ("payload_bytes_lost", 100.0),
        // In 2 s.
        ("throughput_bits_per_second", 1024.0),
        ("goodput_bits_per_second", 800.0),
        ("packet_loss_ratio", 1.0 / 3.0),
        ("delivery_latency_mean_s", 0.04),
        ("delivery_latency_max_s", 0.05),
    ];
    for table in ["flows", "groups"] {
        for (column, value) in expected {
            let found = number(&tables, table, column).unwrap();
            assert!((found - value).abs() < 1e-9, "{table}.{column} is {found}, not {value}");
        }
    }
    // The first window has all of it.
    assert_eq!(number(&tables, "intervals", "packets_sent"), Some(3.0));
    assert_eq!(number(&tables, "intervals", "packets_lost"), Some(1.0));
    assert_eq!(number(&tables, "intervals", "throughput_bits_per_second"), Some(2048.0));
}

/// The first is copied, and its copy comes behind the third, as late as the second; one without a number may be
/// anything.
#[test]
fn copied_datagram_is_read_once() {
    let mut collector = Collector::new(&settings());
    let read = |number| Observation::DatagramRead {
        flow: FLOW,
        payload_bytes: 100,
        written: Some(Instant::ZERO),
        number,
    };
    for (milliseconds, number) in [(10, Some(0)), (30, Some(2)), (50, Some(0)), (50, Some(1))] {
        collector.observe(Instant::from_millis(milliseconds), read(number));
    }
    for _ in 0..2 {
        collector.observe(Instant::from_millis(90), read(None));
    }
    let tables = collector.finish(Instant::from_secs(2));
    // 10, 30 and 50 ms, and twice 90 ms.
    let expected = [("payload_bytes_read", 500.0), ("delivery_latency_mean_s", 0.054)];
    for (column, value) in expected {
        let found = number(&tables, "flows", column).unwrap();
        assert!((found - value).abs() < 1e-9, "{column} is {found}, not {value}");
    }
}

#[test]
fn connection_measures_of_datagrams_are_missing() {
    let tables = observed();
    let missing = [
        "data_segments_retransmitted",
        "bytes_retransmitted",
        "retransmission_ratio",
        "bundles_sent",
        "bundled_bytes_sent",
        "payload_bytes_duplicate",
        "ack_packets_sent",
        "ack_packets_lost",
        "ack_loss_ratio",
        "timeouts",
        "fast_retransmits",
        "syn_retries",
        "zero_window_probes",
        "ack_latency_mean_s",
        "responses",
    ];
    for column in missing {
        assert_eq!(number(&tables, "flows", column), None, "flows.{column}");
        assert_eq!(number(&tables, "groups", column), None, "groups.{column}");
    }
    for column in ["established", "finished", "failed"] {
        let values = tables.get("flows").unwrap().column(column).unwrap();
        assert_eq!(*values, Values::OptionalBool(vec![None]), "{column}");
        let counted = number(&tables, "groups", &format!("flows_{column}"));
        assert_eq!(counted, None, "flows_{column}");
    }
    assert_eq!(number(&tables, "intervals", "bytes_retransmitted"), None);
    assert_eq!(number(&tables, "intervals", "bundled_bytes_sent"), None);
    // Of latencies there is the delivery, for the group and for the flow.
    let kinds = tables.get("latencies").unwrap().column("kind").unwrap();
    assert_eq!(
        (kinds.text(0), kinds.text(1), kinds.len()),
        (Some("delivery"), Some("delivery"), 2)
    );
}

#[test]
fn datagrams_of_warm_up_do_not_count() {
    let mut collector = Collector::new(&Settings { warmup: Span::from_millis(50), ..settings() });
    let read = |written| Observation::DatagramRead {
        flow: FLOW,
        payload_bytes: 7,
        written: Some(Instant::from_millis(written)),
        number: None,
    };
    collector.observe(Instant::from_millis(40), read(10));
    collector.observe(Instant::from_millis(60), read(45));
    let tables = collector.finish(Instant::from_secs(1));
    assert_eq!(number(&tables, "flows", "payload_bytes_read"), Some(7.0));
    assert_eq!(number(&tables, "flows", "delivery_latency_max_s"), Some(0.015));
}

#[test]
fn datagram_without_write_time_has_no_latency() {
    let mut collector = Collector::new(&settings());
    for written in [None, Some(Instant::from_millis(20))] {
        let read =
            Observation::DatagramRead { flow: FLOW, payload_bytes: 3, written, number: None };
        collector.observe(Instant::from_millis(60), read);
    }
    let tables = collector.finish(Instant::from_secs(1));
    assert_eq!(number(&tables, "flows", "payload_bytes_read"), Some(6.0));
    assert_eq!(number(&tables, "flows", "delivery_latency_mean_s"), Some(0.04));
}
