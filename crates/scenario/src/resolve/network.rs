//! `[path]` and `[topology]` as nodes and links. On a path every group has a sender on the left and a receiver on the right
//! of one bottleneck; a topology is taken as described, with the ways back.

use crate::experiment::{AssignedSlots, Link, NetworkDescription, Node, NodeKind};
use crate::impairments::ImpairmentsInput;
use crate::input::{
    FlowsInput, LinkInput, PathInput, RouterKind, ScenarioInput, TopologyInput, generous_queue,
};
use crate::named_file::{RateTraceInput, Recordings};
use fairwind_qdisc::tc::Netem;
use fairwind_qdisc::{Carrier, Impairments, Qdisc, QueueInput, RateTrace, Scale, Terminal};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};

/// The network of a scenario that keeps all the rules.
pub(super) fn resolve(input: &ScenarioInput, recordings: &Recordings) -> NetworkDescription {
    match (&input.path, &input.topology) {
        (Some(path), _) => of_path(path, &input.flows, recordings),
        (None, Some(topology)) => of_topology(topology, recordings),
        (None, None) => unreachable!("the rules ask for a path or a topology"),
    }
}

/// What the link does to packets, as `input` describes it.
fn netem(input: Option<&ImpairmentsInput>, recordings: &Recordings) -> Netem {
    let Some(input) = input else { return Netem::default() };
    let (netem, faults) = input.resolve(recordings, "");
    assert!(faults.is_empty(), "the rules refuse such impairments: {faults:?}");
    netem
}

/// The trace that `input` describes.
fn rate_trace(input: Option<&RateTraceInput>, recordings: &Recordings) -> Option<RateTrace> {
    let trace = input?.resolve(recordings, "");
    Some(trace.unwrap_or_else(|fault| unreachable!("the rules refuse such a trace: {fault:?}")))
}

/// The discipline that `input` describes.
fn queue(input: &QueueInput, scale: Scale) -> Qdisc {
    let (queue, faults) = input.resolve(scale, "");
    assert!(faults.is_empty(), "the rules refuse such a queue: {faults:?}");
    queue
}

const LEFT: &str = "left";
const RIGHT: &str = "right";

/// The host on the left of a group, which sends.
fn sender(group: &str) -> String {
    format!("{group}-sender")
}

/// The host on its right, which receives.
fn receiver(group: &str) -> String {
    format!("{group}-receiver")
}

/// The host that opens a group's connections.
pub(super) fn opener(flows: &FlowsInput) -> String {
    if flows.workload.is_sent_by_called() { receiver(&flows.name) } else { sender(&flows.name) }
}

/// The host that is called.
pub(super) fn called(flows: &FlowsInput) -> String {
    if flows.workload.is_sent_by_called() { sender(&flows.name) } else { receiver(&flows.name) }
}

impl PathInput {
    /// Delays from sender to receiver and back, without queues.
    pub(crate) fn delays(&self) -> (Span, Span) {
        match self.rtt {
            Some(rtt) => (rtt / 2, rtt - rtt / 2),
            None => {
                (self.forward_delay.unwrap_or_default(), self.reverse_delay.unwrap_or_default())
            }
        }
    }

    /// Rate of the bottleneck: its own, or the one that its queue shapes to.
    pub(crate) fn bottleneck_rate(&self) -> Option<BitRate> {
        self.rate.or_else(|| self.queue.shaped_rate())
    }

    /// The carrier of the bottleneck, with what it may have of it.
    pub(crate) fn slots(&self) -> Option<(Carrier, Terminal)> {
        let carrier = self.carrier.as_ref()?.resolve(self.round_trip() / 2);
        Some((carrier, self.terminal().resolve(self.round_trip())))
    }

    /// Round-trip time without queues and impairments.
    pub(crate) fn round_trip(&self) -> Span {
        let (forward, reverse) = self.delays();
        forward + reverse
    }

    /// Round-trip time without queues: what it is to limits and groups, the delays of impairments included.
    pub(crate) fn base_rtt(&self) -> Span {
        let impairments = [&self.impairments, &self.reverse_impairments];
        let delays = impairments.into_iter().flatten().map(ImpairmentsInput::delay);
        delays.fold(self.round_trip(), |sum, delay| sum + delay)
    }
}

/// The dumbbell that `path` describes for these groups of flows.
fn of_path(path: &PathInput, flows: &[FlowsInput], recordings: &Recordings) -> NetworkDescription {
    let mut nodes = vec![node(LEFT, NodeKind::Router), node(RIGHT, NodeKind::Router)];
    let mut links = central_links(path, recordings);
    for group in flows {
        let (sender, receiver) = (sender(&group.name), receiver(&group.name));
        let extra = group.rtt.map_or(Span::ZERO, |rtt| rtt.saturating_sub(path.base_rtt()));
        links.push(access_link(&sender, LEFT, path.access_rate, extra / 2));
        links.push(access_link(LEFT, &sender, path.access_rate, extra - extra / 2));
        links.push(access_link(RIGHT, &receiver, path.access_rate, Span::ZERO));
        links.push(access_link(&receiver, RIGHT, path.access_rate, Span::ZERO));
        nodes.push(node(&sender, NodeKind::Host));
        nodes.push(node(&receiver, NodeKind::Host));
    }
    let PathInput { mtu, ip_version, router, .. } = *path;
    let carriers = path.slots().map(|(carrier, _)| carrier).into_iter().collect();
    NetworkDescription { nodes, links, carriers, bottleneck: Some(0), mtu, ip_version, router }
}

fn central_links(path: &PathInput, recordings: &Recordings) -> Vec<Link> {
    let (forward, reverse) = path.delays();
    let scale = |rate| Scale { rate, rtt: Some(path.base_rtt()), mtu: path.mtu };
    let reverse_rate = path.reverse_rate.or(path.bottleneck_rate());
    let forward_netem = netem(path.impairments.as_ref(), recordings);
    let reverse_netem = netem(path.reverse_impairments.as_ref(), recordings);
    let overhead_bytes = u32::try_from(path.overhead.get()).unwrap_or(u32::MAX);
    let bottleneck = Link {
        name: "bottleneck".into(),
        from: LEFT.into(),
        to: RIGHT.into(),
        rate: path.rate,
        rate_trace: rate_trace(path.rate_trace.as_ref(), recordings),
        assigned: path.slots().map(|(_, terminal)| AssignedSlots { carrier: 0, terminal }),
        delay: forward + forward_netem.delay,
        queue: queue(&path.queue, scale(path.rate)),
        loss: path.loss,
        impairments: forward_netem.impairments,
        overhead_bytes,
    };
    let back = Link {
        name: "reverse".into(),
        from: RIGHT.into(),
        to: LEFT.into(),
        rate: reverse_rate,
        rate_trace: None,
        assigned: None,
        delay: reverse + reverse_netem.delay,
        queue: queue(&path.reverse_queue, scale(reverse_rate)),
        loss: path.reverse_loss,
        impairments: reverse_netem.impairments,
        overhead_bytes,
    };
    vec![bottleneck, back]
}

fn access_link(from: &str, to: &str, rate: Option<BitRate>, delay: Span) -> Link {
    Link {
        name: link_name(from, to),
        from: from.into(),
        to: to.into(),
        rate,
        rate_trace: None,
        assigned: None,
        delay,
        queue: Qdisc::Unlimited {},
        loss: Ratio::ZERO,
        impairments: Impairments::default(),
        overhead_bytes: 0,
    }
}

fn node(name: &str, kind: NodeKind) -> Node {
    Node { name: name.into(), kind }
}

/// The network that `topology` describes.
fn of_topology(topology: &TopologyInput, recordings: &Recordings) -> NetworkDescription {
    let node = |kind| move |name: &String| Node { name: name.clone(), kind };
    let hosts = topology.hosts.iter().map(node(NodeKind::Host));
    let routers = topology.routers.iter().map(node(NodeKind::Router));
    let carriers = topology.carriers();
    let both = |link| both_links(link, (topology, &carriers), recordings);
    let links: Vec<Link> = topology.links.iter().flat_map(both).collect();
    let bottleneck = match &topology.bottleneck {
        Some(name) => links.iter().position(|link| link.name == *name),
        None => slowest(&links),
    };
    NetworkDescription {
        nodes: hosts.chain(routers).collect(),
        links,
        carriers,
        bottleneck,
        mtu: topology.mtu,
        ip_version: topology.ip_version,
        router: RouterKind::User,
    }
}

/// What a link without a name is called.
pub(crate) fn link_name(from: &str, to: &str) -> String {
    format!("{from}->{to}")
}

/// What the way back of `link` is called.
pub(crate) fn reverse_name(link: &LinkInput) -> String {
    match &link.name {
        Some(name) => format!("{name}-reverse"),
        None => link_name(&link.to, &link.from),
    }
}

impl TopologyInput {
    /// The carriers that links have slots of.
    pub(crate) fn carriers(&self) -> Vec<Carrier> {
        let carriers = (0..).zip(&self.carriers);
        let resolved = carriers.map(|(index, carrier)| {
            let on_it = |link: &&LinkInput| self.carrier_of(link) == Some(index);
            let way = self.links.iter().find(on_it).map_or(Span::ZERO, |link| link.delay);
            carrier.resolve(way)
        });
        resolved.collect()
    }

    /// Which carrier a link has slots of.
    pub(crate) fn carrier_of(&self, link: &LinkInput) -> Option<usize> {
        let name = link.carrier.as_ref()?;
        self.carriers.iter().position(|carrier| carrier.name.as_ref() == Some(name))
    }

    /// What a link may have of its carrier.
    pub(crate) fn slots(&self, link: &LinkInput, carriers: &[Carrier]) -> Option<AssignedSlots> {
        let carrier = self.carrier_of(link)?;
        let round_trip = carriers[carrier].signalling_delay.saturating_mul(2);
        Some(AssignedSlots { carrier, terminal: link.terminal().resolve(round_trip) })
    }
}

fn both_links(
    input: &LinkInput,
    (topology, carriers): (&TopologyInput, &[Carrier]),
    recordings: &Recordings,
) -> Vec<Link> {
    let name = input.name.clone().unwrap_or_else(|| link_name(&input.from, &input.to));
    let netem = netem(input.impairments.as_ref(), recordings);
    let there = Link {
        name,
        from: input.from.clone(),
        to: input.to.clone(),
        rate: input.rate,
        rate_trace: rate_trace(input.rate_trace.as_ref(), recordings),
        assigned: topology.slots(input, carriers),
        delay: input.delay + netem.delay,
        queue: link_queue(input, topology.mtu),
        loss: input.loss,
        impairments: netem.impairments,
        overhead_bytes: u32::try_from(input.overhead.get()).unwrap_or(u32::MAX),
    };
    let back = Link {
        name: reverse_name(input),
        from: input.to.clone(),
        to: input.from.clone(),
        ..there.clone()
    };
    if input.both_ways { vec![there, back] } else { vec![there] }
}

fn link_queue(input: &LinkInput, mtu: ByteCount) -> Qdisc {
    if input.rate.is_none() && !input.queue.as_ref().is_some_and(QueueInput::shapes) {
        return Qdisc::Unlimited {};
    }
    let scale = Scale { rate: input.rate, rtt: None, mtu };
    queue(input.queue.as_ref().unwrap_or(&generous_queue()), scale)
}

/// The link with the lowest rate, the first one of several.
fn slowest(links: &[Link]) -> Option<usize> {
    let slower = |link: &Link| link.rate.into_iter().chain(link.queue.shaped_rate()).min();
    let rates = links.iter().enumerate().filter_map(|(index, link)| Some((slower(link)?, index)));
    rates.min().map(|(_, index)| index)
}
