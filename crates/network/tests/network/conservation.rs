//! Conservation of packets.

use crate::support::{FactLog, Numbered, any_gap, any_link, any_size, general};
use fairwind_network::{Network, NodeId, Packet, Topology, Volume};
use fairwind_units::Instant;
use proptest::prelude::*;

fn add(total: &mut Volume, packet: &Numbered) {
    total.packets += 1;
    total.bytes += u64::from(packet.wire_bytes());
}

/// Injected + duplicated = delivered + dropped + unroutable + inside.
fn is_conserved(network: &Network<Numbered>, delivered: Volume) -> bool {
    let mut there = network.injected();
    let mut gone = delivered;
    let count = |total: &mut Volume, more: Volume| {
        total.packets += more.packets;
        total.bytes += more.bytes;
    };
    count(&mut gone, network.unroutable());
    count(&mut gone, network.in_transit());
    for link in network.link_ids() {
        let counters = network.link_counters(link);
        count(&mut there, counters.duplicated);
        count(&mut gone, counters.dropped_by_queue);
        count(&mut gone, counters.lost_by_link);
    }
    there == gone
}

proptest! {
    #[test]
    fn packets_are_conserved(
        specs in prop::collection::vec(any_link(), 3),
        general_links in any::<u32>(),
        packets in prop::collection::vec((any_gap(), 0_u32..4, any_size()), 0..150),
    ) {
        let mut topology = Topology::new();
        let nodes = [
            topology.add_host("first"),
            topology.add_router("second"),
            topology.add_router("third"),
            topology.add_host("fourth"),
        ];
        for (ends, spec) in nodes.windows(2).zip(&specs) {
            topology.add_link(ends[0], ends[1], spec.clone());
        }
        let chooser = |link: fairwind_network::LinkId, spec: &_| {
            if general_links >> link.0 & 1 == 1 { general(link, spec) } else { None }
        };
        let mut network: Network<Numbered> = topology.build_with(3, chooser).unwrap();
        let (mut fact_log, mut delivered, mut at) = (FactLog::default(), Volume::default(), 0);
        for (number, (gap, to, bytes)) in (0..).zip(packets) {
            at += gap;
            let packet = Numbered { number, bytes, to: NodeId(to) };
            network.inject(Instant::from_nanos(at), nodes[1], packet, &mut fact_log);
            prop_assert!(is_conserved(&network, delivered));
            if let Some(delivery) = network.next_delivery(Instant::from_nanos(at), &mut fact_log) {
                add(&mut delivered, &delivery.packet);
            }
            prop_assert!(is_conserved(&network, delivered));
        }
        while let Some(delivery) = network.next_delivery(Instant::MAX, &mut fact_log) {
            add(&mut delivered, &delivery.packet);
            prop_assert!(is_conserved(&network, delivered));
        }
        network.advance_to(Instant::MAX, &mut fact_log);
        prop_assert!(is_conserved(&network, delivered));
        prop_assert_eq!(network.in_transit(), Volume::default());
        prop_assert_eq!(network.next_event(), None);
    }
}
