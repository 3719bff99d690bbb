//! Guarantees, shares and limits of hfsc's classes.

use crate::flowing::{Flowing, Log, PacketFate, before_a_link, log_of, packet};
use fairwind_network::{LinkSpec, Qdisc};
use fairwind_qdisc::{Filter, FqCodel, Hfsc, HfscClass, ServiceCurve};
use fairwind_units::{BitRate, Instant, Span};

fn kilobits(rate: u64) -> BitRate {
    BitRate::from_bits_per_second(rate * 1000)
}

fn line(rate: u64) -> ServiceCurve {
    ServiceCurve::linear(kilobits(rate))
}

/// A class below `parent`, or a leaf for the packets with code point `flow`.
fn class(parent: Option<usize>, flow: Option<u8>) -> HfscClass {
    let filter = flow.map(|flow| Filter { dscp: Some(flow), ..Filter::default() });
    HfscClass {
        name: String::new(),
        parent,
        real_time: None,
        link_sharing: None,
        upper_limit: None,
        filters: filter.into_iter().collect(),
        child: flow.map(|_| Qdisc::Pfifo { limit_packets: 1000 }),
    }
}

fn sharing(parent: Option<usize>, flow: Option<u8>, rate: u64) -> HfscClass {
    HfscClass { link_sharing: Some(line(rate)), ..class(parent, flow) }
}

fn hfsc(classes: Vec<HfscClass>) -> Qdisc {
    Qdisc::Hfsc(Hfsc { classes, default_class: None })
}

fn of_flow(flow: u8, bytes: u32) -> Flowing {
    Flowing { traffic_class: flow << 2, ..packet(flow.into(), bytes, false) }
}

fn burst(millis: u64, count: usize, flow: u8) -> Vec<(u64, Flowing)> {
    vec![(millis, of_flow(flow, 1500)); count]
}

/// Flows in the order in which their packets leave, with milliseconds.
fn departures(log: &Log) -> Vec<(u64, u32)> {
    let left = log.entries.iter().filter(|e| matches!(e.fate, PacketFate::Left { .. }));
    left.map(|entry| (entry.at.as_nanos() / 1_000_000, entry.flow)).collect()
}

/// Packets of each of four flows that have left by so many milliseconds.
fn counts(log: &Log, from: u64, until: u64) -> [usize; 4] {
    let mut counts = [0; 4];
    for (_, flow) in departures(log).iter().filter(|(millis, _)| (from..until).contains(millis)) {
        counts[usize::try_from(*flow).expect("one of four")] += 1;
    }
    counts
}

/// Through a link that takes a millisecond for a packet.
fn through(classes: Vec<HfscClass>, packets: &[(u64, Flowing)]) -> Log {
    log_of(before_a_link(hfsc(classes)), packets)
}

/// Without any rate but those of the classes.
fn shaped(classes: Vec<HfscClass>, packets: &[(u64, Flowing)]) -> Log {
    log_of(LinkSpec { queue: hfsc(classes), ..LinkSpec::default() }, packets)
}

#[test]
fn classes_share_in_proportion_to_their_curves() {
    let classes = vec![sharing(None, Some(0), 3000), sharing(None, Some(1), 1000)];
    let log = through(classes, &[burst(0, 900, 0), burst(0, 900, 1)].concat());
    for from in [0, 200, 400, 600] {
        let [first, second, ..] = counts(&log, from, from + 200);
        assert!(first.abs_diff(150) <= 1 && second.abs_diff(50) <= 1, "{first} {second}");
    }
}

#[test]
fn share_of_an_idle_class_goes_to_its_siblings() {
    // Two agencies with equal shares; the second has two classes, of which one is idle in the first half.
    let classes = vec![
        sharing(None, None, 6000),
        sharing(None, None, 6000),
        sharing(Some(0), Some(0), 6000),
        sharing(Some(1), Some(1), 4000),
        sharing(Some(1), Some(2), 2000),
    ];
    let packets = [burst(0, 900, 0), burst(0, 900, 1), burst(300, 900, 2)].concat();
    let log = through(classes, &packets);
    let early = counts(&log, 0, 300);
    assert!(early[0].abs_diff(150) <= 1 && early[1].abs_diff(150) <= 1, "{early:?}");
    let late = counts(&log, 310, 610);
    let expected = [150, 100, 50];
    assert!(late.iter().zip(expected).all(|(got, wanted)| got.abs_diff(wanted) <= 2), "{late:?}");
}

#[test]
fn spare_service_is_not_taken_back() {
    // The first class has had all of the link for 300 ms; when the second comes, they share evenly from the start.
    let classes = vec![sharing(None, Some(0), 6000), sharing(None, Some(1), 6000)];
    let log = through(classes, &[burst(0, 900, 0), burst(300, 200, 1)].concat());
    let [first, second, ..] = counts(&log, 300, 340);
    assert!(first.abs_diff(20) <= 1 && second.abs_diff(20) <= 1, "{first} {second}");
}

#[test]
fn real_time_service_does_not_depend_on_shares() {
    let certain = HfscClass { real_time: Some(line(3000)), ..class(None, Some(0)) };
    let classes = vec![certain, sharing(None, Some(1), 1000)];
    let log = through(classes, &[burst(0, 300, 0), burst(0, 900, 1)].concat());
    // 3 of 12 Mbit/s; the other class has the rest.
    let [first, second, ..] = counts(&log, 0, 400);
    assert!(first.abs_diff(100) <= 1 && second.abs_diff(300) <= 1, "{first} {second}");
}

/// Waits of packets of 160 B every 20 ms with this real-time curve, beside real-time service of 9 Mbit/s for full
/// packets, in seconds.
fn waits_beside_bulk(curve: ServiceCurve) -> f64 {
    let voice = HfscClass { real_time: Some(curve), ..class(None, Some(0)) };
    let bulk = HfscClass {
        real_time: Some(line(9000)),
        link_sharing: Some(line(1000)),
        ..class(None, Some(1))
    };
    let mut packets: Vec<(u64, Flowing)> =
        (1..100).map(|number| (number * 20, of_flow(0, 160))).collect();
    packets.extend((0..2000).map(|millis| (millis, of_flow(1, 1500))));
    packets.sort_by_key(|(millis, _)| *millis);
    let log = through(vec![voice, bulk], &packets);
    let waits = log.waits(Instant::ZERO, 0);
    assert_eq!(waits.len(), 99);
    waits.into_iter().fold(0.0, f64::max)
}

#[test]
fn delay_is_decoupled_from_rate() {
    // The delay that is asked for, and a full packet that is being sent (Stoica, Zhang and Ng, theorem 2).
    let bound = 0.001_5 + 0.001;
    let fast = ServiceCurve::for_delay(160, Span::from_micros(1500), kilobits(64));
    assert_eq!(fast.m1, BitRate::from_bits_per_second(853_336));
    let wait = waits_beside_bulk(fast);
    assert!(wait <= bound, "{wait}");
    // The same rate without the first piece has 20 ms for the packet.
    let slow = waits_beside_bulk(ServiceCurve::linear(kilobits(64)));
    assert!(slow > bound && slow <= 0.02 + 0.001, "{slow}");
}

#[test]
fn upper_limit_shapes_from_the_first_packet_on() {
    let limited = HfscClass { upper_limit: Some(line(1200)), ..sharing(None, Some(0), 1200) };
    let log = shaped(vec![limited], &[burst(5, 3, 0), burst(500, 3, 0)].concat());
    // 10 ms for each packet; nothing is saved up in the pause.
    let expected = [(5, 0), (15, 0), (25, 0), (500, 0), (510, 0), (520, 0)];
    assert_eq!(departures(&log), expected);
}

#[test]
fn upper_limit_does_not_hold_real_time_service_back() {
    let limited = HfscClass {
        real_time: Some(line(2400)),
        upper_limit: Some(line(1200)),
        ..sharing(None, Some(0), 1200)
    };
    let log = shaped(vec![limited], &burst(0, 100, 0));
    assert!(counts(&log, 0, 400)[0].abs_diff(80) <= 1, "{:?}", departures(&log));
}

#[test]
fn queue_that_drops_all_it_holds_begins_anew() {
    // To let a full packet in, fq_codel drops half of the bytes of its fattest flow, which is all of its packets.
    let fair = FqCodel { limit_packets: 20, ..FqCodel::default() };
    let limited = HfscClass {
        upper_limit: Some(line(1200)),
        child: Some(Qdisc::FqCodel(fair)),
        ..sharing(None, Some(0), 1200)
    };
    let small = vec![(0, of_flow(0, 66)); 21];
    let packets = [small, burst(0, 1, 0), burst(60_000, 5, 0)].concat();
    let log = shaped(vec![limited], &packets);
    let late: Vec<u64> =
        departures(&log).into_iter().map(|(millis, _)| millis).filter(|at| *at > 1000).collect();
    assert_eq!(late, [60_000, 60_010, 60_020, 60_030, 60_040]);
}

#[test]
fn convex_curve_begins_late() {
    // Nothing for 20 ms, then all; the other class has a line. The first packet finds the link idle.
    let late =
        ServiceCurve { m1: BitRate::default(), d: Span::from_millis(20), m2: kilobits(12_000) };
    let late = HfscClass { link_sharing: Some(late), ..class(None, Some(0)) };
    let classes = vec![late, sharing(None, Some(1), 12_000)];
    let log = through(classes, &[burst(0, 100, 0), burst(0, 100, 1)].concat());
    let [first, second, ..] = counts(&log, 0, 21);
    assert!(first <= 2 && second >= 19, "{first} {second}");
    let [first, second, ..] = counts(&log, 30, 70);
    assert!(first.abs_diff(second) <= 2, "{first} {second}");
}

#[test]
fn packets_of_no_class_are_dropped() {
    let log = through(vec![sharing(None, Some(0), 1000)], &burst(0, 2, 3));
    let dropped = log.entries.iter().filter(|e| matches!(e.fate, PacketFate::Dropped { .. }));
    assert_eq!(dropped.count(), 2);
}

/// The tree of `tests/python/disciplines_in_kernel.py`, behind which the kernel sends in the same order.
fn tree() -> Vec<HfscClass> {
    let curve = |m1, millis, m2| {
        Some(ServiceCurve { m1: kilobits(m1), d: Span::from_millis(millis), m2: kilobits(m2) })
    };
    vec![
        HfscClass { upper_limit: Some(line(12_000)), ..sharing(None, None, 12_000) },
        sharing(Some(0), None, 6000),
        sharing(Some(1), Some(0), 1000),
        HfscClass { upper_limit: Some(line(2500)), ..sharing(Some(1), Some(1), 2000) },
        HfscClass {
            real_time: curve(6000, 10, 2000),
            link_sharing: curve(0, 15, 3000),
            ..class(Some(0), Some(2))
        },
        HfscClass { real_time: Some(line(1100)), ..class(Some(0), Some(3)) },
    ]
}

#[test]
fn order_is_that_of_the_kernel() {
    let first = (0..4).flat_map(|flow| burst(0, 40, flow));
    let second = [(2, 20), (3, 10), (1, 20)];
    let second = second.into_iter().flat_map(|(flow, count)| burst(300, count, flow));
    let log = shaped(tree(), &first.chain(second).collect::<Vec<_>>());
    let order: String = departures(&log).iter().map(|(_, flow)| flow.to_string()).collect();
    let of_kernel = "0232202121230101200010321000210003210001200031201000210300210001203021\
        2010202310022100023212122212232122222122312221311131131131113113113133\
        3333333322212132222122212322122212223113111311311311131133333333333333";
    assert_eq!(order, of_kernel);
}
