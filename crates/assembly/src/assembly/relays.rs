//! Flows that pass on what others bring.

use super::Assembly;
use crate::AssemblyError;
use fairwind_measure::FlowId;
use fairwind_network::Packet;
use fairwind_scenario::Experiment;
use fairwind_units::Instant;

impl<P: Packet> Assembly<P> {
    /// Gives each flow that relays the flow that it does, and measures it from where its data comes from: its start
    /// is that of the transfer.
    pub(super) fn join_relays(&mut self, experiment: &Experiment) -> Result<(), AssemblyError> {
        for (number, group) in experiment.flows.iter().enumerate() {
            let Some(of) = group.workload.relayed() else { continue };
            let first = experiment.flows.iter().position(|other| other.name == of);
            self.join(number, first).ok_or_else(|| AssemblyError::NothingToRelay {
                group: group.name.clone(),
                of: of.to_owned(),
            })?;
        }
        for place in 0..self.flows.len() {
            if self.flows[place].relays.is_some() {
                let origin = self.origin(place);
                self.settings.flows[place].start = self.flows[origin].start;
            }
        }
        Ok(())
    }

    /// Joins the flows of group `relay` to those of group `first`, one to one; `None` where they do not fit.
    fn join(&mut self, relay: usize, first: Option<usize>) -> Option<()> {
        let first_place = self.flows.iter().position(|flow| Some(flow.group) == first)?;
        let of_relay = |flow: &&mut crate::FlowPlan| flow.group == relay;
        let (mut ends, mut place) = (Vec::new(), first_place);
        while let Some(flow) = self.flows.get(place).filter(|flow| Some(flow.group) == first) {
            ends.push((flow.flow, flow.receiver_node));
            place += 1;
        }
        let mut ends = ends.into_iter();
        for flow in self.flows.iter_mut().filter(of_relay) {
            let (relayed, node): (FlowId, _) = ends.next()?;
            if node != flow.sender_node || relayed == flow.flow {
                return None;
            }
            flow.relays = Some(relayed);
            flow.start = Instant::MAX;
        }
        ends.next().is_none().then_some(())
    }

    /// The place of the flow whose data the one in `place` carries.
    fn origin(&self, mut place: usize) -> usize {
        // In a circle, which no checked scenario has, it ends somewhere.
        for _ in 0..self.flows.len() {
            let Some(relayed) = self.flows[place].relays else { break };
            place = relayed.index();
        }
        place
    }
}
