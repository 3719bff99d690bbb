//! Points of observation: unobserved values are missing, not 0.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{Direction, FlowId, Observation, ObservationPoints, Settings, Tables};
use fairwind_units::Span;

/// Columns of `flows` and `groups` by the points that they need, but for latencies.
const DEPARTURES: [&str; 13] = [
    "packets_sent",
    "wire_bytes_sent",
    "data_segments_sent",
    "payload_bytes_sent",
    "data_segments_retransmitted",
    "bytes_retransmitted",
    "retransmission_ratio",
    "bundles_sent",
    "bundled_bytes_sent",
    "timeouts",
    "fast_retransmits",
    "syn_retries",
    "zero_window_probes",
];
const ARRIVALS: [&str; 6] = [
    "throughput_bits_per_second",
    "packets_received",
    "wire_bytes_received",
    "payload_bytes_received",
    "payload_bytes_duplicate",
    "ack_packets_sent",
];
const LOSSES: [&str; 8] = [
    "packets_lost",
    "wire_bytes_lost",
    "payload_bytes_lost",
    "packet_loss_ratio",
    "wire_byte_loss_ratio",
    "payload_byte_loss_ratio",
    "ack_packets_lost",
    "ack_loss_ratio",
];
const READING: [&str; 2] = ["goodput_bits_per_second", "payload_bytes_read"];

/// Flows of these groups, each watched at these points.
fn watched(flows: &str, points: &[ObservationPoints]) -> Settings {
    let mut described = Settings { intervals: vec![Span::from_millis(100)], ..settings(flows) };
    for (flow, points) in described.flows.iter_mut().zip(points) {
        flow.seen_at = *points;
    }
    described
}

/// Everything that can happen to flow 0 at the points where it is watched.
fn run_watched_at(points: ObservationPoints) -> Tables {
    let mut run = Run::new(&watched("a", &[points]));
    let (flow, payload_bytes, wire_bytes) = (FlowId(0), 0, 40);
    let ack = crate::run::acknowledgment(100);
    if points.contains(ObservationPoints::WRITER) {
        run.write(0, 0, 100);
    }
    if points.contains(ObservationPoints::SENDER) {
        run.send(0, 0, 0, 100);
    }
    if points.contains(ObservationPoints::RECEIVER) {
        let direction = Direction::Reverse;
        run.receive(50, 0, 0, 100);
        run.at(50, Observation::Sent { flow, direction, segment: &ack, wire_bytes });
        run.at(50, Observation::Sent { flow, direction, segment: &ack, wire_bytes });
    }
    if points.contains(ObservationPoints::READER) {
        run.read(50, 0, 100);
    }
    if points.contains(ObservationPoints::SENDER | ObservationPoints::RECEIVER) {
        let direction = Direction::Reverse;
        run.at(60, Observation::Lost { flow, direction, payload_bytes, wire_bytes });
    }
    if points.contains(ObservationPoints::SENDER) {
        run.acknowledge(100, 0, 100);
    }
    run.finish(200)
}

#[track_caller]
fn assert_known(tables: &Tables, columns: &[&str], is_known: bool) {
    for table in ["flows", "groups"] {
        for column in columns {
            let value = number(tables, table, column, 0);
            assert_eq!(value.is_some(), is_known, "{table}.{column} is {value:?}");
        }
    }
}

#[test]
fn sender_tap_has_no_arrivals_or_losses() {
    let tables = run_watched_at(ObservationPoints::SENDER);
    assert_known(&tables, &DEPARTURES, true);
    assert_known(&tables, &["ack_latency_max_s", "measured_s"], true);
    assert_known(&tables, &ARRIVALS, false);
    assert_known(&tables, &LOSSES, false);
    assert_known(&tables, &READING, false);
    assert_known(&tables, &["responses", "delivery_latency_max_s"], false);
    assert_known(&tables, &[], false);
    assert_eq!(number(&tables, "groups", "goodput_per_flow_bits_per_second", 0), None);
    assert_eq!(count(&tables, "fairness", "members", 0), 0);
}

#[test]
fn receiver_tap_has_no_departures_or_losses() {
    let tables = run_watched_at(ObservationPoints::RECEIVER | ObservationPoints::READER);
    assert_known(&tables, &ARRIVALS, true);
    assert_known(&tables, &READING, true);
    assert_known(&tables, &DEPARTURES, false);
    assert_known(&tables, &LOSSES, false);
    assert_known(&tables, &["responses", "ack_latency_max_s"], false);
    assert_number(&tables, "groups", "goodput_per_flow_bits_per_second", 0, 100.0 * 8.0 / 0.2);
}

#[test]
fn host_taps_have_losses_without_applications() {
    let tables = run_watched_at(ObservationPoints::SENDER | ObservationPoints::RECEIVER);
    assert_known(&tables, &DEPARTURES, true);
    assert_known(&tables, &ARRIVALS, true);
    assert_known(&tables, &LOSSES, true);
    assert_known(&tables, &READING, false);
    assert_number(&tables, "flows", "ack_loss_ratio", 0, 0.5);
}

#[test]
fn everywhere_everything_is_known() {
    let tables = run_watched_at(ObservationPoints::EVERYWHERE);
    for columns in [&DEPARTURES[..], &ARRIVALS, &LOSSES, &READING] {
        assert_known(&tables, columns, true);
    }
    assert_known(&tables, &["responses", "ack_latency_max_s", "delivery_latency_max_s"], true);
}

#[test]
fn latencies_have_rows_for_what_could_be_seen() {
    let kinds = |points| {
        let tables = run_watched_at(points);
        let latencies = tables.get("latencies").unwrap();
        let kinds = latencies.column("kind").unwrap();
        let kinds = (0..latencies.rows()).map(|row| kinds.text(row).unwrap().to_owned());
        kinds.collect::<Vec<_>>()
    };
    // One row for the group, one for the flow.
    assert_eq!(kinds(ObservationPoints::SENDER), ["ack", "ack"]);
    assert_eq!(kinds(ObservationPoints::RECEIVER), [""; 0]);
    assert_eq!(kinds(ObservationPoints::EVERYWHERE), ["ack", "delivery", "ack", "delivery"]);
}

#[test]
fn windows_omit_unobserved_values() {
    let known = |points| {
        let tables = run_watched_at(points);
        ["packets_sent", "bytes_retransmitted", "throughput_bits_per_second", "packets_lost"]
            .map(|column| number(&tables, "intervals", column, 0).is_some())
    };
    assert_eq!(known(ObservationPoints::SENDER), [true, true, false, false]);
    assert_eq!(known(ObservationPoints::RECEIVER), [false, false, true, false]);
    assert_eq!(known(ObservationPoints::SENDER | ObservationPoints::RECEIVER), [true; 4]);
}

#[test]
fn group_sums_flows_with_known_values() {
    let both = ObservationPoints::SENDER | ObservationPoints::RECEIVER;
    let mut run =
        Run::new(&watched("aaa", &[ObservationPoints::SENDER, both, ObservationPoints::RECEIVER]));
    run.send(0, 0, 0, 1_000).send(0, 1, 0, 100).send(1, 1, 100, 100);
    let (flow, direction) = (FlowId(1), Direction::Forward);
    run.at(1, Observation::Lost { flow, direction, payload_bytes: 100, wire_bytes: 140 });
    run.receive(50, 1, 0, 100).receive(60, 2, 0, 500);
    let tables = run.finish(100);
    assert_eq!(count(&tables, "groups", "packets_sent", 0), 3);
    assert_eq!(count(&tables, "groups", "packets_received", 0), 2);
    assert_eq!(count(&tables, "groups", "packets_lost", 0), 1);
    // One of the two packets with an observable arrival was lost.
    assert_number(&tables, "groups", "packet_loss_ratio", 0, 0.5);
    assert_number(&tables, "groups", "payload_byte_loss_ratio", 0, 0.5);
    let sent = [0, 1, 2].map(|row| number(&tables, "flows", "packets_sent", row));
    assert_eq!(sent, [Some(1.0), Some(2.0), None]);
    let lost = [0, 1, 2].map(|row| number(&tables, "flows", "packets_lost", row));
    assert_eq!(lost, [None, Some(1.0), None]);
}

#[test]
fn loss_without_queue_is_in_no_queue_table() {
    let mut run = Run::new(&settings("a"));
    let (flow, payload_bytes, wire_bytes) = (FlowId(0), 100, 140);
    run.send(0, 0, 0, 100).send(1, 0, 100, 100);
    let direction = Direction::Forward;
    run.at(5, Observation::Lost { flow, direction, payload_bytes, wire_bytes });
    let tables = run.finish(100);
    assert_eq!(count(&tables, "flows", "packets_lost", 0), 1);
    assert_eq!(count(&tables, "flows", "wire_bytes_lost", 0), 140);
    assert_number(&tables, "flows", "payload_byte_loss_ratio", 0, 0.5);
    assert_eq!(count(&tables, "queues", "drops_packets", 0), 0);
    assert_eq!(count(&tables, "queue_drops", "packets", 0), 0);
}

#[test]
fn observation_point_may_be_set_later() {
    let mut run =
        Run::new(&watched("a", &[ObservationPoints::SENDER | ObservationPoints::RECEIVER]));
    run.send(0, 0, 0, 100);
    run.collector.watch(FlowId(0), ObservationPoints::SENDER);
    let tables = run.finish(100);
    assert_eq!(count(&tables, "flows", "packets_sent", 0), 1);
    for table in ["flows", "groups", "intervals"] {
        assert_eq!(number(&tables, table, "packets_lost", 0), None, "{table}");
    }
}

#[test]
#[should_panic(expected = "the flow is there, and not retired")]
fn a_retired_flow_is_watched_nowhere() {
    let mut run = Run::new(&watched("a", &[ObservationPoints::SENDER]));
    run.collector.retire(FlowId(0), fairwind_units::Instant::ZERO);
    run.collector.watch(FlowId(0), ObservationPoints::SENDER);
}
