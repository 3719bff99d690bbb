//! The network of an experiment, made of the kernel's parts.

use super::KernelRouterError;
use super::commands;
use super::middle::Namespace;
use super::parts;
use super::tally;
use super::wiring::{Cable, CableEnd, Discipline, Place, Wiring};
use fairwind_bpf::{PacketPlace, PacketWatch, Watched};
use fairwind_hosts::HostCable;
use fairwind_linux::RunName;
use fairwind_linux::shell_checked as shell;
use fairwind_linux::{self as linux, TestbedError};
use fairwind_network::{LinkId, NodeId};
use fairwind_scenario::Experiment;
use fairwind_units::ByteCount;
use std::net::IpAddr;

/// What a device is, to whoever watches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The cable of a host: what arrives there, the host has sent, and what leaves there reaches it.
    Host(NodeId),
    /// The queue of a link.
    Queue(LinkId),
    /// Where a link loses packets.
    Loss(LinkId),
}

/// An experiment's network that can be made of the kernel's parts.
#[derive(Debug)]
pub struct KernelPlan {
    wiring: Wiring,
    mtu: ByteCount,
}

impl KernelPlan {
    /// Whether the running kernel has all the parts that `experiment` needs.
    ///
    /// # Errors
    /// The first part that it lacks; that packets cannot be watched; that this needs root.
    pub fn new(experiment: &Experiment) -> Result<Self, KernelRouterError> {
        let wiring = Wiring::new(experiment);
        parts::check(&wiring)?;
        fairwind_bpf::availability()?;
        Ok(Self { wiring, mtu: experiment.network.mtu })
    }

    /// Makes the namespaces in the middle, named after the run, and the cables between them.
    pub fn lay(self, run: RunName) -> Result<KernelPath, KernelRouterError> {
        let make = |place: &Place| match place {
            Place::Host { .. } => Ok(None),
            Place::Middle { name } => {
                Namespace::make(&run.of(name), commands::FORWARDING).map(Some)
            }
        };
        let middles = self.wiring.places.iter().map(make).collect::<Result<Vec<_>, _>>()?;
        let path = KernelPath { wiring: self.wiring, mtu: self.mtu, middles };
        for cable in &path.wiring.cables {
            if let [Some(here), Some(there)] = [0, 1].map(|side| path.middle_of(&cable.ends[side]))
            {
                let text = commands::lay(cable, path.mtu, &there.path());
                here.inside(|| shell(&text))?;
            }
        }
        Ok(path)
    }
}

/// The network of an experiment; it ends when this is dropped and the hosts have ended.
#[derive(Debug)]
pub struct KernelPath {
    wiring: Wiring,
    mtu: ByteCount,
    /// By place; `None` for hosts.
    middles: Vec<Option<Namespace>>,
}

impl KernelPath {
    fn middle_of(&self, end: &CableEnd) -> Option<&Namespace> {
        self.middles[end.place].as_ref()
    }

    /// The cable that the host at `node` has to lay.
    pub fn host_cable(&self, node: NodeId) -> Option<HostCable> {
        let (cable, side) = self.cable_of_host(node)?;
        let far = &cable.ends[1 - side];
        Some(HostCable {
            device: far.device.clone(),
            namespace: self.middle_of(far)?.path(),
            hardware_address: commands::HARDWARE_ADDRESS.to_owned(),
            neighbours: commands::NEIGHBOURS,
        })
    }

    fn cable_of_host(&self, node: NodeId) -> Option<(&Cable, usize)> {
        self.wiring.ends_at(node.index()).next()
    }

    /// Brings the network up, when the hosts have laid their cables; `addresses` are theirs.
    pub fn bring_up(&self, addresses: &[(NodeId, Vec<IpAddr>)]) -> Result<(), KernelRouterError> {
        let ways = |(node, addresses): &(NodeId, Vec<IpAddr>)| {
            (self.wiring.ways_to(node.index()), addresses.clone())
        };
        let ways: Vec<_> = addresses.iter().map(ways).collect();
        for (place, middle) in self.middles.iter().enumerate() {
            let Some(middle) = middle else { continue };
            let mut text = String::new();
            let mut devices = Vec::new();
            for (cable, side) in self.wiring.ends_at(place) {
                let end = &cable.ends[side];
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

    /// Watches hosts and queues, when the network is up.
    pub fn watch(&self) -> Result<(PacketWatch, Vec<Spot>), KernelRouterError> {
        let mut places = Vec::new();
        let mut spots = Vec::new();
        for cable in &self.wiring.cables {
            for (side, end) in cable.ends.iter().enumerate() {
                let Some(middle) = self.middle_of(end) else { continue };
                let far = &self.wiring.places[cable.ends[1 - side].place];
                let (spot, watched) = match (far, &end.discipline) {
                    (Place::Host { node }, _) => {
                        (Spot::Host(NodeId::from_index(*node)), Watched::Border)
                    }
                    (_, Discipline::Rate { link, .. }) => {
                        (Spot::Queue(LinkId::from_index(*link)), Watched::Queue)
                    }
                    (_, Discipline::Delay { link, .. }) => {
                        (Spot::Loss(LinkId::from_index(*link)), Watched::Drops)
                    }
                    (Place::Middle { .. }, Discipline::None) => continue,
                };
                let interface = middle.inside(|| index_of(&end.device))?;
                places.push(PacketPlace { namespace: middle.inode, interface, watched });
                spots.push(spot);
            }
        }
        Ok((PacketWatch::new(&places)?, spots))
    }

    /// How many packets have passed the hosts' cables, there and back, as their devices count.
    pub(super) fn passed(&self) -> Result<u64, TestbedError> {
        let mut packets = 0;
        for cable in &self.wiring.cables {
            for (side, end) in cable.ends.iter().enumerate() {
                let far = &self.wiring.places[cable.ends[1 - side].place];
                if let (Some(middle), Place::Host { .. }) = (self.middle_of(end), far) {
                    packets += middle.inside(|| packets_of(&end.device))?;
                }
            }
        }
        Ok(packets)
    }
}

fn packets_of(device: &str) -> Result<u64, TestbedError> {
    const COUNTERS: &str = "/proc/thread-self/net/dev";
    let failed = |reason| TestbedError::Command { command: format!("read {COUNTERS}"), reason };
    let text = std::fs::read_to_string(COUNTERS).map_err(|error| failed(error.to_string()))?;
    let gone = || failed(format!("{device} is not there; the process of its host may have ended"));
    tally::packets_of(&text, device).ok_or_else(gone)
}

fn index_of(device: &str) -> Result<u32, TestbedError> {
    linux::interface_index(device).ok_or_else(|| TestbedError::Command {
        command: format!("look for the device {device}"),
        reason: "it is gone; the process of its host may have ended".to_owned(),
    })
}
