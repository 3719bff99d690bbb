//! Packet storage of the network, seen from inside.

use super::*;
use crate::Fifo;
use fairwind_units::{BitRate, Ratio, Span};

#[derive(Debug)]
struct Small(NodeId);

impl Default for Small {
    fn default() -> Self {
        Self(NodeId(u32::MAX))
    }
}

impl Packet for Small {
    fn wire_bytes(&self) -> u32 {
        100
    }

    fn destination(&self) -> NodeId {
        self.0
    }
}

#[test]
fn departed_packets_free_their_slots() {
    let mut topology = Topology::new();
    let [a, b, island] = ["a", "b", "island"].map(|name| topology.add_host(name));
    let half = Ratio::from_parts_per_billion(500_000_000);
    let spec = LinkSpec {
        rate: Some(BitRate::from_bits_per_second(1_000_000)),
        delay: Span::from_millis(3),
        queue: fairwind_qdisc::Qdisc::Pfifo { limit_packets: 4 },
        loss: half,
        ..LinkSpec::default()
    };
    topology.add_link(a, b, spec);
    let fused = || topology.clone().build(1).unwrap();
    let general = || {
        let fifo = |spec: &LinkSpec| Box::new(Fifo::new(&spec.queue).unwrap());
        topology.clone().build_with(1, |_, spec| Some(fifo(spec))).unwrap()
    };
    let ways = [push_through, push_through_in_place];
    for (mut network, push) in
        [fused(), general()].into_iter().zip(ways).chain([(general(), ways[0]), (fused(), ways[1])])
    {
        push(&mut network, [a, b, island]);
        let counters = network.link_counters(LinkId(0));
        assert!(counters.dropped_by_queue.packets > 0 && counters.lost_by_link.packets > 0);
        assert_eq!(network.pool.len(), 0);
        assert!(network.pool.capacity() <= 10, "{} places", network.pool.capacity());
    }
}

fn push_through(network: &mut Network<Small>, [a, b, island]: [NodeId; 3]) {
    for round in 0..100 {
        for to in [b, b, b, a, island] {
            network.inject(Instant::from_millis(round), a, Small(to), &mut ());
            while network.poll_delivery().is_some() {}
        }
    }
    while network.next_delivery(Instant::MAX, &mut ()).is_some() {}
}

fn push_through_in_place(network: &mut Network<Small>, [a, b, island]: [NodeId; 3]) {
    for round in 0..100 {
        let now = Instant::from_millis(round);
        for to in [b, b, b, a, island] {
            network.reserve().0 = to;
            network.commit(now, a, &mut ());
            while let Some(arrived) = network.next_delivery_ref(now, &mut ()) {
                network.release(arrived);
            }
        }
    }
    while let Some(arrived) = network.next_delivery_ref(Instant::MAX, &mut ()) {
        network.release(arrived);
    }
}

#[test]
fn arrived_packet_is_unchanged_by_inserts() {
    let mut topology = Topology::new();
    let [a, b] = ["a", "b"].map(|name| topology.add_host(name));
    let wire = LinkSpec { delay: Span::from_millis(3), ..LinkSpec::default() };
    topology.add_link(a, b, wire.clone());
    topology.add_link(b, a, wire);
    let mut network: Network<Small> = topology.build(1).unwrap();
    network.inject(Instant::ZERO, a, Small(b), &mut ());
    let arrived = network.next_delivery_ref(Instant::MAX, &mut ()).unwrap();
    for _ in 0..3 {
        network.reserve().0 = a;
        network.commit(arrived.at(), b, &mut ());
    }
    assert_eq!(network.packet(&arrived).0, b);
    network.release(arrived);
    for _ in 0..3 {
        assert_eq!(network.next_delivery(Instant::MAX, &mut ()).unwrap().packet.0, a);
    }
    assert_eq!(network.pool.len(), 0);
}
