//! What every engine shares gets endpoints.

use crate::agenda::Agenda;
use crate::complaints::Governed;
use crate::datagrams::DatagramStreams;
use crate::flow::{Ends, Flow};
use crate::memory::Memories;
use crate::packet::SimulatedPacket;
use crate::relays::Relays;
use crate::{SimulationError, stack};
use fairwind_assembly::{Assembly, FlowPlan, Purpose, QueueMap, derive_seed};
use fairwind_measure::Settings;
use fairwind_network::Network;
use fairwind_scenario::{Experiment, FlowGroup, IpVersion, TcpSettings};
use fairwind_tcp::{Config, PluggedAlgorithm};
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, SequenceNumber};
use std::sync::Arc;

/// Everything that a simulation is made of.
pub(crate) struct Parts {
    pub(crate) network: Network<SimulatedPacket>,
    pub(crate) queues: QueueMap,
    pub(crate) flows: Vec<Flow>,
    /// Streams of datagrams, whose ids follow all others.
    pub(crate) datagrams: DatagramStreams,
    /// The connections of the flows that answer, whose ids follow those of the others.
    pub(crate) answered: Vec<u32>,
    pub(crate) relays: Relays,
    pub(crate) settings: Settings,
    /// Whom to ask for complaints at the end; without flows where all congestion controls are the endpoint's own.
    pub(crate) governed: Governed,
    /// What hosts remember of their connections, where any does.
    pub(crate) memories: Option<Box<Memories>>,
    /// Addresses of sender and receiver by flow, for flows that are to be captured.
    pub(crate) captured: Vec<Option<Addresses>>,
}

/// How the two ends of a group behave.
struct Behaviour {
    sender: Arc<Config>,
    receiver: Arc<Config>,
}

/// Builds what `experiment` describes.
pub(crate) fn assemble(
    experiment: &Experiment,
    seed: u64,
    controls: &[PluggedAlgorithm],
) -> Result<Parts, SimulationError> {
    let total: u64 = experiment.flows.iter().map(FlowGroup::connections).sum();
    if total > Agenda::MOST_FLOWS {
        return Err(SimulationError::TooManyFlows(total));
    }
    let groups = experiment.flows.iter().map(|group| behaviour(experiment, group, controls));
    let behaviours = groups.collect::<Result<Vec<_>, _>>()?;
    let timestamps = |group: &FlowGroup| {
        let number = experiment.flows.iter().position(|other| std::ptr::eq(other, group));
        let behaviour = &behaviours[number.expect("the group is one of the experiment's")];
        behaviour.sender.timestamps && behaviour.receiver.timestamps
    };
    let Assembly { network, queues, flows, datagrams, settings } =
        Assembly::new(experiment, seed, timestamps)?;
    let answered = answered(&settings);
    let relays = Relays::of(&flows);
    let captured = flows.iter().map(|plan| plan.is_captured.then_some(plan.addresses)).collect();
    let memories =
        Memories::new(experiment, &settings, flows.iter().map(|plan| (plan.group, plan.addresses)));
    let governed = Governed::new(experiment, flows.iter().map(|plan| plan.group));
    let with_endpoints = |(flow, plan): (u64, FlowPlan)| {
        let behaviour = &behaviours[plan.group];
        let ends = Ends {
            sender_config: behaviour.sender.clone(),
            receiver_config: behaviour.receiver.clone(),
            sender_sequence: sequence(derive_seed(seed, Purpose::SenderSequence, flow)),
            receiver_sequence: sequence(derive_seed(seed, Purpose::ReceiverSequence, flow)),
        };
        Flow::new(plan, ends)
    };
    let flows = (0..).zip(flows).map(with_endpoints).collect();
    let datagrams = DatagramStreams::new(datagrams);
    Ok(Parts {
        network,
        queues,
        flows,
        datagrams,
        answered,
        relays,
        settings,
        governed,
        memories,
        captured,
    })
}

/// The connections that flows answer, in the order of these flows.
fn answered(settings: &Settings) -> Vec<u32> {
    settings.flows.iter().filter_map(|flow| flow.answers).map(|opening| opening.0).collect()
}

fn behaviour(
    experiment: &Experiment,
    group: &FlowGroup,
    controls: &[PluggedAlgorithm],
) -> Result<Behaviour, SimulationError> {
    let endpoint = |tcp: &TcpSettings| -> Result<Arc<Config>, SimulationError> {
        let mut config = stack::config(&group.name, tcp, &group.workload, controls)?;
        let headers = experiment.network.ip_version.header_bytes();
        let room = experiment.network.mtu.get().saturating_sub(headers);
        config.mss = config.mss.min(u16::try_from(room).unwrap_or(u16::MAX));
        config.path.ip_header_bytes = ip_header_bytes(experiment);
        Ok(Arc::new(config))
    };
    Ok(Behaviour { sender: endpoint(&group.tcp)?, receiver: endpoint(&group.receiver_tcp)? })
}

/// Bytes of the IP header of every packet.
pub(crate) fn ip_header_bytes(experiment: &Experiment) -> u32 {
    match experiment.network.ip_version {
        IpVersion::V4 => IPV4_HEADER_BYTES,
        IpVersion::V6 => IPV6_HEADER_BYTES,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
fn sequence(seed: u64) -> SequenceNumber {
    SequenceNumber::new(seed as u32)
}
