//! CAKE keeps its rate, and shares it among hosts before flows.

use crate::flowing::{Flowing, packet};
use crate::support::single_link;
use fairwind_network::{Backlog, DropReason, LinkId, LinkSpec, Network, Observer, Qdisc, Topology};
use fairwind_qdisc::{Cake, CakeIsolation, CakeTins};
use fairwind_units::{BitRate, Instant, Span};

/// Counts what is dropped by reason, and the longest waiting time of each flow after the first second.
#[derive(Default)]
struct Counts {
    full: u32,
    early: u32,
    longest_wait: [Span; 16],
}

impl Observer<Flowing> for Counts {
    fn on_dequeue(&mut self, at: Instant, _: LinkId, packet: &Flowing, sojourn: Span) {
        let flow = usize::try_from(packet.flow).expect("below 16");
        if at < Instant::from_secs(1) {
            return;
        }
        self.longest_wait[flow] = self.longest_wait[flow].max(sojourn);
    }

    fn on_drop(
        &mut self,
        _: Instant,
        _: LinkId,
        _: &Flowing,
        _: Backlog,
        reason: DropReason,
        _: Option<Span>,
    ) {
        match reason {
            DropReason::QueueFull => self.full += 1,
            _ => self.early += 1,
        }
    }
}

const MEGABIT: u64 = 1_000_000;

fn cake(bandwidth: Option<u64>) -> Cake {
    Cake { bandwidth: bandwidth.map(BitRate::from_bits_per_second), ..Cake::default() }
}

/// Who sends: flow, host, code point, bits per second, bytes of a packet.
type Sender = (u32, u32, u8, u64, u32);

/// Lets senders send evenly for `seconds`; bits per second that each flow got through, and the counts. Hosts 0 and 1
/// send to the same host, the others to one for each.
fn carried(spec: LinkSpec, senders: &[Sender], seconds: u32) -> ([f64; 16], Counts) {
    let mut topology = Topology::new();
    let from = topology.add_host("sender");
    let router = topology.add_router("router");
    topology.add_link(from, router, spec);
    let receivers = [0, 1, 2].map(|number| {
        let receiver = topology.add_host(format!("receiver {number}"));
        topology.add_link(router, receiver, LinkSpec::default());
        receiver
    });
    let mut network: Network<Flowing> = topology.build(1).expect("a sound topology");
    let mut packets: Vec<(u64, Flowing)> = Vec::new();
    for &(flow, source, code_point, rate, bytes) in senders {
        let gap = u64::from(bytes) * 8 * 1_000_000_000 / rate;
        let to = receivers[usize::try_from(source.saturating_sub(1)).expect("three")];
        let packet =
            Flowing { source, traffic_class: code_point << 2, to, ..packet(flow, bytes, false) };
        let count = u64::from(seconds) * 1_000_000_000 / gap;
        // No two at the same instant for ever.
        packets.extend((0..count).map(|number| (number * gap + u64::from(flow), packet)));
    }
    packets.sort_by_key(|(at, packet)| (*at, packet.flow));
    let mut counts = Counts::default();
    for (at, packet) in packets {
        network.inject(Instant::from_nanos(at), from, packet, &mut counts);
    }
    let mut bits = [0.0; 16];
    let end = Instant::from_secs(seconds.into());
    while let Some(delivery) = network.next_delivery(end, &mut counts) {
        let flow = usize::try_from(delivery.packet.flow).expect("below 16");
        bits[flow] += f64::from(delivery.packet.bytes) * 8.0 / f64::from(seconds);
    }
    (bits, counts)
}

fn behind(cake: Cake) -> LinkSpec {
    LinkSpec { queue: Qdisc::Cake(cake), ..LinkSpec::default() }
}

/// Whether `got` is within `parts` thousandths of `wanted`.
fn is_near(got: f64, wanted: f64, parts: f64) -> bool {
    (got / wanted - 1.0).abs() < parts / 1000.0
}

#[test]
fn shaper_keeps_rate_with_overhead() {
    let (plain, _) = carried(behind(cake(Some(5 * MEGABIT))), &[(0, 0, 0, 8 * MEGABIT, 1500)], 100);
    assert!(is_near(plain[0], 5e6, 1.0), "{plain:?}");
    let cake_with_overhead = Cake { overhead_bytes: 100, ..cake(Some(5 * MEGABIT)) };
    let (small, _) = carried(behind(cake_with_overhead), &[(0, 0, 0, 8 * MEGABIT, 400)], 100);
    assert!(is_near(small[0], 4e6, 1.0), "{small:?}");
}

#[test]
fn nothing_is_saved_up_for_a_burst() {
    let (topology, from, to, _) = single_link(behind(cake(Some(12 * MEGABIT))));
    let mut network: Network<Flowing> = topology.build(1).expect("a sound topology");
    let packet = Flowing { to, ..packet(0, 1500, false) };
    for _ in 0..4 {
        network.inject(Instant::from_secs(10), from, packet, &mut ());
    }
    let times: Vec<u64> = std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut ()))
        .map(|delivery| delivery.at.as_nanos() / 1000)
        .collect();
    assert_eq!(times, [10_000_000, 10_001_000, 10_002_000, 10_003_000]);
}

/// One flow of host 0 and nine of host 1, each fast enough to take everything.
fn one_and_nine() -> Vec<Sender> {
    let mut senders = vec![(0, 0, 0, 8 * MEGABIT, 1500)];
    senders.extend((1..10).map(|flow| (flow, 1, 0, 8 * MEGABIT, 1500)));
    senders
}

#[test]
fn hosts_share_evenly_however_many_flows_they_have() {
    let apart =
        |(flow, source, code_point, rate, bytes)| (flow, source + 1, code_point, rate, bytes);
    for (isolation, senders) in [
        (CakeIsolation::DualSrchost, one_and_nine()),
        (CakeIsolation::Srchost, one_and_nine()),
        (CakeIsolation::DualDsthost, one_and_nine().into_iter().map(apart).collect()),
        (CakeIsolation::TripleIsolate, one_and_nine().into_iter().map(apart).collect()),
    ] {
        let queue = Cake { isolation, ..cake(Some(5 * MEGABIT)) };
        let (bits, _) = carried(behind(queue), &senders, 60);
        let nine: f64 = bits[1..].iter().sum();
        let is_even = is_near(bits[0], 2.5e6, 20.0) && is_near(nine, 2.5e6, 20.0);
        assert!(is_even, "{isolation:?}: {bits:?}");
    }
}

#[test]
fn flows_share_equally_without_host_isolation() {
    for isolation in
        [CakeIsolation::Flows, CakeIsolation::DualDsthost, CakeIsolation::TripleIsolate]
    {
        let queue = Cake { isolation, ..cake(Some(5 * MEGABIT)) };
        let (bits, _) = carried(behind(queue), &one_and_nine(), 60);
        assert!(bits[..10].iter().all(|bits| is_near(*bits, 5e5, 20.0)), "{isolation:?}: {bits:?}");
    }
}

#[test]
fn sparse_flows_go_first() {
    let mut senders = one_and_nine();
    // 100 bytes every 100 ms.
    senders.push((10, 2, 0, 8000, 100));
    let (_, counts) = carried(behind(cake(Some(5 * MEGABIT))), &senders, 30);
    // No longer than the packet before it takes; the queue of the others is far longer.
    assert!(counts.longest_wait[10] <= Span::from_micros(2400), "{:?}", counts.longest_wait);
    assert!(counts.longest_wait[0] >= Span::from_millis(50), "{:?}", counts.longest_wait);
}

#[test]
fn tins_have_priority_up_to_share() {
    let queue = || Cake { tins: CakeTins::Diffserv3, ..cake(Some(16 * MEGABIT)) };
    let everybody = [
        (0, 0, 0, 20 * MEGABIT, 1500),
        (1, 1, 8, 20 * MEGABIT, 1500),
        (2, 2, 46, 20 * MEGABIT, 1500),
    ];
    let (all, _) = carried(behind(queue()), &everybody, 30);
    for (flow, expected) in [(0, 11e6), (1, 1e6), (2, 4e6)] {
        assert!(is_near(all[flow], expected, 10.0), "{all:?}");
    }
    let (alone, _) = carried(behind(queue()), &everybody[2..], 30);
    assert!(is_near(alone[2], 16e6, 2.0), "{alone:?}");
}

#[test]
fn cake_without_bandwidth_shares_by_tins() {
    let link =
        LinkSpec { rate: Some(BitRate::from_bits_per_second(21 * MEGABIT)), ..behind(cake(None)) };
    let everybody = [
        (0, 0, 0, 30 * MEGABIT, 1500),
        (1, 1, 8, 30 * MEGABIT, 1500),
        (2, 2, 46, 30 * MEGABIT, 1500),
    ];
    let (bits, _) = carried(link, &everybody, 30);
    // 1024 to 64 to 256.
    for (flow, expected) in [(0, 16e6), (1, 1e6), (2, 4e6)] {
        assert!(is_near(bits[flow], expected, 20.0), "{bits:?}");
    }
}

#[test]
fn memory_limit_drops_from_longest_queue() {
    let queue = Cake { memory_limit_bytes: Some(30_000), ..cake(Some(MEGABIT)) };
    let senders = [(0, 0, 0, 5 * MEGABIT, 1500), (1, 1, 0, 4 * MEGABIT / 10, 500)];
    let (bits, counts) = carried(behind(queue), &senders, 60);
    assert!(is_near(bits[1], 4e5, 2.0), "{bits:?}");
    // BLUE learns soon that the other one does not respond.
    assert!(
        counts.full > 1000 && counts.early > 10 * counts.full,
        "{} {}",
        counts.full,
        counts.early
    );
}

#[test]
fn standing_queue_drops_after_target_and_interval() {
    // 12 packets of 1 ms wait at once, and one comes as one leaves: 12 ms for ever, which is above the target of 5 ms.
    let (topology, from, to, _) = single_link(behind(cake(Some(12 * MEGABIT))));
    let mut network: Network<Flowing> = topology.build(1).expect("a sound topology");
    let packet = Flowing { to, ..packet(0, 1500, false) };
    let mut first_drop = None;
    for _ in 0..12 {
        network.inject(Instant::ZERO, from, packet, &mut ());
    }
    for milli in 1..200 {
        let mut counts = Counts::default();
        network.inject(Instant::from_millis(milli), from, packet, &mut counts);
        if counts.early > 0 {
            first_drop = first_drop.or(Some(milli));
        }
    }
    // The packet that leaves after 6 ms is the first to have waited more than 5 ms, also more than four packets.
    assert_eq!(first_drop, Some(106));
}

#[test]
fn cake_bounds_standing_queue_with_many_flows() {
    // Thirty flows keep a packet or more waiting each, at 2.4 ms a packet: each waits 72 ms and longer, far above the
    // target. If the bound were multiplied by the flows, as for incoming packets only, none would be reported before
    // 144 ms.
    let flows = || (0..30).flat_map(|flow| [(0, packet(flow, 1500, false)); 2]);
    let mut packets: Vec<(u64, Flowing)> = flows().collect();
    // A packet comes for each that leaves.
    packets
        .extend((0..400).map(|number| (number * 12 / 5, packet(number_of(number), 1500, false))));
    packets.sort_by_key(|(at, _)| *at);
    let log = crate::flowing::log_of(behind(cake(Some(5 * MEGABIT))), &packets);
    let early = crate::flowing::PacketFate::Dropped { reason: DropReason::Early };
    let first = log.millis(|entry| entry.fate == early).first().copied();
    assert!(first.is_some_and(|first| first < 400), "{first:?}");
}

fn number_of(number: u64) -> u32 {
    u32::try_from(number % 30).expect("below 30")
}
