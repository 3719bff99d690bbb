//! CoDel's instants, and the order in which flows, classes and bands are served.

use crate::flowing::{Entry, Flowing, Log, PacketFate, before_a_link, log_of, packet};
use fairwind_network::{DropReason, LinkSpec, Qdisc};
use fairwind_qdisc::{Codel, Drr, DrrClass, Filter, FqCodel, Prio, Sfq, Tbf};
use fairwind_units::{BitRate, Instant, Span};

fn is_early(entry: &Entry) -> bool {
    entry.fate == PacketFate::Dropped { reason: DropReason::Early }
}

fn is_marked(entry: &Entry) -> bool {
    entry.fate == PacketFate::Marked
}

/// `count` packets at `millis`.
fn burst(millis: u64, count: usize, packet: Flowing) -> Vec<(u64, Flowing)> {
    vec![(millis, packet); count]
}

fn codel(change: impl Fn(&mut Codel)) -> LinkSpec {
    let mut codel = Codel::default();
    change(&mut codel);
    before_a_link(Qdisc::Codel(codel))
}

#[test]
fn codel_marks_when_it_would_drop() {
    let marking = codel(|codel| codel.ecn = true);
    let log = log_of(marking, &burst(0, 400, packet(0, 1500, true)));
    assert_eq!(log.millis(is_marked)[..5], [105, 205, 276, 334, 384]);
    assert!(log.millis(is_early).is_empty());
}

#[test]
fn codel_resumes_recent_drop_rate() {
    // Five drops, the last with a count of five; then the queue is empty before the sixth.
    let first = burst(0, 405, packet(0, 1500, false));
    let drops = |again: u64| {
        let packets = [first.clone(), burst(again, 300, packet(0, 1500, false))].concat();
        log_of(codel(|_| ()), &packets).millis(is_early)
    };
    // It grew by four: the second drop comes 100 / sqrt(4) ms after the first, then 44.7 and 40.8.
    assert_eq!(drops(1000)[..9], [105, 205, 276, 334, 384, 1105, 1155, 1200, 1241]);
    // More than 16 intervals later it begins anew.
    assert_eq!(drops(3000)[5..7], [3105, 3205]);
}

#[test]
fn codel_marks_once_above_ce_threshold() {
    let marking = codel(|codel| {
        codel.ecn = true;
        codel.ce_threshold = Some(Span::from_millis(2));
    });
    let log = log_of(marking, &burst(0, 200, packet(0, 1500, true)));
    // Packets wait 0, 1, 2, 3 ms and so on: the fourth is the first to be marked, and no packet twice.
    let marks = log.millis(is_marked);
    assert_eq!(marks, (3..200).collect::<Vec<u64>>());
    let plain = log_of(
        codel(|codel| codel.ce_threshold = Some(Span::from_millis(2))),
        &burst(0, 6, packet(0, 1500, false)),
    );
    assert!(plain.millis(is_marked).is_empty());
}

#[test]
fn codel_does_not_drop_the_last_full_packet() {
    // Two packets that have waited for a second: RFC 8289 §4.2 lets them leave.
    let slow = LinkSpec { rate: Some(BitRate::from_bits_per_second(12_000)), ..codel(|_| ()) };
    let log = log_of(slow, &burst(0, 3, packet(0, 1500, false)));
    assert!(log.millis(is_early).is_empty());
}

fn fq_codel(change: impl Fn(&mut FqCodel)) -> LinkSpec {
    // So patient that it never drops early.
    let mut fq = FqCodel { target: Span::from_secs(100), ..FqCodel::default() };
    change(&mut fq);
    before_a_link(Qdisc::FqCodel(fq))
}

#[test]
fn new_flow_is_served_first() {
    let mut packets = burst(0, 100, packet(0, 1500, false));
    packets.extend(burst(0, 100, packet(1, 1500, false)));
    packets.push((50, packet(2, 100, false)));
    packets.push((60, packet(2, 100, false)));
    let waits = log_of(fq_codel(|_| ()), &packets).waits(Instant::ZERO, 2);
    assert!(waits.iter().all(|wait| *wait <= 0.001), "{waits:?}");
}

#[test]
fn new_flow_beyond_quantum_waits() {
    let mut packets = burst(0, 100, packet(0, 1500, false));
    packets.extend(burst(50, 3, packet(1, 1500, false)));
    let waits = log_of(fq_codel(|_| ()), &packets).waits(Instant::ZERO, 1);
    // The quantum of 1514 bytes pays for two packets, the second of which is on credit; the third waits a turn.
    assert!(waits[1] < 0.003 && waits[2] >= 0.003, "{waits:?}");
}

#[test]
fn full_queue_drops_from_fattest_flow() {
    let mut packets = burst(0, 50, packet(0, 1500, false));
    packets.extend(burst(0, 20, packet(1, 100, false)));
    packets.extend(burst(1, 40, packet(0, 1500, false)));
    let log = log_of(fq_codel(|fq| fq.limit_packets = 80), &packets);
    let victims: Vec<u32> = log
        .entries
        .iter()
        .filter(|entry| entry.fate == PacketFate::Dropped { reason: DropReason::QueueFull })
        .map(|entry| entry.flow)
        .collect();
    // Half of the bytes of the flow at once: 62 or so packets wait of it.
    assert!(victims.len() >= 28 && victims.iter().all(|flow| *flow == 0), "{victims:?}");
}

/// Bytes that flows have got through, one after the other, while all of them wait.
fn served(log: &Log, sizes: &[u32], until_millis: u64) -> Vec<Vec<u64>> {
    let mut bytes = vec![0; sizes.len()];
    let mut rows = Vec::new();
    for entry in &log.entries {
        if let PacketFate::Left { .. } = entry.fate {
            let flow = usize::try_from(entry.flow).expect("few");
            bytes[flow] += u64::from(sizes[flow]);
            rows.push(bytes.clone());
        }
        if entry.at > Instant::from_millis(until_millis) {
            break;
        }
    }
    rows
}

/// Lets flows of these packet sizes wait all the time; the greatest distance of what two of them got through, each by
/// its weight.
fn greatest_distance(spec: LinkSpec, sizes: &[u32], weights: &[u64]) -> u64 {
    let mut packets = Vec::new();
    for (flow, bytes) in (0..).zip(sizes) {
        let count = usize::try_from(3_000_000 / bytes).expect("few");
        packets.extend(burst(0, count, packet(flow, *bytes, false)));
    }
    let log = log_of(spec, &packets);
    let distance = |row: Vec<u64>| {
        let weighed = || row.iter().zip(weights).map(|(bytes, weight)| bytes / weight);
        weighed().max().expect("some") - weighed().min().expect("some")
    };
    served(&log, sizes, 1000).into_iter().map(distance).max().expect("some")
}

#[test]
fn flows_share_equally_within_a_quantum() {
    let sizes = [1500, 700, 300, 100];
    let wide = |fq: &mut FqCodel| fq.limit_packets = 1_000_000;
    let fair = fq_codel(wide);
    let distance = greatest_distance(fair, &sizes, &[1; 4]);
    assert!(distance <= 1514 + 1500, "{distance}");
    let small = fq_codel(|fq| {
        wide(fq);
        fq.quantum_bytes = 300;
    });
    let distance = greatest_distance(small, &sizes, &[1; 4]);
    assert!(distance <= 300 + 1500, "{distance}");
}

#[test]
fn sfq_serves_every_flow_per_round() {
    let sfq = Sfq {
        quantum_bytes: 1500,
        limit_packets: 1_000_000,
        depth_packets: 1_000_000,
        ..Sfq::default()
    };
    let before = |sfq| before_a_link(Qdisc::Sfq(sfq));
    // The packet that found the link idle was alone: it is one round ahead.
    assert!(greatest_distance(before(sfq.clone()), &[1500; 4], &[1; 4]) <= 2 * 1500);
    let distance = greatest_distance(before(sfq), &[1500, 700, 300, 100], &[1; 4]);
    assert!(distance <= 1500 + 1500 + 1500, "{distance}");
}

#[test]
fn classes_get_what_their_quanta_say() {
    let unlimited = Qdisc::Unlimited {};
    let classes = [(1500, 0), (3000, 1), (4500, 2)].map(|(quantum_bytes, flow)| DrrClass {
        quantum_bytes,
        filters: vec![Filter { dscp: Some(flow), ..Filter::default() }],
        child: unlimited.clone(),
    });
    let spec = before_a_link(Qdisc::Drr(Drr { classes: classes.to_vec() }));
    let sizes = [1500, 700, 1500];
    let mut packets = Vec::new();
    for (flow, bytes) in (0_u8..).zip(sizes) {
        let packet = Flowing { traffic_class: flow << 2, ..packet(flow.into(), bytes, false) };
        packets.extend(burst(0, 3000, packet));
    }
    packets.extend(burst(0, 1, Flowing { traffic_class: 9 << 2, ..packet(0, 40, false) }));
    let log = log_of(spec, &packets);
    let rows = served(&log, &sizes, 1000);
    let totals = rows.last().expect("some");
    let rounds = totals.iter().zip([1, 2, 3]).map(|(bytes, weight)| bytes / weight);
    let (least, most) = (rounds.clone().min().expect("three"), rounds.max().expect("three"));
    assert!(most - least <= 3000, "{totals:?}");
    // What no class takes is dropped.
    let dropped =
        log.entries.iter().filter(|entry| matches!(entry.fate, PacketFate::Dropped { .. }));
    assert_eq!(dropped.count(), 1);
}

#[test]
fn band_waits_for_higher_bands() {
    let spec = before_a_link(Qdisc::Prio(Prio::default()));
    // Interactive (0x10), ordinary, bulk (0x08): bands 0, 1 and 2.
    let classes = [(0, 0x08), (1, 0x00), (2, 0x10)];
    let packets: Vec<(u64, Flowing)> = classes
        .iter()
        .flat_map(|(flow, class)| {
            burst(0, 3, Flowing { traffic_class: *class, ..packet(*flow, 1500, false) })
        })
        .collect();
    let log = log_of(spec, &packets);
    let order: Vec<u32> = log.entries.iter().map(|entry| entry.flow).collect();
    // The first found the link idle.
    assert_eq!(order, [0, 2, 2, 2, 1, 1, 1, 0, 0]);
}

#[test]
fn packet_waiting_for_tokens_counts_in_limit() {
    let tbf = Tbf {
        rate: BitRate::from_bits_per_second(12_000_000),
        burst_bytes: 1500,
        limit_bytes: 4500,
        peak_rate: None,
        mtu_bytes: None,
        granularity: Span::ZERO,
        child: Some(Box::new(Qdisc::Pfifo { limit_packets: 3 })),
    };
    let spec = LinkSpec { queue: Qdisc::Tbf(tbf), ..LinkSpec::default() };
    let log = log_of(spec, &burst(1, 10, packet(0, 1500, false)));
    let left = log.millis(|entry| matches!(entry.fate, PacketFate::Left { .. }));
    assert_eq!(left, [1, 2, 3, 4]);
}
