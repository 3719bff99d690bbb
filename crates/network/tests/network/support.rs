//! A packet, an observer that writes everything down, and random networks.

use crate::any_discipline::any_discipline;
use crate::any_impairments::{any_impairments, any_trace};
use fairwind_network::{
    Backlog, CapacityRequest, Delivery, DropReason, Fifo, Header, LinkCounters, LinkId, LinkSpec,
    Network, NodeId, Observer, Packet, Qdisc, QueueDiscipline, SlotAssignment, SlotCounters,
    Topology, Volume,
};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A packet with a unique number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) bytes: u32,
    pub(crate) to: NodeId,
}

/// What is written over.
impl Default for Numbered {
    fn default() -> Self {
        Self { number: u64::MAX, bytes: 0, to: NodeId(u32::MAX) }
    }
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn destination(&self) -> NodeId {
        self.to
    }

    /// One of five flows by its number; every other packet can be marked.
    fn header(&self) -> Header {
        let connection = u32::try_from(self.number % 5).expect("below five");
        let traffic_class = if self.number.is_multiple_of(2) { 0b10 } else { 0 };
        Header { connection, traffic_class, protocol: 6, ..Header::default() }
    }

    fn duplicate(&self) -> Option<Self> {
        Some(*self)
    }
}

/// One reported fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    Enqueued { at: Instant, number: u64, backlog: Backlog },
    DequeueResult { at: Instant, number: u64, sojourn: Span },
    Dropped { at: Instant, number: u64, backlog: Backlog, reason: DropReason },
}

/// Assignments to a link in consecutive equal frames of a carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frames {
    pub(crate) begin: Instant,
    pub(crate) assignment: SlotAssignment,
}

impl Fact {
    /// The packet that a queue took.
    pub(crate) fn accepted(&self) -> Option<u64> {
        if let Self::Enqueued { number, .. } = self { Some(*number) } else { None }
    }

    pub(crate) fn at(&self) -> Instant {
        match self {
            Self::Enqueued { at, .. }
            | Self::DequeueResult { at, .. }
            | Self::Dropped { at, .. } => *at,
        }
    }
}

/// Writes down the facts of each link.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FactLog {
    pub(crate) links: Vec<Vec<Fact>>,
    pub(crate) unroutable: Vec<(Instant, NodeId, u64)>,
    /// What was asked for.
    pub(crate) requests: Vec<(Instant, LinkId, CapacityRequest)>,
    /// By link, equal frames together however they were reported.
    pub(crate) frames: BTreeMap<LinkId, Vec<Frames>>,
}

impl FactLog {
    fn write(&mut self, link: LinkId, fact: Fact) {
        if self.links.len() <= link.index() {
            self.links.resize(link.index() + 1, Vec::new());
        }
        self.links[link.index()].push(fact);
    }
}

impl Observer<Numbered> for FactLog {
    fn on_enqueue(&mut self, at: Instant, link: LinkId, packet: &Numbered, backlog: Backlog) {
        self.write(link, Fact::Enqueued { at, number: packet.number, backlog });
    }

    fn on_dequeue(&mut self, at: Instant, link: LinkId, packet: &Numbered, sojourn: Span) {
        self.write(link, Fact::DequeueResult { at, number: packet.number, sojourn });
    }

    fn on_drop(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &Numbered,
        backlog: Backlog,
        reason: DropReason,
        _: Option<Span>,
    ) {
        self.write(link, Fact::Dropped { at, number: packet.number, backlog, reason });
    }

    fn on_request(&mut self, at: Instant, link: LinkId, ask: &CapacityRequest) {
        self.requests.push((at, link, *ask));
    }

    fn on_assignment(&mut self, begin: Instant, link: LinkId, assignment: &SlotAssignment) {
        let frames_of_link = self.frames.entry(link).or_default();
        match frames_of_link.last_mut() {
            Some(last)
                if (SlotAssignment { frames: assignment.frames, ..last.assignment })
                    == *assignment =>
            {
                assert_eq!(begin, last.begin + last.assignment.frame * last.assignment.frames);
                last.assignment.frames += assignment.frames;
            }
            _ => frames_of_link.push(Frames { begin, assignment: *assignment }),
        }
    }

    fn on_unroutable(&mut self, at: Instant, node: NodeId, packet: &Numbered) {
        self.unroutable.push((at, node, packet.number));
    }
}

/// Everything that can be seen of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) deliveries: Vec<Delivery<Numbered>>,
    pub(crate) fact_log: FactLog,
    pub(crate) counters: Vec<LinkCounters>,
    pub(crate) slots: Vec<Option<SlotCounters>>,
    pub(crate) in_transit: Volume,
}

/// An injection: when, where, what.
pub(crate) type Injection = (Instant, NodeId, Numbered);

/// Times at which the network is polled.
#[derive(Debug, Clone)]
pub(crate) enum PollTimes {
    /// At every due time.
    AtEveryEvent,
    /// At these instants only.
    At(Vec<Instant>),
    /// Never, but for injections.
    Never,
    /// Delivery by delivery.
    ByDelivery,
    /// The same, with packets written and read where they lie.
    InPlace,
}

/// Runs `injections`, which are in order of time, through `network` until `end`.
pub(crate) fn run(
    mut network: Network<Numbered>,
    injections: &[Injection],
    polls: &PollTimes,
    end: Instant,
) -> Outcome {
    let mut fact_log = FactLog::default();
    let mut deliveries = Vec::new();
    for (at, node, packet) in injections {
        look_until(&mut network, *at, polls, &mut deliveries, &mut fact_log);
        if matches!(polls, PollTimes::InPlace) {
            *network.reserve() = *packet;
            network.commit(*at, *node, &mut fact_log);
        } else {
            network.inject(*at, *node, *packet, &mut fact_log);
        }
    }
    look_until(&mut network, end, polls, &mut deliveries, &mut fact_log);
    network.advance_to(end, &mut fact_log);
    deliveries.extend(std::iter::from_fn(|| network.poll_delivery()));
    let counters = network.link_ids().map(|link| network.link_counters(link)).collect();
    let slots = network.link_ids().map(|link| network.slot_counters(link)).collect();
    Outcome { deliveries, fact_log, counters, slots, in_transit: network.in_transit() }
}

fn look_until(
    network: &mut Network<Numbered>,
    until: Instant,
    polls: &PollTimes,
    deliveries: &mut Vec<Delivery<Numbered>>,
    fact_log: &mut FactLog,
) {
    match polls {
        PollTimes::AtEveryEvent => {
            while let Some(due) = network.next_event().filter(|due| *due <= until) {
                network.advance_to(due, fact_log);
                deliveries.extend(std::iter::from_fn(|| network.poll_delivery()));
            }
        }
        PollTimes::At(instants) => {
            for instant in instants.iter().filter(|instant| **instant <= until) {
                network.advance_to(*instant, fact_log);
                deliveries.extend(network.poll_delivery());
            }
        }
        PollTimes::Never => {}
        PollTimes::ByDelivery => {
            deliveries.extend(std::iter::from_fn(|| network.next_delivery(until, fact_log)));
        }
        PollTimes::InPlace => {
            while let Some(delivery) = network.next_delivery_ref(until, fact_log) {
                let packet = *network.packet(&delivery);
                deliveries.push(Delivery { at: delivery.at(), node: packet.to, packet });
                network.release(delivery);
            }
        }
    }
}

/// A FIFO queue behind the general link, equal to the fused one of `spec`; other queues are behind one anyhow.
pub(crate) fn general(_: LinkId, spec: &LinkSpec) -> Option<Box<dyn QueueDiscipline>> {
    Some(Box::new(Fifo::new(&spec.queue)?))
}

/// Two hosts with one link.
pub(crate) fn single_link(spec: LinkSpec) -> (Topology, NodeId, NodeId, LinkId) {
    let mut topology = Topology::new();
    let sender = topology.add_host("sender");
    let receiver = topology.add_host("receiver");
    let link = topology.add_link(sender, receiver, spec);
    (topology, sender, receiver, link)
}

/// Any link, with numbers small enough for equal instants to be frequent.
pub(crate) fn any_link() -> impl Strategy<Value = LinkSpec> {
    let rate = prop_oneof![
        1 => Just(None),
        4 => prop::sample::select(vec![1_000_000, 8_000_000_000, 7_777_777, 3, 80_000_000_000])
            .prop_map(|bits| Some(BitRate::from_bits_per_second(bits))),
    ];
    let delay = prop_oneof![Just(0), Just(1), Just(40), 0_u64..20_000_000];
    let queue = prop_oneof![
        5 => any_discipline(),
        1 => Just(Qdisc::default()),
        1 => (1_u32..5).prop_map(|limit_packets| Qdisc::Pfifo { limit_packets }),
        1 => (1_u64..5000).prop_map(|limit_bytes| Qdisc::Bfifo { limit_bytes }),
    ];
    let loss = prop_oneof![2 => Just(0), 1 => Just(300_000_000), 1 => Just(1_000_000_000)];
    let all = (rate, delay, queue, loss, 0_u32..40, any_impairments(), any_trace());
    all.prop_map(|(rate, delay, queue, loss, overhead_bytes, impairments, rate_trace)| LinkSpec {
        rate_trace,
        rate,
        carrier_access: None,
        delay: Span::from_nanos(delay),
        queue,
        loss: Ratio::from_parts_per_billion(loss),
        overhead_bytes,
        impairments,
    })
}

/// Gaps between arrivals: often none, often of the order of a serialisation.
pub(crate) fn any_gap() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 2 => 0_u64..3, 2 => 0_u64..2000, 2 => 0_u64..20_000_000]
}

/// Sizes: two frequent ones, any others.
pub(crate) fn any_size() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(1500), 2 => Just(40), 2 => 1_u32..4, 1 => 1_u32..2000]
}
