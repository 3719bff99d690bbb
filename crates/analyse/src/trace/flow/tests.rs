//! Points of packets made by hand.

use super::*;
use fairwind_wire::{Options, SackBlock};

const MEGABIT_WINDOWS: TraceLimits = TraceLimits { points: 1000, windows: 100 };

fn trace() -> FlowTrace {
    FlowTrace::new("a>b".to_owned(), MEGABIT_WINDOWS)
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn syn(sequence: u32, window_scale: Option<u8>) -> Segment {
    Segment {
        sequence: SequenceNumber::new(sequence),
        flags: Flags::SYN,
        window: 1000,
        options: Options { window_scale, ..Options::NONE },
        ..Segment::default()
    }
}

fn data(sequence: u32, payload_bytes: u32) -> Segment {
    Segment {
        sequence: SequenceNumber::new(sequence),
        flags: Flags::ACK,
        payload_bytes,
        ..Segment::default()
    }
}

fn ack(acknowledgment: u32, window: u16, blocks: &[(u32, u32)]) -> Segment {
    let block = |&(left, right): &(u32, u32)| SackBlock {
        left: SequenceNumber::new(left),
        right: SequenceNumber::new(right),
    };
    Segment {
        acknowledgment: SequenceNumber::new(acknowledgment),
        flags: Flags::ACK,
        window,
        options: Options { sack: blocks.iter().map(block).collect(), ..Options::NONE },
        ..Segment::default()
    }
}

fn of(trace: &FlowTrace, series: Series, kind: PointKind) -> Vec<(u64, u64, u64)> {
    let is_asked = |point: &&(Series, PointKind, Point)| (point.0, point.1) == (series, kind);
    let millis = |point: Point| point.at.as_nanos() / 1_000_000;
    let points = trace.points();
    points.iter().filter(is_asked).map(|&(.., p)| (millis(p), p.low, p.high)).collect()
}

/// SYN at the last number before the wrap, three segments of which the second is lost and repeated, FIN.
fn repaired() -> FlowTrace {
    let mut trace = trace();
    let first = 0; // the byte behind the SYN
    trace.on_sent(ms(0), &syn(u32::MAX, Some(2)), PointKind::New);
    let mut answer = syn(500, Some(3));
    answer.flags |= Flags::ACK;
    answer.acknowledgment = SequenceNumber::new(first);
    trace.on_reverse_packet(ms(10), &answer, AckKind::Other);
    for (at, segment) in [(11, 0), (12, 1), (13, 2)] {
        trace.on_sent(ms(at), &data(first + segment * 1000, 1000), PointKind::New);
    }
    trace.on_reverse_packet(ms(21), &ack(1000, 1000, &[]), AckKind::Other);
    trace.on_reverse_packet(ms(23), &ack(1000, 1000, &[(2000, 3000)]), AckKind::Duplicate);
    trace.on_sent(ms(24), &data(1000, 1000), PointKind::FastRetransmit);
    trace.on_reverse_packet(ms(34), &ack(3000, 0, &[]), AckKind::Other);
    let mut end = data(3000, 0);
    end.flags |= Flags::FIN;
    trace.on_sent(ms(40), &end, PointKind::New);
    trace
}

#[test]
fn segments_are_placed_by_stream_offset_across_wrap() {
    let trace = repaired();
    let new = of(&trace, Series::Data, PointKind::New);
    assert_eq!(new, [(11, 0, 1000), (12, 1000, 2000), (13, 2000, 3000)]);
    assert_eq!(of(&trace, Series::Data, PointKind::FastRetransmit), [(24, 1000, 2000)]);
    assert_eq!(of(&trace, Series::SegmentSize, PointKind::FastRetransmit), [(24, 1000, 1000)]);
}

#[test]
fn acks_rise_and_duplicates_are_ticks() {
    let trace = repaired();
    let acknowledged = of(&trace, Series::Acknowledged, PointKind::Only);
    assert_eq!(acknowledged, [(10, 0, 0), (21, 1000, 1000), (34, 3000, 3000)]);
    assert_eq!(of(&trace, Series::DuplicateAck, PointKind::Only), [(23, 1000, 1000)]);
    assert_eq!(of(&trace, Series::Sack, PointKind::Sack), [(23, 2000, 3000)]);
}

#[test]
fn window_edge_uses_scale_and_marks_closed_window() {
    let trace = repaired();
    // 1000 as it stands in the SYN, then 1000 shifted by three: 8000 bytes behind the acknowledgment.
    let edges = of(&trace, Series::WindowEdge, PointKind::Only);
    assert_eq!(edges, [(10, 1000, 1000), (21, 9000, 9000), (34, 3000, 3000)]);
    assert_eq!(of(&trace, Series::Mark, PointKind::ZeroWindow), [(34, 3000, 3000)]);
}

#[test]
fn a_window_of_unknown_scale_is_not_drawn() {
    let mut trace = trace();
    trace.on_sent(ms(0), &data(7000, 10), PointKind::New);
    trace.on_reverse_packet(ms(1), &ack(7010, 500, &[]), AckKind::Other);
    assert_eq!(of(&trace, Series::WindowEdge, PointKind::Only), []);
    assert_eq!(of(&trace, Series::Acknowledged, PointKind::Only), [(1, 10, 10)]);
}

#[test]
fn a_sender_that_refuses_scaling_has_plain_windows() {
    let mut trace = trace();
    trace.on_sent(ms(0), &syn(0, None), PointKind::New);
    let mut answer = syn(500, Some(7));
    answer.flags |= Flags::ACK;
    answer.acknowledgment = SequenceNumber::new(1);
    trace.on_reverse_packet(ms(1), &answer, AckKind::Other);
    trace.on_reverse_packet(ms(2), &ack(1, 300, &[]), AckKind::Other);
    let edges = of(&trace, Series::WindowEdge, PointKind::Only);
    assert_eq!(edges, [(1, 1000, 1000), (2, 300, 300)]);
}

#[test]
fn flight_grows_with_data_and_shrinks_with_acks() {
    let flight: Vec<(u64, u64)> = of(&repaired(), Series::Flight, PointKind::Only)
        .into_iter()
        .map(|(at, _, high)| (at, high))
        .collect();
    let sent = [(11, 1000), (12, 2000), (13, 3000), (21, 2000), (24, 2000), (34, 0)];
    assert_eq!(flight, [&[(10, 0)], sent.as_slice()].concat());
}

#[test]
fn connection_begin_and_end_are_marked() {
    let mut trace = repaired();
    let mut reset = data(3001, 0);
    reset.flags |= Flags::RST;
    trace.on_sent(ms(50), &reset, PointKind::New);
    assert_eq!(of(&trace, Series::Mark, PointKind::Syn), [(0, 0, 0)]);
    assert_eq!(of(&trace, Series::Mark, PointKind::Fin), [(40, 3000, 3000)]);
    assert_eq!(of(&trace, Series::Mark, PointKind::Reset), [(50, 3001, 3001)]);
}

#[test]
fn throughput_separates_retransmissions_from_new_payload() {
    let trace = repaired();
    let bytes = |kind| -> u64 {
        of(&trace, Series::Throughput, kind).iter().map(|(.., bits)| bits / 8 / 1000).sum()
    };
    assert_eq!((bytes(PointKind::PayloadSent), bytes(PointKind::NewPayloadSent)), (4000, 3000));
}

#[test]
fn first_block_below_ack_or_inside_second_is_dsack() {
    let mut trace = trace();
    trace.on_sent(ms(0), &data(0, 9000), PointKind::New);
    trace.on_reverse_packet(ms(1), &ack(4000, 9, &[(1000, 2000)]), AckKind::Other);
    trace.on_reverse_packet(ms(2), &ack(4000, 9, &[(6000, 7000), (5000, 8000)]), AckKind::Other);
    trace.on_reverse_packet(ms(3), &ack(4000, 9, &[(8000, 9000), (5000, 7000)]), AckKind::Other);
    trace.on_reverse_packet(ms(4), &ack(4000, 9, &[(9000, 8000)]), AckKind::Other);
    let copies = of(&trace, Series::Sack, PointKind::DuplicateSack);
    assert_eq!(copies, [(1, 1000, 2000), (2, 6000, 7000)]);
    assert_eq!(of(&trace, Series::Sack, PointKind::Sack), [(3, 8000, 9000)]);
}

#[test]
fn arrivals_and_losses_stand_beside_what_was_sent() {
    let mut trace = trace();
    trace.on_sent(ms(0), &data(0, 1000), PointKind::New);
    trace.on_sent(ms(1), &data(1000, 1000), PointKind::New);
    trace.on_arrival(ms(51), &data(1000, 1000), PointKind::New);
    trace.on_lost(ms(0), data(0, 1000).sequence, 1000);
    assert_eq!(of(&trace, Series::Arrival, PointKind::New), [(51, 1000, 2000)]);
    assert_eq!(of(&trace, Series::Lost, PointKind::Only), [(0, 0, 1000)]);
}

#[test]
fn points_are_bounded_and_rare_ones_kept() {
    let mut trace = FlowTrace::new("long".to_owned(), TraceLimits { points: 200, windows: 50 });
    for n in 0..100_000_u32 {
        let at = Instant::from_nanos(u64::from(n) * 100_000);
        trace.on_sent(at, &data(n * 1000, 1000), PointKind::New);
        trace.on_reverse_packet(
            at + Span::from_millis(3),
            &ack(n * 1000 + 1000, 9000, &[]),
            AckKind::Other,
        );
        if n % 1000 == 0 {
            trace.on_sent(at, &data(n * 1000, 1000), PointKind::Timeout);
        }
        trace.on_round_trip(at, Span::from_micros(if n == 5555 { 1 } else { 3000 }));
    }
    let repeated = of(&trace, Series::Data, PointKind::Timeout);
    assert_eq!(repeated.len(), 100);
    assert!(repeated.iter().all(|(_, low, high)| high - low == 1000));
    let new = of(&trace, Series::Data, PointKind::New);
    assert!((50..=200).contains(&new.len()));
    assert_eq!(new.last().map(|(.., high)| *high), Some(100_000_000));
    let trips = of(&trace, Series::RoundTripTime, PointKind::Only);
    assert_eq!(trips.iter().map(|(_, low, _)| *low).min(), Some(1000));
    let acknowledged = of(&trace, Series::Acknowledged, PointKind::Only);
    assert!(acknowledged.is_sorted_by_key(|(.., high)| *high));
    assert!(trace.points().len() < 2000);
}
