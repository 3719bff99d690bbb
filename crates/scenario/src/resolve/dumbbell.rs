//! `[path]`: every group has a sender on the left and a receiver on the right of one bottleneck.

use super::{netem, queue, rate_trace};
use crate::experiment::{AssignedSlots, Link, NetworkDescription, Node, NodeKind};
use crate::impairments::ImpairmentsInput;
use crate::input::{FlowsInput, PathInput};
use crate::queue::Scale;
use crate::recording::Recordings;
use fairwind_qdisc::{Carrier, Impairments, Qdisc, Terminal};
use fairwind_units::{BitRate, Ratio, Span};

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
pub(super) fn network(
    path: &PathInput,
    flows: &[FlowsInput],
    recordings: &Recordings,
) -> NetworkDescription {
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
        name: super::link_name(from, to),
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
