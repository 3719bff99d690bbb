//! An experiment becomes a network, flows and measures.

use crate::agenda::Agenda;
use crate::flow::{Flow, FlowPlan};
use crate::packet::SimulatedPacket;
use crate::seeds::{Purpose, derive};
use crate::tap::Queues;
use crate::{SimulationError, stack};
use fairwind_measure::{FlowDescription, QueueId, Settings};
use fairwind_network::{LinkSpec, Network, NodeId, QueueSpec, Topology};
use fairwind_scenario::{
    Distribution, Experiment, FlowGroup, Link, MessageSize, NodeKind, Queue, TcpSettings, Varying,
    Workload,
};
use fairwind_tcp::Config;
use fairwind_units::{ByteCount, Instant, Span};
use fairwind_wire::SequenceNumber;
use fairwind_wire::bytes::Addresses;
use fairwind_workload::{Application, Greedy, Sampler, Thin};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// First port of the sending side; flows count up from it.
const FIRST_SENDER_PORT: u16 = 49_152;
/// Ports of the sending side; further flows of a group get another address.
const SENDER_PORTS: u32 = 10_000;
/// Port of the receiving side of the first group; groups count up from it. The thesis used 5000,
/// which Wireshark takes for a GSM protocol; dynamic ports belong to none.
const FIRST_RECEIVER_PORT: u16 = 60_000;

/// Everything that a simulation is made of.
pub(crate) struct Assembly {
    pub(crate) network: Network<SimulatedPacket>,
    pub(crate) queues: Queues,
    pub(crate) flows: Vec<Flow>,
    pub(crate) settings: Settings,
    /// Addresses of sender and receiver by flow, for flows that are to be captured.
    pub(crate) captured: Vec<Option<Addresses>>,
}

/// Builds what `experiment` describes.
pub(crate) fn assemble(experiment: &Experiment, seed: u64) -> Result<Assembly, SimulationError> {
    let network = network(experiment, seed)?;
    let (queues, queue_names) = queues(experiment);
    let mut assembly = Assembly {
        network,
        queues,
        flows: Vec::new(),
        settings: settings(experiment, queue_names),
        captured: Vec::new(),
    };
    let total: u64 = experiment.flows.iter().map(|group| u64::from(group.count)).sum();
    if total > Agenda::MOST_FLOWS {
        return Err(SimulationError::TooManyFlows(total));
    }
    for (number, group) in experiment.flows.iter().enumerate() {
        add_group(&mut assembly, experiment, number, group, seed)?;
    }
    assembly.settings.check()?;
    Ok(assembly)
}

fn network(
    experiment: &Experiment,
    seed: u64,
) -> Result<Network<SimulatedPacket>, SimulationError> {
    let mut topology = Topology::new();
    for node in &experiment.network.nodes {
        match node.kind {
            NodeKind::Host => topology.add_host(&node.name),
            NodeKind::Router => topology.add_router(&node.name),
        };
    }
    for link in &experiment.network.links {
        let what = || format!("link \"{}\"", link.name);
        let from = node(experiment, &link.from, what)?;
        let to = node(experiment, &link.to, what)?;
        topology.add_link(from, to, link_spec(link));
    }
    Ok(topology.build(derive(seed, Purpose::Network, 0))?)
}

fn node(
    experiment: &Experiment,
    name: &str,
    what: impl Fn() -> String,
) -> Result<NodeId, SimulationError> {
    let index = experiment.network.node_index(name);
    index
        .map(NodeId::from_index)
        .ok_or_else(|| SimulationError::UnknownNode { what: what(), node: name.to_owned() })
}

fn link_spec(link: &Link) -> LinkSpec {
    LinkSpec {
        rate: link.rate,
        delay: link.delay,
        queue: match link.queue {
            Queue::Unlimited {} => QueueSpec::Unlimited,
            Queue::Pfifo { limit_packets } => QueueSpec::Pfifo { limit_packets },
            Queue::Bfifo { limit_bytes } => QueueSpec::Bfifo { limit_bytes },
        },
        loss: link.loss,
        overhead_bytes: link.overhead_bytes,
    }
}

/// Links that can delay by queueing or drop are measured as queues.
fn queues(experiment: &Experiment) -> (Queues, Vec<String>) {
    let mut names = Vec::new();
    let mut by_link = Vec::new();
    for link in &experiment.network.links {
        let spec = link_spec(link);
        let measured = spec.rate.is_some()
            || spec.loss.as_parts_per_billion() > 0
            || spec.queue != QueueSpec::Unlimited;
        by_link.push(measured.then(|| {
            names.push(link.name.clone());
            QueueId(u32::try_from(names.len() - 1).expect("a network has fewer than 2^32 links"))
        }));
    }
    (Queues { by_link }, names)
}

fn settings(experiment: &Experiment, queues: Vec<String>) -> Settings {
    let measure = &experiment.measure;
    Settings {
        groups: experiment.flows.iter().map(|group| group.name.clone()).collect(),
        flows: Vec::new(),
        queues,
        origin: Instant::ZERO,
        warmup: measure.warmup,
        end: Instant::ZERO + experiment.duration,
        intervals: measure.intervals.clone(),
        per_flow_intervals: measure.per_flow_intervals,
        percentiles: measure.percentiles.clone(),
        endpoint_interval: measure.endpoint_interval,
    }
}

/// What all flows of a group share.
struct Shared<'a> {
    group: &'a FlowGroup,
    number: usize,
    sender_node: NodeId,
    receiver_node: NodeId,
    sender_config: Arc<Config>,
    receiver_config: Arc<Config>,
}

fn add_group(
    assembly: &mut Assembly,
    experiment: &Experiment,
    number: usize,
    group: &FlowGroup,
    seed: u64,
) -> Result<(), SimulationError> {
    let what = || format!("group \"{}\"", group.name);
    let endpoint = |tcp: &TcpSettings| -> Result<Config, SimulationError> {
        let mut config = stack::config(&group.name, tcp, &group.workload)?;
        config.mss = config.mss.min(mss_of(experiment.network.mtu));
        Ok(config)
    };
    let shared = Shared {
        group,
        number,
        sender_node: node(experiment, &group.from, what)?,
        receiver_node: node(experiment, &group.to, what)?,
        sender_config: Arc::new(endpoint(&group.tcp)?),
        receiver_config: Arc::new(endpoint(&group.receiver_tcp)?),
    };
    check_route(
        assembly,
        group,
        shared.sender_node,
        shared.receiver_node,
        (&group.from, &group.to),
    )?;
    check_route(
        assembly,
        group,
        shared.receiver_node,
        shared.sender_node,
        (&group.to, &group.from),
    )?;
    for index in 0..group.count {
        let flow = u64::try_from(assembly.flows.len()).expect("a flow's number");
        let plan = plan(&shared, index, flow, seed);
        assembly.settings.flows.push(FlowDescription {
            group: u32::try_from(number).expect("a group's number"),
            name: format!("{}-{}", group.name, index + 1),
            start: plan.start,
        });
        assembly.captured.push(addresses(experiment, &shared, index));
        assembly.flows.push(Flow::new(plan));
    }
    Ok(())
}

fn check_route(
    assembly: &Assembly,
    group: &FlowGroup,
    from: NodeId,
    to: NodeId,
    names: (&str, &str),
) -> Result<(), SimulationError> {
    match assembly.network.route(from, to) {
        Some(_) => Ok(()),
        None => Err(SimulationError::Unreachable {
            group: group.name.clone(),
            from: names.0.to_owned(),
            to: names.1.to_owned(),
        }),
    }
}

/// The largest segment that an IPv4 packet of `mtu` bytes holds, without options.
fn mss_of(mtu: ByteCount) -> u16 {
    u16::try_from(mtu.get().saturating_sub(40)).unwrap_or(u16::MAX)
}

fn plan(shared: &Shared<'_>, index: u32, flow: u64, seed: u64) -> FlowPlan {
    let group = shared.group;
    let start = group.start_of(index, derive(seed, Purpose::Start, flow));
    FlowPlan {
        sender_config: shared.sender_config.clone(),
        receiver_config: shared.receiver_config.clone(),
        sender_node: shared.sender_node,
        receiver_node: shared.receiver_node,
        sender_port: FIRST_SENDER_PORT + low_16(u64::from(index % SENDER_PORTS)),
        receiver_port: FIRST_RECEIVER_PORT.wrapping_add(low_16(shared.number as u64)),
        sender_sequence: sequence(derive(seed, Purpose::SenderSequence, flow)),
        receiver_sequence: sequence(derive(seed, Purpose::ReceiverSequence, flow)),
        application: application(shared, derive(seed, Purpose::Application, flow)),
        start: Instant::ZERO + start,
        stop: group.stop.map_or(Instant::MAX, |stop| Instant::ZERO + stop),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
fn low_16(number: u64) -> u16 {
    number as u16
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
fn sequence(seed: u64) -> SequenceNumber {
    SequenceNumber::new(seed as u32)
}

fn application(shared: &Shared<'_>, seed: u64) -> Application {
    match &shared.group.workload {
        Workload::Greedy { volume } => Application::Greedy(Greedy::new(volume.map(ByteCount::get))),
        Workload::Thin { size, interval } => {
            let timestamps = shared.sender_config.timestamps && shared.receiver_config.timestamps;
            let payload = match size {
                MessageSize::Payload(size) => sampler(size, ByteCount::get),
                MessageSize::Packet(size) => {
                    sampler(size, |bytes| MessageSize::payload_of_packet(bytes, timestamps).get())
                }
            };
            let interval = sampler(interval, Span::as_nanos);
            Application::Thin(Thin::new(payload, interval, seed))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds below 2^53")]
fn sampler<T: Copy>(varying: &Varying<T>, number: impl Fn(T) -> u64) -> Sampler {
    let whole = number;
    let number = |value| whole(value) as f64;
    match *varying {
        Varying::Constant(value) => Sampler::Constant(whole(value)),
        Varying::Drawn(Distribution::Uniform { min, max }) => {
            Sampler::Uniform { least: number(min), greatest: number(max) }
        }
        Varying::Drawn(Distribution::Normal { mean, deviation }) => {
            // A deviation is a difference: headers do not reduce it.
            Sampler::Normal { mean: number(mean), deviation: number(deviation) }
        }
        Varying::Drawn(Distribution::Exponential { mean }) => {
            Sampler::Exponential { mean: number(mean) }
        }
    }
}

/// Addresses of a flow that the scenario wants captured: 10.0.0.1 for the first node, and so on.
fn addresses(experiment: &Experiment, shared: &Shared<'_>, index: u32) -> Option<Addresses> {
    let capture = experiment.capture.as_ref()?;
    let named = capture.groups.as_ref().is_none_or(|groups| groups.contains(&shared.group.name));
    let wanted = named && capture.flows_per_group.is_none_or(|most| index < most);
    let address = |node: NodeId, index: u32| {
        Ipv4Addr::from(0x0a00_0000 + ((index / SENDER_PORTS) << 14) + node.0 + 1)
    };
    wanted.then(|| Addresses::V4 {
        source: address(shared.sender_node, index),
        destination: address(shared.receiver_node, 0),
    })
}
