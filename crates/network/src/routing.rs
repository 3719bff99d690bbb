//! Static routes: the next link from every node to every destination.
//!
//! The shortest path by propagation delay, then by number of links; among equal ones the link of lowest id. Hosts do
//! not forward.
//!
//! Transparent links are not crossed one by one: a path over them is looked up once, and its packets are counted
//! together. Most hosts are joined to routers by such links.

use crate::link::Volume;
use crate::topology::{LinkDescription, NodeKind};
use crate::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Length of a path: nanoseconds of propagation, then links.
type Length = (u64, u32);

/// No link leads there.
const NONE: LinkId = LinkId(u32::MAX);

/// Marks the index of a transparent path instead of a link id. Link ids are smaller.
const PASSAGE: u32 = 1 << 31;

/// Where a node sends a packet next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextHop {
    /// Onto this link; [`NONE`] if there is no route.
    Link(LinkId),
    /// Over the transparent path of this index.
    TransparentPath(usize),
}

/// A path over transparent links, from a node towards a destination.
pub(crate) struct TransparentPath {
    /// The links, in order.
    pub(crate) links: Box<[LinkId]>,
    /// The link with effect that follows; `None` if the path ends at the destination.
    pub(crate) onward: Option<LinkId>,
    /// Packets that took this path.
    pub(crate) passed: Volume,
}

/// The next link per node and destination.
pub(crate) struct Routes {
    nodes: usize,
    /// Row per node, column per destination: a link or, after the first packet, a transparent path.
    next: Vec<LinkId>,
    passages: Vec<TransparentPath>,
}

impl Routes {
    pub(crate) fn new(kinds: &[NodeKind], links: &[LinkDescription]) -> Self {
        let next = vec![NONE; kinds.len() * kinds.len()];
        let mut routes = Self { nodes: kinds.len(), next, passages: Vec::new() };
        let arriving = links_by_end(kinds.len(), links);
        for destination in 0..kinds.len() {
            let lengths = lengths_to(destination, kinds, links, &arriving);
            routes.fill(destination, kinds, links, &lengths);
        }
        routes
    }

    /// The next hop from `node` to `destination`.
    ///
    /// # Panics
    /// If a node is unknown.
    #[inline]
    pub(crate) fn step(&self, node: NodeId, destination: NodeId) -> NextHop {
        let next = self.next[self.place(node, destination)];
        if next == NONE || next.0 & PASSAGE == 0 {
            NextHop::Link(next)
        } else {
            NextHop::TransparentPath((next.0 & !PASSAGE) as usize)
        }
    }

    /// The link from `node` towards `destination`; [`NONE`] if there is no route.
    ///
    /// # Panics
    /// If a node is unknown.
    pub(crate) fn next_link(&self, node: NodeId, destination: NodeId) -> LinkId {
        match self.step(node, destination) {
            NextHop::Link(link) => link,
            NextHop::TransparentPath(index) => self.passages[index].links[0],
        }
    }

    /// Routes packets from `node` to `destination` over `links`, which are transparent, and then `onward`.
    pub(crate) fn add_passage(
        &mut self,
        (node, destination): (NodeId, NodeId),
        links: Vec<LinkId>,
        onward: Option<LinkId>,
    ) -> usize {
        let index = self.passages.len();
        let number = u32::try_from(index).ok().filter(|&number| number < !PASSAGE);
        let number = number.expect("fewer than 2^31 pairs of nodes were on a way together");
        let place = self.place(node, destination);
        self.next[place] = LinkId(number | PASSAGE);
        let links = links.into_boxed_slice();
        self.passages.push(TransparentPath { links, onward, passed: Volume::default() });
        index
    }

    #[inline]
    pub(crate) fn passage_mut(&mut self, index: usize) -> &mut TransparentPath {
        &mut self.passages[index]
    }

    /// Packets that crossed the transparent `link`.
    pub(crate) fn passed(&self, link: LinkId) -> Volume {
        let mut passed = Volume::default();
        for passage in self.passages.iter().filter(|passage| passage.links.contains(&link)) {
            passed.add_volume(passage.passed);
        }
        passed
    }

    #[inline]
    fn place(&self, node: NodeId, destination: NodeId) -> usize {
        debug_assert!(destination.index() < self.nodes, "destinations are checked at injection");
        node.index() * self.nodes + destination.index()
    }

    fn fill(
        &mut self,
        destination: usize,
        kinds: &[NodeKind],
        links: &[LinkDescription],
        lengths: &[Option<Length>],
    ) {
        for (index, link) in links.iter().enumerate() {
            let (from, to) = (link.from.index(), link.to.index());
            let Some(rest) = lengths[to].filter(|_| forwards(to, destination, kinds)) else {
                continue;
            };
            let slot = &mut self.next[from * self.nodes + destination];
            // Links come by id, so the first shortest one has the lowest id.
            if from != destination && *slot == NONE && lengths[from] == Some(longer(rest, link)) {
                *slot = LinkId::from_index(index);
            }
        }
    }
}

/// Links that end at each node.
fn links_by_end(nodes: usize, links: &[LinkDescription]) -> Vec<Vec<usize>> {
    let mut arriving = vec![Vec::new(); nodes];
    for (index, link) in links.iter().enumerate() {
        arriving[link.to.index()].push(index);
    }
    arriving
}

/// Whether `node` accepts packets for `destination`: it is the destination, or a router.
fn forwards(node: usize, destination: usize, kinds: &[NodeKind]) -> bool {
    node == destination || kinds[node] == NodeKind::Router
}

fn longer((nanos, hops): Length, link: &LinkDescription) -> Length {
    (nanos.saturating_add(link.spec.delay.as_nanos()), hops + 1)
}

/// Length of the shortest path from every node to `destination` (Dijkstra, backwards).
fn lengths_to(
    destination: usize,
    kinds: &[NodeKind],
    links: &[LinkDescription],
    arriving: &[Vec<usize>],
) -> Vec<Option<Length>> {
    let mut lengths: Vec<Option<Length>> = vec![None; kinds.len()];
    let mut open = BinaryHeap::from([Reverse(((0, 0), destination))]);
    lengths[destination] = Some((0, 0));
    while let Some(Reverse((length, node))) = open.pop() {
        if lengths[node] != Some(length) || !forwards(node, destination, kinds) {
            continue;
        }
        for link in arriving[node].iter().map(|index| &links[*index]) {
            let (from, candidate) = (link.from.index(), longer(length, link));
            if lengths[from].is_none_or(|known| candidate < known) {
                lengths[from] = Some(candidate);
                open.push(Reverse((candidate, from)));
            }
        }
    }
    lengths
}
