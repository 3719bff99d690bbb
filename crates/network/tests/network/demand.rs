//! Capacity that is assigned as terminals ask for it.

use crate::support::{FactLog, Numbered, Outcome};
use fairwind_network::{
    CarrierAccess, LinkId, LinkSpec, Network, NodeId, Qdisc, SlotAssignment, Topology,
    TopologyError,
};
use fairwind_qdisc::{Carrier, Placement, RequestPolicy, Terminal};
use fairwind_units::{BitRate, Instant, Ratio, Span};

/// Eight slots of 10 ms and 1000 bytes in a frame of 80 ms, so 100 kbit/s each; requests every two frames, plans every
/// frame, 100 ms to the master and 100 ms back.
fn carrier() -> Carrier {
    Carrier {
        frame: Span::from_millis(80),
        slots: 8,
        slot_rate: BitRate::from_bits_per_second(100_000),
        request_period: Span::from_millis(160),
        allocation_period: Span::from_millis(80),
        signalling_delay: Span::from_millis(100),
        request_lifetime: Span::from_millis(320),
        ..Carrier::default()
    }
}

fn terminal(guaranteed_slots: u32, requests: RequestPolicy) -> Terminal {
    Terminal { guaranteed_slots, most_slots: 0, takes_free: false, requests }
}

fn times(multiplier: u64) -> RequestPolicy {
    RequestPolicy::Rbdc { multiplier: Ratio::from_parts_per_billion(multiplier * 1_000_000_000) }
}

/// Terminals that send to one hub over 250 ms.
struct Uplinks {
    network: Network<Numbered>,
    hub: NodeId,
    fact_log: FactLog,
    number: u64,
}

impl Uplinks {
    fn new(carrier: Carrier, terminals: &[Terminal]) -> Self {
        let mut topology = Topology::new();
        let hub = topology.add_host("hub");
        let carrier = topology.add_carrier(carrier);
        for (number, terminal) in terminals.iter().enumerate() {
            let node = topology.add_host(format!("terminal {number}"));
            let carrier_access = Some(CarrierAccess { carrier, terminal: *terminal });
            let delay = Span::from_millis(250);
            topology.add_link(node, hub, LinkSpec { carrier_access, delay, ..LinkSpec::default() });
        }
        let network = topology.build(1).expect("a sound carrier");
        Self { network, hub, fact_log: FactLog::default(), number: 0 }
    }

    fn send(&mut self, terminal: u32, millis: u64, bytes: u32) {
        let packet = Numbered { number: self.number, bytes, to: self.hub };
        self.number += 1;
        let at = Instant::from_millis(millis);
        self.network.inject(at, NodeId(terminal + 1), packet, &mut self.fact_log);
    }

    /// What comes by `millis`: number of the packet, and when its last slot ended.
    fn sent_by(mut self, millis: u64) -> (Vec<(u64, u64)>, Self) {
        let end = Instant::from_millis(millis);
        let mut sent = Vec::new();
        while let Some(delivery) = self.network.next_delivery(end, &mut self.fact_log) {
            sent.push((delivery.packet.number, delivery.at.as_nanos() / 1_000_000 - 250));
        }
        self.network.advance_to(end, &mut self.fact_log);
        (sent, self)
    }

    /// Slots of the frames of a terminal, one after another.
    fn slots(&self, terminal: u32) -> Vec<(u64, SlotAssignment)> {
        let frames = &self.fact_log.frames[&LinkId(terminal)];
        frames.iter().map(|f| (f.begin.as_nanos() / 1_000_000, f.assignment)).collect()
    }
}

#[test]
fn packets_share_or_span_terminal_slots() {
    let mut uplinks = Uplinks::new(
        carrier(),
        &[terminal(2, RequestPolicy::None), terminal(1, RequestPolicy::None)],
    );
    uplinks.send(0, 1, 400); // Too late for the slot at 0.
    uplinks.send(0, 2, 400);
    uplinks.send(0, 3, 1500); // 200 of it in the slot at 10, 1000 at 80, 300 at 90.
    uplinks.send(1, 25, 500); // Its slot is the third, which began at 20.
    uplinks.send(0, 95, 100); // The slot at 90 has begun.
    let (sent, uplinks) = uplinks.sent_by(1_000);
    assert_eq!(sent, [(0, 20), (1, 20), (2, 100), (3, 110), (4, 170)]);
    let counters = uplinks.network.slot_counters(LinkId(0)).unwrap();
    // 13 frames have begun by 1000 ms; slots at 10, 80, 90 and 160 were used.
    assert_eq!((counters.assigned, counters.used), (26, 4));
}

#[test]
fn frames_can_be_offset_and_slots_spread() {
    let spread =
        Carrier { frame_offset: Span::from_millis(30), placement: Placement::Spread, ..carrier() };
    let (two, one) = (terminal(2, RequestPolicy::None), terminal(1, RequestPolicy::None));
    let mut uplinks = Uplinks::new(spread, &[two, one]);
    for number in 0..3 {
        uplinks.send(0, 1 + number, 1000);
    }
    uplinks.send(1, 1, 1000);
    // Frames begin at 30, 110, ... The middles of two halves of eight slots are the third and the seventh, 20 and 60 ms
    // later; the fifth is the middle of the whole.
    let (sent, uplinks) = uplinks.sent_by(1_000);
    assert_eq!(sent, [(0, 60), (3, 80), (1, 100), (2, 140)]);
    // 13 frames have begun by 1000 ms, the last one at 990.
    assert_eq!(uplinks.network.slot_counters(LinkId(0)).unwrap().assigned, 26);
}

#[test]
fn measured_rate_becomes_slots_after_signalling() {
    let mut uplinks = Uplinks::new(carrier(), &[terminal(1, times(2))]);
    // 6000 bytes in the first request period: 300 kbit/s, asked for twice over at 160, heard at 260, planned at 320,
    // heard at 420, in force from 480 on. The next request, at 320, is for nothing: in force from 640 on.
    for _ in 0..6 {
        uplinks.send(0, 100, 1000);
    }
    let (sent, uplinks) = uplinks.sent_by(2_000);
    let slots: Vec<(u64, u32, u32)> =
        uplinks.slots(0).iter().map(|(at, a)| (*at, a.guaranteed, a.by_rate)).collect();
    assert_eq!(slots, [(0, 1, 0), (480, 1, 5), (640, 1, 0)]);
    // One by one in the guaranteed slots, which are the first of their frames, then the last one.
    let ends: Vec<u64> = sent.iter().map(|(_, end)| *end).collect();
    assert_eq!(ends, [170, 250, 330, 410, 490, 500]);
}

#[test]
fn start_multiplier_ends_with_start_phase() {
    let (lasts, idle) = (Span::from_millis(200), Span::from_millis(150));
    let multiplier = Ratio::from_parts_per_billion(3_000_000_000);
    let start = RequestPolicy::RbdcStart { multiplier, lasts, idle };
    let mut uplinks = Uplinks::new(carrier(), &[terminal(0, start)]);
    // 2000 bytes a request period: 100 kbit/s. The first lies within 200 ms of the beginning, the second does not; the
    // third comes after a silence.
    for (at, bytes) in [(100, 2_000), (200, 1_000), (310, 1_000), (700, 2_000)] {
        uplinks.send(0, at, bytes);
    }
    let (_, uplinks) = uplinks.sent_by(3_000);
    let asked: Vec<(u64, u64)> = uplinks
        .fact_log
        .requests
        .iter()
        .map(|(at, _, ask)| (at.as_nanos() / 1_000_000, ask.rate.unwrap().as_bits_per_second()))
        .collect();
    assert_eq!(asked, [(160, 300_000), (320, 100_000), (800, 300_000)]);
}

#[test]
fn volume_is_requested_and_assigned_once() {
    let mut uplinks = Uplinks::new(carrier(), &[terminal(0, RequestPolicy::Vbdc)]);
    for _ in 0..5 {
        uplinks.send(0, 100, 1000);
    }
    let (sent, uplinks) = uplinks.sent_by(3_000);
    let volumes: Vec<(u32, u64)> =
        uplinks.slots(0).iter().map(|(_, a)| (a.by_volume, a.frames)).collect();
    // Asked at 160, planned at 320, in force for one frame from 480 on.
    assert_eq!(volumes[..3], [(0, 6), (5, 1), (0, volumes[2].1)]);
    assert_eq!(volumes.len(), 3);
    let ends: Vec<u64> = sent.iter().map(|(_, end)| *end).collect();
    assert_eq!(ends, [490, 500, 510, 520, 530]);
}

#[test]
fn what_the_rate_does_not_carry_is_requested_by_volume() {
    // Four packets in one request period, and nothing after: 200 kbit/s are two slots a frame, from 480 to 640.
    let four_packets = |requests| {
        let mut uplinks = Uplinks::new(carrier(), &[terminal(0, requests)]);
        for _ in 0..4 {
            uplinks.send(0, 100, 1000);
        }
        uplinks.sent_by(3_000)
    };
    let both = RequestPolicy::RbdcVbdc { multiplier: Ratio::ONE };
    let (sent, uplinks) = four_packets(both);
    let volumes = |uplinks: &Uplinks| -> Vec<u64> {
        let requests = uplinks.fact_log.requests.iter();
        requests.filter_map(|(_, _, ask)| ask.volume).map(|volume| volume.bytes).collect()
    };
    assert_eq!(volumes(&uplinks), [0; 0], "the rate carries all of them");
    assert_eq!(sent, four_packets(times(1)).0);
    // At half that rate, one slot a frame, it carries two of them; the others are requested by volume with it.
    let half = Ratio::from_parts_per_billion(500_000_000);
    let (sent, uplinks) = four_packets(RequestPolicy::RbdcVbdc { multiplier: half });
    assert_eq!(volumes(&uplinks), [2_000]);
    let ends: Vec<u64> = sent.iter().map(|(_, end)| *end).collect();
    assert_eq!(ends, [490, 500, 510, 570]);
    let (sent, _) = four_packets(RequestPolicy::Rbdc { multiplier: half });
    assert_eq!(sent.len(), 2, "by rate alone the others wait for good");
}

#[test]
fn volume_arrives_with_any_plan_length() {
    // Frames of 80 ms: a plan for no frame or one, for one, for one or two, for two, for three or four.
    for period in [30, 79, 80, 120, 160, 290] {
        let both = RequestPolicy::RbdcVbdc { multiplier: Ratio::ONE };
        for requests in [RequestPolicy::Vbdc, RequestPolicy::Avbdc, both] {
            let allocation_period = Span::from_millis(period);
            let carrier = Carrier { allocation_period, ..carrier() };
            let mut uplinks = Uplinks::new(carrier, &[terminal(0, requests); 2]);
            for number in 0..20 {
                uplinks.send(number % 2, 100 + 70 * u64::from(number), 1000);
            }
            let (sent, uplinks) = uplinks.sent_by(10_000);
            assert_eq!(sent.len(), 20, "{requests:?}, a plan every {period} ms");
            let assigned = |terminal| -> u64 {
                let frames = uplinks.slots(terminal);
                frames.iter().map(|(_, a)| u64::from(a.by_volume) * a.frames).sum()
            };
            // What is added up is assigned once, rounded up to the frames of its plan.
            if requests == RequestPolicy::Vbdc && period <= 80 {
                assert_eq!([assigned(0), assigned(1)], [10, 10], "a plan every {period} ms");
            }
        }
    }
}

#[test]
fn free_slots_go_to_willing_terminals() {
    let free = Terminal { takes_free: true, ..terminal(0, RequestPolicy::None) };
    let uplinks = Uplinks::new(carrier(), &[terminal(2, RequestPolicy::None), free, free]);
    let (_, uplinks) = uplinks.sent_by(1_000);
    // From the first plan on, which is heard at 100; six slots of eight for two.
    assert_eq!([1, 2].map(|t| uplinks.slots(t).last().unwrap().1.free), [3, 3]);
}

#[test]
fn forecast_assigns_slots_in_time() {
    // Windows of 1, 2, 4, ... packets of 1000 bytes every 400 ms: what a connection sends in slow start. When the last one
    // has left, and in how many slots that it was assigned until then.
    let waited = |requests| {
        let wide =
            Carrier { slots: 80, slot_rate: BitRate::from_bits_per_second(100_000), ..carrier() };
        let mut uplinks = Uplinks::new(wide, &[terminal(1, requests)]);
        for round in 0..7_u32 {
            for _ in 0..1 << round {
                uplinks.send(0, 10 + 400 * u64::from(round), 1000);
            }
        }
        let (sent, uplinks) = uplinks.sent_by(20_000);
        assert_eq!(sent.len(), 127);
        let end = sent.last().unwrap().1;
        let assigned: u64 = uplinks
            .slots(0)
            .iter()
            .map(|(begin, a)| {
                let frames = end.saturating_sub(*begin).div_ceil(80).min(a.frames);
                u64::from(a.slots()) * frames
            })
            .sum();
        (end, assigned)
    };
    let round_trip = Span::from_millis(400);
    let measured = waited(times(1));
    let multiplier = Ratio::from_parts_per_billion(4_800_000_000);
    let (paper, paper_s_slots) = waited(RequestPolicy::Rbdc { multiplier });
    let (foreseen, slots) = waited(RequestPolicy::Forecast { round_trip });
    assert!(foreseen < measured.0, "{foreseen} ms, and {} ms by what was measured", measured.0);
    // Some slower than who asks for nearly five times too much, and far more sparing.
    assert!(foreseen * 5 <= paper * 6, "{foreseen} ms, and {paper} ms by 4.8 times that");
    // Not by asking for everything: 127 slots carry it, and all of 80 in every frame would be thousands.
    assert!(slots < paper_s_slots, "{slots} slots, and {paper_s_slots} by 4.8 times");
    assert!(2 * slots <= 3 * 127, "{slots} slots for 127 packets, until {foreseen} ms");
}

#[test]
fn guarantees_must_fit_into_frame() {
    let build = |carrier: Carrier, spec: &dyn Fn(CarrierAccess) -> LinkSpec| {
        let mut topology = Topology::new();
        let ends = [topology.add_host("a"), topology.add_host("b")];
        let carrier = topology.add_carrier(carrier);
        let carrier_access = CarrierAccess { carrier, terminal: terminal(9, RequestPolicy::None) };
        topology.add_link(ends[0], ends[1], spec(carrier_access));
        topology.build::<Numbered>(1).err().map(|error| error.to_string())
    };
    let on = |access| LinkSpec { carrier_access: Some(access), ..LinkSpec::default() };
    assert_eq!(
        build(carrier(), &on).unwrap(),
        "carrier 0: guaranteed_slots: the guaranteed slots of all terminals must fit into a frame"
    );
    let wide = Carrier { slots: 9, ..carrier() };
    assert_eq!(build(wide, &on), None);
    let with_rate = |access| LinkSpec { rate: Some("1 Mbit/s".parse().unwrap()), ..on(access) };
    assert!(build(wide, &with_rate).unwrap().contains("both slots of a carrier and a rate"));
    let mut topology = Topology::new();
    let ends = [topology.add_host("a"), topology.add_host("b")];
    let carrier_access = CarrierAccess {
        carrier: fairwind_network::CarrierId(3),
        terminal: terminal(0, RequestPolicy::None),
    };
    topology.add_link(ends[0], ends[1], on(carrier_access));
    let error = topology.build::<Numbered>(1).err();
    assert!(matches!(error, Some(TopologyError::UnknownCarrier { carriers: 0, .. })));
}

#[test]
fn dropped_packets_are_not_requested() {
    let mut topology = Topology::new();
    let (hub, node) = (topology.add_host("hub"), topology.add_host("terminal"));
    let carrier = topology.add_carrier(carrier());
    let carrier_access =
        Some(CarrierAccess { carrier, terminal: terminal(0, RequestPolicy::Avbdc) });
    let queue = Qdisc::Pfifo { limit_packets: 2 };
    topology.add_link(node, hub, LinkSpec { carrier_access, queue, ..LinkSpec::default() });
    let network: Network<Numbered> = topology.build(1).unwrap();
    let injections: Vec<_> = (0..5)
        .map(|number| (Instant::from_millis(1), node, Numbered { number, bytes: 1000, to: hub }))
        .collect();
    let polls = crate::support::PollTimes::Never;
    let Outcome { fact_log, counters, .. } =
        crate::support::run(network, &injections, &polls, Instant::from_millis(170));
    assert_eq!(counters[0].dropped_by_queue.packets, 3);
    let volumes: Vec<u64> =
        fact_log.requests.iter().map(|(_, _, ask)| ask.volume.unwrap().bytes).collect();
    assert_eq!(volumes, [2_000]);
}

#[test]
fn two_terminals_alternate_odd_slot() {
    // Three of eight slots are guaranteed; five are left, and both want six: three and two, then the other way round.
    let mut uplinks = Uplinks::new(carrier(), &[terminal(1, times(1)), terminal(2, times(1))]);
    for _ in 0..20 {
        uplinks.send(0, 100, 1000);
        uplinks.send(1, 100, 1000);
    }
    let (_, uplinks) = uplinks.sent_by(640);
    let by_rate = |link: u32| {
        let of_rate = |(at, a): &(u64, SlotAssignment)| (*at, a.by_rate);
        uplinks.slots(link).iter().map(of_rate).filter(|(at, _)| *at >= 480).collect::<Vec<_>>()
    };
    let (one, other) = (by_rate(0), by_rate(1));
    // Asked at 160 and in force from 480 until 640: two frames of a plan each.
    for ((at, slots), (same, others)) in one.iter().zip(&other).take(2) {
        assert_eq!((*at, slots + others), (*same, 5));
    }
    let mut shares = [one[0].1, one[1].1];
    shares.sort_unstable();
    assert_eq!(shares, [2, 3]);
}

#[test]
fn no_requested_slot_stays_unassigned() {
    let big = Carrier { slots: 40, ..carrier() };
    let terminals = [(1, 1), (0, 2), (1, 3), (0, 1), (2, 1), (0, 4), (1, 1)];
    let specs = terminals.map(|(guaranteed, k)| terminal(guaranteed, times(k)));
    let mut uplinks = Uplinks::new(big, &specs);
    for number in 0..7 {
        for _ in 0..40 {
            uplinks.send(number, 100, 500);
        }
    }
    let (_, uplinks) = uplinks.sent_by(640);
    // Of a frame from 480 on everybody has at least what is guaranteed and an equal share of the rest, 35 / 7 = 5.
    let at = |link| *uplinks.slots(link).iter().rev().find(|(at, _)| *at <= 480).expect("a frame");
    let frames: Vec<SlotAssignment> = (0..7).map(|link| at(link).1).collect();
    assert_eq!(frames.iter().map(SlotAssignment::slots).sum::<u32>(), 40);
    for (frame, (guaranteed, _)) in frames.iter().zip(terminals) {
        assert_eq!((frame.guaranteed, frame.by_rate), (guaranteed, 5));
    }
}
