//! Turns, rates and limits of fq's flows.

use crate::flowing::{Flowing, Log, PacketFate, before_a_link, log_of, packet};
use fairwind_network::Qdisc;
use fairwind_qdisc::Fq;
use fairwind_units::{BitRate, Span};

/// One packet passes at once and as many again by the flows, before packets join flows.
const EXPRESS: usize = 1 + 8;

fn fq_log(change: impl Fn(&mut Fq), packets: &[(u64, Flowing)]) -> Log {
    let mut fq = Fq { quantum_bytes: 1500, initial_quantum_bytes: 1500, ..Fq::default() };
    change(&mut fq);
    log_of(before_a_link(Qdisc::Fq(fq)), packets)
}

fn burst(millis: u64, count: usize, packet: Flowing) -> Vec<(u64, Flowing)> {
    vec![(millis, packet); count]
}

/// Milliseconds in which packets of `flow` leave.
fn departures(log: &Log, flow: u32) -> Vec<u64> {
    let left = |fate| matches!(fate, PacketFate::Left { .. });
    log.millis(|entry| entry.flow == flow && left(entry.fate))
}

fn drops_of(log: &Log, flow: u32) -> usize {
    let dropped = |fate| matches!(fate, PacketFate::Dropped { .. });
    log.millis(|entry| entry.flow == flow && dropped(entry.fate)).len()
}

fn megabits(number: u64) -> BitRate {
    BitRate::from_bits_per_second(number * 1_000_000)
}

#[test]
fn waiting_flows_take_turns() {
    let flows = [0, 1, 2].map(|flow| burst(0, 60, packet(flow, 1500, false)));
    let log = fq_log(|_| (), &flows.concat());
    let order: Vec<u32> = log.entries.iter().map(|entry| entry.flow).collect();
    // The first packets of the first flow pass by; then each flow has a packet in its turn.
    assert!(order[..EXPRESS].iter().all(|flow| *flow == 0));
    for round in order[EXPRESS..EXPRESS + 150].chunks(3) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, [0, 1, 2]);
    }
}

#[test]
fn flow_limit_drops_only_its_flow() {
    let flows = [burst(0, 200, packet(0, 1500, false)), burst(0, 20, packet(1, 1500, false))];
    let log = fq_log(|_| (), &flows.concat());
    assert_eq!([drops_of(&log, 0), drops_of(&log, 1)], [200 - EXPRESS - 100, 0]);
}

#[test]
fn limit_is_that_of_each_band() {
    let bulk = Flowing { traffic_class: 0x08, ..packet(1, 1500, false) };
    let flows = [burst(0, 40, packet(0, 1500, false)), burst(0, 40, bulk)];
    let log = fq_log(|fq| fq.limit_packets = 30, &flows.concat());
    assert_eq!([drops_of(&log, 0), drops_of(&log, 1)], [40 - EXPRESS - 30, 10]);
}

#[test]
fn maxrate_spaces_quanta_exactly() {
    let packets = burst(0, 15, packet(0, 1500, false));
    // 1500 bytes take 10 ms at 1.2 Mbit/s.
    let rate = |fq: &mut Fq| fq.max_rate = Some(BitRate::from_bits_per_second(1_200_000));
    let log = fq_log(rate, &packets);
    assert_eq!(departures(&log, 0), (0..15).map(|number| number * 10).collect::<Vec<u64>>());
    // A first turn of ten packets goes as fast as the link.
    let log = fq_log(
        |fq| {
            rate(fq);
            fq.initial_quantum_bytes = 15_000;
        },
        &packets,
    );
    let expected: Vec<u64> = (0..10).chain([19, 29, 39, 49, 59]).collect();
    assert_eq!(departures(&log, 0), expected);
    let log = fq_log(
        |fq| {
            rate(fq);
            fq.pacing = false;
        },
        &packets,
    );
    assert_eq!(departures(&log, 0), (0..15).collect::<Vec<u64>>());
}

#[test]
fn low_maxrate_spaces_small_packets_one_by_one() {
    // 150 bytes take 3 ms at 400 kbit/s, and 1500, the quantum, 30 ms.
    let packets = burst(0, 12, packet(0, 150, false));
    let rate = Some(BitRate::from_bits_per_second(400_000));
    let low = fq_log(|fq| fq.max_rate = rate, &packets);
    assert_eq!(departures(&low, 0), (0..12).map(|number| number * 3).collect::<Vec<u64>>());
    let by_quanta = fq_log(
        |fq| {
            fq.max_rate = rate;
            fq.low_rate = BitRate::from_bits_per_second(0);
        },
        &packets,
    );
    // Ten packets are a quantum.
    let times = departures(&by_quanta, 0);
    assert_eq!((times[9], times[10]), (0, 30));
}

#[test]
fn maxrate_of_one_flow_leaves_others_alone() {
    let flows = [0, 1].map(|flow| burst(0, 10, packet(flow, 1500, false)));
    let log = fq_log(|fq| fq.max_rate = Some(megabits(2)), &flows.concat());
    // Each has a packet in 6 ms, and the link is free for both.
    let expected = |begin: u64| (0..10).map(|number| begin + number * 6).collect::<Vec<u64>>();
    assert_eq!([departures(&log, 0), departures(&log, 1)], [expected(0), expected(1)]);
}

#[test]
fn bands_have_nine_three_and_one_parts() {
    let of = |flow, traffic_class| Flowing { traffic_class, ..packet(flow, 1500, false) };
    let services = [(0, 0x10), (1, 0x00), (2, 0x08)];
    let many = services.map(|(flow, service)| burst(0, 4000, of(flow, service)));
    let log = fq_log(|fq| fq.flow_limit_packets = 10_000, &many.concat());
    // Two rounds are 2 * 13 * 64 KiB, or 1136 packets; the flow of the first band lasts that long.
    let share = |flow: u32| {
        let left = log.entries.iter().take(3 * 568).filter(|entry| entry.flow == flow);
        left.count() * 13
    };
    for (flow, parts) in [(0, 9), (1, 3), (2, 1)] {
        let expected = parts * 3 * 568;
        let distance = share(flow).abs_diff(expected);
        // Packets that passed by, and the last packet of each turn.
        assert!(distance <= 13 * (EXPRESS + 3 * 2), "{flow}: {} of {expected}", share(flow));
    }
}

#[test]
fn pause_longer_than_refill_delay_pays_debt() {
    // With 300 bytes in a turn a packet of 1500 leaves a debt of 1200, which four more turns pay; a pause pays it at once.
    let rest = |pause: u64| {
        let packets =
            [burst(0, 1, packet(0, 1500, false)), burst(pause, 1, packet(0, 1500, false))];
        let log = fq_log(
            |fq| {
                fq.quantum_bytes = 300;
                fq.initial_quantum_bytes = 300;
                fq.max_rate = Some(megabits(1));
                fq.refill_delay = Span::from_millis(40);
            },
            &packets.concat(),
        );
        departures(&log, 0)
    };
    // 1500 bytes take 12 ms at 1 Mbit/s.
    assert_eq!(rest(5), [0, 12]);
    assert_eq!(rest(100), [0, 100]);
}

#[test]
fn ce_threshold_marks_what_waited_longer() {
    let packets = burst(0, 40, packet(0, 1500, true));
    let log = fq_log(|fq| fq.ce_threshold = Some(Span::from_millis(20)), &packets);
    let marks = log.millis(|entry| entry.fate == PacketFate::Marked);
    // One packet leaves each millisecond; those that pass by the flows are never marked.
    assert_eq!(marks, (21..40).collect::<Vec<u64>>());
}
