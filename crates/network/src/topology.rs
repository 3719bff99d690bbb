//! Topology: the description that a network is built from.

use crate::event_queue::MAX_LINKS;
use crate::{CarrierId, FlowGroups, LinkId, NodeId};
use fairwind_qdisc::{
    Carrier, CarrierError, ImpairmentError, Impairments, Qdisc, QdiscFinding, RateTrace, Terminal,
};
use fairwind_units::{BitRate, Ratio, Span};
use std::collections::BTreeSet;
use std::ops::Range;

/// Whether a node forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Host,
    Router,
}

/// One direction of a link between two nodes.
#[derive(Debug, Clone)]
pub(crate) struct LinkDescription {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) spec: LinkSpec,
}

/// One direction of a link. The default is a wire without any effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSpec {
    /// Rate of serialisation; with `None` it takes no time, and nothing ever waits.
    pub rate: Option<BitRate>,
    /// Recorded rate, instead of `rate`.
    pub rate_trace: Option<RateTrace>,
    /// Slots of a carrier shared with other links, instead of `rate`.
    pub carrier_access: Option<CarrierAccess>,
    /// Propagation delay.
    pub delay: Span,
    /// The queue in front of the link.
    pub queue: Qdisc,
    /// Probability that a serialised packet is lost, independently of others.
    pub loss: Ratio,
    /// Impairments behind the transmitter.
    pub impairments: Impairments,
    /// Bytes that the link layer adds to every IP packet when it is serialised. Queue limits and
    /// backlogs do not count them.
    pub overhead_bytes: u32,
}

/// Access of a link to the slots of a carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarrierAccess {
    /// The carrier ([`crate::Topology::add_carrier`]).
    pub carrier: CarrierId,
    /// The share it may have, and how it requests it.
    pub terminal: Terminal,
}

/// Hosts, routers, and links between them.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    pub(crate) names: Vec<String>,
    pub(crate) kinds: Vec<NodeKind>,
    pub(crate) links: Vec<LinkDescription>,
    pub(crate) carriers: Vec<Carrier>,
    pub(crate) groups: FlowGroups,
}

/// Why no network can be built from a topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A link ends at a node that this topology does not have.
    #[error("link {link} ends at node {node}, but there are only {nodes} nodes; use the ids that add_host and add_router gave", link = link.0, node = node.0)]
    UnknownNode {
        /// The link.
        link: LinkId,
        /// The end that does not exist.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// More links than the network can number.
    #[error("there are {links} links, but at most {MAX_LINKS} are possible")]
    TooManyLinks {
        /// How many links there are.
        links: usize,
    },
    /// Two nodes have one name.
    #[error("two nodes are named \"{name}\"; rename one of them")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A link leads to where it begins.
    #[error("link {link} leads from \"{name}\" to itself", link = link.0)]
    LinkToItself {
        /// The link.
        link: LinkId,
        /// The node's name.
        name: String,
    },
    /// A rate of zero.
    #[error(
        "link {name} has rate 0, so no packet would leave it; leave the rate out for an unlimited link"
    )]
    ZeroRate {
        /// The link's name.
        name: String,
    },
    /// An invalid queue discipline.
    #[error("the queue of link {name}: {finding}")]
    Queue {
        /// The link's name.
        name: String,
        /// The first error.
        finding: QdiscFinding,
    },
    /// Invalid impairments.
    #[error("the impairments of link {name}: {error}")]
    Impairments {
        /// The link's name.
        name: String,
        /// The first error.
        error: ImpairmentError,
    },
    /// An invalid rate trace.
    #[error("the recorded rate of link {name}: {rule}")]
    RateTrace {
        /// The link's name.
        name: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// An invalid carrier, or more guaranteed slots than it has.
    #[error("carrier {carrier}: {error}", carrier = carrier.0)]
    Carrier {
        /// The carrier.
        carrier: CarrierId,
        /// The first error.
        error: CarrierError,
    },
    /// Slots of a carrier that this topology does not have.
    #[error("link {name} has slots of carrier {carrier}, but there are only {carriers} carriers; use the ids that add_carrier gave", carrier = carrier.0)]
    UnknownCarrier {
        /// The link's name.
        name: String,
        /// The carrier that does not exist.
        carrier: CarrierId,
        /// How many carriers there are.
        carriers: usize,
    },
    /// A link with both slots and a rate.
    #[error(
        "link {name} has both slots of a carrier and a rate; leave the rate out, its slots are its rate"
    )]
    SlotsAndRate {
        /// The link's name.
        name: String,
    },
    /// A probability above one.
    #[error("link {name} has loss {loss}; a probability is at most 100 %")]
    LossAboveOne {
        /// The link's name.
        name: String,
        /// The loss as given.
        loss: Ratio,
    },
}

impl Topology {
    /// An empty topology.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node that sends and receives, but does not forward.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name.into(), NodeKind::Host)
    }

    /// Adds a node that forwards.
    pub fn add_router(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name.into(), NodeKind::Router)
    }

    fn add_node(&mut self, name: String, kind: NodeKind) -> NodeId {
        let node = NodeId::from_index(self.names.len());
        self.names.push(name);
        self.kinds.push(kind);
        node
    }

    /// Adds a link in one direction; it is checked when the network is built.
    pub fn add_link(&mut self, from: NodeId, to: NodeId, spec: LinkSpec) -> LinkId {
        let link = LinkId::from_index(self.links.len());
        self.links.push(LinkDescription { from, to, spec });
        link
    }

    /// Adds a carrier with slots that links can share ([`LinkSpec::carrier_access`]); it is checked when the network is
    /// built.
    ///
    /// # Panics
    /// From the carrier number 2^32 on.
    pub fn add_carrier(&mut self, carrier: Carrier) -> CarrierId {
        let id = u32::try_from(self.carriers.len()).expect("fewer than 2^32 carriers");
        self.carriers.push(carrier);
        CarrierId(id)
    }

    /// Names a group of flows for the filters of queue disciplines: those with these connection numbers.
    pub fn add_flow_group(&mut self, name: impl Into<String>, connections: Range<u32>) {
        self.groups.name(name, connections);
    }

    /// The terminals of a carrier, in the order of their links.
    pub(crate) fn terminals_of(&self, carrier: CarrierId) -> Vec<(LinkId, Terminal)> {
        let links = (0..).map(LinkId).zip(&self.links);
        links
            .filter_map(|(id, link)| {
                let access = link.spec.carrier_access.filter(|access| access.carrier == carrier)?;
                Some((id, access.terminal))
            })
            .collect()
    }

    pub(crate) fn check(&self) -> Result<(), TopologyError> {
        if self.links.len() > MAX_LINKS {
            return Err(TopologyError::TooManyLinks { links: self.links.len() });
        }
        let mut names = BTreeSet::new();
        if let Some(name) = self.names.iter().find(|name| !names.insert(name.as_str())) {
            return Err(TopologyError::DuplicateName { name: name.clone() });
        }
        (0..).map(LinkId).zip(&self.links).try_for_each(|(id, link)| {
            self.check_ends(id, link)?;
            self.check_assigned(id, &link.spec)?;
            check_spec(&link.spec, || self.link_name(id))
        })?;
        (0..).map(CarrierId).zip(&self.carriers).try_for_each(|(carrier, spec)| {
            let terminals = self.terminals_of(carrier);
            let errors = spec.errors(terminals.iter().map(|(_, terminal)| terminal));
            let error = errors.into_iter().next();
            error.map_or(Ok(()), |error| Err(TopologyError::Carrier { carrier, error }))
        })
    }

    fn check_assigned(&self, id: LinkId, spec: &LinkSpec) -> Result<(), TopologyError> {
        let Some(CarrierAccess { carrier, .. }) = spec.carrier_access else { return Ok(()) };
        let (name, carriers) = (self.link_name(id), self.carriers.len());
        if carrier.index() >= carriers {
            return Err(TopologyError::UnknownCarrier { name, carrier, carriers });
        }
        if spec.rate.is_some() || spec.rate_trace.is_some() {
            return Err(TopologyError::SlotsAndRate { name });
        }
        Ok(())
    }

    fn check_ends(&self, id: LinkId, link: &LinkDescription) -> Result<(), TopologyError> {
        let nodes = self.names.len();
        if let Some(node) = [link.from, link.to].into_iter().find(|node| node.index() >= nodes) {
            return Err(TopologyError::UnknownNode { link: id, node, nodes });
        }
        if link.from == link.to {
            let name = self.names[link.from.index()].clone();
            return Err(TopologyError::LinkToItself { link: id, name });
        }
        Ok(())
    }

    /// The names of both ends, with a number from the second link between them on.
    pub(crate) fn link_name(&self, id: LinkId) -> String {
        let link = &self.links[id.index()];
        let (from, to) = (&self.names[link.from.index()], &self.names[link.to.index()]);
        let earlier = self.links[..id.index()]
            .iter()
            .filter(|other| (other.from, other.to) == (link.from, link.to))
            .count();
        match earlier {
            0 => format!("{from}->{to}"),
            _ => format!("{from}->{to}#{}", earlier + 1),
        }
    }
}

fn check_spec(spec: &LinkSpec, name: impl Fn() -> String) -> Result<(), TopologyError> {
    if spec.rate == Some(BitRate::from_bits_per_second(0)) {
        return Err(TopologyError::ZeroRate { name: name() });
    }
    if spec.loss > Ratio::ONE {
        return Err(TopologyError::LossAboveOne { name: name(), loss: spec.loss });
    }
    if let Some(finding) = spec.queue.errors().into_iter().next() {
        return Err(TopologyError::Queue { name: name(), finding });
    }
    if let Some(error) = spec.impairments.errors().into_iter().next() {
        return Err(TopologyError::Impairments { name: name(), error });
    }
    match spec.rate_trace.as_ref().and_then(RateTrace::error) {
        Some(rule) => Err(TopologyError::RateTrace { name: name(), rule }),
        None => Ok(()),
    }
}
