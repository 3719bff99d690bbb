//! The whole network at work: links, routes and the agenda behind four calls.
//!
//! Cost per packet and hop: see the example `hop_cost`.

use crate::agenda::{Agenda, Due, Work};
use crate::link::{Arrival, Link, LinkKind, Volume};
use crate::routing::Routes;
use crate::{LinkCounters, LinkId, LinkSpec, NodeId, Observer, Packet, Topology};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// A packet that has reached its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<P> {
    /// When it did.
    pub at: Instant,
    /// The destination.
    pub node: NodeId,
    /// The packet.
    pub packet: P,
}

/// Hosts, routers and links between them, with the packets inside.
///
/// Time only goes forwards: an instant earlier than one that was reached counts as the latter.
pub struct Network<P> {
    topology: Topology,
    routes: Routes,
    links: Vec<Link<P>>,
    agenda: Agenda,
    /// Deliveries that were due before somebody asked.
    ready: VecDeque<Delivery<P>>,
    now: Instant,
    /// Number of the last acceptance at a link.
    insertions: u64,
    injected: Volume,
    unroutable: Volume,
}

impl<P: Packet> Network<P> {
    pub(crate) fn new(topology: Topology, routes: Routes, links: Vec<Link<P>>) -> Self {
        Self {
            topology,
            routes,
            links,
            agenda: Agenda::default(),
            ready: VecDeque::new(),
            now: Instant::ZERO,
            insertions: 0,
            injected: Volume::default(),
            unroutable: Volume::default(),
        }
    }

    /// Puts `packet` in at `node`, after doing everything due up to `now`.
    ///
    /// A packet for `node` itself is delivered at once. Afterwards [`Network::next_event`] may be
    /// earlier than before.
    ///
    /// # Panics
    /// Where the network has no such node.
    #[inline]
    pub fn inject<O: Observer<P>>(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: P,
        observer: &mut O,
    ) {
        assert!(node.index() < self.topology.names.len(), "packets are injected at known nodes");
        self.perform_until(now, observer);
        self.injected.add(&packet);
        if let Some(delivery) = self.forward(self.now, node, packet, observer) {
            self.ready.push_back(delivery);
        }
    }

    /// When there is something to do next: a delivery that waits to be polled, or work inside.
    ///
    /// None while the network is empty. Not every event ends in a delivery.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        match self.ready.front() {
            Some(delivery) => Some(delivery.at),
            None => self.agenda.first().map(|due| due.at()),
        }
    }

    /// Does everything due up to `now` and reports it; deliveries wait for
    /// [`Network::poll_delivery`].
    pub fn advance_to<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        self.perform_until(now, observer);
        for link in &mut self.links {
            match &mut link.kind {
                LinkKind::Transparent(_) => {}
                LinkKind::Fused(link) => link.settle(self.now, observer),
                LinkKind::General(link) => link.settle(self.now, &mut self.agenda, observer),
            }
        }
    }

    /// The next delivery that is due by the instant advanced to; drain after
    /// [`Network::advance_to`] and [`Network::inject`].
    #[inline]
    pub fn poll_delivery(&mut self) -> Option<Delivery<P>> {
        self.ready.pop_front()
    }

    /// Works up to the first delivery due at or before `until` and gives it; none where there is
    /// none, with everything due by then done.
    ///
    /// This is the way for a caller that owns the clock: nothing is buffered on the way. What
    /// queues do in between is reported late (see [`Observer`]) until [`Network::advance_to`].
    #[inline]
    pub fn next_delivery<O: Observer<P>>(
        &mut self,
        until: Instant,
        observer: &mut O,
    ) -> Option<Delivery<P>> {
        if let Some(waiting) = self.ready.front() {
            return if waiting.at <= until { self.ready.pop_front() } else { None };
        }
        while let Some(due) = self.agenda.first().filter(|due| due.at() <= until) {
            let delivery = self.perform(due, observer);
            if delivery.is_some() {
                return delivery;
            }
        }
        None
    }

    /// Does everything due up to `now`, which becomes the instant reached.
    #[inline]
    fn perform_until<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        while let Some(due) = self.agenda.first().filter(|due| due.at() <= now) {
            if let Some(delivery) = self.perform(due, observer) {
                self.ready.push_back(delivery);
            }
        }
        self.now = self.now.max(now);
    }

    /// Does `due`, the first entry of the agenda.
    #[inline]
    fn perform<O: Observer<P>>(&mut self, due: Due, observer: &mut O) -> Option<Delivery<P>> {
        let at = due.at();
        self.now = at;
        let link = &mut self.links[due.link_index()];
        let node = link.to;
        let agenda = &mut self.agenda;
        let packet = match (&mut link.kind, due.work()) {
            (LinkKind::Fused(link), _) => link.deliver(at, agenda, observer)?,
            (LinkKind::General(link), Work::Delivery) => link.deliver(at, agenda, observer)?,
            (LinkKind::General(link), Work::Departure) => {
                link.depart(at, agenda, observer);
                return None;
            }
            (LinkKind::Transparent(_), _) => unreachable!("nothing takes time on this link"),
        };
        self.forward(at, node, packet, observer)
    }

    /// Sends `packet` on from `node`: through links without effect, up to one that takes time or
    /// to its destination.
    #[inline]
    fn forward<O: Observer<P>>(
        &mut self,
        at: Instant,
        mut node: NodeId,
        packet: P,
        observer: &mut O,
    ) -> Option<Delivery<P>> {
        let destination = packet.destination();
        while node != destination {
            let Some(next) = self.routes.next_link(node, destination) else {
                self.unroutable.add(&packet);
                observer.on_unroutable(at, node, &packet);
                return None;
            };
            let link = &mut self.links[next.index()];
            if let LinkKind::Transparent(ledger) = &mut link.kind {
                ledger.passed(at, &packet, observer);
                node = link.to;
                continue;
            }
            self.insertions += 1;
            let arrival = Arrival { at, insertion: self.insertions, packet };
            match &mut link.kind {
                LinkKind::Fused(link) => link.accept(arrival, &mut self.agenda, observer),
                LinkKind::General(link) => link.accept(arrival, &mut self.agenda, observer),
                LinkKind::Transparent(_) => unreachable!("passed above"),
            }
            return None;
        }
        Some(Delivery { at, node, packet })
    }
}

impl<P: Packet> Network<P> {
    /// Links from `from` to `to`, in order; empty where both are one, none where no path exists.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let mut path = Vec::new();
        let mut node = from;
        while node != to {
            let link = self.routes.next_link(node, to)?;
            path.push(link);
            node = self.links[link.index()].to;
        }
        Some(path)
    }

    /// What was injected so far.
    pub fn injected(&self) -> Volume {
        self.injected
    }

    /// What was injected, but could not reach its destination.
    pub fn unroutable(&self) -> Volume {
        self.unroutable
    }

    /// What is inside: on links, or delivered and not yet polled.
    pub fn in_transit(&self) -> Volume {
        let mut inside = Volume::default();
        for link in &self.links {
            inside.add_volume(link.counters().inside());
        }
        for delivery in &self.ready {
            inside.add(&delivery.packet);
        }
        inside
    }

    /// What happened on `link` so far; complete after [`Network::advance_to`].
    ///
    /// # Panics
    /// Where the network has no such link, as all questions about one link or node.
    pub fn link_counters(&self, link: LinkId) -> &LinkCounters {
        self.links[link.index()].counters()
    }

    /// How `link` was described.
    pub fn link_spec(&self, link: LinkId) -> &LinkSpec {
        &self.topology.links[link.index()].spec
    }

    /// The nodes between which `link` leads: from, to.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        let link = &self.topology.links[link.index()];
        (link.from, link.to)
    }

    /// `from->to`, with `#2` and so on from the second link between the same nodes on.
    pub fn link_name(&self, link: LinkId) -> String {
        self.topology.link_name(link)
    }

    /// Name of `node`.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.topology.names[node.index()]
    }

    /// All links, in the order in which they were added.
    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<P> {
        (0..self.links.len()).map(LinkId::from_index)
    }

    /// All nodes, in the order in which they were added.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<P> {
        (0..self.topology.names.len()).map(NodeId::from_index)
    }
}
