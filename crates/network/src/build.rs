//! Construction of a [`Network`] from a [`Topology`].

use crate::demand::SharedCarrier;
use crate::link::Link;
use crate::routing::Routes;
use crate::{
    CarrierId, LinkId, LinkSpec, Network, Packet, QueueDiscipline, Topology, TopologyError,
};

impl Topology {
    /// The network with the queues that the links describe; `seed` decides what links lose.
    ///
    /// # Errors
    /// The first rule that the topology breaks.
    pub fn build<P: Packet>(self, seed: u64) -> Result<Network<P>, TopologyError> {
        self.build_with(seed, |_, _| None)
    }

    /// As [`Topology::build`], with a discipline of its own for every link for which `discipline`
    /// gives one; the link's [`LinkSpec::queue`] then has no meaning.
    ///
    /// # Errors
    /// The first rule that the topology breaks.
    pub fn build_with<P: Packet>(
        self,
        seed: u64,
        mut discipline: impl FnMut(LinkId, &LinkSpec) -> Option<Box<dyn QueueDiscipline>>,
    ) -> Result<Network<P>, TopologyError> {
        self.check()?;
        let routes = Routes::new(&self.kinds, &self.links);
        let mut terminals = vec![0; self.carriers.len()];
        let links = (0..)
            .map(LinkId)
            .zip(&self.links)
            .map(|(id, link)| {
                let own = discipline(id, &link.spec);
                let terminal = link.spec.carrier_access.map_or(0, |access| {
                    let next = &mut terminals[access.carrier.index()];
                    *next += 1;
                    *next - 1
                });
                Link::new(id, link, own, terminal, (seed, &self.groups))
            })
            .collect();
        let carriers = (0..).map(CarrierId).zip(&self.carriers);
        let carriers = carriers
            .map(|(id, carrier)| SharedCarrier::new(*carrier, &self.terminals_of(id)))
            .collect();
        Ok(Network::new(self, routes, links, carriers))
    }
}
