//! A resolved experiment, the input of an engine.

use crate::input::{RouterKind, StartPattern};
use crate::{Capture, IpVersion, Measure, TcpSettings, Workload};
use fairwind_qdisc::{Carrier, Impairments, Qdisc, RateTrace, Terminal};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// One experiment, defaults filled in and limits resolved. It goes through JSON and back unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name of the experiment.
    pub name: String,
    /// Its purpose; empty by default.
    pub description: String,
    /// Duration, warm-up included.
    pub duration: Span,
    /// The network.
    pub network: NetworkDescription,
    /// Groups of flows, in the order of the scenario.
    pub flows: Vec<FlowGroup>,
    /// What is measured.
    pub measure: Measure,
    /// Capture settings; `None` for no captures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
}

/// Hosts, routers and the links between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkDescription {
    /// Hosts and routers; names are unique.
    pub nodes: Vec<Node>,
    /// Links in one direction each; names are unique.
    pub links: Vec<Link>,
    /// Carriers of which links have slots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carriers: Vec<Carrier>,
    /// Index of the link that tables call the bottleneck; `None` where no link has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<usize>,
    /// Largest IP packet.
    pub mtu: ByteCount,
    /// Which Internet Protocol the packets are of.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub ip_version: IpVersion,
    /// Who carries the packets on the kernel.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub router: RouterKind,
}

/// A host or a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its handling of packets for others.
    pub kind: NodeKind,
}

/// What a node does with packets for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Flows begin and end here; nothing is forwarded.
    Host,
    /// Forwards.
    Router,
}

/// A link in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Name of the node it leads from.
    pub from: String,
    /// Name of the node it leads to.
    pub to: String,
    /// Its rate; `None`: packets take no time to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Instead of the rate: when packets may leave, as recorded. The rate is then its mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTrace>,
    /// Instead of the rate: slots of a carrier. The rate is then the most that they carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<AssignedSlots>,
    /// Propagation delay.
    pub delay: Span,
    /// The queue before it.
    pub queue: Qdisc,
    /// Share of packets lost at random, after they used the link.
    pub loss: Ratio,
    /// What happens to packets behind the link besides that.
    #[serde(default, skip_serializing_if = "Impairments::is_none")]
    pub impairments: Impairments,
    /// Bytes that every packet costs beyond the IP packet.
    pub overhead_bytes: u32,
}

/// Where a link has its slots from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssignedSlots {
    /// Index of the carrier.
    pub carrier: usize,
    /// What the link may have of it, and how it asks.
    pub terminal: Terminal,
}

/// Flows that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// What the group is called.
    pub name: String,
    /// How many flows there are, one or more; where connections follow one another, how many at a time.
    pub count: u32,
    /// Name of the host that opens the connections: it sends the data, or asks for it.
    pub from: String,
    /// Name of the host that is called.
    pub to: String,
    /// When the first flow starts.
    pub start: Span,
    /// What the starts are spread over.
    pub start_spread: Span,
    /// How they are spread.
    pub start_pattern: StartPattern,
    /// When the applications stop writing; `None`: at the end of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
    /// What the applications write.
    pub workload: Workload,
    /// TCP of the senders; the profile is set.
    pub tcp: TcpSettings,
    /// TCP of the receivers; the profile is set.
    pub receiver_tcp: TcpSettings,
}

impl NetworkDescription {
    /// Index of the node called `name`.
    pub fn node_index(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }
}

impl FlowGroup {
    /// What the data that goes the other way on the group's connections is called in tables, where
    /// there is any.
    pub fn answers_name(&self) -> Option<String> {
        self.workload.is_answered().then(|| answers_name(&self.name))
    }

    /// How many connections the group has at most, those that follow another included.
    pub fn connections(&self) -> u64 {
        u64::from(self.count) * u64::from(self.workload.connections_in_turn())
    }

    /// When flow `index` of the group starts. With a random pattern this is where the uniformly
    /// distributed `draw` falls; an even pattern needs none and ignores it.
    pub fn start_of(&self, index: u32, draw: u64) -> Span {
        let spread = u128::from(self.start_spread.as_nanos());
        let offset = match self.start_pattern {
            StartPattern::Even => spread * u128::from(index) / u128::from(self.count.max(1)),
            StartPattern::Random => (spread * u128::from(draw)) >> 64,
        };
        self.start + Span::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX))
    }
}

/// What the responses of the group called `group` are called in tables.
pub(crate) fn answers_name(group: &str) -> String {
    format!("{group}-responses")
}
