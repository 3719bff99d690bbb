//! Disciplines with responsive senders: settled waiting times and shares.
//!
//! Senders are the simplest that respond: a window that grows by a packet per round trip and is halved at a loss or a
//! mark, once per round trip; or, as scalable ones do, loses half a packet at every mark.

use crate::flowing::{Flowing, Log, before_a_link, packet};
use crate::support::single_link;
use fairwind_network::{Backlog, DropReason, LinkId, LinkSpec, Network, NodeId, Observer, Qdisc};
use fairwind_qdisc::{Choke, Codel, Dualpi2, Pie, Red};
use fairwind_units::{BitRate, Instant, Ratio, Span};

/// A sender with a window.
#[derive(Debug, Clone, Copy)]
struct Sender {
    template: Flowing,
    is_scalable: bool,
    window: f64,
    in_flight: f64,
    recovered: Instant,
}

/// All senders, the network that they meet in, and what became of their packets.
struct SenderNetwork {
    network: Network<Flowing>,
    from: NodeId,
    senders: Vec<Sender>,
    watch: Watch,
}

/// The log, and losses that senders have not heard of yet.
#[derive(Default)]
struct Watch {
    log: Log,
    losses: Vec<u32>,
}

impl Observer<Flowing> for Watch {
    fn on_dequeue(&mut self, at: Instant, link: LinkId, packet: &Flowing, sojourn: Span) {
        self.log.on_dequeue(at, link, packet, sojourn);
    }

    fn on_drop(
        &mut self,
        _: Instant,
        _: LinkId,
        packet: &Flowing,
        _: Backlog,
        _: DropReason,
        _: Option<Span>,
    ) {
        self.losses.push(packet.flow);
    }
}

impl Sender {
    fn new(flow: u32, traffic_class: u8) -> Self {
        Self {
            template: Flowing { traffic_class, ..packet(flow, 1500, false) },
            is_scalable: traffic_class == 0b01,
            window: 2.0,
            in_flight: 0.0,
            recovered: Instant::ZERO,
        }
    }

    fn on_delivery(&mut self, at: Instant, is_marked: bool) {
        self.in_flight -= 1.0;
        self.window += 1.0 / self.window;
        if is_marked && self.is_scalable {
            self.window = (self.window - 0.5).max(1.0);
        } else if is_marked {
            self.reduce(at);
        }
    }

    /// Halves the window, once per 100 ms.
    fn reduce(&mut self, at: Instant) {
        if at >= self.recovered {
            self.window = (self.window / 2.0).max(1.0);
            self.recovered = at + Span::from_millis(100);
        }
    }
}

impl SenderNetwork {
    /// `senders` before a link of 12 Mbit/s and 40 ms.
    fn new(queue: Qdisc, senders: Vec<Sender>) -> Self {
        let spec = LinkSpec { delay: Span::from_millis(40), ..before_a_link(queue) };
        let (topology, from, to, _) = single_link(spec);
        let mut senders = senders;
        for sender in &mut senders {
            sender.template.to = to;
        }
        let network = topology.build(1).expect("a sound topology");
        Self { network, from, senders, watch: Watch::default() }
    }

    /// Lets everybody send; who loses a packet at once tries again at the next delivery.
    fn send(&mut self, at: Instant) {
        for place in 0..self.senders.len() {
            let mut goes_on = true;
            while goes_on && self.senders[place].in_flight + 1.0 <= self.senders[place].window {
                let sender = &mut self.senders[place];
                sender.in_flight += 1.0;
                let packet = sender.template;
                self.network.inject(at, self.from, packet, &mut self.watch);
                goes_on = !self.watch.losses.contains(&packet.flow);
                self.hear(at);
            }
        }
    }

    /// Tells senders of their losses.
    fn hear(&mut self, at: Instant) {
        for flow in std::mem::take(&mut self.watch.losses) {
            let lost = self.senders.iter_mut().find(|sender| sender.template.flow == flow);
            if let Some(sender) = lost {
                sender.in_flight -= 1.0;
                sender.reduce(at);
            }
        }
    }

    /// Runs for `seconds`, with a flow of number 99 that sends `blind` bits per second whatever happens.
    fn run(mut self, seconds: u64, blind: u64) -> Log {
        let end = Instant::from_secs(seconds);
        let to = NodeId(1);
        let blind_packet = Flowing { to, ..packet(99, 1500, false) };
        let gap = 12_000_000_000_000_u64.checked_div(blind).map(Span::from_nanos);
        let mut next_blind = gap.map_or(Instant::MAX, |_| Instant::from_nanos(1));
        self.send(Instant::ZERO);
        loop {
            let until = next_blind.min(end);
            let Some(delivery) = self.network.next_delivery(until, &mut self.watch) else {
                if until == end {
                    return self.watch.log;
                }
                self.network.inject(next_blind, self.from, blind_packet, &mut self.watch);
                next_blind += gap.expect("it sends");
                self.hear(until);
                continue;
            };
            self.hear(delivery.at);
            let Flowing { flow, traffic_class, .. } = delivery.packet;
            if let Some(sender) =
                self.senders.iter_mut().find(|sender| sender.template.flow == flow)
            {
                sender.on_delivery(delivery.at, traffic_class & 0b11 == 0b11);
            }
            self.send(delivery.at);
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).expect("not too many"))
}

/// The mean waiting time of all but the first 20 of 80 seconds, of the flows named, in milliseconds.
fn mean_wait(log: &Log, flows: std::ops::Range<u32>) -> f64 {
    let waits: Vec<f64> = flows.flat_map(|flow| log.waits(Instant::from_secs(20), flow)).collect();
    mean(&waits) * 1000.0
}

/// Packets that left, per second of all but the first 20 of 80 seconds.
fn rate(log: &Log, flow: u32) -> f64 {
    f64::from(u32::try_from(log.waits(Instant::from_secs(20), flow).len()).expect("few")) / 60.0
}

fn ten() -> Vec<Sender> {
    (0..10).map(|flow| Sender::new(flow, 0)).collect()
}

#[test]
fn pie_delay_settles_near_target() {
    for (target, departure_rate) in [(15, false), (15, true), (40, false)] {
        let pie = Pie { target: Span::from_millis(target), departure_rate, ..Pie::default() };
        let log = SenderNetwork::new(Qdisc::Pie(pie), ten()).run(80, 0);
        let wait = mean_wait(&log, 0..10) / f64::from(u32::try_from(target).expect("small"));
        assert!((0.7..1.3).contains(&wait), "{target} ms, {departure_rate}: {wait} of it");
    }
}

#[test]
fn codel_keeps_delay_low_and_link_busy() {
    let log = SenderNetwork::new(Qdisc::Codel(Codel::default()), ten()).run(80, 0);
    let wait = mean_wait(&log, 0..10);
    let all: f64 = (0..10).map(|flow| rate(&log, flow)).sum();
    assert!((2.0..15.0).contains(&wait) && all > 950.0, "{wait} ms, {all} packets/s");
}

/// RED for a link of 1000 packets per second: nothing below 20 packets, at most a tenth at 60.
fn red(change: impl Fn(&mut Red)) -> Qdisc {
    let mut red = Red {
        limit_bytes: 600_000,
        min_bytes: 30_000,
        max_bytes: 90_000,
        average_packet_bytes: 1500,
        burst_packets: 30,
        probability: Ratio::from_parts_per_billion(100_000_000),
        bandwidth: BitRate::from_bits_per_second(12_000_000),
        ecn: false,
        hard_drop: false,
        gentle: true,
        adaptive: false,
        child: None,
    };
    change(&mut red);
    Qdisc::Red(red)
}

#[test]
fn red_average_stays_between_bounds() {
    let plain = mean_wait(&SenderNetwork::new(red(|_| ()), ten()).run(80, 0), 0..10);
    assert!((20.0..60.0).contains(&plain), "{plain} ms");
    for largest in [10_000_000, 500_000_000] {
        let adaptive = red(|red| {
            red.adaptive = true;
            red.probability = Ratio::from_parts_per_billion(largest);
        });
        let wait = mean_wait(&SenderNetwork::new(adaptive, ten()).run(80, 0), 0..10);
        // 40 to 60 per cent of the way: 36 to 44 ms.
        assert!((33.0..47.0).contains(&wait), "{largest}: {wait} ms");
    }
}

#[test]
fn marks_serve_instead_of_drops() {
    let senders = (0..10).map(|flow| Sender::new(flow, 0b10)).collect();
    let log = SenderNetwork::new(red(|red| red.ecn = true), senders).run(80, 0);
    let wait = mean_wait(&log, 0..10);
    assert!((20.0..60.0).contains(&wait), "{wait} ms");
}

#[test]
fn choke_drops_most_of_unresponsive_flow() {
    let choke = Choke {
        limit_packets: 400,
        min_packets: 60,
        max_packets: 180,
        burst_packets: 90,
        average_packet_bytes: 1500,
        probability: Ratio::from_parts_per_billion(20_000_000),
        bandwidth: BitRate::from_bits_per_second(12_000_000),
        ecn: false,
    };
    let senders = || (0..64).map(|flow| Sender::new(flow, 0)).collect();
    let log = SenderNetwork::new(Qdisc::Choke(choke), senders()).run(80, 24_000_000);
    // No more than 1 / (1 + e) of the link, however much it sends (Wang, Tang and Low, 2003).
    let share = rate(&log, 99) / 1000.0;
    assert!(share < 0.29, "{share}");
    // With a plain queue it has far more, though 64 others send at least a packet each at every opportunity.
    let plain =
        SenderNetwork::new(Qdisc::Pfifo { limit_packets: 200 }, senders()).run(80, 24_000_000);
    let share = rate(&plain, 99) / 1000.0;
    assert!(share > 0.4, "{share}");
}

#[test]
fn dualpi2_keeps_scalable_delay_low_and_shares() {
    let mut senders: Vec<Sender> = (0..4).map(|flow| Sender::new(flow, 0b01)).collect();
    senders.extend((4..8).map(|flow| Sender::new(flow, 0b10)));
    // A packet takes as long as the usual threshold, so that it would be met all the time.
    let dualpi2 = Dualpi2 { step_threshold: Span::from_millis(5), ..Dualpi2::default() };
    let log = SenderNetwork::new(Qdisc::Dualpi2(dualpi2), senders).run(80, 0);
    let (low, classic) = (mean_wait(&log, 0..4), mean_wait(&log, 4..8));
    assert!(low < 3.0 && (8.0..22.0).contains(&classic), "{low} ms, {classic} ms");
    let share: f64 = (0..4).map(|flow| rate(&log, flow)).sum::<f64>() / 1000.0;
    assert!((0.25..0.75).contains(&share), "{share}");
}
