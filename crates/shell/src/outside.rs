//! The outer device, and address translation: packets from the inside leave the machine with its own address.
//!
//! A table of nftables, named after the run, translates addresses. IPv4 is forwarded on the two
//! interfaces concerned. The run's reaper undoes both. If the reaper was killed as well, the next shell
//! removes the table.

use super::host_network::{Block, Ends, Family, HostNetwork, free_blocks};
use super::{file_of, parameter, problem, run_command, set_parameter};
use fairwind_linux::{self as linux, KernelError, Reaper, RunName};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How the kernel is to call the device: it puts the first number that is free.
const DEVICE: &str = "fairwind%d";
/// Where resolvers are found that a local one asks.
const BEHIND_THE_LOCAL_ONE: &str = "/run/systemd/resolve/resolv.conf";

/// The outside, which ends with the device.
pub(super) struct Outside {
    pub(super) device: OwnedFd,
    pub(super) name: String,
    pub(super) ends: Vec<Ends>,
}

impl Outside {
    /// Makes the device and takes a block of addresses of each version of IP that the machine speaks.
    pub(super) fn make(network: &HostNetwork, mtu: u64) -> Result<Self, KernelError> {
        let opened = linux::open_tun(DEVICE).and_then(|device| {
            let name = linux::device_name(&device)?;
            Ok((device, name))
        });
        let (device, name) = opened.map_err(|error| {
            problem(format!(
                "the path begins in this network namespace, which needs root here: {error}; use \
                 sudo, or make a namespace of your own with servers in it first: `unshare --user \
                 --map-root-user --net`"
            ))
        })?;
        for (parameter, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0")] {
            set_parameter(&format!("net/ipv6/conf/{name}/{parameter}"), value);
        }
        run_command(&format!(
            "ip link set {name} mtu {mtu} txqueuelen {} up",
            super::DEVICE_QUEUE
        ))?;
        let mut ends = vec![connect(Family::V4, network, &name)?];
        if Path::new("/proc/sys/net/ipv6/conf").join(&name).exists() {
            ends.push(connect(Family::V6, network, &name)?);
        }
        Ok(Self { device, name, ends })
    }
}

/// Takes the first free block. Another shell may be quicker with it, which the route to it shows.
fn connect(family: Family, network: &HostNetwork, device: &str) -> Result<Ends, KernelError> {
    let parent = network.network(family);
    let (version, alone) = match family {
        Family::V4 => ("-4", ""),
        Family::V6 => ("-6", "nodad"),
    };
    let mut refused = None;
    for block in free_blocks(family, parent, &network.taken) {
        let ends = Ends::from(block);
        let outside = ends.outside;
        match run_command(&format!("ip {version} route add {block} dev {device}")) {
            Ok(()) => {
                let length = Block::network(outside, u8::MAX).length();
                run_command(&format!(
                    "ip {version} addr add {outside}/{length} dev {device} {alone}"
                ))?;
                return Ok(ends);
            }
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| {
        let place = match parent {
            Some(block) => format!("the shell around this one, {block}, "),
            None => "the range that shells share ".to_owned(),
        };
        problem(format!(
            "{place}has no addresses left for another shell; end one, or nest shells less deeply"
        ))
    }))
}

/// Properties of the way beyond this machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Uplink {
    /// The device through which this machine reaches others.
    leads_out: Option<String>,
    /// A file with resolvers that the inside can reach.
    pub(super) resolver: Option<PathBuf>,
    /// Notes for the user.
    pub(super) remarks: Vec<String>,
}

impl Uplink {
    /// Finds out; nothing is done yet. Within another shell there is nothing to do: its own outside
    /// leads on.
    pub(super) fn plan(network: &HostNetwork) -> Self {
        let mut uplink = Self::default();
        if network.is_a_shell() {
            return uplink;
        }
        uplink.leads_out.clone_from(&network.leads_out);
        if uplink.leads_out.is_none() {
            uplink.remarks.push(
                "this namespace has no default route, so the inside reaches no other machine"
                    .to_owned(),
            );
        }
        if has_only_local_resolvers(Path::new(super::RESOLVER)) {
            let behind = Path::new(BEHIND_THE_LOCAL_ONE);
            if behind.exists() && !has_only_local_resolvers(behind) {
                uplink.resolver = Some(behind.to_owned());
            } else {
                uplink.remarks.push(format!(
                    "the resolvers in {} are on this machine's loopback interface, which the \
                     inside does not reach: use addresses instead of names",
                    super::RESOLVER
                ));
            }
        }
        uplink
    }

    /// Sets up the translation; where the kernel has none, says so instead.
    pub(super) fn begin(&mut self, run: RunName, reaper: &mut Reaper, outside: &Outside) {
        let Some(leads_out) = &self.leads_out else { return };
        let Some(ends) = outside.ends.iter().find(|ends| ends.outside.is_ipv4()) else { return };
        let way = (ends.block, outside.name.as_str());
        if let Err(reason) = begin_masquerade(run, reaper, way, leads_out) {
            self.remarks.push(format!(
                "no way to other machines, as addresses cannot be translated here ({reason}); this \
                 machine is reached at {}",
                ends.outside
            ));
        }
    }
}

/// Whether a resolver configuration names none but this machine.
fn has_only_local_resolvers(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut servers = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("nameserver"))
        .filter_map(|address| address.trim().parse::<IpAddr>().ok())
        .peekable();
    servers.peek().is_some() && servers.all(|address| address.is_loopback())
}

/// What the table of a run is called behind the run's name.
const TABLE: &str = "shell";
/// The same, where forwarding was off before the first shell that needs it: whoever is last has to
/// switch it off again.
const TAKES_BACK: &str = "shell-takes-back";

/// Lets packets from `block`, which come through `device`, leave the machine through `leads_out`, and
/// registers the undo commands with `reaper`.
///
/// # Errors
/// Why that cannot be had; nothing is left behind then.
fn begin_masquerade(
    run: RunName,
    reaper: &mut Reaper,
    (block, device): (Block, &str),
    leads_out: &str,
) -> Result<(), String> {
    remove_ownerless();
    // A device's own switch is enough, and touches no other device's traffic.
    let forwarding = forwarding_of(leads_out);
    let is_off = parameter(&forwarding).is_some_and(|value| value == "0");
    let takes_back = is_off || tables().iter().any(|table| table.ends_with(TAKES_BACK));
    let table = run.of(if takes_back { TAKES_BACK } else { TABLE });
    // The reaper undoes the first registered command last.
    if takes_back {
        let others = format!("nft list tables ip | grep -q -e '-{TABLE}'");
        let control = format!("echo 0 > '{}'", file_of(&forwarding));
        reaper.undo(&format!("{others} || {control}")).map_err(|error| error.to_string())?;
    }
    reaper.undo(&format!("nft delete table ip {table}")).map_err(|error| error.to_string())?;
    let rules = format!(
        "table ip {table} {{
            chain translate {{
                type nat hook postrouting priority srcnat; policy accept;
                ip saddr {block} ip daddr != {block} oifname != \"{device}\" masquerade;
            }}
        }}\n"
    );
    feed_nft(&rules)?;
    for name in [&forwarding_of(device), &forwarding] {
        if !set_parameter(name, "1") {
            let _ = run_command(&format!("nft delete table ip {table}"));
            return Err(format!("{name} cannot be set"));
        }
    }
    Ok(())
}

/// The parameter that lets what comes in at `device` leave by another.
fn forwarding_of(device: &str) -> String {
    format!("net/ipv4/conf/{device}/forwarding")
}

fn feed_nft(rules: &str) -> Result<(), String> {
    let fed = linux::command_output("nft", &["-f", "-"], rules);
    fed.map(|_| ()).map_err(|error| match error {
        KernelError::Command { reason, .. } => {
            let first = reason.lines().next().unwrap_or("no reason given");
            format!("nft: {}", first.trim())
        }
        other => other.to_string(),
    })
}

/// The tables of shells in this namespace.
fn tables() -> Vec<String> {
    let all = linux::command_output("nft", &["list", "tables", "ip"], "").unwrap_or_default();
    let names = all.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.parse::<RunName>().is_ok()).map(str::to_owned).collect()
}

fn remove_ownerless() {
    for table in tables() {
        if table.parse::<RunName>().is_ok_and(|run| !run.is_alive()) {
            let _ = run_command(&format!("nft delete table ip {table}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_name_may_contain_dots() {
        let file = file_of(&forwarding_of("eth0.100"));
        assert_eq!(file, "/proc/sys/net/ipv4/conf/eth0.100/forwarding");
    }
}
