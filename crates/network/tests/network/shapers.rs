//! Shapers keep their rates, and classes their guarantees.

use crate::support::{Fact, FactLog, Numbered, single_link};
use fairwind_network::{LinkSpec, Network, NodeId, Qdisc};
use fairwind_qdisc::{Filter, Htb, HtbClass, Tbf};
use fairwind_units::{BitRate, Instant, Span};

const SECONDS: u32 = 100;

fn megabits(rate: u64) -> BitRate {
    BitRate::from_bits_per_second(rate * 1_000_000)
}

/// Packets of `flows` as `(number modulo 5, bits per second offered, bytes)` through `queue` on a link without a rate of
/// its own; gives what each flow got through in bits per second.
fn carried(queue: Qdisc, flows: &[(u64, u64, u32)]) -> Vec<f64> {
    let spec = LinkSpec { queue, ..LinkSpec::default() };
    let (mut topology, sender, receiver, _) = single_link(spec);
    for (flow, _, _) in flows {
        let connection = u32::try_from(*flow).expect("below five");
        topology.add_flow_group(format!("flow {flow}"), connection..connection + 1);
    }
    let mut network: Network<Numbered> = topology.build(1).expect("a sound topology");
    offer(&mut network, flows, sender, receiver);
    let mut bits = [0.0; 5];
    while let Some(delivery) = network.next_delivery(Instant::from_secs(SECONDS.into()), &mut ()) {
        let flow = usize::try_from(delivery.packet.number % 5).expect("below five");
        bits[flow] += f64::from(delivery.packet.bytes) * 8.0;
    }
    bits.iter().map(|bits| bits / f64::from(SECONDS)).collect()
}

fn offer(network: &mut Network<Numbered>, flows: &[(u64, u64, u32)], from: NodeId, to: NodeId) {
    let mut packets: Vec<(u64, u64, u32)> = Vec::new();
    for (flow, rate, bytes) in flows {
        let gap = u64::from(*bytes) * 8 * 1_000_000_000 / rate;
        let count = u64::from(SECONDS) * 1_000_000_000 / gap;
        packets.extend((0..count).map(|n| (n * gap, n * 5 + flow, *bytes)));
    }
    packets.sort_unstable();
    for (at, number, bytes) in packets {
        network.inject(Instant::from_nanos(at), from, Numbered { number, bytes, to }, &mut ());
    }
}

fn pfifo() -> Qdisc {
    Qdisc::Pfifo { limit_packets: 100 }
}

fn tbf(granularity: Span, burst_bytes: u64) -> Qdisc {
    Qdisc::Tbf(Tbf {
        rate: megabits(1),
        burst_bytes,
        limit_bytes: 20_000,
        peak_rate: None,
        mtu_bytes: None,
        granularity,
        child: None,
    })
}

/// Whether `got` is within a thousandth of `wanted`.
fn is_near(got: f64, wanted: f64) -> bool {
    (got / wanted - 1.0).abs() < 0.001
}

#[test]
fn a_token_bucket_filter_keeps_its_rate() {
    let got = carried(tbf(Span::ZERO, 1500), &[(0, 3_000_000, 1500)])[0];
    assert!(is_near(got, 1e6), "{got}");
}

#[test]
fn coarse_clock_passes_one_bucket_per_tick() {
    for (hertz, burst) in [(100, 1520), (250, 1520), (1000, 1520), (100, 800), (250, 200)] {
        let granularity = Span::from_nanos(1_000_000_000 / hertz);
        let bytes = 100;
        let got = carried(tbf(granularity, burst), &[(0, 2_000_000, bytes)])[0];
        // Whole packets of what the bucket holds, at every tick, or else the rate.
        let per_tick = (burst / u64::from(bytes)) * u64::from(bytes) * 8;
        let expected = u32::try_from(per_tick * hertz).map(f64::from).expect("a rate");
        assert!(is_near(got, expected.min(1e6)), "{hertz} Hz, {burst} B: {got} of {expected}");
    }
}

fn class(parent: Option<usize>, rate: u64, ceil: u64, flow: Option<u64>) -> HtbClass {
    let group = flow.map(|flow| format!("flow {flow}"));
    HtbClass {
        name: String::new(),
        parent,
        rate: BitRate::from_bits_per_second(rate),
        ceil: BitRate::from_bits_per_second(ceil),
        burst_bytes: 1600,
        ceil_burst_bytes: 1600,
        priority: 0,
        quantum_bytes: 1500,
        filters: group
            .map(|group| Filter { group: Some(group), ..Filter::default() })
            .into_iter()
            .collect(),
        child: flow.map(|_| pfifo()),
    }
}

fn htb(classes: Vec<HtbClass>) -> Qdisc {
    Qdisc::Htb(Htb {
        classes,
        default_class: None,
        rate_to_quantum: 10,
        direct_packets: 1000,
        granularity: Span::ZERO,
    })
}

#[test]
fn htb_classes_get_rates_and_share_rest() {
    // 5 Mbit/s, of which one class is sure of 1 and the other of 3; 1 is left over and shared evenly.
    let tree = htb(vec![
        class(None, 5_000_000, 5_000_000, None),
        class(Some(0), 1_000_000, 5_000_000, Some(0)),
        class(Some(0), 3_000_000, 5_000_000, Some(1)),
    ]);
    let both = carried(tree.clone(), &[(0, 6_000_000, 1500), (1, 6_000_000, 1500)]);
    assert!((both[0] + both[1] - 5e6).abs() < 5e3, "{both:?}");
    assert!((both[0] - 1.5e6).abs() < 5e4 && (both[1] - 3.5e6).abs() < 5e4, "{both:?}");
    let alone = carried(tree, &[(0, 6_000_000, 1500)]);
    assert!(is_near(alone[0], 5e6), "{alone:?}");
}

#[test]
fn spare_rate_is_shared_level_by_level() {
    // Two departments with next to nothing of their own borrow 4 Mbit/s; one has three children, the other one.
    let tree = htb(vec![
        class(None, 4_000_000, 4_000_000, None),
        class(Some(0), 24_000, 4_000_000, None),
        class(Some(0), 24_000, 4_000_000, None),
        class(Some(1), 8000, 4_000_000, Some(0)),
        class(Some(1), 8000, 4_000_000, Some(1)),
        class(Some(1), 8000, 4_000_000, Some(2)),
        class(Some(2), 8000, 4_000_000, Some(3)),
    ]);
    let got = carried(tree, &[0, 1, 2, 3].map(|flow| (flow, 5_000_000, 1500)));
    assert!((got[3] / 2e6 - 1.0).abs() < 0.02, "{got:?}");
    assert!(got[..3].iter().all(|got| (got / (2e6 / 3.0) - 1.0).abs() < 0.03), "{got:?}");
}

#[test]
fn classes_stay_between_rate_and_ceiling() {
    let tree = htb(vec![
        class(None, 5_000_000, 5_000_000, None),
        class(Some(0), 1_000_000, 2_000_000, Some(0)),
        class(Some(0), 500_000, 5_000_000, Some(1)),
    ]);
    let got = carried(tree, &[(0, 9_000_000, 1500), (1, 9_000_000, 300)]);
    assert!(is_near(got[0], 2e6), "{got:?}");
    assert!(is_near(got[1], 3e6), "{got:?}");
}

#[test]
fn guaranteed_rates_may_exceed_parent() {
    // As in the kernel, where a class within its own rate asks nobody.
    let tree = htb(vec![
        class(None, 5_000_000, 5_000_000, None),
        class(Some(0), 4_000_000, 4_000_000, Some(0)),
        class(Some(0), 4_000_000, 4_000_000, Some(1)),
    ]);
    let got = carried(tree, &[(0, 6_000_000, 1500), (1, 6_000_000, 1500)]);
    assert!(is_near(got[0], 4e6) && is_near(got[1], 4e6), "{got:?}");
}

#[test]
fn lower_prio_gets_spare_rate_first() {
    let urgent = HtbClass { priority: 0, ..class(Some(0), 1_000_000, 5_000_000, Some(0)) };
    let other = HtbClass { priority: 1, ..class(Some(0), 1_000_000, 5_000_000, Some(1)) };
    let tree = htb(vec![class(None, 5_000_000, 5_000_000, None), urgent, other]);
    let got = carried(tree, &[(0, 9_000_000, 1500), (1, 9_000_000, 1500)]);
    assert!((got[0] - 4e6).abs() < 2e4 && (got[1] - 1e6).abs() < 2e4, "{got:?}");
}

#[test]
fn unclassified_packets_pass_unshaped() {
    let tree = htb(vec![class(None, 1_000_000, 1_000_000, Some(0))]);
    let got = carried(tree, &[(0, 3_000_000, 1500), (3, 7_000_000, 1500)]);
    assert!(is_near(got[0], 1e6) && is_near(got[3], 7e6), "{got:?}");
}

#[test]
fn burst_departs_at_once_then_rate_limits() {
    let (topology, sender, receiver, _) =
        single_link(LinkSpec { queue: tbf(Span::ZERO, 4500), ..LinkSpec::default() });
    let mut network: Network<Numbered> = topology.build(1).expect("a sound topology");
    let mut fact_log = FactLog::default();
    for number in 0..5 {
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(Instant::from_secs(1), sender, packet, &mut fact_log);
    }
    network.advance_to(Instant::from_secs(2), &mut fact_log);
    let left: Vec<u64> = fact_log.links[0]
        .iter()
        .filter(|fact| matches!(fact, Fact::DequeueResult { .. }))
        .map(|fact| fact.at().as_nanos() / 1_000_000)
        .collect();
    assert_eq!(left, [1000, 1000, 1000, 1012, 1024]);
}
