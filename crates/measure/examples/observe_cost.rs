//! Cost of measuring: `cargo run --release -p fairwind-measure --example observe_cost`.
//!
//! Plays data segments of many flows through every observation that a simulated segment makes on a path
//! with one bottleneck and acknowledgments on the way back, and prints nanoseconds per segment and
//! per observation, and the memory that it took. Then what a capture at the sender's side tells: data that
//! leaves and acknowledgments that come, of flows that stay and of flows that come and go.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use fairwind_measure::{
    Collector, Direction, FlowDescription, FlowId, Observation, ObservationPoints, QueueId,
    Settings,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};

const SEGMENTS: u32 = 20_000_000;
const OBSERVATIONS_PER_SEGMENT: u32 = 9;
const PAYLOAD_BYTES: u32 = 1_448;
const WIRE_BYTES: u32 = 1_500;
/// Acknowledgments and reads come this many rounds of all flows behind the sending.
const ROUNDS_BEHIND: u32 = 8;

fn main() {
    for flows in [2, 100, 1_000] {
        let before = resident_bytes();
        let mut collector = Collector::new(&settings(flows));
        let began = cpu_nanos();
        let end = play(&mut collector, flows);
        let nanos = cpu_nanos().saturating_sub(began);
        let memory = resident_bytes().saturating_sub(before);
        let tables = collector.finish(end);
        let samples = tables.get("latencies").and_then(|table| table.column("count")?.number(0));
        println!(
            "{flows:>5} flows: {} ns per segment, {} ns per observation, {} kB, {} samples",
            tenths(nanos, SEGMENTS),
            tenths(nanos, SEGMENTS * OBSERVATIONS_PER_SEGMENT),
            memory / 1_000,
            samples.unwrap_or_default(),
        );
    }
    for flows in [1, 100, 10_000] {
        print_pairs(flows);
    }
    print_short_flows();
}

/// Pairs of data sent and its acknowledgment received, of flows that were added one by one.
fn print_pairs(flows: u32) {
    let mut collector = Collector::new(&settings(0));
    let ids: Vec<FlowId> = (0..flows).map(|flow| added(&mut collector, flow)).collect();
    let mut at = Instant::ZERO;
    let began = cpu_nanos();
    for round in 0..SEGMENTS / flows {
        for &flow in &ids {
            at += Span::from_micros(1);
            tell_pair(&mut collector, at, flow, round);
        }
    }
    let nanos = cpu_nanos().saturating_sub(began);
    println!("{flows:>5} captured flows: {} ns per pair", tenths(nanos, SEGMENTS));
}

/// A million flows of five pairs, a hundred at a time, their rows taken ten thousand at a time.
fn print_short_flows() {
    const FLOWS: u32 = 1_000_000;
    const PAIRS: u32 = 5;
    const OPEN: usize = 100;
    let before = resident_bytes();
    let mut collector = Collector::new(&settings(0));
    let mut open = std::collections::VecDeque::new();
    let (mut at, mut rows) = (Instant::ZERO, 0);
    let began = cpu_nanos();
    for flow in 0..FLOWS {
        if open.len() == OPEN {
            open.pop_front().into_iter().for_each(|flow| collector.retire(flow, at));
        }
        let id = added(&mut collector, flow);
        open.push_back(id);
        for round in 0..PAIRS {
            at += Span::from_micros(1);
            tell_pair(&mut collector, at, id, round);
        }
        if flow % 1_000 == 0 && collector.pending_rows() > 10_000 {
            let taken = collector.take_retired();
            rows += taken.and_then(|tables| Some(tables.get("flows")?.rows())).unwrap_or_default();
        }
    }
    let nanos = cpu_nanos().saturating_sub(began);
    let memory = resident_bytes().saturating_sub(before);
    println!(
        "{FLOWS} flows of {PAIRS} pairs: {} ns per flow, {} kB, {rows} rows taken",
        tenths(nanos, FLOWS),
        memory / 1_000,
    );
}

fn added(collector: &mut Collector, flow: u32) -> FlowId {
    let description = FlowDescription {
        group: flow % 2,
        name: format!("192.0.2.1:{flow}>192.0.2.2:80"),
        start: Instant::ZERO,
        answers: None,
        seen_at: ObservationPoints::SENDER,
    };
    collector.add_flow(description).expect("the group is there")
}

fn tell_pair(collector: &mut Collector, at: Instant, flow: FlowId, round: u32) {
    let sequence = SequenceNumber::new(1) + round.wrapping_mul(PAYLOAD_BYTES);
    let data = Segment { sequence, payload_bytes: PAYLOAD_BYTES, ..Segment::default() };
    let acknowledgment = sequence + PAYLOAD_BYTES;
    let ack = Segment { acknowledgment, flags: Flags::ACK, ..Segment::default() };
    let (direction, wire_bytes) = (Direction::Forward, WIRE_BYTES);
    collector.observe(at, Observation::Sent { flow, direction, segment: &data, wire_bytes });
    let (direction, wire_bytes) = (Direction::Reverse, 52);
    let at = at + Span::from_nanos(900);
    collector.observe(at, Observation::Received { flow, direction, segment: &ack, wire_bytes });
}

fn tenths(nanos: u64, parts: u32) -> String {
    let tenths = nanos * 10 / u64::from(parts);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn settings(flows: u32) -> Settings {
    let described = (0..flows).map(|flow| FlowDescription {
        group: flow % 2,
        name: format!("flow-{flow}"),
        start: Instant::ZERO,
        answers: None,
        seen_at: ObservationPoints::EVERYWHERE,
    });
    Settings {
        groups: vec!["even".to_owned(), "odd".to_owned()],
        flows: described.collect(),
        queues: vec!["bottleneck".to_owned(), "reverse".to_owned()],
        intervals: vec![Span::from_secs(1), Span::from_secs(30)],
        ..Settings::default()
    }
}

/// Reports all segments, round by round over the flows; returns when the last one was sent.
fn play(collector: &mut Collector, flows: u32) -> Instant {
    // 120 us for 1500 bytes: 100 Mbit/s.
    let gap = Span::from_micros(120);
    let mut at = Instant::ZERO;
    let mut noise = 1_u32;
    for round in 0..SEGMENTS / flows {
        for flow in 0..flows {
            at += gap;
            // A plain congruential sequence, so that values are not always in the same slot.
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            send(collector, at, FlowId(flow), round, noise >> 20);
            if let Some(round) = round.checked_sub(ROUNDS_BEHIND) {
                receive(collector, at, FlowId(flow), round);
            }
        }
    }
    at
}

fn send(collector: &mut Collector, at: Instant, flow: FlowId, round: u32, noise: u32) {
    let segment = Segment {
        sequence: SequenceNumber::new(1) + round.wrapping_mul(PAYLOAD_BYTES),
        flags: Flags::ACK,
        payload_bytes: PAYLOAD_BYTES,
        ..Segment::default()
    };
    let (queue, direction, wire_bytes) = (QueueId(0), Direction::Forward, WIRE_BYTES);
    let (backlog_packets, backlog_bytes) = (noise % 64, (noise % 64) * WIRE_BYTES);
    let end_offset = u64::from(round + 1) * u64::from(PAYLOAD_BYTES);
    let sojourn = Span::from_micros(u64::from(noise));
    collector.observe(at, Observation::Written { flow, end_offset });
    collector.observe(at, Observation::Sent { flow, direction, segment: &segment, wire_bytes });
    collector.observe(
        at,
        Observation::Enqueued { queue, flow, wire_bytes, backlog_packets, backlog_bytes },
    );
    collector.observe(at, Observation::Dequeued { queue, flow, wire_bytes, sojourn });
}

fn receive(collector: &mut Collector, at: Instant, flow: FlowId, round: u32) {
    let sequence = SequenceNumber::new(1) + round.wrapping_mul(PAYLOAD_BYTES);
    let data = Segment { sequence, payload_bytes: PAYLOAD_BYTES, ..Segment::default() };
    let acknowledgment = sequence + PAYLOAD_BYTES;
    let ack = Segment { acknowledgment, flags: Flags::ACK, ..Segment::default() };
    let end_offset = u64::from(round + 1) * u64::from(PAYLOAD_BYTES);
    let (queue, wire_bytes, direction) = (QueueId(1), 52, Direction::Reverse);
    collector.observe(
        at,
        Observation::Received {
            flow,
            direction: Direction::Forward,
            segment: &data,
            wire_bytes: WIRE_BYTES,
        },
    );
    collector.observe(at, Observation::Read { flow, end_offset });
    collector.observe(at, Observation::Sent { flow, direction, segment: &ack, wire_bytes });
    collector.observe(at, Observation::Dequeued { queue, flow, wire_bytes, sojourn: Span::ZERO });
    collector.observe(at, Observation::Received { flow, direction, segment: &ack, wire_bytes });
}

/// Time that this thread has had a processor, from the scheduler's own account: what else the machine does
/// is not in it. 0 where the system does not tell.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    nanos.unwrap_or_default()
}

/// Resident memory of this process, or 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4_096
}
