//! Counts of packets sent, retransmitted, duplicated, lost and read.

use crate::run::{HEADER_BYTES, Run, acknowledgment, assert_number, count, number, settings};
use fairwind_measure::{
    Direction, DropReason, Dropped, FailureReason, FlowId, Observation, QueueId,
};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

fn dropped(direction: Direction, payload_bytes: u32) -> Observation<'static> {
    Observation::Dropped(Dropped {
        flow: FlowId(0),
        direction,
        queue: QueueId(0),
        payload_bytes,
        wire_bytes: payload_bytes + HEADER_BYTES,
        reason: DropReason::QueueFull,
        waited: None,
        backlog: None,
    })
}

#[test]
fn throughput_counts_wire_and_goodput_reads() {
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(10, 0, 0, 1000).send(20, 0, 0, 1000);
    run.receive(60, 0, 0, 1000).receive(70, 0, 0, 1000).read(75, 0, 1000);
    let tables = run.finish(2_000);
    // 2 x 1040 B = 16640 bit, and 1000 B = 8000 bit, each in 2 s.
    assert_number(&tables, "flows", "throughput_bits_per_second", 0, 8_320.0);
    assert_number(&tables, "flows", "goodput_bits_per_second", 0, 4_000.0);
    assert_number(&tables, "groups", "goodput_bits_per_second", 0, 4_000.0);
    assert_eq!(count(&tables, "flows", "payload_bytes_duplicate", 0), 1000);
}

#[test]
fn a_retransmission_is_known_by_its_old_bytes() {
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(10, 0, 0, 1000).send(11, 0, 1000, 1000).send(300, 0, 0, 1000);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "flows", "packets_sent", 0), 4);
    assert_eq!(count(&tables, "flows", "data_segments_sent", 0), 3);
    assert_eq!(count(&tables, "flows", "payload_bytes_sent", 0), 3000);
    assert_eq!(count(&tables, "flows", "wire_bytes_sent", 0), 3000 + 4 * 40);
    assert_eq!(count(&tables, "flows", "data_segments_retransmitted", 0), 1);
    assert_eq!(count(&tables, "flows", "bytes_retransmitted", 0), 1000);
    assert_number(&tables, "flows", "retransmission_ratio", 0, 1.0 / 3.0);
}

#[test]
fn segment_of_old_and_new_bytes_is_bundle() {
    // Bytes 0..100, then 0..250 in one segment: 100 old, 150 new. Then 200..300, 50 of each, and 200..300 again.
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(10, 0, 0, 100).send(110, 0, 0, 250).send(210, 0, 200, 100);
    run.send(500, 0, 200, 100);
    let tables = run.finish(1_000);
    for table in ["flows", "groups"] {
        assert_eq!(count(&tables, table, "data_segments_sent", 0), 4);
        assert_eq!(count(&tables, table, "payload_bytes_sent", 0), 550);
        assert_eq!(count(&tables, table, "bundles_sent", 0), 2);
        assert_eq!(count(&tables, table, "bundled_bytes_sent", 0), 150);
        assert_eq!(count(&tables, table, "data_segments_retransmitted", 0), 1);
        assert_eq!(count(&tables, table, "bytes_retransmitted", 0), 100);
        assert_number(&tables, table, "retransmission_ratio", 0, 0.25);
    }
}

#[test]
fn syn_and_fin_are_not_data() {
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..crate::run::data(500, 0) };
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).syn(1_000, 0).send(1_100, 0, 0, 500).sent(1_101, 0, &fin).sent(1_400, 0, &fin);
    // The acknowledgment of the FIN lies one behind the stream.
    run.acknowledge(1_450, 0, 501);
    let tables = run.finish(2_000);
    assert_eq!(count(&tables, "flows", "packets_sent", 0), 5);
    assert_eq!(count(&tables, "flows", "data_segments_sent", 0), 1);
    assert_eq!(count(&tables, "flows", "data_segments_retransmitted", 0), 0);
    assert_number(&tables, "flows", "ack_latency_max_s", 0, 0.35);
}

#[test]
fn payload_in_the_syn_begins_at_offset_zero() {
    let syn = Segment {
        flags: Flags::SYN,
        sequence: SequenceNumber::new(crate::run::INITIAL),
        payload_bytes: 100,
        ..Segment::default()
    };
    let mut run = Run::new(&settings("a"));
    run.sent(0, 0, &syn).send(50, 0, 100, 100).acknowledge(60, 0, 100);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "flows", "bytes_retransmitted", 0), 0);
    assert_number(&tables, "flows", "ack_latency_max_s", 0, 0.06);
}

#[test]
fn stream_without_syn_begins_with_first_segment() {
    let mut run = Run::new(&settings("a"));
    run.send(0, 0, 7_000, 100).send(10, 0, 7_100, 100).send(20, 0, 6_900, 100);
    run.send(30, 0, 7_000, 200).acknowledge(40, 0, 7_200);
    let tables = run.finish(1_000);
    // The third repeats what was sent before the first observation, the fourth both known ones.
    assert_eq!(count(&tables, "flows", "data_segments_retransmitted", 0), 2);
    assert_eq!(count(&tables, "flows", "bytes_retransmitted", 0), 300);
    assert_eq!(count(&tables, "latencies", "count", 0), 2);
}

#[test]
fn streams_go_on_where_sequence_numbers_wrap() {
    // 3000 segments of 4 MB: 12 GB, nearly three times around; every 500th is sent twice.
    let mut run = Run::new(&settings("a"));
    let length = 4_000_000_u32;
    run.syn(0, 0);
    for segment in 0..3_000_u64 {
        let offset = segment * u64::from(length);
        let millis = segment + 1;
        run.send(millis, 0, offset, length);
        if segment % 500 == 0 {
            run.send(millis, 0, offset, length);
        }
        run.receive(millis, 0, offset, length);
        run.acknowledge(millis, 0, offset + u64::from(length));
    }
    let tables = run.finish(4_000);
    assert_eq!(count(&tables, "flows", "data_segments_retransmitted", 0), 6);
    assert_eq!(count(&tables, "flows", "bytes_retransmitted", 0), 24_000_000);
    assert_eq!(count(&tables, "flows", "payload_bytes_duplicate", 0), 0);
    assert_eq!(count(&tables, "latencies", "count", 0), 3_000);
    assert_number(&tables, "flows", "ack_latency_max_s", 0, 0.0);
}

#[test]
fn a_retransmission_across_the_wrap_is_old() {
    // The numbers wrap behind offset 5000: 4500..5500 lies across.
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(1, 0, 0, 4_500).send(2, 0, 4_500, 1_000).send(3, 0, 5_500, 1_000);
    run.send(300, 0, 4_500, 1_000);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "flows", "bytes_retransmitted", 0), 1_000);
}

#[test]
fn losses_count_drops_not_retransmissions() {
    // Two sent, one dropped; a spurious retransmission of the other one is no loss.
    let mut run = Run::new(&settings("a"));
    run.send(0, 0, 0, 1_000).send(1, 0, 1_000, 500).send(2, 0, 0, 1_000).send(3, 0, 1_500, 60);
    run.at(4, dropped(Direction::Forward, 500));
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "flows", "data_segments_retransmitted", 0), 1);
    assert_eq!(count(&tables, "flows", "packets_lost", 0), 1);
    assert_eq!(count(&tables, "flows", "wire_bytes_lost", 0), 540);
    assert_eq!(count(&tables, "flows", "payload_bytes_lost", 0), 500);
    assert_number(&tables, "flows", "packet_loss_ratio", 0, 0.25);
    assert_number(&tables, "flows", "wire_byte_loss_ratio", 0, 540.0 / 2_720.0);
    assert_number(&tables, "flows", "payload_byte_loss_ratio", 0, 500.0 / 2_560.0);
}

#[test]
fn ack_packets_have_no_payload() {
    let mut run = Run::new(&settings("a"));
    for (millis, segment) in
        [(1, acknowledgment(1)), (2, acknowledgment(2)), (3, acknowledgment(3))]
    {
        let (flow, direction) = (FlowId(0), Direction::Reverse);
        run.at(millis, Observation::Sent { flow, direction, segment: &segment, wire_bytes: 40 });
    }
    let (flow, direction) = (FlowId(0), Direction::Reverse);
    let answer = &crate::run::data(0, 10);
    run.at(4, Observation::Sent { flow, direction, segment: answer, wire_bytes: 50 });
    run.at(5, dropped(Direction::Reverse, 0)).at(6, dropped(Direction::Reverse, 10));
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "flows", "ack_packets_sent", 0), 3);
    assert_eq!(count(&tables, "flows", "ack_packets_lost", 0), 1);
    assert_number(&tables, "flows", "ack_loss_ratio", 0, 1.0 / 3.0);
    assert_eq!(count(&tables, "flows", "packets_lost", 0), 0);
}

#[test]
fn a_ratio_of_nothing_is_missing() {
    let tables = Run::new(&settings("a")).finish(1_000);
    assert_eq!(number(&tables, "flows", "packet_loss_ratio", 0), None);
    assert_eq!(number(&tables, "flows", "retransmission_ratio", 0), None);
    assert_number(&tables, "flows", "goodput_bits_per_second", 0, 0.0);
}

#[test]
fn events_are_counted_and_first_milestones_kept() {
    let mut described = settings("aa");
    described.flows[0].start = Instant::from_millis(100);
    let flow = FlowId(0);
    let mut run = Run::new(&described);
    run.at(1_100, Observation::SynRetry { flow }).at(1_200, Observation::Established { flow });
    run.at(1_300, Observation::Established { flow });
    run.at(2_000, Observation::Timeout { flow }).at(2_600, Observation::Timeout { flow });
    run.at(2_700, Observation::FastRetransmit { flow });
    run.at(2_800, Observation::ZeroWindowProbe { flow });
    run.at(3_000, Observation::Finished { flow })
        .at(3_100, Observation::Failed { flow: FlowId(1), reason: FailureReason::TimedOut })
        .at(3_200, Observation::Failed { flow: FlowId(1), reason: FailureReason::Reset });
    let tables = run.finish(4_000);
    for (column, expected) in
        [("syn_retries", 1), ("timeouts", 2), ("fast_retransmits", 1), ("zero_window_probes", 1)]
    {
        assert_eq!(count(&tables, "flows", column, 0), expected, "{column}");
    }
    assert_number(&tables, "flows", "setup_time_s", 0, 1.1);
    assert_number(&tables, "flows", "finished_s", 0, 3.0);
    assert_number(&tables, "flows", "completion_time_s", 0, 2.9);
    assert_number(&tables, "flows", "failed_s", 1, 3.1);
    let failure = tables.get("flows").unwrap().column("failure").unwrap();
    assert_eq!(
        [failure.text(0), failure.text(1)],
        [Some(""), Some("timed-out")],
        "the first counts"
    );
    assert_eq!(count(&tables, "groups", "flows", 0), 2);
    assert_eq!(count(&tables, "groups", "flows_established", 0), 1);
    assert_eq!(count(&tables, "groups", "flows_finished", 0), 1);
    assert_eq!(count(&tables, "groups", "flows_failed", 0), 1);
    assert_number(&tables, "groups", "setup_time_mean_s", 0, 1.1);
}

#[test]
fn reset_refuses_or_breaks_connection() {
    let mut run = Run::new(&settings("aa"));
    let reset = |flow| Observation::Failed { flow: FlowId(flow), reason: FailureReason::Reset };
    run.at(10, Observation::Established { flow: FlowId(1) }).at(20, reset(0)).at(20, reset(1));
    let tables = run.finish(1_000);
    let failure = tables.get("flows").unwrap().column("failure").unwrap();
    assert_eq!([failure.text(0), failure.text(1)], [Some("refused"), Some("reset")]);
}

#[test]
fn groups_are_the_sums_of_their_flows() {
    let mut run = Run::new(&settings("aab"));
    run.send(0, 0, 0, 100).send(0, 1, 0, 200).send(0, 2, 0, 400).send(5, 1, 0, 200);
    run.read(10, 0, 100).read(10, 1, 200).read(10, 2, 400);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "groups", "payload_bytes_sent", 0), 500);
    assert_eq!(count(&tables, "groups", "payload_bytes_sent", 1), 400);
    assert_eq!(count(&tables, "groups", "bytes_retransmitted", 0), 200);
    assert_number(&tables, "groups", "goodput_bits_per_second", 0, 2_400.0);
    assert_number(&tables, "groups", "goodput_per_flow_bits_per_second", 0, 1_200.0);
}

#[test]
fn fairness_has_all_group_and_between_rows() {
    // Goodputs 1, 3 in group a and 2 in b (times 800 bit/s).
    let mut run = Run::new(&settings("aab"));
    run.read(10, 0, 100).read(10, 1, 300).read(10, 2, 200);
    let tables = run.finish(1_000);
    // All: 36 / (3 x 14); within a: 16 / (2 x 10); between the means 2 and 2: 1.
    assert_number(&tables, "fairness", "jain_index", 0, 36.0 / 42.0);
    assert_number(&tables, "fairness", "jain_index", 1, 0.8);
    assert_number(&tables, "fairness", "jain_index", 2, 1.0);
    assert_number(&tables, "fairness", "jain_index", 3, 1.0);
    assert_number(&tables, "fairness", "minimum_to_maximum_ratio", 0, 1.0 / 3.0);
    assert_number(&tables, "fairness", "goodput_max_bits_per_second", 0, 2_400.0);
    assert_eq!(count(&tables, "fairness", "members", 3), 2);
}

#[test]
fn arrivals_with_ce_mark_are_counted() {
    use fairwind_wire::{Ecn, TrafficClass};
    let marked = Segment {
        traffic_class: TrafficClass::default().with_ecn(Ecn::Ce),
        ..crate::run::data(0, 460)
    };
    let (flow, direction, wire_bytes) = (FlowId(0), Direction::Forward, 500);
    let mut run = Run::new(&settings("a"));
    run.at(10, Observation::Received { flow, direction, segment: &marked, wire_bytes });
    run.receive(20, 0, 460, 460).receive(30, 0, 920, 460).receive(40, 0, 1_380, 460);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "flows", "packets_marked", 0), 1);
    assert_eq!(count(&tables, "groups", "wire_bytes_marked", 0), 500);
    assert_number(&tables, "flows", "packet_mark_ratio", 0, 0.25);
}
