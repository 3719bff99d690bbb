//! Static routes: the next link from every node to every destination.
//!
//! The shortest path by propagation delay, then by number of links; where several are equal, each
//! node takes its link of lowest id. Hosts do not forward.

use crate::topology::{LinkDescription, NodeKind};
use crate::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Length of a path: nanoseconds of propagation, then links.
type Length = (u64, u32);

/// No link leads there.
const NONE: LinkId = LinkId(u32::MAX);

/// The next link per node and destination.
pub(crate) struct Routes {
    nodes: usize,
    /// Row per node, column per destination.
    next: Vec<LinkId>,
}

impl Routes {
    pub(crate) fn new(kinds: &[NodeKind], links: &[LinkDescription]) -> Self {
        let mut routes = Self { nodes: kinds.len(), next: vec![NONE; kinds.len() * kinds.len()] };
        let arriving = links_by_end(kinds.len(), links);
        for destination in 0..kinds.len() {
            let lengths = lengths_to(destination, kinds, links, &arriving);
            routes.fill(destination, kinds, links, &lengths);
        }
        routes
    }

    /// The link on which `node` sends what is for `destination`; the id of no link where nothing
    /// leads there.
    ///
    /// # Panics
    /// Where a node is unknown.
    #[inline]
    pub(crate) fn next_link(&self, node: NodeId, destination: NodeId) -> LinkId {
        debug_assert!(destination.index() < self.nodes, "destinations are checked at injection");
        self.next[node.index() * self.nodes + destination.index()]
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
            // Links come by id, so the first that is as short as can be is the one of lowest id.
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

/// Whether a packet for `destination` may come to `node`.
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
