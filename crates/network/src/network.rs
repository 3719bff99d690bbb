//! The whole network at work: links, routes and the agenda behind a few calls.
//!
//! Cost per packet and hop: see the example `hop_cost`.

use crate::agenda::{Agenda, Due, Work};
use crate::delivery::{Arrived, Delivery};
use crate::demand::SharedCarrier;
use crate::link::{Arrival, Link, LinkKind, Surroundings, Volume};
use crate::parcel::{Depot, Parcel};
use crate::routing::{Routes, Step};
use crate::{LinkCounters, LinkId, LinkSpec, NodeId, Observer, Packet, SlotCounters, Topology};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// Hosts, routers and links between them, with the packets inside.
///
/// Time only goes forwards: an instant earlier than one that was reached counts as the latter. What
/// is due at [`Instant::MAX`] or beyond is never done.
pub struct Network<P> {
    topology: Topology,
    routes: Routes,
    links: Vec<Link>,
    carriers: Vec<SharedCarrier>,
    depot: Depot<P>,
    agenda: Agenda,
    /// Deliveries that were due before somebody asked.
    ready: VecDeque<Arrived>,
    now: Instant,
    /// Number of the last acceptance at a link.
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
            depot: Depot::new(),
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
        let parcel = self.depot.put(packet);
        self.set_out(now, node, parcel, observer);
    }

    /// The packet that [`Network::launch`] puts in, to be written over: what it says is left from an earlier one. Between
    /// the two calls nothing else may be put in or taken out.
    ///
    /// This spares a large packet two copies, beside [`Network::next_arrival`] as many again.
    #[inline]
    pub fn vacancy(&mut self) -> &mut P
    where
        P: Default,
    {
        self.depot.vacancy().get_or_insert_default()
    }

    /// Puts in what was written to the [`Network::vacancy`], as [`Network::inject`] would; what was not written over
    /// goes as it was left.
    ///
    /// # Panics
    /// Where the network has no such node, and where nothing ever was written.
    #[inline]
    pub fn launch<O: Observer<P>>(&mut self, now: Instant, node: NodeId, observer: &mut O) {
        let parcel = self.depot.occupy();
        self.set_out(now, node, parcel, observer);
    }

    #[inline]
    fn set_out<O: Observer<P>>(
        &mut self,
        now: Instant,
        node: NodeId,
        parcel: Parcel,
        observer: &mut O,
    ) {
        assert!(node.index() < self.topology.names.len(), "packets are injected at known nodes");
        self.perform_until(now, observer);
        self.injected.add_packet(parcel.bytes());
        if parcel.destination().index() >= self.topology.names.len() {
            self.discard_unroutable(self.now, node, parcel, observer);
        } else if self.forward(self.now, node, parcel, observer) {
            self.make_ready(parcel);
        }
    }

    /// When there is something to do next: a delivery that waits to be polled, or work inside.
    ///
    /// None while the network is empty. Not every event ends in a delivery.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        match self.ready.front() {
            Some(delivery) => Some(delivery.at),
            None => Some(self.agenda.first()).filter(|due| !due.is_never()).map(Due::at),
        }
    }

    /// Does everything due up to `now` and reports it; deliveries wait for
    /// [`Network::poll_delivery`].
    pub fn advance_to<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        self.perform_until(now, observer);
        let mut around =
            Surroundings { depot: &mut self.depot, agenda: &mut self.agenda, observer };
        for link in &mut self.links {
            match &mut link.kind {
                LinkKind::Transparent => {}
                LinkKind::Fused(link) => link.settle(self.now, around.depot, around.observer),
                LinkKind::General(link) => link.settle(self.now, &mut around),
                LinkKind::Assigned(link) => {
                    link.settle(self.now, &mut self.carriers[link.carrier], &mut around);
                }
            }
        }
    }

    /// The next delivery that is due by the instant advanced to; drain after
    /// [`Network::advance_to`], [`Network::inject`] and [`Network::launch`].
    #[inline]
    pub fn poll_delivery(&mut self) -> Option<Delivery<P>> {
        let arrived = self.ready.pop_front()?;
        Some(self.deliver(&arrived))
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
        let arrived = self.next_arrival(until, observer)?;
        Some(self.deliver(&arrived))
    }

    /// As [`Network::next_delivery`], for a caller who looks at the packet where it lies. It is not in transit any more,
    /// and keeps its place until it is given to [`Network::clear_away`].
    #[inline]
    pub fn next_arrival<O: Observer<P>>(
        &mut self,
        until: Instant,
        observer: &mut O,
    ) -> Option<Arrived> {
        if !self.ready.is_empty() {
            return self.ready_by(until);
        }
        loop {
            let due = self.agenda.first();
            if !due.is_by(until) {
                return None;
            }
            if let Some(parcel) = self.perform(due, observer) {
                return Some(Arrived { at: self.now, parcel });
            }
        }
    }

    /// The packet that has arrived.
    #[inline]
    pub fn arrived(&self, arrived: &Arrived) -> &P {
        self.depot.packet(arrived.parcel)
    }

    /// Takes a packet away that has arrived; what it holds in memory is kept for the next one.
    #[expect(clippy::needless_pass_by_value, reason = "what has arrived is cleared away once")]
    #[inline]
    pub fn clear_away(&mut self, arrived: Arrived) {
        self.depot.vacate(arrived.parcel);
    }

    /// Does everything due up to `now`, which becomes the instant reached.
    #[inline]
    fn perform_until<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        if self.agenda.first().is_by(now) {
            self.perform_all_until(now, observer);
        }
        self.now = self.now.max(now);
    }

    #[inline(never)]
    fn perform_all_until<O: Observer<P>>(&mut self, now: Instant, observer: &mut O) {
        loop {
            let due = self.agenda.first();
            if !due.is_by(now) {
                return;
            }
            if let Some(parcel) = self.perform(due, observer) {
                self.make_ready(parcel);
            }
        }
    }

    /// Does `due`, the first entry of the agenda; gives what reached its destination by it.
    #[inline]
    fn perform<O: Observer<P>>(&mut self, due: Due, observer: &mut O) -> Option<Parcel> {
        let at = due.at();
        self.now = at;
        let link = &mut self.links[due.link_index()];
        let node = link.to;
        let parcel = if let LinkKind::Fused(link) = &mut link.kind {
            let around =
                &mut Surroundings { depot: &mut self.depot, agenda: &mut self.agenda, observer };
            link.deliver(at, around)?
        } else {
            self.perform_on_general_link(due, observer)?
        };
        self.forward(at, node, parcel, observer).then_some(parcel)
    }

    #[inline(never)]
    fn perform_on_general_link<O: Observer<P>>(
        &mut self,
        due: Due,
        observer: &mut O,
    ) -> Option<Parcel> {
        let around =
            &mut Surroundings { depot: &mut self.depot, agenda: &mut self.agenda, observer };
        match (&mut self.links[due.link_index()].kind, due.work()) {
            (LinkKind::General(link), Work::Delivery) => Some(link.deliver(due.at(), around)),
            (LinkKind::General(link), Work::Departure) => {
                link.depart(due.at(), around);
                None
            }
            (LinkKind::Assigned(link), Work::Delivery) => Some(link.deliver(due.at(), around)),
            (LinkKind::Assigned(link), Work::Departure) => {
                link.depart(due.at(), &mut self.carriers[link.carrier], around);
                None
            }
            _ => unreachable!("no other link is on the agenda"),
        }
    }

    /// Sends a packet on from `node`, up to a link that takes time or to its destination; whether
    /// it is there.
    #[inline]
    fn forward<O: Observer<P>>(
        &mut self,
        at: Instant,
        node: NodeId,
        parcel: Parcel,
        observer: &mut O,
    ) -> bool {
        if node == parcel.destination() {
            return true;
        }
        match self.routes.step(node, parcel.destination()) {
            Step::Link(link) => self.enter(at, (node, link), parcel, observer),
            Step::Passage(index) => self.pass(at, index, parcel, observer),
        }
    }

    /// Lets a packet pass links without effect, up to a link that takes time or to its destination; whether it is
    /// there.
    #[inline]
    fn pass<O: Observer<P>>(
        &mut self,
        at: Instant,
        index: usize,
        parcel: Parcel,
        observer: &mut O,
    ) -> bool {
        let passage = self.routes.passage_mut(index);
        passage.passed.add_packet(parcel.bytes());
        if O::WATCHES_PASSAGES {
            let packet = self.depot.packet(parcel);
            passage.links.iter().for_each(|&link| observer.on_pass(at, link, packet));
        }
        let Some(link) = passage.onward else { return true };
        self.enter_effective(at, link, parcel, observer);
        false
    }

    /// Puts a packet on a link that leads from `node`; whether it is at its destination by that.
    #[inline]
    fn enter<O: Observer<P>>(
        &mut self,
        at: Instant,
        (node, link): (NodeId, LinkId),
        parcel: Parcel,
        observer: &mut O,
    ) -> bool {
        match self.links.get(link.index()).map(|link| &link.kind) {
            None => {
                self.discard_unroutable(at, node, parcel, observer);
                false
            }
            Some(LinkKind::Transparent) => {
                let index = self.find_passage(node, parcel.destination());
                self.pass(at, index, parcel, observer)
            }
            Some(_) => {
                self.enter_effective(at, link, parcel, observer);
                false
            }
        }
    }

    /// Looks for the way from `node` to `destination`, for those who come later.
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
    #[inline]
    fn enter_effective<O: Observer<P>>(
        &mut self,
        at: Instant,
        link: LinkId,
        parcel: Parcel,
        observer: &mut O,
    ) {
        self.insertions += 1;
        let arrival = Arrival { at, insertion: self.insertions, parcel };
        let around =
            &mut Surroundings { depot: &mut self.depot, agenda: &mut self.agenda, observer };
        if let LinkKind::Fused(link) = &mut self.links[link.index()].kind {
            link.accept(&arrival, around);
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
        let around =
            &mut Surroundings { depot: &mut self.depot, agenda: &mut self.agenda, observer };
        match &mut self.links[link.index()].kind {
            LinkKind::General(link) => link.accept(arrival, around),
            LinkKind::Assigned(link) => {
                link.accept(arrival, &mut self.carriers[link.carrier], around);
            }
            _ => unreachable!("packets pass all links but these and fused ones"),
        }
    }

    /// Takes out a packet that has reached its destination.
    #[inline]
    fn deliver(&mut self, arrived: &Arrived) -> Delivery<P> {
        let Arrived { at, parcel } = *arrived;
        Delivery { at, node: parcel.destination(), packet: self.depot.take(parcel) }
    }

    #[inline(never)]
    fn make_ready(&mut self, parcel: Parcel) {
        self.ready.push_back(Arrived { at: self.now, parcel });
    }

    #[cold]
    fn ready_by(&mut self, until: Instant) -> Option<Arrived> {
        if self.ready.front()?.at <= until { self.ready.pop_front() } else { None }
    }

    #[cold]
    fn discard_unroutable<O: Observer<P>>(
        &mut self,
        at: Instant,
        node: NodeId,
        parcel: Parcel,
        observer: &mut O,
    ) {
        self.unroutable.add_packet(parcel.bytes());
        observer.on_unroutable(at, node, &self.depot.take(parcel));
    }
}

impl<P: Packet> Network<P> {
    /// Links from `from` to `to`, in order; empty where both are one, none where no path exists.
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
        for counters in self.links.iter().filter_map(Link::counters) {
            inside.add_volume(counters.inside());
        }
        for arrived in &self.ready {
            inside.add_packet(arrived.parcel.bytes());
        }
        inside
    }

    /// What happened on `link` so far; complete after [`Network::advance_to`].
    ///
    /// # Panics
    /// Where the network has no such link, as all questions about one link or node.
    pub fn link_counters(&self, link: LinkId) -> LinkCounters {
        self.links[link.index()].counters().unwrap_or_else(|| {
            let passed = self.routes.passed(link);
            LinkCounters { offered: passed, delivered: passed, ..LinkCounters::default() }
        })
    }

    /// Slots that `link` has had so far, and those in which it sent something; none where it is on no carrier. Complete
    /// after [`Network::advance_to`].
    pub fn slot_counters(&self, link: LinkId) -> Option<SlotCounters> {
        match &self.links[link.index()].kind {
            LinkKind::Assigned(link) => Some(self.carriers[link.carrier].counters(link.terminal())),
            _ => None,
        }
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

#[cfg(test)]
mod tests;
