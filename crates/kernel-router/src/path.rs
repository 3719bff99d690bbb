//! Running network of an experiment, in namespaces that live as long as their descriptors are open.

use super::layout::{Discipline, Layout, LayoutNode, VethEnd, VethPair};
use super::sockets::{SocketPoint, SocketWatch, WatchedNamespace};
use super::{KernelRouterError, commands, requirements};
use fairwind_bpf::{PacketWatch, WatchedEvents, WatchedInterface};
use fairwind_hosts::VethPlan;
use fairwind_kernel_settings::Note;
use fairwind_linux as linux;
use fairwind_linux::{HeldNamespace, KernelError, RunName, shell_checked as shell};
use fairwind_network::{LinkId, NodeId};
use fairwind_scenario::Experiment;
use fairwind_units::{ByteCount, Ratio};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// What reports packets on their way.
pub enum PathWatch {
    /// Programs at tracepoints, and the places that they are for.
    Programs(PacketWatch, Vec<WatchPoint>),
    /// Packet sockets.
    Sockets(SocketWatch),
}

/// Role of a device for observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchPoint {
    /// The veth of a host: what arrives there, the host has sent, and what leaves there reaches it.
    Host,
    /// The queue of a link.
    Queue(LinkId),
    /// Where a link loses packets.
    Loss(LinkId),
}

/// An experiment's network that can be made of the kernel's parts.
#[derive(Debug)]
pub struct KernelPlan {
    layout: Layout,
    mtu: ByteCount,
}

impl KernelPlan {
    /// Whether the running kernel has all the parts that `experiment` needs.
    ///
    /// # Errors
    /// The first part that it lacks; that this needs root.
    pub fn new(experiment: &Experiment) -> Result<Self, KernelRouterError> {
        let layout = Layout::new(experiment);
        requirements::check(&layout)?;
        Ok(Self { layout, mtu: experiment.network.mtu })
    }

    /// How packets are watched, where that leaves something open.
    pub fn watching(&self) -> Option<Note> {
        (!requirements::are_programs_enough(&self.layout)).then(|| Note {
            key: "path.router".to_owned(),
            text: "packet sockets watch the queues: that a packet was dropped is known when the next one of its flow \
                   leaves, and its instant is that of its arrival or of that departure"
                .to_owned(),
        })
    }

    /// Makes the namespaces in the middle, named after the run, and the veths between them.
    pub fn create(self, run: RunName) -> Result<KernelPath, KernelRouterError> {
        let make = |place: &LayoutNode| match place {
            LayoutNode::Host { .. } => Ok(None),
            LayoutNode::Middle { name } => {
                HeldNamespace::make(&run.of(name), commands::FORWARDING).map(Some)
            }
        };
        let middles = self.layout.places.iter().map(make).collect::<Result<Vec<_>, _>>()?;
        let path = KernelPath { layout: self.layout, mtu: self.mtu, middles };
        for veth in &path.layout.veths {
            if let [Some(here), Some(there)] = [0, 1].map(|side| path.middle_of(&veth.ends[side])) {
                let text = commands::create(veth, path.mtu, &there.path());
                here.inside(|| shell(&text))?;
            }
        }
        Ok(path)
    }
}

/// The network of an experiment; it ends when this is dropped and the hosts have ended.
#[derive(Debug)]
pub struct KernelPath {
    layout: Layout,
    mtu: ByteCount,
    /// By place; `None` for hosts.
    middles: Vec<Option<HeldNamespace>>,
}

impl KernelPath {
    fn middle_of(&self, end: &VethEnd) -> Option<&HeldNamespace> {
        self.middles[end.place].as_ref()
    }

    /// The veth that the host at `node` has to lay.
    pub fn host_veth(&self, node: NodeId) -> Option<VethPlan> {
        let (veth, side) = self.veth_of_host(node)?;
        let far = &veth.ends[1 - side];
        Some(VethPlan {
            device: far.device.clone(),
            namespace: self.middle_of(far)?.path(),
            hardware_address: commands::HARDWARE_ADDRESS.to_owned(),
            neighbours: commands::NEIGHBOURS,
        })
    }

    fn veth_of_host(&self, node: NodeId) -> Option<(&VethPair, usize)> {
        self.layout.ends_at(node.index()).next()
    }

    /// Brings the network up, when the hosts have laid their veths; `addresses` are theirs.
    pub fn bring_up(&self, addresses: &[(NodeId, Vec<IpAddr>)]) -> Result<(), KernelRouterError> {
        let ways = |(node, addresses): &(NodeId, Vec<IpAddr>)| {
            (self.layout.ways_to(node.index()), addresses.clone())
        };
        let ways: Vec<_> = addresses.iter().map(ways).collect();
        for (place, middle) in self.middles.iter().enumerate() {
            let Some(middle) = middle else { continue };
            let mut text = String::new();
            let mut devices = Vec::new();
            for (veth, side) in self.layout.ends_at(place) {
                let end = &veth.ends[side];
                text += &commands::bring_up(end, self.mtu);
                devices.push(end.device.as_str());
            }
            for (ways, addresses) in &ways {
                if let Some(way) = ways[place] {
                    text += &commands::routes(&way.device, addresses);
                }
            }
            middle.inside(|| {
                devices.iter().try_for_each(|device| linux::switch_offloads_off(device))?;
                shell(&text)
            })?;
        }
        Ok(())
    }

    /// Watches hosts and queues, when the network is up; `addresses` are those of the hosts.
    pub fn watch(
        &self,
        addresses: &[(NodeId, Vec<IpAddr>)],
    ) -> Result<PathWatch, KernelRouterError> {
        if requirements::are_programs_enough(&self.layout) {
            let (watch, points) = self.watch_by_programs()?;
            Ok(PathWatch::Programs(watch, points))
        } else {
            Ok(PathWatch::Sockets(self.watch_by_sockets(addresses)?))
        }
    }

    /// Ends of veths in the middle that somebody has to watch.
    fn watched(&self) -> impl Iterator<Item = (&HeldNamespace, &VethEnd, WatchPoint)> {
        let veths = self.layout.veths.iter().map(|veth| &veth.ends);
        veths.flat_map(|[near, far]| [(near, far), (far, near)]).filter_map(|(end, far)| {
            let point = match (&self.layout.places[far.place], &end.discipline) {
                (LayoutNode::Host { .. }, _) => WatchPoint::Host,
                (_, Discipline::Rate { link, .. }) => WatchPoint::Queue(LinkId::from_index(*link)),
                (_, Discipline::Delay { link, .. }) => WatchPoint::Loss(LinkId::from_index(*link)),
                (LayoutNode::Middle { .. }, Discipline::None) => return None,
            };
            Some((self.middle_of(end)?, end, point))
        })
    }

    fn watch_by_programs(&self) -> Result<(PacketWatch, Vec<WatchPoint>), KernelRouterError> {
        let mut places = Vec::new();
        let mut points = Vec::new();
        for (middle, end, point) in self.watched() {
            let watched = match point {
                WatchPoint::Host => WatchedEvents::Border,
                WatchPoint::Queue(_) => WatchedEvents::Queue,
                WatchPoint::Loss(_) => WatchedEvents::Drops,
            };
            let interface = middle.inside(|| index_of(&end.device))?;
            places.push(WatchedInterface { namespace: middle.inode, interface, watched });
            points.push(point);
        }
        Ok((PacketWatch::new(&places)?, points))
    }

    fn watch_by_sockets(
        &self,
        addresses: &[(NodeId, Vec<IpAddr>)],
    ) -> Result<SocketWatch, KernelError> {
        let mut devices: BTreeMap<usize, BTreeMap<u32, SocketPoint>> = BTreeMap::new();
        for (middle, end, point) in self.watched() {
            let point = match (point, &end.discipline) {
                (WatchPoint::Host, _) => SocketPoint::Host,
                (WatchPoint::Queue(link), Discipline::Rate { queue, .. }) => {
                    SocketPoint::queue(link, queue)
                }
                (WatchPoint::Loss(link), Discipline::Delay { loss, .. })
                    if *loss != Ratio::ZERO =>
                {
                    SocketPoint::losses(link)
                }
                _ => continue,
            };
            let interface = middle.inside(|| index_of(&end.device))?;
            devices.entry(end.place).or_default().insert(interface, point);
        }
        let mut watched = Vec::new();
        for (place, devices) in devices {
            let Some(middle) = &self.middles[place] else { continue };
            let ways = middle.inside(|| self.ways_from(place, addresses))?;
            watched.push((middle, WatchedNamespace { devices, ways }));
        }
        SocketWatch::new(watched)
    }

    /// The devices of a namespace, which is that of this thread, that lead to the hosts with these addresses.
    fn ways_from(
        &self,
        place: usize,
        addresses: &[(NodeId, Vec<IpAddr>)],
    ) -> Result<HashMap<IpAddr, u32>, KernelError> {
        let mut ways = HashMap::new();
        for (node, addresses) in addresses {
            if let Some(way) = self.layout.ways_to(node.index())[place] {
                let device = index_of(&way.device)?;
                ways.extend(addresses.iter().map(|address| (*address, device)));
            }
        }
        Ok(ways)
    }

    /// Packets that have passed the hosts' veths in both directions, by their device counters.
    pub(super) fn passed(&self) -> Result<u64, KernelError> {
        let hosts = self.watched().filter(|(_, _, point)| *point == WatchPoint::Host);
        hosts.map(|(middle, end, _)| middle.inside(|| packets_of(&end.device))).sum()
    }
}

fn packets_of(device: &str) -> Result<u64, KernelError> {
    const COUNTERS: &str = "/proc/thread-self/net/dev";
    let command = format!("read {COUNTERS}");
    let text = std::fs::read_to_string(COUNTERS);
    let text = text.map_err(|error| KernelError::command(&command, &error))?;
    packets_in(&text, device).ok_or_else(|| gone(command, device))
}

fn index_of(device: &str) -> Result<u32, KernelError> {
    linux::interface_index(device).ok_or_else(|| gone("look for a device", device))
}

fn gone(command: impl Into<String>, device: &str) -> KernelError {
    let reason = format!("{device} is not there; the process of its host may have ended");
    KernelError::command(command, &reason)
}

/// Packets that a device has received and sent, from `/proc/net/dev`; `None` if it is not listed.
fn packets_in(text: &str, device: &str) -> Option<u64> {
    let counts = text.lines().find_map(|line| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() == device).then_some(counts)
    })?;
    let mut counts = counts.split_whitespace().map(str::parse::<u64>);
    let received = counts.nth(1)?.ok()?;
    let sent = counts.nth(7)?.ok()?;
    Some(received + sent)
}

#[cfg(test)]
mod tests {
    use super::packets_in;

    #[test]
    fn device_packets_are_received_plus_sent() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs\n\
                    cable1: 135074    1999    0    0    0     0  0  0  506465    3349  0 0 0 0 0 0\n\
                    cable10:     1       2    0    0    0     0  0  0       3       4  0 0 0 0 0 0\n";
        assert_eq!(packets_in(text, "cable1"), Some(1999 + 3349));
        assert_eq!(packets_in(text, "cable10"), Some(6));
        assert_eq!(packets_in(text, "veth"), None);
    }
}
