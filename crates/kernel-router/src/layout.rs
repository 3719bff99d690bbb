//! Layout of an experiment's network: namespaces, veth pairs and queue disciplines.
//!
//! Every router of the experiment is a namespace, every pair of opposite links a veth (a pair of virtual
//! Ethernet devices). A link's rate and queue stand at the end of the veth that it leads from. Delay
//! and loss stand in a namespace of their own in the middle of the veth, as a delay emulator stands
//! beside a router: a queue discipline that delayed packets in the router itself would count
//! them as waiting there. Hosts have nothing but a plain veth to a namespace of ours.

use fairwind_assembly::FIRST_RECEIVER_PORT;
use fairwind_qdisc::{Filter, Loss, Red};
use fairwind_scenario::{Experiment, FlowGroup, Link, NodeKind, Qdisc};
use fairwind_units::{BitRate, Ratio, Span};

/// What a cable's packets have before their IP header, in bytes.
pub(super) const ETHERNET_HEADER: i32 = 14;

/// Room for everything, in packets.
pub(super) const UNLIMITED: u32 = 1_000_000;

/// Queue disciplines at an end of a veth, for outgoing packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Discipline {
    /// Nothing: packets pass at once.
    None,
    /// A rate, with the queue before it, or a queue that shapes; the first is the link that it stands for.
    Rate { link: usize, rate: Option<BitRate>, queue: Qdisc, overhead_bytes: u32 },
    /// Delay and loss of a link.
    Delay { link: usize, delay: Span, loss: Option<Loss> },
}

/// One end of a veth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VethEnd {
    /// Index into [`Layout::places`].
    pub(super) place: usize,
    /// Name of the device.
    pub(super) device: String,
    pub(super) discipline: Discipline,
}

/// A pair of virtual Ethernet devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VethPair {
    pub(super) ends: [VethEnd; 2],
}

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LayoutNode {
    /// Node `node` of the experiment, a host: its process makes its namespace.
    Host { node: usize },
    /// One of ours, which forwards.
    Middle { name: String },
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// The nodes of the experiment in their order, and then what is needed beside them.
    pub(super) places: Vec<LayoutNode>,
    pub(super) veths: Vec<VethPair>,
}

impl Layout {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let network = &experiment.network;
        let mut layout = Self::default();
        for (node, description) in network.nodes.iter().enumerate() {
            layout.places.push(match description.kind {
                NodeKind::Host => LayoutNode::Host { node },
                NodeKind::Router => LayoutNode::Middle { name: description.name.clone() },
            });
        }
        let mut is_done = vec![false; network.links.len()];
        for (index, link) in network.links.iter().enumerate() {
            if is_done[index] {
                continue;
            }
            let back = network.links.iter().enumerate().position(|(other, candidate)| {
                !is_done[other] && candidate.from == link.to && candidate.to == link.from
            });
            is_done[index] = true;
            if let Some(back) = back {
                is_done[back] = true;
            }
            layout.create_veth(experiment, index, back);
        }
        layout
    }

    /// Creates the veth pair of a link and of its opposite.
    fn create_veth(&mut self, experiment: &Experiment, there: usize, back: Option<usize>) {
        let network = &experiment.network;
        let link = &network.links[there];
        let place = |name: &str| network.node_index(name).expect("links lead to nodes");
        let mut ends = [place(&link.from), place(&link.to)];
        let links =
            [Some(there), back].map(|index| index.map(|index| (index, &network.links[index])));
        for (end, leaving) in ends.iter_mut().zip(links) {
            let has_rate = leaving.is_some_and(|leaving| rate_of(leaving) != Discipline::None);
            if has_rate && matches!(self.places[*end], LayoutNode::Host { .. }) {
                let port = self.middle(&link.name, "port");
                self.join([*end, port], [Discipline::None, Discipline::None]);
                *end = port;
            }
        }
        let rates = links.map(|link| link.map_or(Discipline::None, rate_of));
        let rates = rates.map(|rate| match rate {
            Discipline::Rate { link, rate, queue, overhead_bytes } => {
                let queue = for_kernel(&queue, &experiment.flows);
                Discipline::Rate { link, rate, queue, overhead_bytes }
            }
            other => other,
        });
        let delays = links.map(|link| link.map_or(Discipline::None, delay_of));
        if delays == [Discipline::None, Discipline::None] {
            self.join(ends, rates);
            return;
        }
        let emulator = self.middle(&link.name, "delay");
        let ([near_rate, far_rate], [there, back]) = (rates, delays);
        self.join([ends[0], emulator], [near_rate, back]);
        self.join([emulator, ends[1]], [there, far_rate]);
    }

    fn middle(&mut self, link: &str, what: &str) -> usize {
        self.places.push(LayoutNode::Middle { name: format!("{link}-{what}") });
        self.places.len() - 1
    }

    fn join(&mut self, places: [usize; 2], disciplines: [Discipline; 2]) {
        let number = self.veths.len();
        let [near, far] = disciplines;
        let end = |side: usize, discipline| VethEnd {
            place: places[side],
            device: format!("veth{number}{}", ["a", "b"][side]),
            discipline,
        };
        self.veths.push(VethPair { ends: [end(0, near), end(1, far)] });
    }

    /// The disciplines that packets pass.
    pub(super) fn disciplines(&self) -> impl Iterator<Item = &Discipline> {
        self.veths.iter().flat_map(|veth| &veth.ends).map(|end| &end.discipline)
    }

    /// The veth that ends at `place`, and which of its ends does.
    pub(super) fn ends_at(&self, place: usize) -> impl Iterator<Item = (&VethPair, usize)> {
        self.veths
            .iter()
            .flat_map(|veth| [(veth, 0), (veth, 1)])
            .filter(move |(veth, side)| veth.ends[*side].place == place)
    }

    /// For each place, over which of its devices a packet goes that is for `destination`; `None` if
    /// nothing leads there. Paths have the fewest veths.
    pub(super) fn ways_to(&self, destination: usize) -> Vec<Option<&VethEnd>> {
        let mut ways = vec![None; self.places.len()];
        let mut reached = std::collections::VecDeque::from([destination]);
        while let Some(place) = reached.pop_front() {
            for (veth, side) in self.ends_at(place) {
                let beyond = &veth.ends[1 - side];
                if beyond.place != destination && ways[beyond.place].is_none() {
                    ways[beyond.place] = Some(beyond);
                    reached.push_back(beyond.place);
                }
            }
        }
        ways
    }
}

/// A queue with what the kernel needs beside: filters by group become filters by port, since each group has one at its
/// receivers; the kernel drops what no filter of a drr takes, which with us is for the classes without filters; a second
/// bucket belongs to a peak rate; cake counts packets from their Ethernet header on.
pub(super) fn for_kernel(queue: &Qdisc, groups: &[FlowGroup]) -> Qdisc {
    let mut queue = queue.clone();
    let replace = |filters: &mut Vec<Filter>| {
        *filters = filters.drain(..).flat_map(|filter| by_port(filter, groups)).collect();
    };
    match &mut queue {
        // Its sizes have no Ethernet header any more (`stab`), and it takes one off where there is an overhead.
        Qdisc::Cake(cake) => cake.overhead_bytes += ETHERNET_HEADER,
        Qdisc::Unlimited {} => queue = Qdisc::Pfifo { limit_packets: UNLIMITED },
        Qdisc::Tbf(tbf) => {
            tbf.mtu_bytes = tbf.peak_rate.map(|_| tbf.mtu_bytes.unwrap_or(1500));
            if let Some(child) = &mut tbf.child {
                **child = for_kernel(child, groups);
            }
        }
        Qdisc::Red(Red { child: Some(child), .. }) => **child = for_kernel(child, groups),
        Qdisc::Htb(htb) => {
            for class in &mut htb.classes {
                replace(&mut class.filters);
                class.child = class.child.take().map(|child| for_kernel(&child, groups));
            }
        }
        Qdisc::Hfsc(hfsc) => {
            for class in &mut hfsc.classes {
                replace(&mut class.filters);
                class.child = class.child.take().map(|child| for_kernel(&child, groups));
            }
        }
        Qdisc::Drr(drr) => {
            drr.classes.sort_by_key(|class| class.filters.is_empty());
            for class in &mut drr.classes {
                if class.filters.is_empty() {
                    class.filters.push(Filter::default());
                }
                replace(&mut class.filters);
                class.child = for_kernel(&class.child, groups);
            }
        }
        Qdisc::Prio(prio) => {
            let filters = prio.filters.drain(..);
            let by_port = |(filter, band)| {
                by_port(filter, groups).into_iter().map(move |filter| (filter, band))
            };
            prio.filters = filters.flat_map(by_port).collect();
            for band in &mut prio.bands {
                *band = for_kernel(band, groups);
            }
        }
        _ => {}
    }
    queue
}

/// The filters that take together what `filter` takes.
fn by_port(filter: Filter, groups: &[FlowGroup]) -> Vec<Filter> {
    let Some(name) = &filter.group else { return vec![filter] };
    let port = (FIRST_RECEIVER_PORT..).zip(groups).find(|(_, group)| group.name == *name);
    let port = port.map(|(port, _)| port);
    let is_possible = |named: Option<u16>| named.is_none() || named == port;
    let forward = Filter { group: None, destination_port: port, ..filter.clone() };
    let backward = Filter { group: None, source_port: port, ..filter.clone() };
    [(forward, filter.destination_port), (backward, filter.source_port)]
        .into_iter()
        .filter(|(_, named)| port.is_some() && is_possible(*named))
        .map(|(filter, _)| filter)
        .collect()
}

fn rate_of((index, link): (usize, &Link)) -> Discipline {
    // Without a rate nothing ever waits in a queue that does not shape.
    if link.rate.is_none() && link.queue.is_fifo() {
        return Discipline::None;
    }
    Discipline::Rate {
        link: index,
        rate: link.rate,
        queue: link.queue.clone(),
        overhead_bytes: link.overhead_bytes,
    }
}

fn delay_of((index, link): (usize, &Link)) -> Discipline {
    let loss = loss_of(link);
    if link.delay.is_zero() && loss.is_none() {
        return Discipline::None;
    }
    Discipline::Delay { link: index, delay: link.delay, loss }
}

/// The losses of a link: those of its impairments, which have them only where `loss` has not.
fn loss_of(link: &Link) -> Option<Loss> {
    let random = Loss::Random { probability: link.loss, correlation: Ratio::ZERO };
    link.impairments.loss.clone().or((link.loss != Ratio::ZERO).then_some(random))
}

#[cfg(test)]
mod tests {
    use super::{Discipline, FIRST_RECEIVER_PORT, Filter, Layout, LayoutNode, Qdisc};
    use fairwind_scenario::{Document, Experiment};

    fn experiment(path: &str) -> Experiment {
        let text = format!(
            "name = \"wired\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\n{path}\n\
             [[flows]]\nname = \"one\"\nworkload = {{ kind = \"greedy\" }}\n"
        );
        let document = Document::parse("wired.toml", &text).expect("a scenario");
        document.experiment(&document.grid().expect("a grid")[0]).expect("an experiment")
    }

    fn middles(layout: &Layout) -> Vec<&str> {
        let name = |place: &'_ LayoutNode| match place {
            LayoutNode::Host { .. } => None,
            LayoutNode::Middle { name } => Some(name.clone()),
        };
        layout.places.iter().filter_map(name).map(|name| &*name.leak()).collect()
    }

    #[test]
    fn undelayed_path_has_two_routers() {
        let layout = Layout::new(&experiment("rtt = \"0 ms\"\nqueue = { limit = \"9 packets\" }"));
        assert_eq!(middles(&layout), ["left", "right"]);
        let rates = layout.disciplines().filter(|one| matches!(one, Discipline::Rate { .. }));
        assert_eq!(rates.count(), 2);
        assert_eq!(layout.veths.len(), 3);
    }

    #[test]
    fn delay_is_applied_once_per_direction() {
        let layout = Layout::new(&experiment("rtt = \"20 ms\""));
        assert_eq!(middles(&layout), ["left", "right", "bottleneck-delay"]);
        let delays = layout.disciplines().filter(|one| matches!(one, Discipline::Delay { .. }));
        assert_eq!(delays.count(), 2);
    }

    #[test]
    fn hosts_have_no_rate_limit() {
        let path = "rtt = \"0 ms\"\nqueue = { limit = \"9 packets\" }\naccess_rate = \"10 Mbit/s\"";
        let layout = Layout::new(&experiment(path));
        for (place, _) in
            layout.places.iter().enumerate().filter(|(_, it)| matches!(it, LayoutNode::Host { .. }))
        {
            let ends: Vec<_> = layout.ends_at(place).collect();
            assert_eq!(ends.len(), 1);
            assert_eq!(ends[0].0.ends[ends[0].1].discipline, Discipline::None);
        }
    }

    #[test]
    fn group_filters_become_ports_of_both_directions() {
        let queue = "rtt = \"0 ms\"\nqueue = { discipline = \"prio\", bands = [{ limit = \"9 packets\" }, \
                     { limit = \"9 packets\" }], filters = [{ match = { group = \"one\", dscp = 46 }, band = 1 }] }";
        let layout = Layout::new(&experiment(queue));
        let mut found = layout.disciplines().filter_map(|one| match one {
            Discipline::Rate { queue: Qdisc::Prio(prio), .. } => Some(prio.filters.clone()),
            _ => None,
        });
        let filter = Filter { dscp: Some(46), ..Filter::default() };
        let port = Some(FIRST_RECEIVER_PORT);
        let forward = Filter { destination_port: port, ..filter.clone() };
        let backward = Filter { source_port: port, ..filter };
        assert_eq!(found.next(), Some(vec![(forward, 1), (backward, 1)]));
    }

    #[test]
    fn every_namespace_routes_to_every_host() {
        let layout = Layout::new(&experiment("rtt = \"20 ms\""));
        for host in 2..4 {
            assert!(matches!(layout.places[host], LayoutNode::Host { .. }));
            let ways = layout.ways_to(host);
            let known = ways.iter().filter(|way| way.is_some()).count();
            assert_eq!(known, layout.places.len() - 1);
        }
    }
}
