//! Full queues: which flows lose packets, and which are served meanwhile.

use crate::flowing::{Flowing, Log, PacketFate, before_a_link, log_of, packet};
use fairwind_network::{DropReason, LinkSpec, Qdisc};
use fairwind_qdisc::{Choke, Drr, DrrClass, Dualpi2, Filter, Sfq, Tbf};
use fairwind_units::{BitRate, Instant, Ratio, Span};

/// Flows of the packets dropped for want of room, in order.
fn victims(log: &Log) -> Vec<u32> {
    let full = PacketFate::Dropped { reason: DropReason::QueueFull };
    log.entries.iter().filter(|entry| entry.fate == full).map(|entry| entry.flow).collect()
}

fn count(log: &Log, is_wanted: impl Fn(&PacketFate) -> bool) -> usize {
    log.entries.iter().filter(|entry| is_wanted(&entry.fate)).count()
}

#[test]
fn small_quantum_class_continues_while_other_waits() {
    let shaped = Tbf {
        rate: BitRate::from_bits_per_second(12_000),
        burst_bytes: 1500,
        limit_bytes: 100_000,
        peak_rate: None,
        mtu_bytes: None,
        granularity: Span::ZERO,
        child: None,
    };
    let class = |dscp, quantum_bytes, child| DrrClass {
        quantum_bytes,
        filters: vec![Filter { dscp: Some(dscp), ..Filter::default() }],
        child,
    };
    let classes = vec![class(1, 1500, Qdisc::Tbf(shaped)), class(2, 500, Qdisc::Unlimited {})];
    // Two packets of the shaped class, the second of which waits a second for its tokens; three of the other.
    let of = |flow, dscp: u8| Flowing { traffic_class: dscp << 2, ..packet(flow, 1500, false) };
    let packets = [(1, of(1, 1)), (1, of(1, 1)), (1, of(2, 2)), (1, of(2, 2)), (1, of(2, 2))];
    let log = log_of(before_a_link(Qdisc::Drr(Drr { classes })), &packets);
    let left = log.millis(|entry| entry.flow == 2);
    assert_eq!(left, [2, 3, 4], "three turns of 500 bytes pay for each packet, at once");
    assert_eq!(log.millis(|entry| entry.flow == 1), [1, 1001]);
}

#[test]
fn latest_of_equal_queues_drops() {
    let sfq = |limit_packets| Qdisc::Sfq(Sfq { limit_packets, ..Sfq::default() });
    // Flow 9 keeps the link busy; then every flow has two packets, and each in its order has a third.
    let mut packets = vec![(0, packet(9, 1500, false))];
    packets.extend((0..16).map(|number| (0, packet(number % 8, 1500, false))));
    packets.extend([3, 7, 1, 5, 0].map(|flow| (0, packet(flow, 1500, false))));
    let log = log_of(before_a_link(sfq(16)), &packets);
    assert_eq!(victims(&log), [3, 7, 1, 5, 0], "who sends more than the others loses it");
    // Where every line has one packet, the next turn is given up, whoever comes.
    let mut short = vec![(0, packet(9, 1500, false))];
    short.extend((0..8).map(|flow| (0, packet(flow, 1500, false))));
    let log = log_of(before_a_link(sfq(6)), &short);
    assert_eq!(victims(&log), [0, 1]);
}

#[test]
fn replaced_single_packet_keeps_its_turn() {
    let sfq = Sfq { depth_packets: 1, head_drop: true, ..Sfq::default() };
    let flows = [9, 0, 1, 0];
    let packets: Vec<_> = flows.map(|flow| (0, packet(flow, 1500, false))).to_vec();
    let log = log_of(before_a_link(Qdisc::Sfq(sfq)), &packets);
    assert_eq!(victims(&log), [0]);
    let left = log.entries.iter().filter(|entry| matches!(entry.fate, PacketFate::Left { .. }));
    assert_eq!(left.map(|entry| entry.flow).collect::<Vec<_>>(), [9, 0, 1]);
}

#[test]
fn choke_marks_ecn_packets_above_max() {
    // Above one packet on average everybody is chosen; a hundred flows seldom meet their own packets.
    let choke = |ecn| {
        Qdisc::Choke(Choke {
            limit_packets: 100,
            min_packets: 1,
            max_packets: 2,
            burst_packets: 1,
            average_packet_bytes: 1500,
            probability: Ratio::from_parts_per_billion(20_000_000),
            bandwidth: BitRate::from_bits_per_second(12_000_000),
            ecn,
        })
    };
    let packets: Vec<_> = (0..100).map(|flow| (0, packet(flow, 1500, true))).collect();
    let marking = log_of(before_a_link(choke(true)), &packets);
    assert_eq!(count(&marking, |fate| matches!(fate, PacketFate::Dropped { .. })), 0);
    assert!(count(&marking, |fate| *fate == PacketFate::Marked) > 90);
    let dropping = log_of(before_a_link(choke(false)), &packets);
    let early = PacketFate::Dropped { reason: DropReason::Early };
    assert!(count(&dropping, |fate| *fate == early) > 90);
}

#[test]
fn dualpi2_spares_packet_with_short_backlog() {
    // Ten packets of 100 ms each: the controller has long reached the end when the last ones leave.
    let slow = LinkSpec {
        rate: Some(BitRate::from_bits_per_second(120_000)),
        queue: Qdisc::Dualpi2(Dualpi2::default()),
        ..LinkSpec::default()
    };
    let mut packets = vec![(0, packet(0, 1500, false)); 40];
    packets.extend([(0, packet(1, 1500, false)), (0, packet(2, 1500, false))]);
    let log = log_of(slow, &packets);
    let left = |flow| count_of(&log, flow);
    assert_eq!((left(1), left(2)), (1, 1), "the last two leave");
    assert!(count(&log, |fate| matches!(fate, PacketFate::Dropped { .. })) > 5);
}

fn count_of(log: &Log, flow: u32) -> usize {
    log.waits(Instant::ZERO, flow).len()
}
