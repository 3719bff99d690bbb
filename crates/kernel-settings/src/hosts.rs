//! Settings of hosts and sockets, from the ends of all groups; groups on one host must agree.

use super::endpoint::{Endpoint, HostValues, Kind, Note, Side};
use super::{Kernel, UnsupportedSetting, UnsupportedSettings, keys};
use fairwind_hosts::{SocketSettings, Sysctl};
use fairwind_scenario::{Experiment, FlowGroup, Transport};
use fairwind_windows::WindowOptions;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Kernel settings for an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// One for every host that has flows, in the order of the network's nodes.
    pub hosts: Vec<HostSettings>,
    /// One for every group of flows, in the order of the scenario.
    pub groups: Vec<GroupSettings>,
    /// Where the kernel's behaviour differs a little from what the scenario says.
    pub remarks: Vec<Note>,
}

/// Settings of a host's namespace.
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

/// Settings of the sockets of a group of flows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// Those that connect: options are set before.
    pub sender: SocketSettings,
    /// Those that listen; what they accept inherits it.
    pub receiver: SocketSettings,
}

/// The answering end has the settings of the asking end unless it has its own; unsupported ones are reported of the asking end.
fn report_once([sender, receiver]: &mut [Endpoint<'_>; 2], flows: &FlowGroup) {
    if flows.tcp == flows.receiver_tcp {
        let words =
            |refusal: &UnsupportedSetting| (refusal.value.clone(), refusal.mechanism.clone());
        let of_sender: Vec<_> = sender.refusals.iter().map(words).collect();
        receiver.refusals.retain(|refusal| !of_sender.contains(&words(refusal)));
    }
}

/// The settings of `kernel` for `experiment`.
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
            // No connection needs settings.
            let [sender, receiver] = [SocketSettings::default(), SocketSettings::default()];
            groups.push(GroupSettings { sender, receiver });
            continue;
        }
        let mtu = experiment.network.mtu.get();
        let mut ends = [Side::Sender, Side::Receiver].map(|side| end(kernel, flows, side, mtu));
        report_once(&mut ends, flows);
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
                || Host::of(&Endpoint::new(kernel, flows, side, experiment.network.mtu.get()));
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

/// Settings of a host on behalf of the first group that it serves.
#[derive(Debug)]
struct Host {
    group: String,
    values: HostValues,
    windows: Option<WindowOptions>,
}

impl Host {
    fn of(end: &Endpoint<'_>) -> Self {
        Self { group: end.group.to_owned(), values: end.host.clone(), windows: end.windows }
    }

    /// What another end wants to be different on the same host.
    fn disagreements(&self, host: &str, end: &Endpoint<'_>) -> Vec<UnsupportedSetting> {
        let wanted = &end.host;
        let names: BTreeSet<_> = self.values.keys().chain(wanted.keys()).collect();
        let differing = names.into_iter().filter(|&name| self.values.get(name) != wanted.get(name));
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
                        "this is a setting of the host, and group {} wants {} on the same host {host}",
                        self.group,
                        say(self.values.get(name)),
                    ),
                    kernel: end.kernel.release.clone(),
                    alternative: "give the groups hosts of their own, or the same settings"
                        .to_owned(),
                }
            })
            .collect()
    }

    fn settings(self, name: &str) -> HostSettings {
        let of = |wanted: Kind| {
            let values = self.values.iter().filter(move |((kind, _), _)| *kind == wanted);
            values.map(|((_, name), value)| ((*name).to_owned(), value.clone()))
        };
        let words = |kind| of(kind).flat_map(|(name, value)| [name, value]).collect();
        HostSettings {
            name: name.to_owned(),
            sysctls: of(Kind::Sysctl).map(|(name, value)| Sysctl { name, value }).collect(),
            route_attributes: words(Kind::Route),
            device_attributes: words(Kind::Device),
            windows: self.windows,
        }
    }
}
