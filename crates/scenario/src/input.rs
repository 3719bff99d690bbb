//! A scenario as a person writes it: the keys, their types and their defaults.
//!
//! The doc comments here are the descriptions in the JSON Schema, so they speak to the author of a
//! scenario. The checker reads the same schema: a key exists if and only if it stands here.

use crate::named_file::Recordings;
use crate::{
    Capture, CarrierInput, ImpairmentsInput, IpVersion, Measure, QueueInput, QueueLimit,
    RateTraceInput, TcpSettings, TerminalInput, WorkloadInput,
};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// One experiment: a network, the flows that share it, and what is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Fairwind scenario", rename = "Scenario")]
pub struct ScenarioInput {
    /// Name of the experiment.
    pub name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// Duration, warm-up included.
    pub duration: Span,
    /// Seed that all random draws are derived from.
    #[serde(default = "one_u64")]
    pub seed: u64,
    /// Number of runs of each point of the grid, each with another seed.
    #[serde(default = "one_u32")]
    #[schemars(range(min = 1, max = 100_000))]
    pub repeat: u32,
    /// A dumbbell: all flows share one bottleneck.
    pub path: Option<PathInput>,
    /// Any other network: hosts, routers and links.
    pub topology: Option<TopologyInput>,
    /// Groups of flows with the same properties.
    pub flows: Vec<FlowsInput>,
    /// What is measured.
    #[serde(default)]
    pub measure: Measure,
    /// Packets to be written to capture files; default: none.
    pub capture: Option<Capture>,
}

impl ScenarioInput {
    /// The Internet Protocol of all packets.
    pub(crate) fn ip_version(&self) -> IpVersion {
        let path = self.path.as_ref().map(|path| path.ip_version);
        path.or(self.topology.as_ref().map(|topology| topology.ip_version)).unwrap_or_default()
    }

    /// The largest IP packet, and where it is written.
    pub(crate) fn mtu(&self) -> (ByteCount, &'static str) {
        match (&self.path, &self.topology) {
            (Some(path), _) => (path.mtu, "path.mtu"),
            (None, Some(topology)) => (topology.mtu, "topology.mtu"),
            (None, None) => (ByteCount::new(65_535), "path"),
        }
    }

    /// Fills in rates that follow from traces and carriers.
    pub(crate) fn complete(&mut self, recordings: &Recordings) {
        if let Some(path) = &mut self.path {
            let mean = path.rate_trace.as_ref().and_then(|trace| trace.mean_rate(recordings));
            let most = path.carrier.as_ref().map(|carrier| path.terminal().most_rate(carrier));
            path.rate = path.rate.or(mean).or(most);
        }
        let Some(topology) = &mut self.topology else { return };
        for link in &mut topology.links {
            let mean = link.rate_trace.as_ref().and_then(|trace| trace.mean_rate(recordings));
            let named = |carrier: &&CarrierInput| carrier.name == link.carrier;
            let carrier = topology.carriers.iter().find(named).filter(|_| link.carrier.is_some());
            let most = carrier.map(|carrier| link.terminal().most_rate(carrier));
            link.rate = link.rate.or(mean).or(most);
        }
    }
}

impl PathInput {
    /// What the bottleneck may have of the carrier, where there is one.
    pub(crate) fn terminal(&self) -> TerminalInput {
        self.terminal.unwrap_or_default()
    }
}

impl LinkInput {
    /// Its share of the carrier, if it names one.
    pub(crate) fn terminal(&self) -> TerminalInput {
        self.terminal.unwrap_or_default()
    }
}

/// A dumbbell: all senders on the left, all receivers on the right, one bottleneck between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathInput {
    /// Rate of the bottleneck; default: the mean of `rate_trace`. It is optional with a queue that shapes (`tbf`,
    /// `htb`, `cake` with `bandwidth`, `hfsc` with `ul`).
    pub rate: Option<BitRate>,
    /// When packets may leave the bottleneck, as recorded, instead of at its rate all the time: `{ file = "..." }`, or
    /// in the scenario. Limits and tables are computed from `rate`; default: the mean of the trace.
    pub rate_trace: Option<RateTraceInput>,
    /// Instead of the rate: slots that are assigned on demand, in frames of this carrier; `{}` for those of Skyplex.
    /// Limits and tables are computed from the highest rate that the terminal may have.
    pub carrier: Option<CarrierInput>,
    /// Share of the carrier for the left end of the bottleneck, and how it requests slots.
    pub terminal: Option<TerminalInput>,
    /// Round-trip time without queues, half of it in each direction. Delays of impairments are added.
    pub rtt: Option<Span>,
    /// Instead of the RTT: delay from sender to receiver.
    pub forward_delay: Option<Span>,
    /// Instead of the RTT: delay from receiver to sender.
    pub reverse_delay: Option<Span>,
    /// Queue before the bottleneck; default: a pfifo of one bandwidth-delay product. The product
    /// is that of the path's rate and RTT, delays of impairments included, without any group's own RTT;
    /// in packets of the MTU it is rounded up.
    #[serde(default = "one_bandwidth_delay_product")]
    pub queue: QueueInput,
    /// Rate in the direction of the acknowledgements; default: the bottleneck's.
    pub reverse_rate: Option<BitRate>,
    /// Queue in the direction of the acknowledgements; default: a pfifo of 1000 packets.
    #[serde(default = "generous_queue")]
    pub reverse_queue: QueueInput,
    /// Share of packets lost at random behind the bottleneck.
    #[serde(default)]
    pub loss: Ratio,
    /// Share of packets lost at random in the direction of the acknowledgements.
    #[serde(default)]
    pub reverse_loss: Ratio,
    /// Further impairments behind the bottleneck: jitter, bursts of losses, duplicates, damage, reordering, slots.
    pub impairments: Option<ImpairmentsInput>,
    /// Further impairments in the direction of the acknowledgements.
    pub reverse_impairments: Option<ImpairmentsInput>,
    /// Rate of every host's own link; default: unlimited.
    pub access_rate: Option<BitRate>,
    /// Overhead of every packet on the bottleneck beyond the IP packet (framing).
    #[serde(default)]
    pub overhead: ByteCount,
    /// Largest IP packet.
    #[serde(default = "ethernet_mtu")]
    pub mtu: ByteCount,
    /// Version of the Internet Protocol, 4 or 6.
    #[serde(default)]
    pub ip_version: IpVersion,
    /// Router of the packets when the experiment runs on the kernel; the simulator ignores it.
    #[serde(default)]
    pub router: RouterKind,
}

/// Who carries packets between hosts on the running kernel.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RouterKind {
    /// The network of the simulator, in real time.
    #[default]
    User,
    /// The kernel's queue disciplines: htb with the link's queue below it for rates and queues, netem for delays and losses.
    Kernel,
}

/// A network of hosts and routers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyInput {
    /// Names of the hosts: flows begin and end there; they forward nothing.
    pub hosts: Vec<String>,
    /// Names of the routers.
    #[serde(default)]
    pub routers: Vec<String>,
    /// Links between them.
    pub links: Vec<LinkInput>,
    /// Carriers with slots that links share.
    #[serde(default)]
    pub carriers: Vec<CarrierInput>,
    /// Name of the link that tables report as the bottleneck; default: the slowest one.
    pub bottleneck: Option<String>,
    /// Largest IP packet.
    #[serde(default = "ethernet_mtu")]
    pub mtu: ByteCount,
    /// Version of the Internet Protocol, 4 or 6.
    #[serde(default)]
    pub ip_version: IpVersion,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkInput {
    /// Name of the link; default: `FROM->TO`. The link back is `NAME-reverse`, or `TO->FROM`.
    pub name: Option<String>,
    /// Node that the link leads from.
    pub from: String,
    /// Node that the link leads to.
    pub to: String,
    /// Rate; default: the mean of `rate_trace`, or unlimited.
    pub rate: Option<BitRate>,
    /// When packets may leave, as recorded, instead of at the rate all the time: `{ file = "..." }`, or in the scenario.
    pub rate_trace: Option<RateTraceInput>,
    /// Instead of the rate: name of the carrier that it has slots of.
    pub carrier: Option<String>,
    /// Its share of the carrier, and how it requests slots.
    pub terminal: Option<TerminalInput>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Span,
    /// Queue before the link; default: a pfifo of 1000 packets.
    pub queue: Option<QueueInput>,
    /// Share of packets lost at random.
    #[serde(default)]
    pub loss: Ratio,
    /// Further impairments of the link.
    pub impairments: Option<ImpairmentsInput>,
    /// Overhead of every packet beyond the IP packet (framing).
    #[serde(default)]
    pub overhead: ByteCount,
    /// Whether there is a link back, with the same properties.
    #[serde(default = "yes")]
    pub both_ways: bool,
}

/// A group of flows that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowsInput {
    /// Name of the group: letters, digits, `-` and `_`.
    #[schemars(regex(pattern = "^[A-Za-z][A-Za-z0-9_-]*$"))]
    pub name: String,
    /// Number of flows.
    #[serde(default = "one_u32")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Host that opens the connections and sends the data or the requests; only with a topology.
    pub from: Option<String>,
    /// Host that receives the data or sends the responses; only with a topology.
    pub to: Option<String>,
    /// RTT of the group without queues; at least that of the path, delays of impairments included. Only with a path.
    pub rtt: Option<Span>,
    /// When the first flow starts.
    #[serde(default)]
    pub start: Span,
    /// Time that the starts of the flows are spread over.
    #[serde(default)]
    pub start_spread: Span,
    /// Distribution of the starts.
    #[serde(default)]
    pub start_pattern: StartPattern,
    /// When the applications stop writing; default: at the end of the experiment.
    pub stop: Option<Span>,
    /// What the applications write.
    pub workload: WorkloadInput,
    /// TCP of the hosts that open the connections.
    #[serde(default)]
    pub tcp: TcpSettings,
    /// TCP of the hosts that accept the connections; default: the profile of `tcp`, its congestion control
    /// if that needs ECN marks (dctcp), and all of its settings if data goes both ways.
    pub receiver_tcp: Option<TcpSettings>,
}

/// How the starts of a group's flows are spread.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StartPattern {
    /// At equal distances: flow `i` of `n` starts at `start + start_spread * i / n`.
    #[default]
    Even,
    /// Each at an instant drawn uniformly from the spread.
    Random,
}

fn one_u64() -> u64 {
    1
}

fn one_u32() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn ethernet_mtu() -> ByteCount {
    ByteCount::new(1500)
}

fn one_bandwidth_delay_product() -> QueueInput {
    QueueInput::pfifo(QueueLimit::BandwidthDelay(Ratio::ONE))
}

/// A queue that is long enough not to matter in most experiments.
pub(crate) fn generous_queue() -> QueueInput {
    QueueInput::pfifo(QueueLimit::Packets(1000))
}
