//! Streams of datagrams: flows without a connection.

use super::Assembly;
use crate::AssemblyError;
use crate::application::Prototypes;
use crate::flow::{DatagramPlan, addresses, receiver_port, sender_port};
use crate::seeds::{Purpose, derive_seed};
use fairwind_measure::{FlowDescription, FlowId, ObservationPoints};
use fairwind_network::Packet;
use fairwind_scenario::{Experiment, FlowGroup};
use fairwind_units::Instant;

impl<P: Packet> Assembly<P> {
    /// Adds the flows of group `number`, which sends datagrams.
    pub(super) fn add_datagrams(
        &mut self,
        experiment: &Experiment,
        number: usize,
        group: &FlowGroup,
        prototypes: &Prototypes,
        seed: u64,
    ) -> Result<(), AssemblyError> {
        let ends = self.ends(experiment, group)?;
        let ip_version = experiment.network.ip_version;
        let room = experiment.network.mtu.get().saturating_sub(ip_version.datagram_header_bytes());
        for index in 0..group.count {
            let id = u32::try_from(self.settings.flows.len()).expect("a flow's number");
            let flow = u64::from(id);
            let start = group.start_of(index, derive_seed(seed, Purpose::Start, flow));
            let plan = DatagramPlan {
                flow: FlowId(id),
                group: number,
                name: format!("{}-{}", group.name, index + 1),
                sender_node: ends.0,
                receiver_node: ends.1,
                addresses: addresses(ip_version, ends.0, ends.1, index),
                sender_port: sender_port(index),
                receiver_port: receiver_port(number),
                application: prototypes.opening.seeded(derive_seed(seed, Purpose::Application, flow)),
                most_payload: u32::try_from(room.max(1)).unwrap_or(u32::MAX),
                start: Instant::ZERO + start,
                stop: group.stop.map_or(Instant::MAX, |stop| Instant::ZERO + stop),
            };
            self.settings.flows.push(FlowDescription {
                group: u32::try_from(number).expect("a group's number"),
                name: plan.name.clone(),
                start: plan.start,
                answers: None,
                seen_at: ObservationPoints::DATAGRAMS,
            });
            self.datagrams.push(plan);
        }
        Ok(())
    }
}
