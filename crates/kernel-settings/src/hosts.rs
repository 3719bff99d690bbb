//! The ends of all groups become hosts, which must agree, and sockets.

use super::endpoint::{Endpoint, Note, Side};
use super::{Kernel, UnsupportedSetting, UnsupportedSettings, kernel, keys};
use fairwind_hosts::{SocketSettings, Sysctl};
use fairwind_scenario::{Experiment, FlowGroup, Transport};
use fairwind_windows::WindowOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the running kernel is told for an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// One for every host that has flows, in the order of the network's nodes.
    pub hosts: Vec<HostSettings>,
    /// One for every group of flows, in the order of the scenario.
    pub groups: Vec<GroupSettings>,
    /// Where the kernel's behaviour differs a little from what the scenario says.
    pub remarks: Vec<Note>,
}

/// What a host's namespace is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSettings {
    /// The host's name.
    pub name: String,
    /// Parameters of its network namespace: all that matter, not only those that were asked for.
    pub sysctls: Vec<Sysctl>,
    /// Words appended to all its routes, for `ip route`: `initcwnd 4`.
    pub route_attributes: Vec<String>,
    /// Words for its device, for `ip link set dev NAME`: `gso_max_segs 1`.
    pub device_attributes: Vec<String>,
    /// What it remembers of the windows of connections.
    pub windows: Option<WindowOptions>,
}

/// What the sockets of a group of flows are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// Those that connect: options are set before.
    pub sender: SocketSettings,
    /// Those that listen; what they accept inherits it.
    pub receiver: SocketSettings,
}

/// The answering end has the settings of the asking end unless it has its own; unsupported ones are reported of the asking end.
fn say_once([sender, receiver]: &mut [Endpoint<'_>; 2], flows: &FlowGroup) {
    if flows.tcp == flows.receiver_tcp {
        let told =
            |refusal: &UnsupportedSetting| (refusal.value.clone(), refusal.mechanism.clone());
        let told_of_sender: Vec<_> = sender.refusals.iter().map(told).collect();
        receiver.refusals.retain(|refusal| !told_of_sender.contains(&told(refusal)));
    }
}

/// What `kernel` has to be told for `experiment`.
///
/// # Errors
/// Everything that the kernel cannot have, each with what comes nearest.
pub fn of(experiment: &Experiment, kernel: &Kernel) -> Result<Settings, UnsupportedSettings> {
    let mut refusals = Vec::new();
    let mut remarks = Vec::new();
    let mut groups = Vec::new();
    let mut hosts = BTreeMap::new();
    for flows in &experiment.flows {
        if sends_datagrams(flows) {
            // No connection is told anything.
            let [sender, receiver] = [SocketSettings::default(), SocketSettings::default()];
            groups.push(GroupSettings { sender, receiver });
            continue;
        }
        let mtu = experiment.network.mtu.get();
        let mut ends = [Side::Sender, Side::Receiver].map(|side| end(kernel, flows, side, mtu));
        say_once(&mut ends, flows);
        for (end, host) in ends.iter_mut().zip([&flows.from, &flows.to]) {
            refusals.append(&mut end.refusals);
            remarks.append(&mut end.remarks);
            match hosts.get_mut(host.as_str()) {
                None => drop(hosts.insert(host.as_str(), Host::of(end))),
                Some(there) => refusals.extend(there.disagreements(host, end)),
            }
        }
        let [sender, receiver] = ends.map(sockets);
        groups.push(GroupSettings { sender, receiver });
    }
    if !refusals.is_empty() {
        return Err(UnsupportedSettings { refusals });
    }
    add_hosts_of_datagrams(experiment, kernel, &mut hosts);
    let nodes = experiment.network.nodes.iter();
    let hosts = nodes
        .filter_map(|node| hosts.remove(node.name.as_str()).map(|host| host.settings(&node.name)))
        .collect();
    Ok(Settings { hosts, groups, remarks })
}

fn sends_datagrams(flows: &FlowGroup) -> bool {
    flows.workload.transport() == Transport::Udp
}

/// Hosts that connections do not care about are as usual.
fn add_hosts_of_datagrams<'a>(
    experiment: &'a Experiment,
    kernel: &Kernel,
    hosts: &mut BTreeMap<&'a str, Host>,
) {
    for flows in experiment.flows.iter().filter(|flows| sends_datagrams(flows)) {
        for (side, host) in [(Side::Sender, &flows.from), (Side::Receiver, &flows.to)] {
            let as_usual =
                || Host::of(&mut Endpoint::new(kernel, flows, side, experiment.network.mtu.get()));
            hosts.entry(host.as_str()).or_insert_with(as_usual);
        }
    }
}

/// One end of a group with all its rules applied.
fn end<'a>(kernel: &'a Kernel, flows: &'a FlowGroup, side: Side, mtu: u64) -> Endpoint<'a> {
    let mut end = Endpoint::new(kernel, flows, side, mtu);
    for key in keys() {
        end.key = key.name;
        (key.apply)(&mut end);
    }
    end
}

fn sockets(end: Endpoint<'_>) -> SocketSettings {
    SocketSettings { congestion: Some(end.congestion), options: end.options }
}

/// What a host is told on behalf of the first group that it serves.
#[derive(Debug)]
struct Host {
    group: String,
    told: Told,
    windows: Option<WindowOptions>,
}

/// What only a whole host can be told, by kind and name.
type Told = BTreeMap<(Kind, &'static str), String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Sysctl,
    Route,
    Device,
    Memory,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Sysctl => "sysctl",
            Self::Route => "route attribute",
            Self::Device => "device attribute",
            Self::Memory => "memory of",
        }
    }
}

fn told(end: &mut Endpoint<'_>) -> Told {
    let mut sysctls = kernel::default_sysctls(end.kernel);
    sysctls.append(&mut end.sysctls);
    let route = std::mem::take(&mut end.route);
    let device = std::mem::take(&mut end.device);
    let written = |windows| serde_json::to_string(windows).unwrap_or_default();
    let memory = end.windows.iter().map(|windows| ("windows", written(windows))).collect();
    let kinds = [
        (Kind::Sysctl, sysctls),
        (Kind::Route, route),
        (Kind::Device, device),
        (Kind::Memory, memory),
    ];
    let each = |(kind, map): (Kind, BTreeMap<&'static str, String>)| {
        map.into_iter().map(move |(name, value)| ((kind, name), value))
    };
    kinds.into_iter().flat_map(each).collect()
}

impl Host {
    fn of(end: &mut Endpoint<'_>) -> Self {
        Self { group: end.group.to_owned(), windows: end.windows, told: told(end) }
    }

    /// What another end wants to be different on the same host.
    fn disagreements(&self, host: &str, end: &mut Endpoint<'_>) -> Vec<UnsupportedSetting> {
        let wanted = told(end);
        let names: std::collections::BTreeSet<_> = self.told.keys().chain(wanted.keys()).collect();
        let differing = names.into_iter().filter(|&name| self.told.get(name) != wanted.get(name));
        differing
            .map(|name| {
                let say = |value: Option<&String>| {
                    value.map_or_else(|| "nothing".to_owned(), |value| format!("\"{value}\""))
                };
                UnsupportedSetting {
                    group: end.group.to_owned(),
                    key: format!("flows.{}.{}", end.group, end.side.table()),
                    value: format!("{} {} = {}", name.0.name(), name.1, say(wanted.get(name))),
                    mechanism: format!(
                        "a host has it once, and group {} wants {} on the same host {host}",
                        self.group,
                        say(self.told.get(name)),
                    ),
                    kernel: end.kernel.release.clone(),
                    alternative: "give the groups hosts of their own, or the same settings"
                        .to_owned(),
                }
            })
            .collect()
    }

    fn settings(self, name: &str) -> HostSettings {
        let mut kinds: BTreeMap<Kind, BTreeMap<&'static str, String>> = BTreeMap::new();
        for ((kind, name), value) in self.told {
            kinds.entry(kind).or_default().insert(name, value);
        }
        let mut take = |kind| kinds.remove(&kind).unwrap_or_default();
        let sysctl = |(name, value): (&str, String)| Sysctl { name: name.to_owned(), value };
        HostSettings {
            name: name.to_owned(),
            sysctls: take(Kind::Sysctl).into_iter().map(sysctl).collect(),
            route_attributes: words(take(Kind::Route)),
            device_attributes: words(take(Kind::Device)),
            windows: self.windows,
        }
    }
}

fn words(attributes: BTreeMap<&'static str, String>) -> Vec<String> {
    attributes.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}
