//! Tests of the tables of a run.

use super::stage::{experiment, number, path, run, table};
use crate::is_available;

const GREEDY_AND_THIN: &str = r#"
    [[flows]]
    name = "greedy"
    workload = { kind = "greedy" }
    [[flows]]
    name = "thin"
    count = 2
    workload = { kind = "thin", payload = "120 B", interval = "50 ms" }
    [measure]
    endpoint_interval = "100 ms"
"#;

#[test]
fn stream_measures_match_simulator() {
    if !is_available("stream_measures_match_simulator") {
        return;
    }
    let outcome = run(&path("3 s", GREEDY_AND_THIN), "fairwind-test-tables").unwrap();
    let flows = table(&outcome.tables, "flows");
    assert_eq!(flows.rows(), 3);
    for row in 0..3 {
        // No packet is quicker than the path, and none of its bytes is read before it comes.
        assert!(number(flows, "setup_time_s", row) >= 0.020, "flow {row}");
        assert!(number(flows, "delivery_latency_p50_s", row) >= 0.010, "flow {row}");
        let (sent, received, lost) = (
            number(flows, "packets_sent", row),
            number(flows, "packets_received", row),
            number(flows, "packets_lost", row),
        );
        assert!(received > 0.0 && received + lost <= sent, "{received} + {lost} of {sent}");
        let (read, arrived) = (
            number(flows, "payload_bytes_read", row),
            number(flows, "payload_bytes_received", row),
        );
        assert!(read > 0.0 && read <= arrived, "{read} of {arrived}");
    }
    let queues = table(&outcome.tables, "queues");
    assert!(number(queues, "arrival_backlog_max_packets", 0) <= 20.0);
    assert!(number(queues, "drops_packets", 0) > 0.0, "20 packets are too few for one greedy flow");
    assert!(table(&outcome.tables, "endpoint").rows() > 10);
    let lateness = table(&outcome.tables, "lateness");
    let delivered: f64 = (0..3).map(|row| number(flows, "packets_received", row)).sum();
    assert!(number(lateness, "deliveries", 0) >= delivered);
    assert!(number(lateness, "packets_unmeasured", 0) < 0.5);
    assert_eq!(outcome.hosts.len(), 4);
}

#[test]
fn a_thousand_connections_start_and_finish() {
    if !is_available("a_thousand_connections_start_and_finish") {
        return;
    }
    let many = experiment(
        r#"
        name = "many"
        duration = "20 s"
        [path]
        rate = "100 Mbit/s"
        rtt = "20 ms"
        queue = { limit = "1000 packets" }
        [[flows]]
        name = "greedy"
        count = 512
        start_spread = "2 s"
        workload = { kind = "greedy", volume = "20 kB" }
        [[flows]]
        name = "thin"
        count = 512
        start_spread = "2 s"
        workload = { kind = "thin", payload = "100 B", interval = "500 ms" }
        stop = "5 s"
        "#,
    );
    let outcome = run(&many, "fairwind-test-thousand").unwrap();
    let groups = table(&outcome.tables, "groups");
    for row in 0..2 {
        for column in ["flows_established", "flows_finished"] {
            assert!((number(groups, column, row) - 512.0).abs() < 0.5, "group {row}: {column}");
        }
        assert!(number(groups, "flows_failed", row) < 0.5, "group {row}");
    }
    let read = number(groups, "payload_bytes_read", 0);
    assert!((read - 512.0 * 20_000.0).abs() < 0.5, "{read} bytes");
}
