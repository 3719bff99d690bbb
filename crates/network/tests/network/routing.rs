//! Routes of packets.

use crate::support::{Fact, FactLog, Numbered};
use fairwind_network::{LinkSpec, Network, NodeId, Topology, Volume};
use fairwind_units::{Instant, Span};

fn wire(millis: u64) -> LinkSpec {
    LinkSpec { delay: Span::from_millis(millis), ..LinkSpec::default() }
}

fn send(network: &mut Network<Numbered>, from: NodeId, to: NodeId) -> Option<Instant> {
    let packet = Numbered { number: 0, bytes: 1500, to };
    network.inject(Instant::ZERO, from, packet, &mut ());
    network.next_delivery(Instant::MAX, &mut ()).map(|delivery| {
        assert_eq!(delivery.node, to);
        delivery.at
    })
}

#[test]
fn route_prefers_delay_over_hops() {
    let mut topology = Topology::new();
    let a = topology.add_host("a");
    let [r, s] = ["r", "s"].map(|name| topology.add_router(name));
    let b = topology.add_host("b");
    let first = topology.add_link(a, r, wire(1));
    topology.add_link(r, b, wire(10));
    let second = topology.add_link(r, s, wire(4));
    let third = topology.add_link(s, b, wire(5));
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    assert_eq!(network.route(a, b), Some(vec![first, second, third]));
    assert_eq!(send(&mut network, a, b), Some(Instant::from_millis(10)));
}

#[test]
fn route_ties_prefer_fewer_links_then_id() {
    let mut topology = Topology::new();
    let a = topology.add_host("a");
    let [r, s] = ["r", "s"].map(|name| topology.add_router(name));
    let b = topology.add_host("b");
    topology.add_link(r, s, wire(5));
    topology.add_link(s, b, wire(5));
    let access = topology.add_link(a, r, wire(1));
    let direct = topology.add_link(r, b, wire(10));
    topology.add_link(r, b, wire(10));
    let network: Network<Numbered> = topology.build(0).unwrap();
    assert_eq!(network.route(a, b), Some(vec![access, direct]));
    assert_eq!(network.link_name(direct), "r->b");
    assert_eq!(network.link_name(network.link_ids().last().unwrap()), "r->b#2");
}

#[test]
fn transparent_links_count_all_packets() {
    let mut topology = Topology::new();
    let [first, second, far] = ["first", "second", "far"].map(|name| topology.add_host(name));
    let [near, next] = ["near", "next"].map(|name| topology.add_router(name));
    let without =
        |topology: &mut Topology, from, to| topology.add_link(from, to, LinkSpec::default());
    let [from_first, from_second] = [first, second].map(|host| without(&mut topology, host, near));
    let between = without(&mut topology, near, next);
    let onward = topology.add_link(next, far, wire(1));
    let back = without(&mut topology, next, second);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let mut fact_log = FactLog::default();
    for (number, from, to) in
        [(0, first, far), (1, second, far), (2, first, far), (3, first, second)]
    {
        network.inject(Instant::ZERO, from, Numbered { number, bytes: 100, to }, &mut fact_log);
    }
    let at = std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut fact_log));
    let seen: Vec<_> = at.map(|delivery| (delivery.packet.number, delivery.node)).collect();
    assert_eq!(seen, [(3, second), (0, far), (1, far), (2, far)]);
    let links = [from_first, from_second, between, onward, back];
    for (link, expected) in
        links.into_iter().zip([vec![0, 2, 3], vec![1], vec![0, 1, 2, 3], vec![0, 1, 2], vec![3]])
    {
        let facts = &fact_log.links[link.index()];
        let accepted: Vec<u64> = facts.iter().filter_map(Fact::accepted).collect();
        assert_eq!(accepted, expected, "on {}", network.link_name(link));
        let counters = network.link_counters(link);
        let packets = u64::try_from(expected.len()).unwrap();
        assert_eq!(counters.offered, counters.delivered);
        assert_eq!(counters.offered, Volume { packets, bytes: 100 * packets });
    }
    assert_eq!(network.in_transit().packets, 0);
    // Looking up routes has not changed the reports.
    assert_eq!(network.route(first, far), Some(vec![from_first, between, onward]));
    assert_eq!(network.route(first, second), Some(vec![from_first, between, back]));
}

#[test]
fn hosts_do_not_forward() {
    let mut topology = Topology::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| topology.add_host(name));
    topology.add_link(a, b, wire(1));
    topology.add_link(b, c, wire(1));
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    assert_eq!(network.route(a, c), None);
    assert_eq!(network.route(b, a), None, "links lead one way");
    assert_eq!(network.route(a, a), Some(vec![]));
    let mut fact_log = FactLog::default();
    let packet = Numbered { number: 9, bytes: 1500, to: c };
    network.inject(Instant::from_millis(2), a, packet, &mut fact_log);
    assert_eq!(fact_log.unroutable, [(Instant::from_millis(2), a, 9)]);
    assert_eq!(network.unroutable().bytes, 1500);
    assert_eq!(network.next_event(), None);
    let packet = Numbered { number: 10, bytes: 40, to: NodeId(77) };
    network.inject(Instant::from_millis(2), a, packet, &mut fact_log);
    assert_eq!(network.unroutable().packets, 2, "a destination that does not exist");
}

#[test]
fn packet_to_own_node_is_delivered_immediately() {
    let mut topology = Topology::new();
    let a = topology.add_host("a");
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    assert_eq!(send(&mut network, a, a), Some(Instant::ZERO));
}

#[test]
fn packets_cross_several_routers_and_queue_at_each() {
    // 1500 B take 1 ms, 2 ms and 3 ms; every hop adds 1 ms of propagation.
    let mut topology = Topology::new();
    let a = topology.add_host("a");
    let [r, s] = ["r", "s"].map(|name| topology.add_router(name));
    let b = topology.add_host("b");
    for (from, to, rate) in [(a, r, "12 Mbit/s"), (r, s, "6 Mbit/s"), (s, b, "4 Mbit/s")] {
        topology.add_link(from, to, LinkSpec { rate: Some(rate.parse().unwrap()), ..wire(1) });
    }
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    for number in 0..3 {
        let packet = Numbered { number, bytes: 1500, to: b };
        network.inject(Instant::ZERO, a, packet, &mut ());
    }
    let at: Vec<Instant> = std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut ()))
        .map(|delivery| delivery.at)
        .collect();
    // The last link is the slowest: it sets the spacing.
    assert_eq!(at, [9, 12, 15].map(Instant::from_millis));
}

#[test]
fn parking_lot_flows_cross_their_bottlenecks() {
    // Routers in a row; one long flow over all, one short flow per link between routers.
    let mut topology = Topology::new();
    let routers: Vec<NodeId> = (0..4).map(|n| topology.add_router(format!("r{n}"))).collect();
    let mut bottlenecks = Vec::new();
    for ends in routers.windows(2) {
        let spec = LinkSpec { rate: Some("12 Mbit/s".parse().unwrap()), ..wire(2) };
        bottlenecks.push(topology.add_link(ends[0], ends[1], spec));
    }
    let senders: Vec<NodeId> = (0..4).map(|n| topology.add_host(format!("sender {n}"))).collect();
    let receivers: Vec<NodeId> =
        (0..4).map(|n| topology.add_host(format!("receiver {n}"))).collect();
    for (sender, router) in senders.iter().zip([0, 0, 1, 2]) {
        topology.add_link(*sender, routers[router], LinkSpec::default());
    }
    for (receiver, router) in receivers.iter().zip([3, 1, 2, 3]) {
        topology.add_link(routers[router], *receiver, LinkSpec::default());
    }
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let long = network.route(senders[0], receivers[0]).unwrap();
    assert_eq!(long[1..4], bottlenecks);
    for (number, (sender, receiver)) in (0..).zip(senders.iter().zip(&receivers)) {
        let packet = Numbered { number, bytes: 1500, to: *receiver };
        network.inject(Instant::ZERO, *sender, packet, &mut ());
    }
    let seen: Vec<(u64, u64)> = std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut ()))
        .map(|delivery| (delivery.packet.number, delivery.at.as_nanos() / 1_000_000))
        .collect();
    // At the first bottleneck number 1 stands behind the long flow's packet; the others find their
    // bottlenecks empty, and have left when the long flow's packet comes.
    assert_eq!(seen, [(2, 3), (3, 3), (1, 4), (0, 9)]);
    assert_eq!(network.link_counters(bottlenecks[2]).delivered.packets, 2);
}
