//! Serialisation, delay and loss.

use crate::support::{Fact, FactLog, Numbered, general, single_link};
use fairwind_network::{Backlog, Delivery, DropReason, LinkSpec, Network, Qdisc};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use proptest::prelude::*;

fn drain(network: &mut Network<Numbered>) -> Vec<Delivery<Numbered>> {
    std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut ())).collect()
}

proptest! {
    #[test]
    fn back_to_back_packets_serialise_exactly(
        bits_per_second in 1_000_u64..40_000_000_000,
        sizes in prop::collection::vec(1_u32..3000, 1..400),
        is_general in any::<bool>(),
    ) {
        let rate = BitRate::from_bits_per_second(bits_per_second);
        let spec = LinkSpec { rate: Some(rate), overhead_bytes: 18, ..LinkSpec::default() };
        let (topology, sender, receiver, _) = single_link(spec);
        let chooser = |link, spec: &_| if is_general { general(link, spec) } else { None };
        let mut network: Network<Numbered> = topology.build_with(0, chooser).unwrap();
        for (number, bytes) in (0..).zip(&sizes) {
            let packet = Numbered { number, bytes: *bytes, to: receiver };
            network.inject(Instant::ZERO, sender, packet, &mut ());
        }
        let mut bytes = 0_u128;
        for (delivery, size) in drain(&mut network).iter().zip(sizes) {
            bytes += u128::from(size) + 18;
            let exact = bytes * 8_000_000_000 / u128::from(bits_per_second);
            prop_assert_eq!(u128::from(delivery.at.as_nanos()), exact);
        }
    }
}

#[test]
fn periodic_arrivals_keep_link_busy_without_drift() {
    // 1500 B at 7 Mbit/s take 1 714 285 + 5/7 ns: 7 packets take 12 ms exactly.
    let spec = LinkSpec { rate: Some("7 Mbit/s".parse().unwrap()), ..LinkSpec::default() };
    let (topology, sender, receiver, _) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let mut at = Instant::ZERO;
    for number in 0..70_000 {
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(at, sender, packet, &mut ());
        at = network.next_delivery(Instant::MAX, &mut ()).unwrap().at;
    }
    assert_eq!(at, Instant::from_secs(120));
}

#[test]
fn idle_link_resets_nanosecond_fraction() {
    // 1 B at 3 Gbit/s takes 2 + 2/3 ns.
    let spec = LinkSpec { rate: Some("3 Gbit/s".parse().unwrap()), ..LinkSpec::default() };
    let (topology, sender, receiver, _) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    for (number, at) in [(0, 0), (1, 2), (2, 100)] {
        let packet = Numbered { number, bytes: 1, to: receiver };
        network.inject(Instant::from_nanos(at), sender, packet, &mut ());
    }
    let at: Vec<u64> = drain(&mut network).iter().map(|d| d.at.as_nanos()).collect();
    assert_eq!(at, [2, 5, 102]);
}

#[test]
fn link_without_rate_only_delays() {
    let spec = LinkSpec { delay: Span::from_millis(5), ..LinkSpec::default() };
    let (topology, sender, receiver, _) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    for number in 0..10 {
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(Instant::from_millis(number / 2), sender, packet, &mut ());
    }
    for (number, delivery) in (0..).zip(drain(&mut network)) {
        assert_eq!(delivery.packet.number, number);
        assert_eq!(delivery.at, Instant::from_millis(number / 2 + 5));
    }
}

#[test]
fn transparent_link_delivers_immediately_and_counts() {
    let (topology, sender, receiver, link) = single_link(LinkSpec::default());
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let mut fact_log = FactLog::default();
    let packet = Numbered { number: 1, bytes: 1500, to: receiver };
    let at = Instant::from_millis(3);
    network.inject(at, sender, packet, &mut fact_log);
    assert_eq!(network.next_event(), Some(at));
    assert_eq!(network.in_transit().bytes, 1500);
    assert_eq!(network.poll_delivery(), Some(Delivery { at, node: receiver, packet }));
    assert_eq!(network.link_counters(link).delivered.packets, 1);
    let expected = [
        Fact::Enqueued { at, number: 1, backlog: Backlog::default() },
        Fact::DequeueResult { at, number: 1, sojourn: Span::ZERO },
    ];
    assert_eq!(fact_log.links, [expected]);
}

#[test]
fn a_lost_packet_has_used_the_link() {
    let spec = LinkSpec {
        rate: Some("12 Mbit/s".parse().unwrap()),
        delay: Span::from_millis(10),
        loss: Ratio::ONE,
        ..LinkSpec::default()
    };
    let (topology, sender, receiver, link) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let mut fact_log = FactLog::default();
    for number in 0..2 {
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(Instant::ZERO, sender, packet, &mut fact_log);
    }
    assert_eq!(network.in_transit().packets, 2);
    network.advance_to(Instant::from_millis(2), &mut fact_log);
    assert_eq!(network.in_transit().packets, 0, "lost at the end of serialisation");
    assert_eq!(network.next_delivery(Instant::MAX, &mut fact_log), None);
    assert_eq!(network.link_counters(link).lost_by_link.bytes, 3000);
    let drops: Vec<Fact> =
        fact_log.links[0].iter().copied().filter(|f| matches!(f, Fact::Dropped { .. })).collect();
    let lost = |number, packets, at| Fact::Dropped {
        at: Instant::from_millis(at),
        number,
        backlog: Backlog { packets, bytes: u64::from(packets) * 1500 },
        reason: DropReason::LinkLoss,
    };
    assert_eq!(drops, [lost(0, 1, 1), lost(1, 0, 2)]);
}

#[test]
fn loss_ratio_is_within_binomial_bounds() {
    const PACKETS: u64 = 200_000;
    for (seed, parts) in [(1, 1_000_000_u64), (2, 20_000_000), (3, 500_000_000)] {
        let share = Ratio::from_parts_per_billion(parts);
        let spec = LinkSpec { loss: share, queue: Qdisc::default(), ..LinkSpec::default() };
        let (topology, sender, receiver, link) = single_link(spec);
        let mut network: Network<Numbered> = topology.build(seed).unwrap();
        for number in 0..PACKETS {
            let packet = Numbered { number, bytes: 100, to: receiver };
            network.inject(Instant::from_nanos(number), sender, packet, &mut ());
        }
        drain(&mut network);
        let (p, n) = (share.as_f64(), 200_000_f64);
        let lost =
            f64::from(u32::try_from(network.link_counters(link).lost_by_link.packets).unwrap());
        // Five standard deviations: one run in 1.7 million of a fair generator lies outside.
        let bound = 5.0 * (n * p * (1.0 - p)).sqrt();
        assert!((lost - n * p).abs() < bound, "{lost} of {n} lost at {share}");
    }
}

#[test]
fn links_of_one_network_lose_independently() {
    const PACKETS: u64 = 100_000;
    let mut topology = fairwind_network::Topology::new();
    let sender = topology.add_host("sender");
    let receivers = ["one", "two"].map(|name| topology.add_host(name));
    for receiver in receivers {
        let half = LinkSpec { loss: "50 %".parse().unwrap(), ..LinkSpec::default() };
        topology.add_link(sender, receiver, half);
    }
    let mut network: Network<Numbered> = topology.build(5).unwrap();
    let mut arrivals = vec![0_u32; usize::try_from(PACKETS).unwrap()];
    for number in 0..PACKETS {
        for to in receivers {
            let packet = Numbered { number, bytes: 100, to };
            network.inject(Instant::from_nanos(number), sender, packet, &mut ());
        }
    }
    for delivery in drain(&mut network) {
        arrivals[usize::try_from(delivery.packet.number).unwrap()] += 1;
    }
    let both = arrivals.iter().map(|count| f64::from(count / 2)).sum::<f64>();
    let bound = 5.0 * (1e5_f64 * 0.25 * 0.75).sqrt();
    assert!((both - 25_000.0).abs() < bound, "{both} of {PACKETS} arrived over both links");
}

#[test]
fn time_does_not_go_back() {
    let spec = LinkSpec { delay: Span::from_millis(1), ..LinkSpec::default() };
    let (topology, sender, receiver, _) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    network.advance_to(Instant::from_millis(5), &mut ());
    network.advance_to(Instant::from_millis(2), &mut ());
    let packet = Numbered { number: 0, bytes: 1500, to: receiver };
    network.inject(Instant::from_millis(3), sender, packet, &mut ());
    assert_eq!(drain(&mut network)[0].at, Instant::from_millis(6));
}
