//! Connections with data both ways: each packet is of one flow, and no measure is counted twice.

use crate::run::{HEADER_BYTES, INITIAL, Run, assert_number, count, number, settings};
use fairwind_measure::{
    ConnectionFlows, Direction, DropReason, Dropped, FlowDescription, FlowId, Observation, QueueId,
    Settings,
};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Where the numbers of the side that answers begin: offset 0 is 1.
const ANSWERS_BEGIN: u32 = 0;

const FLOWS: ConnectionFlows = ConnectionFlows { opening: FlowId(0), answering: Some(FlowId(1)) };

/// One connection: flow `a-0` asks, and `b-1` answers.
fn dialogue() -> Settings {
    let mut described = settings("ab");
    described.flows[1].answers = Some(FlowId(0));
    described
}

/// A segment of the side that opened the connection: `sent` of its bytes went before it, and it
/// acknowledges `answered` bytes.
fn asking(flags: Flags, sent: u32, payload_bytes: u32, answered: u32) -> Segment {
    Segment {
        flags,
        sequence: SequenceNumber::new(INITIAL) + u32::from(flags != Flags::SYN) + sent,
        acknowledgment: SequenceNumber::new(ANSWERS_BEGIN) + 1 + answered,
        payload_bytes,
        ..Segment::default()
    }
}

/// The same of the side that answers.
fn answering(flags: Flags, sent: u32, payload_bytes: u32, asked: u32) -> Segment {
    let is_first = flags.contains(Flags::SYN);
    Segment {
        flags,
        sequence: SequenceNumber::new(ANSWERS_BEGIN) + u32::from(!is_first) + sent,
        acknowledgment: SequenceNumber::new(INITIAL) + 1 + asked,
        payload_bytes,
        ..Segment::default()
    }
}

/// Carries a segment over a path that takes 50 ms.
fn carry(run: &mut Run, millis: u64, way: Direction, segment: &Segment) {
    let (flow, direction) = FLOWS.attribute(way, segment);
    let wire_bytes = HEADER_BYTES + segment.payload_bytes;
    run.at(millis, Observation::Sent { flow, direction, segment, wire_bytes });
    run.at(millis + 50, Observation::Received { flow, direction, segment, wire_bytes });
}

/// Opens, asks with 100 B at 100 ms, is answered with 2000 B in two segments at 160 ms of which the first
/// carries the acknowledgment, acknowledges them at 210 ms, and closes.
fn one_exchange(run: &mut Run) {
    let (there, back) = (Direction::Forward, Direction::Reverse);
    carry(run, 0, there, &asking(Flags::SYN, 0, 0, 0));
    carry(run, 50, back, &answering(Flags::SYN | Flags::ACK, 0, 0, 0));
    carry(run, 100, there, &asking(Flags::ACK, 0, 100, 0));
    run.write(160, 1, 2_000);
    carry(run, 160, back, &answering(Flags::ACK, 0, 1_000, 100));
    carry(run, 160, back, &answering(Flags::ACK, 1_000, 1_000, 100));
    run.read(210, 1, 2_000);
    run.at(210, Observation::Answered { flow: FlowId(0), asked: Instant::from_millis(100) });
    carry(run, 210, there, &asking(Flags::ACK, 100, 0, 2_000));
    carry(run, 300, there, &asking(Flags::FIN | Flags::ACK, 100, 0, 2_000));
    carry(run, 350, back, &answering(Flags::FIN | Flags::ACK, 2_000, 0, 101));
    carry(run, 400, there, &asking(Flags::ACK, 101, 0, 2_001));
}

#[test]
fn each_packet_is_of_one_flow() {
    let mut run = Run::new(&dialogue());
    one_exchange(&mut run);
    let tables = run.finish(1_000);
    let sent = |row| count(&tables, "flows", "packets_sent", row);
    let bare = |row| count(&tables, "flows", "ack_packets_sent", row);
    // SYN, request, FIN; SYN-ACK, two segments, FIN; two bare acknowledgments of the answer.
    assert_eq!([sent(0), sent(1), bare(0), bare(1)], [3, 4, 0, 2]);
    assert_eq!(count(&tables, "flows", "payload_bytes_received", 0), 100);
    assert_eq!(count(&tables, "flows", "payload_bytes_received", 1), 2_000);
    assert_eq!(count(&tables, "flows", "payload_bytes_duplicate", 1), 0);
}

#[test]
fn data_segment_acknowledges_reverse_data() {
    let mut run = Run::new(&dialogue());
    one_exchange(&mut run);
    let tables = run.finish(1_000);
    // The request of 100 ms is acknowledged by the answer that comes at 210 ms, once.
    assert_eq!(count(&tables, "latencies", "count", 4), 1);
    assert_number(&tables, "flows", "ack_latency_max_s", 0, 0.11);
    // Both segments of the answer by the bare acknowledgment that comes at 260 ms.
    assert_number(&tables, "flows", "ack_latency_max_s", 1, 0.1);
    assert_number(&tables, "flows", "delivery_latency_max_s", 1, 0.05);
}

#[test]
fn response_time_is_request_write_to_last_read() {
    let mut run = Run::new(&dialogue());
    one_exchange(&mut run);
    let tables = run.finish(1_000);
    for table in ["flows", "groups"] {
        assert_eq!(count(&tables, table, "responses", 0), 1);
        assert_number(&tables, table, "response_time_p50_s", 0, 0.11);
        assert_eq!(count(&tables, table, "responses", 1), 0);
        assert_eq!(number(&tables, table, "response_time_mean_s", 1), None);
    }
    // Kinds of the two groups, then of the two flows: only those that asked have responses.
    let latencies = tables.get("latencies").unwrap();
    let kinds = latencies.column("kind").unwrap();
    let kinds: Vec<_> = (0..latencies.rows()).filter_map(|row| kinds.text(row)).collect();
    let expected = ["ack", "delivery", "response", "ack", "delivery"].repeat(2);
    assert_eq!(kinds, expected);
}

#[test]
fn response_in_warm_up_is_not_counted() {
    let mut described = dialogue();
    described.warmup = fairwind_units::Span::from_millis(500);
    let mut run = Run::new(&described);
    one_exchange(&mut run);
    assert_eq!(count(&run.finish(1_000), "groups", "responses", 0), 0);
}

#[test]
fn lost_packet_counts_for_its_flow_and_group() {
    let mut run = Run::new(&dialogue());
    let bare = asking(Flags::ACK, 100, 0, 2_000);
    let data = answering(Flags::ACK, 0, 1_000, 100);
    for (way, segment) in [(Direction::Forward, &bare), (Direction::Reverse, &data)] {
        let (flow, direction) = FLOWS.attribute(way, segment);
        let payload_bytes = segment.payload_bytes;
        run.at(
            10,
            Observation::Dropped(Dropped {
                flow,
                direction,
                queue: QueueId(0),
                payload_bytes,
                wire_bytes: payload_bytes + HEADER_BYTES,
                reason: DropReason::QueueFull,
                waited: None,
                backlog: None,
            }),
        );
    }
    let tables = run.finish(100);
    let lost = |column, row| count(&tables, "flows", column, row);
    assert_eq!([lost("packets_lost", 0), lost("ack_packets_lost", 0)], [0, 0]);
    assert_eq!([lost("packets_lost", 1), lost("ack_packets_lost", 1)], [1, 1]);
    assert_eq!(count(&tables, "queue_drops", "packets", 0), 0);
    assert_eq!(count(&tables, "queue_drops", "packets", 1), 2);
}

#[test]
fn connection_establishes_both_flows() {
    let mut run = Run::new(&dialogue());
    run.at(100, Observation::Established { flow: FlowId(0) });
    one_exchange(&mut run);
    let tables = run.finish(1_000);
    for flow in 0..2 {
        assert_number(&tables, "flows", "setup_time_s", flow, 0.1);
        assert_eq!(count(&tables, "groups", "flows_established", flow), 1);
    }
}

/// Set-up and completion count from where the connection is opened, of both of its flows; before, they are in no table.
#[test]
fn waiting_connection_is_in_no_table() {
    let mut described = dialogue();
    for flow in &mut described.flows {
        flow.start = FlowDescription::START_PENDING;
    }
    let mut run = Run::new(&described);
    let rows =
        |run: &Run| run.collector.snapshot(Instant::from_secs(1)).get("flows").unwrap().rows();
    assert_eq!(rows(&run), 0);
    run.at(200, Observation::Opened { flow: FlowId(0) });
    assert_eq!(rows(&run), 2);
    run.at(300, Observation::Established { flow: FlowId(0) });
    run.at(700, Observation::Finished { flow: FlowId(1) });
    let tables = run.collector.finish(Instant::from_secs(1));
    for row in 0..2 {
        assert_number(&tables, "flows", "start_s", row, 0.2);
        assert_number(&tables, "flows", "setup_time_s", row, 0.1);
    }
    assert_number(&tables, "flows", "completion_time_s", 1, 0.5);
}
