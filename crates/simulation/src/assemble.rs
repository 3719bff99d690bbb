//! The parts of a simulation: what every engine assembles, with endpoints.

use crate::agenda::Agenda;
use crate::end::{DatagramStreams, End, EndpointStart};
use crate::external_controls::ExternalControls;
use crate::packet::{EndId, SimulatedPacket};
use crate::window_caches::WindowCaches;
use crate::{SimulationError, endpoint_settings};
use fairwind_assembly::{Assembly, FlowPlan, Purpose, QueueMap, derive_seed};
use fairwind_measure::Settings;
use fairwind_network::Network;
use fairwind_scenario::{Experiment, FlowGroup, TcpSettings};
use fairwind_tcp::{Config, PluggedAlgorithm};
use fairwind_wire::SequenceNumber;
use fairwind_wire::bytes::Addresses;
use std::sync::Arc;

/// Everything that a simulation is made of.
pub(crate) struct Parts {
    pub(crate) network: Network<SimulatedPacket>,
    pub(crate) queues: QueueMap,
    /// The two ends of each connection, the client's first.
    pub(crate) ends: Vec<End>,
    pub(crate) datagrams: DatagramStreams,
    pub(crate) settings: Settings,
    pub(crate) external_controls: ExternalControls,
    /// Window caches of hosts, where any has one.
    pub(crate) window_caches: Option<Box<WindowCaches>>,
    /// Addresses of client and server by connection, for captured connections.
    pub(crate) captured: Vec<Option<Addresses>>,
}

/// The settings of the two ends of a group.
struct GroupConfig {
    client: Arc<Config>,
    server: Arc<Config>,
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
    let groups = experiment.flows.iter().map(|group| group_config(experiment, group, controls));
    let configs = groups.collect::<Result<Vec<_>, _>>()?;
    let timestamps = |group: &FlowGroup| {
        let number = experiment.flows.iter().position(|other| std::ptr::eq(other, group));
        let config = &configs[number.expect("the group is one of the experiment's")];
        config.client.timestamps && config.server.timestamps
    };
    let Assembly { network, queues, flows, datagrams, settings } =
        Assembly::new(experiment, seed, timestamps)?;
    let captured = flows.iter().map(|plan| plan.is_captured.then_some(plan.addresses)).collect();
    let groups = flows.iter().map(|plan| (plan.group, plan.addresses));
    let window_caches = WindowCaches::new(experiment, &settings, groups);
    let external_controls = ExternalControls::new(experiment, flows.iter().map(|plan| plan.group));
    let relayed: Vec<_> = flows.iter().filter_map(|plan| Some((plan.relays?, plan.flow))).collect();
    let pair = |(flow, plan): (u64, FlowPlan)| {
        let GroupConfig { client, server } = &configs[plan.group];
        let start = |config: &Arc<Config>, purpose| EndpointStart {
            config: config.clone(),
            sequence: sequence(derive_seed(seed, purpose, flow)),
        };
        let client = start(client, Purpose::SenderSequence);
        End::pair(plan, client, start(server, Purpose::ReceiverSequence))
    };
    let mut ends: Vec<End> = (0..).zip(flows).flat_map(pair).collect();
    for (first, second) in relayed {
        let (server, client) = (EndId::server(first.0), EndId::client(second.0));
        ends[server.index()].joined = Some(client);
        ends[client.index()].joined = Some(server);
    }
    let datagrams = DatagramStreams::new(datagrams);
    Ok(Parts {
        network,
        queues,
        ends,
        datagrams,
        settings,
        external_controls,
        window_caches,
        captured,
    })
}

fn group_config(
    experiment: &Experiment,
    group: &FlowGroup,
    controls: &[PluggedAlgorithm],
) -> Result<GroupConfig, SimulationError> {
    let endpoint = |tcp: &TcpSettings| -> Result<Arc<Config>, SimulationError> {
        let mut config = endpoint_settings::config(&group.name, tcp, &group.workload, controls)?;
        let headers = experiment.network.ip_version.header_bytes();
        let room = experiment.network.mtu.get().saturating_sub(headers);
        config.mss = config.mss.min(u16::try_from(room).unwrap_or(u16::MAX));
        config.path.ip_header_bytes = ip_header_bytes(experiment);
        Ok(Arc::new(config))
    };
    Ok(GroupConfig { client: endpoint(&group.tcp)?, server: endpoint(&group.receiver_tcp)? })
}

/// Bytes of the IP header of every packet.
pub(crate) fn ip_header_bytes(experiment: &Experiment) -> u32 {
    u32::try_from(experiment.network.ip_version.ip_header_bytes()).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
fn sequence(seed: u64) -> SequenceNumber {
    SequenceNumber::new(seed as u32)
}
