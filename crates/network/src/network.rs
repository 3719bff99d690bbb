//! The network: links, routes and the event queue behind a few calls, built from a topology.
//!
//! Cost per packet and hop: see the example `hop_cost`.

use crate::dama::SharedCarrier;
use crate::event_queue::{Event, EventKind, EventQueue};
use crate::link::{Arrival, Link, LinkContext, LinkKind, Volume};
use crate::pool::{Delivery, DeliveryRef, PacketPool, PacketRef};
use crate::routing::{NextHop, Routes};
use crate::{
    CarrierId, LinkCounters, LinkId, LinkSpec, NodeId, Observer, Packet, QueueDiscipline,
    SlotCounters, Topology, TopologyError,
};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// Hosts, routers and links, with the packets in transit.
///
/// Time only goes forward: an instant earlier than the one reached counts as the latter. Events at [`Instant::MAX`]
/// never happen.
pub struct Network<P> {
    topology: Topology,
    routes: Routes,
    links: Vec<Link>,
    carriers: Vec<SharedCarrier>,
    pool: PacketPool<P>,
    events: EventQueue,
    /// Deliveries that wait to be polled.
    ready: VecDeque<DeliveryRef>,
    now: Instant,
    /// Number of packets that links have accepted; orders deliveries at equal instants.
    insertions: u64,
    injected: Volume,
    unroutable: Volume,
}

impl<P: Packet> Network<P> {
    pub(crate) fn new(
        topology: Topology,
        routes: Routes,
        links: Vec<Link>,
        carriers: Vec<SharedCarrier>,
    ) -> Self {
        Self {
            topology,
            routes,
            links,
            carriers,
            pool: PacketPool::new(),
            events: EventQueue::default(),
            ready: VecDeque::new(),
            now: Instant::ZERO,
            insertions: 0,
            injected: Volume::default(),
            unroutable: Volume::default(),
        }
    }

    /// Injects `packet` at `node`, after all events due up to `now`.
    ///
    /// A packet for `node` itself is delivered at once. Afterwards [`Network::next_event`] may be
    /// earlier than before.
    ///
    /// # Panics
    /// If the network has no such node.
    #[inline]
    pub fn inject<O: Observer<P>>(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: P,
        observer: &mut O,
    ) {
        let packet = self.pool.insert(packet);
        self.set_out(now, node, packet, observer);
    }

    /// Reserves the slot of the next packet, to be overwritten in place: it still holds an earlier packet. Call
    /// [`Network::commit`] next, with no other injection or delivery in between.
    ///
    /// Writing in place saves two copies of a large packet; [`Network::next_delivery_ref`] saves two more.
    #[inline]
    pub fn reserve(&mut self) -> &mut P
    where
        P: Default,
    {
        self.pool.reserve().get_or_insert_default()
    }

    /// Injects the packet written to the slot of [`Network::reserve`], as [`Network::inject`] does. Fields that were not
    /// written keep their old values.
    ///
    /// # Panics
    /// If the network has no such node, or nothing was ever written to the slot.
    #[inline]
    pub fn commit<O: Observer<P>>(&mut self, now: Instant, node: NodeId, observer: &mut O) {
        let packet = self.pool.commit();
        self.set_out(now, node, packet, observer);
    }

    #[inline]
    fn set_out<O: Observer<P>>(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: PacketRef,
        observer: &mut O,
    ) {
        assert!(node.index() < self.topology.names.len(), "packets are injected at known nodes");
        self.perform_until(now, observer);
        self.injected.add_packet(packet.bytes());
        if packet.destination().index() >= self.topology.names.len() {
            self.discard_unroutable(self.now, node, packet, observer);
        } else if self.forward(self.now, node, packet, observer) {
            self.make_ready(packet);
        }
    }

    /// When the next event is due, or a delivery that waits to be polled.
    ///
    /// `None` while the network is empty. Not every event ends in a delivery.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        match self.ready.front() {
            Some(delivery) => Some(delivery.at),
            None => Some(self.events.first()).filter(|due| !due.is_never()).map(Event::at),
        }
    }

    /// Performs and reports all events due up to `now`; deliveries wait for [`Network::poll_delivery`].
    pub fn advance_to<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        self.perform_until(now, observer);
        let mut context = LinkContext { pool: &mut self.pool, events: &mut self.events, observer };
        for link in &mut self.links {
            match &mut link.kind {
                LinkKind::Transparent => {}
                LinkKind::Fused(link) => link.settle(self.now, context.pool, context.observer),
                LinkKind::General(link) => link.settle(self.now, &mut context),
                LinkKind::Slotted(link) => {
                    link.settle(self.now, &mut self.carriers[link.carrier], &mut context);
                }
            }
        }
    }

    /// The next delivery due by the instant reached. Drain it after [`Network::advance_to`], [`Network::inject`] and
    /// [`Network::commit`].
    #[inline]
    pub fn poll_delivery(&mut self) -> Option<Delivery<P>> {
        let arrived = self.ready.pop_front()?;
        Some(self.deliver(&arrived))
    }

    /// Performs events up to the first delivery due by `until` and returns it; `None` if there is none.
    ///
    /// For callers that own the clock: nothing is buffered. Observers may hear late about what queues did in between
    /// (see [`Observer`]), until [`Network::advance_to`].
    #[inline]
    pub fn next_delivery<O: Observer<P>>(
        &mut self,
        until: Instant,
        observer: &mut O,
    ) -> Option<Delivery<P>> {
        let arrived = self.next_delivery_ref(until, observer)?;
        Some(self.deliver(&arrived))
    }

    /// [`Network::next_delivery`] without moving the packet: read it with [`Network::packet`]. It is no longer in
    /// transit, and keeps its slot until [`Network::release`].
    #[inline]
    pub fn next_delivery_ref<O: Observer<P>>(
        &mut self,
        until: Instant,
        observer: &mut O,
    ) -> Option<DeliveryRef> {
        if !self.ready.is_empty() {
            return self.ready_by(until);
        }
        loop {
            let due = self.events.first();
            if !due.is_by(until) {
                return None;
            }
            if let Some(packet) = self.perform(due, observer) {
                return Some(DeliveryRef { at: self.now, packet });
            }
        }
    }

    /// The delivered packet.
    #[inline]
    pub fn packet(&self, delivery: &DeliveryRef) -> &P {
        self.pool.get(delivery.packet)
    }

    /// Releases the slot of a delivered packet; the next packet reuses its memory.
    #[expect(clippy::needless_pass_by_value, reason = "a delivery is released once")]
    #[inline]
    pub fn release(&mut self, delivery: DeliveryRef) {
        self.pool.release(delivery.packet);
    }

    /// Performs all events due up to `now`, which becomes the instant reached.
    #[inline]
    fn perform_until<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        if self.events.first().is_by(now) {
            self.perform_all_until(now, observer);
        }
        self.now = self.now.max(now);
    }

    #[inline(never)]
    fn perform_all_until<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        loop {
            let due = self.events.first();
            if !due.is_by(now) {
                return;
            }
            if let Some(packet) = self.perform(due, observer) {
                self.make_ready(packet);
            }
        }
    }

    /// Performs `due`, the first event; returns the packet that reached its destination.
    #[expect(clippy::inline_always, reason = "one caller per packet; the other is rare")]
    #[inline(always)]
    fn perform<O: Observer<P>>(&mut self, due: Event, observer: &mut O) -> Option<PacketRef> {
        let at = due.at();
        self.now = at;
        let link = &mut self.links[due.link_index()];
        let node = link.to;
        let packet = if let LinkKind::Fused(link) = &mut link.kind {
            let context =
                &mut LinkContext { pool: &mut self.pool, events: &mut self.events, observer };
            link.deliver(at, context)?
        } else {
            self.perform_on_general_link(due, observer)?
        };
        self.forward(at, node, packet, observer).then_some(packet)
    }

    #[inline(never)]
    fn perform_on_general_link<O: Observer<P>>(
        &mut self,
        due: Event,
        observer: &mut O,
    ) -> Option<PacketRef> {
        let context = &mut LinkContext { pool: &mut self.pool, events: &mut self.events, observer };
        match (&mut self.links[due.link_index()].kind, due.work()) {
            (LinkKind::General(link), EventKind::Delivery) => Some(link.deliver(due.at(), context)),
            (LinkKind::General(link), EventKind::Departure) => {
                link.depart(due.at(), context);
                None
            }
            (LinkKind::Slotted(link), EventKind::Delivery) => Some(link.deliver(due.at(), context)),
            (LinkKind::Slotted(link), EventKind::Departure) => {
                link.depart(due.at(), &mut self.carriers[link.carrier], context);
                None
            }
            _ => unreachable!("no other link is on the events"),
        }
    }

    /// Forwards a packet from `node` to a link that takes time, or to its destination; returns whether it arrived.
    #[expect(
        clippy::inline_always,
        reason = "two callers per packet, and the rest of a hop is one call"
    )]
    #[inline(always)]
    fn forward<O: Observer<P>>(
        &mut self,
        at: Instant,
        node: NodeId,
        packet: PacketRef,
        observer: &mut O,
    ) -> bool {
        if node == packet.destination() {
            return true;
        }
        match self.routes.step(node, packet.destination()) {
            NextHop::Link(link) => self.enter(at, (node, link), packet, observer),
            NextHop::TransparentPath(index) => self.pass(at, index, packet, observer),
        }
    }

    /// Forwards a packet over transparent links, to a link that takes time or to its destination; returns whether it
    /// arrived.
    #[expect(clippy::inline_always, reason = "a part of `forward`")]
    #[inline(always)]
    fn pass<O: Observer<P>>(
        &mut self,
        at: Instant,
        index: usize,
        packet: PacketRef,
        observer: &mut O,
    ) -> bool {
        let passage = self.routes.passage_mut(index);
        passage.passed.add_packet(packet.bytes());
        if O::OBSERVES_TRANSPARENT_LINKS {
            let packet = self.pool.get(packet);
            passage.links.iter().for_each(|&link| observer.on_transparent_link(at, link, packet));
        }
        let Some(link) = passage.onward else { return true };
        self.enter_effective(at, link, packet, observer);
        false
    }

    /// Forwards a packet onto `link`, which leads from `node`; returns whether it arrived at its destination.
    #[inline(never)]
    fn enter<O: Observer<P>>(
        &mut self,
        at: Instant,
        (node, link): (NodeId, LinkId),
        packet: PacketRef,
        observer: &mut O,
    ) -> bool {
        match self.links.get(link.index()).map(|link| &link.kind) {
            None => {
                self.discard_unroutable(at, node, packet, observer);
                false
            }
            Some(LinkKind::Transparent) => {
                let index = self.find_passage(node, packet.destination());
                self.pass(at, index, packet, observer)
            }
            Some(_) => {
                self.enter_effective(at, link, packet, observer);
                false
            }
        }
    }

    /// Finds the transparent links from `node` towards `destination`, and remembers them.
    #[cold]
    fn find_passage(&mut self, node: NodeId, destination: NodeId) -> usize {
        let (mut links, mut onward, mut reached) = (Vec::new(), None, node);
        while reached != destination && onward.is_none() {
            let next = self.routes.next_link(reached, destination);
            let link = &self.links[next.index()];
            if let LinkKind::Transparent = link.kind {
                links.push(next);
                reached = link.to;
            } else {
                onward = Some(next);
            }
        }
        self.routes.add_passage((node, destination), links, onward)
    }

    /// Puts a packet on a link that takes time.
    #[inline(never)]
    fn enter_effective<O: Observer<P>>(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: PacketRef,
        observer: &mut O,
    ) {
        self.insertions += 1;
        let arrival = Arrival { at, insertion: self.insertions, packet };
        let context = &mut LinkContext { pool: &mut self.pool, events: &mut self.events, observer };
        if let LinkKind::Fused(link) = &mut self.links[link.index()].kind {
            link.accept(&arrival, context);
        } else {
            self.enter_general_link(link, &arrival, observer);
        }
    }

    #[inline(never)]
    fn enter_general_link<O: Observer<P>>(
        &mut self,
        link: LinkId,
        arrival: &Arrival,
        observer: &mut O,
    ) {
        let context = &mut LinkContext { pool: &mut self.pool, events: &mut self.events, observer };
        match &mut self.links[link.index()].kind {
            LinkKind::General(link) => link.accept(arrival, context),
            LinkKind::Slotted(link) => {
                link.accept(arrival, &mut self.carriers[link.carrier], context);
            }
            _ => unreachable!("packets pass all links but these and fused ones"),
        }
    }

    /// Removes a packet that has reached its destination.
    #[inline]
    fn deliver(&mut self, delivery: &DeliveryRef) -> Delivery<P> {
        let DeliveryRef { at, packet } = *delivery;
        Delivery { at, node: packet.destination(), packet: self.pool.remove(packet) }
    }

    #[inline(never)]
    fn make_ready(&mut self, packet: PacketRef) {
        self.ready.push_back(DeliveryRef { at: self.now, packet });
    }

    #[cold]
    fn ready_by(&mut self, until: Instant) -> Option<DeliveryRef> {
        if self.ready.front()?.at <= until { self.ready.pop_front() } else { None }
    }

    #[cold]
    fn discard_unroutable<O: Observer<P>>(
        &mut self,
        at: Instant,
        node: NodeId,
        packet: PacketRef,
        observer: &mut O,
    ) {
        self.unroutable.add_packet(packet.bytes());
        observer.on_unroutable(at, node, &self.pool.remove(packet));
    }
}

impl<P: Packet> Network<P> {
    /// Links from `from` to `to`, in order; empty if both are the same node, `None` if there is no path.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let nodes = self.topology.names.len();
        let mut path = Vec::new();
        let mut node = from;
        if from.index() >= nodes || to.index() >= nodes {
            return None;
        }
        while node != to {
            let link = self.routes.next_link(node, to);
            node = self.links.get(link.index())?.to;
            path.push(link);
        }
        Some(path)
    }

    /// Packets injected so far.
    pub fn injected(&self) -> Volume {
        self.injected
    }

    /// Packets injected for which there was no route.
    pub fn unroutable(&self) -> Volume {
        self.unroutable
    }

    /// Packets in transit: on links, or delivered and not yet polled.
    pub fn in_transit(&self) -> Volume {
        let mut inside = Volume::default();
        for counters in self.links.iter().filter_map(Link::counters) {
            inside.add_volume(counters.inside());
        }
        for arrived in &self.ready {
            inside.add_packet(arrived.packet.bytes());
        }
        inside
    }

    /// Counters of `link`; complete after [`Network::advance_to`].
    ///
    /// # Panics
    /// If the network has no such link, as do all methods about one link or node.
    pub fn link_counters(&self, link: LinkId) -> LinkCounters {
        self.links[link.index()].counters().unwrap_or_else(|| {
            let passed = self.routes.passed(link);
            LinkCounters { offered: passed, delivered: passed, ..LinkCounters::default() }
        })
    }

    /// Slots assigned to `link` so far, and those it used; `None` if it is on no carrier. Complete after
    /// [`Network::advance_to`].
    pub fn slot_counters(&self, link: LinkId) -> Option<SlotCounters> {
        match &self.links[link.index()].kind {
            LinkKind::Slotted(link) => Some(self.carriers[link.carrier].counters(link.terminal())),
            _ => None,
        }
    }

    /// Description of `link`.
    pub fn link_spec(&self, link: LinkId) -> &LinkSpec {
        &self.topology.links[link.index()].spec
    }

    /// `from->to`, with `#2` and so on from the second link between the same nodes on.
    pub fn link_name(&self, link: LinkId) -> String {
        self.topology.link_name(link)
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

impl Topology {
    /// The network with the queues that the links describe; `seed` decides what links lose.
    ///
    /// # Errors
    /// The first rule that the topology breaks.
    pub fn build<P: Packet>(self, seed: u64) -> Result<Network<P>, TopologyError> {
        self.build_with(seed, |_, _| None)
    }

    /// As [`Topology::build`], with a separate discipline for every link for which `discipline`
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

#[cfg(test)]
mod tests;
