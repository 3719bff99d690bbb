//! Cost of a packet with every queue discipline, in instructions: counted, so that it does not depend on what else
//! the machine does. Run with `--release`; needs `perf`, or else `valgrind`.
//!
//! A window of packets of ten flows circulates through one link: each delivery puts one packet in again, and so does
//! each drop, so that some forty packets wait all the time. What is counted is everything from one injection to the
//! next: packet, agenda, link and discipline; the first row is the fused link, the second the link for any discipline
//! with the same queue. Each discipline runs in separate processes, one with more packets than the other; the
//! difference is its cost.
//!
//! A nanosecond-equivalent is ten instructions, what a core of 2.5 GHz does at four instructions per cycle. A core of
//! 4.2 GHz was measured at four to five: there a packet takes half as many nanoseconds as it has equivalents.

#![expect(clippy::print_stdout, reason = "the numbers are what this program is for")]

use fairwind_network::{
    Backlog, DropReason, Fifo, Header, LinkId, LinkSpec, Network, NodeId, Observer, Packet, Qdisc,
    Topology,
};
use fairwind_qdisc::{
    Cake, Choke, Codel, Drr, DrrClass, Dualpi2, Filter, FqCodel, FqPie, Hfsc, HfscClass, Htb,
    HtbClass, Pie, Prio, Red, ServiceCurve, Sfq, Tbf,
};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use std::hint::black_box;
use std::process::Command;

type Failure = Box<dyn std::error::Error>;

const FLOWS: u32 = 10;
const WINDOW: u32 = 5;
const INSTRUCTIONS_PER_NANOSECOND: f64 = 10.0;
const RATE: BitRate = BitRate::from_bits_per_second(1_000_000_000);
/// What disciplines are held to, in nanosecond-equivalents.
const BOUNDS: [(&str, f64); 2] = [("pfifo", 60.0), ("fq_codel", 150.0)];

/// As large as a segment with addresses.
#[derive(Clone, Copy)]
struct LoopPacket {
    to: NodeId,
    flow: u32,
    bytes: u32,
    _rest: [u64; 11],
}

impl Packet for LoopPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn destination(&self) -> NodeId {
        self.to
    }

    fn header(&self) -> Header {
        Header { connection: self.flow, source: self.flow, ..Header::default() }
    }
}

/// Flows with dropped packets, which have to be put in again.
#[derive(Default)]
struct Dropped(Vec<LoopPacket>);

impl Observer<LoopPacket> for Dropped {
    const OBSERVES_TRANSPARENT_LINKS: bool = false;

    fn on_drop(
        &mut self,
        _: Instant,
        _: LinkId,
        packet: &LoopPacket,
        _: Backlog,
        _: DropReason,
        _: Option<Span>,
    ) {
        self.0.push(*packet);
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, packets] = arguments.as_slice() {
        circulate(name, packets.parse()?);
        return Ok(());
    }
    println!("{:<28} {:>12} {:>10} {:>10}", "discipline", "instructions", "ns-equiv.", "bound");
    let mut above = Vec::new();
    for (name, _) in disciplines() {
        let instructions = instructions_per_packet(&name)?;
        let nanos = instructions / INSTRUCTIONS_PER_NANOSECOND;
        let bound = BOUNDS.iter().find(|(bounded, _)| *bounded == name).map(|(_, bound)| *bound);
        let text = bound.map_or(String::new(), |bound| format!("{bound:.0}"));
        println!("{name:<28} {instructions:>12.0} {nanos:>10.1} {text:>10}");
        above.extend(bound.filter(|bound| nanos > *bound).map(|_| name));
    }
    if above.is_empty() { Ok(()) } else { Err(format!("above the bound: {above:?}").into()) }
}

fn instructions_per_packet(name: &str) -> Result<f64, Failure> {
    let program = std::env::current_exe()?;
    let program = program.to_str().ok_or("a path that is no text")?;
    let counted = |few: u64, many: u64, count: fn(&str, &str, u64) -> Option<u64>| {
        let instructions = count(program, name, many)?.saturating_sub(count(program, name, few)?);
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let share = instructions as f64 / (many - few) as f64;
        Some(share)
    };
    counted(100_000, 600_000, with_perf)
        .or_else(|| counted(10_000, 60_000, with_callgrind))
        .ok_or_else(|| "neither perf nor valgrind can count instructions here".into())
}

/// Instructions that `perf stat` counts.
fn with_perf(program: &str, name: &str, packets: u64) -> Option<u64> {
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x", ",", "-e", "instructions:u", program, name, &packets.to_string()]);
    let output = perf.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stderr).lines().last()?.split(',').next()?.parse().ok()
}

/// Instructions that callgrind counts.
fn with_callgrind(program: &str, name: &str, packets: u64) -> Option<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", program, name]);
    let output = valgrind.arg(packets.to_string()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Lets `packets` pass.
fn circulate(name: &str, packets: u64) {
    let (_, spec) = disciplines().into_iter().find(|(known, _)| known == name).expect("a name");
    let mut topology = Topology::new();
    let sender = topology.add_host("sender");
    let receiver = topology.add_host("receiver");
    for flow in 0..FLOWS {
        topology.add_flow_group(flow.to_string(), flow..flow + 1);
    }
    topology.add_link(sender, receiver, spec);
    let is_general = name == "pfifo behind any link";
    let general = |_, spec: &LinkSpec| Some(Box::new(Fifo::new(&spec.queue)?) as _);
    let built = if is_general { topology.build_with(1, general) } else { topology.build(1) };
    let mut network: Network<LoopPacket> = built.expect("a sound topology");
    let mut dropped = Dropped::default();
    for flow in (0..FLOWS).cycle().take((FLOWS * WINDOW) as usize) {
        let bytes = if flow % 4 == 3 { 120 } else { 1500 };
        let packet = LoopPacket { to: receiver, flow, bytes, _rest: [0; 11] };
        network.inject(Instant::from_nanos(u64::from(flow)), sender, packet, &mut dropped);
    }
    for _ in 0..packets {
        let delivery = network.next_delivery(Instant::MAX, &mut dropped).expect("it circulates");
        network.inject(delivery.at, sender, black_box(delivery.packet), &mut dropped);
        while let Some(packet) = dropped.0.pop() {
            network.inject(delivery.at, sender, packet, &mut dropped);
        }
    }
}

/// Every discipline by name, before a link of a gigabit per second unless it shapes.
fn disciplines() -> Vec<(String, LinkSpec)> {
    let link = |queue| LinkSpec { rate: Some(RATE), queue, ..LinkSpec::default() };
    let shaped = |queue| LinkSpec { queue, ..LinkSpec::default() };
    let pfifo = Qdisc::Pfifo { limit_packets: 1000 };
    let mut all = vec![
        ("pfifo".to_owned(), link(pfifo.clone())),
        ("pfifo behind any link".to_owned(), link(pfifo.clone())),
        ("bfifo".to_owned(), link(Qdisc::Bfifo { limit_bytes: 1_000_000 })),
    ];
    all.extend(managed().map(|queue| (queue.name().to_owned(), link(queue))));
    all.extend([
        ("prio".to_owned(), link(Qdisc::Prio(Prio::default()))),
        ("drr, 10 classes".to_owned(), link(drr())),
        ("tbf".to_owned(), shaped(tbf())),
        ("cake, shaping".to_owned(), shaped(Qdisc::Cake(Cake { bandwidth: Some(RATE), ..cake() }))),
    ]);
    all.extend(
        [10, 100, 1000].map(|leaves| (format!("htb, {leaves} leaves"), shaped(htb(leaves)))),
    );
    all.push(("hfsc, 10 leaves".to_owned(), shaped(hfsc(10))));
    all
}

fn cake() -> Cake {
    Cake::default()
}

fn managed() -> impl Iterator<Item = Qdisc> {
    let probability = Ratio::from_parts_per_billion(20_000_000);
    let red = Red {
        limit_bytes: 1_000_000,
        min_bytes: 30_000,
        max_bytes: 90_000,
        average_packet_bytes: 1000,
        burst_packets: 40,
        probability,
        bandwidth: RATE,
        ecn: false,
        hard_drop: false,
        gentle: false,
        adaptive: false,
        child: None,
    };
    let choke = Choke {
        limit_packets: 1000,
        min_packets: 83,
        max_packets: 250,
        burst_packets: 102,
        average_packet_bytes: 1000,
        probability,
        bandwidth: RATE,
        ecn: false,
    };
    [
        Qdisc::Red(red),
        Qdisc::Choke(choke),
        Qdisc::Codel(Codel::default()),
        Qdisc::Pie(Pie::default()),
        Qdisc::Dualpi2(Dualpi2::default()),
        Qdisc::Sfq(Sfq::default()),
        Qdisc::FqCodel(FqCodel::default()),
        Qdisc::FqPie(FqPie::default()),
        Qdisc::Cake(cake()),
    ]
    .into_iter()
}

fn of_flow(flow: u32) -> Vec<Filter> {
    vec![Filter { group: Some(flow.to_string()), ..Filter::default() }]
}

fn drr() -> Qdisc {
    let child = Qdisc::Pfifo { limit_packets: 1000 };
    let class =
        |flow| DrrClass { quantum_bytes: 1514, filters: of_flow(flow), child: child.clone() };
    Qdisc::Drr(Drr { classes: (0..FLOWS).map(class).collect() })
}

fn tbf() -> Qdisc {
    Qdisc::Tbf(Tbf {
        rate: RATE,
        burst_bytes: 1520,
        limit_bytes: 1_000_000,
        peak_rate: None,
        mtu_bytes: None,
        granularity: Span::ZERO,
        child: None,
    })
}

/// A class that is limited above `leaves`, each with real-time service of half its share.
fn hfsc(leaves: u32) -> Qdisc {
    let line = |rate| Some(ServiceCurve::linear(BitRate::from_bits_per_second(rate)));
    let share = RATE.as_bits_per_second() / u64::from(leaves);
    let class = |parent, real_time, filters, child| HfscClass {
        name: String::new(),
        parent,
        real_time,
        link_sharing: line(share),
        upper_limit: None,
        filters,
        child,
    };
    let upper_limit = Some(ServiceCurve::linear(RATE));
    let root = HfscClass { upper_limit, ..class(None, None, Vec::new(), None) };
    let pfifo = Qdisc::Pfifo { limit_packets: 1000 };
    let leaf = |leaf| class(Some(0), line(share / 2), of_flow(leaf), Some(pfifo.clone()));
    let classes = std::iter::once(root).chain((0..leaves).map(leaf)).collect();
    Qdisc::Hfsc(Hfsc { classes, default_class: None })
}

/// A class above `leaves`, of which ten have packets.
fn htb(leaves: u32) -> Qdisc {
    let class = |parent, rate, filters, child| HtbClass {
        name: String::new(),
        parent,
        rate: BitRate::from_bits_per_second(rate),
        ceil: RATE,
        burst_bytes: 1600,
        ceil_burst_bytes: 1600,
        priority: 0,
        quantum_bytes: 1514,
        filters,
        child,
    };
    let pfifo = Qdisc::Pfifo { limit_packets: 1000 };
    let share = RATE.as_bits_per_second() / u64::from(leaves) / 2;
    let mut classes = vec![class(None, RATE.as_bits_per_second(), Vec::new(), None)];
    classes
        .extend((0..leaves).map(|leaf| class(Some(0), share, of_flow(leaf), Some(pfifo.clone()))));
    Qdisc::Htb(Htb {
        classes,
        default_class: None,
        rate_to_quantum: 10,
        direct_packets: 1000,
        granularity: Span::ZERO,
    })
}
