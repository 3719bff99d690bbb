//! Nanoseconds per packet and hop on this machine. Run with `--release`; an argument sets the number of packets, for
//! example 20000 to count instructions with callgrind.
//!
//! A window of packets circulates over chains of links: each delivery injects one packet again, as
//! an endpoint with a fixed window does. Packets are written and read in place, as simulations do.

#![expect(clippy::print_stdout, reason = "the numbers are what this program is for")]

use fairwind_network::{Fifo, LinkSpec, Network, NodeId, Packet, Qdisc, QueueDiscipline, Topology};
use fairwind_units::{Instant, Span};
use std::hint::black_box;

const PACKETS: u32 = 5_000_000;

/// As large as a segment with addresses.
#[derive(Clone, Copy)]
struct LoopPacket {
    to: NodeId,
    bytes: u32,
    flow: u32,
    _rest: [u64; 11],
}

impl Default for LoopPacket {
    fn default() -> Self {
        Self { to: NodeId(u32::MAX), bytes: 0, flow: u32::MAX, _rest: [0; 11] }
    }
}

impl Packet for LoopPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn destination(&self) -> NodeId {
        self.to
    }
}

/// `flows` pairs of hosts with access links of their own, joined by `routers` routers in a row.
fn chain(
    flows: u32,
    routers: u32,
    access: &LinkSpec,
    trunk: &LinkSpec,
) -> (Topology, Vec<[NodeId; 2]>) {
    let mut topology = Topology::new();
    let row: Vec<NodeId> = (0..routers).map(|n| topology.add_router(format!("r{n}"))).collect();
    for ends in row.windows(2) {
        topology.add_link(ends[0], ends[1], trunk.clone());
    }
    let (first, last) = (row[0], row[row.len() - 1]);
    let pairs = (0..flows).map(|flow| {
        let sender = topology.add_host(format!("sender {flow}"));
        let receiver = topology.add_host(format!("receiver {flow}"));
        topology.add_link(sender, first, access.clone());
        topology.add_link(last, receiver, access.clone());
        [sender, receiver]
    });
    let pairs = pairs.collect();
    (topology, pairs)
}

/// Nanoseconds of real time per packet.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn nanos_per_packet(
    mut network: Network<LoopPacket>,
    pairs: &[[NodeId; 2]],
    window: u32,
    packets: u32,
) -> f64 {
    for (flow, [sender, receiver]) in (0..).zip(pairs) {
        for count in 0..window {
            let at = Instant::from_nanos(u64::from(count) * 1000);
            let bytes = if flow % 4 == 3 { 52 } else { 1500 };
            let packet = LoopPacket { to: *receiver, bytes, flow, _rest: [0; 11] };
            network.inject(at, *sender, packet, &mut ());
        }
    }
    let begin = std::time::Instant::now();
    for _ in 0..packets {
        let delivery =
            network.next_delivery_ref(Instant::MAX, &mut ()).expect("the window circulates");
        let LoopPacket { to, bytes, flow, .. } = *network.packet(&delivery);
        let (at, [sender, _]) = (delivery.at(), pairs[flow as usize]);
        network.release(delivery);
        let packet = network.reserve();
        (packet.to, packet.bytes, packet.flow) = black_box((to, bytes, flow));
        network.commit(at, sender, &mut ());
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(packets)
}

fn general(spec: &LinkSpec) -> Option<Box<dyn QueueDiscipline>> {
    spec.rate
        .is_some()
        .then(|| Box::new(Fifo::new(&spec.queue).expect("it is first in, first out")) as _)
}

fn main() {
    let packets = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(PACKETS);
    let wire = LinkSpec::default();
    let delay = LinkSpec { delay: Span::from_millis(5), ..wire.clone() };
    let queue = Qdisc::Pfifo { limit_packets: 100_000 };
    let trunk =
        LinkSpec { rate: Some("1 Gbit/s".parse().expect("a rate")), queue, ..delay.clone() };
    let lossless = |name, hops: u32, flows, routers, access, window| {
        let (topology, pairs) = chain(flows, routers, access, &trunk);
        let fused = topology.clone().build(1).expect("a sound topology");
        let unfused = topology.build_with(1, |_, spec| general(spec)).expect("a sound topology");
        let [fused, unfused] = [fused, unfused]
            .map(|network| nanos_per_packet(network, &pairs, window, packets) / f64::from(hops));
        println!("{name:<44} {fused:>8.1} {unfused:>8.1}");
    };
    println!("{:<44} {:>8} {:>8}", "ns per packet and hop that takes time", "fused", "general");
    lossless("1 bottleneck, 1 flow, window 10", 1, 1, 2, &wire, 10);
    lossless("1 bottleneck, 10 flows, window 50", 1, 10, 2, &wire, 50);
    lossless("1 bottleneck, 10 flows, window 2000", 1, 10, 2, &wire, 2000);
    lossless("2 access links and 1 bottleneck, 10 flows", 3, 10, 2, &delay, 50);
    lossless("2 access links and 1 bottleneck, 200 flows", 3, 200, 2, &delay, 20);
    lossless("10 bottlenecks in a row, 10 flows", 10, 10, 11, &wire, 50);
}
