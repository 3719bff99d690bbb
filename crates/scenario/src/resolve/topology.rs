//! `[topology]`: nodes and links as described, with the ways back.

use super::{netem, queue, rate_trace};
use crate::experiment::{AssignedSlots, Link, NetworkDescription, Node, NodeKind, RouterKind};
use crate::input::{LinkInput, TopologyInput, generous_queue};
use crate::queue::{QueueInput, Scale};
use crate::recording::Recordings;
use fairwind_qdisc::{Carrier, Qdisc};
use fairwind_units::{ByteCount, Span};

/// The network that `topology` describes.
pub(super) fn network(topology: &TopologyInput, recordings: &Recordings) -> NetworkDescription {
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
