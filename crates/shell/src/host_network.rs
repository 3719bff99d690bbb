//! The network namespace that a shell is started in: what addresses are used in it, and whether it
//! is the inside of another shell.

use super::addresses::{Block, Family};
use super::commands::{output, problem};
use fairwind_linux::KernelError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::net::IpAddr;

/// The device through which the inside of a shell is left. Who finds one with an address of ours is
/// inside a shell.
pub(super) const WAY_OUT: &str = "outside";

/// What is used already.
#[derive(Debug, Default)]
pub(super) struct HostNetwork {
    /// Blocks that have a route or an address.
    pub(super) taken: Vec<Block>,
    /// The blocks of the shell around this namespace, by version of IP.
    network: Vec<(Family, Block)>,
    /// The device of the default route of IPv4.
    pub(super) leads_out: Option<String>,
}

#[derive(Deserialize)]
struct Route {
    dst: String,
    #[serde(default)]
    dev: Option<String>,
    /// Told of routes that are not in the main table.
    #[serde(default)]
    table: Option<IgnoredAny>,
    #[serde(default)]
    metric: u32,
}

#[derive(Deserialize)]
struct Interface {
    #[serde(default)]
    ifname: String,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    #[serde(default)]
    local: Option<IpAddr>,
    #[serde(default)]
    prefixlen: u8,
}

impl HostNetwork {
    /// Reads the network state of this namespace.
    pub(super) fn look() -> Result<Self, KernelError> {
        let mut found = Self::default();
        for (family, option) in [(Family::V4, "-4"), (Family::V6, "-6")] {
            let routes: Vec<Route> = asked(&["-j", option, "route", "show", "table", "all"])?;
            found.taken.extend(routes.iter().filter_map(|route| destination(&route.dst)));
            if family == Family::V4 {
                found.leads_out = leads_out(&routes);
            }
            let interfaces: Vec<Interface> = asked(&["-j", option, "addr", "show"])?;
            for interface in interfaces.iter().filter(|interface| interface.ifname == WAY_OUT) {
                let blocks = interface
                    .addr_info
                    .iter()
                    .filter_map(|address| Some(Block::network(address.local?, address.prefixlen)));
                found.network.extend(
                    blocks.filter(|block| block.is_a_shells()).map(|block| (family, block)),
                );
            }
        }
        Ok(found)
    }

    /// The block of the shell around this namespace.
    pub(super) fn network(&self, family: Family) -> Option<Block> {
        self.network.iter().find(|(of, _)| *of == family).map(|(_, block)| *block)
    }

    /// Whether this is the inside of another shell.
    pub(super) fn is_a_shell(&self) -> bool {
        !self.network.is_empty()
    }
}

/// The answer of `ip`; it prints nothing at all where IPv6 is off.
fn asked<T: serde::de::DeserializeOwned>(arguments: &[&str]) -> Result<Vec<T>, KernelError> {
    let text = output("ip", arguments)?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text)
        .map_err(|error| problem(format!("`ip {}`: {error}", arguments.join(" "))))
}

/// The device of the default route that the kernel prefers: tables beside the main one are for chosen
/// packets.
fn leads_out(routes: &[Route]) -> Option<String> {
    let ways_out = routes.iter().filter(|route| route.dst == "default" && route.dev.is_some());
    let preferred = ways_out.min_by_key(|route| (route.table.is_some(), route.metric))?;
    preferred.dev.clone()
}

/// `default` is what is left where nothing else fits, so it takes nothing.
fn destination(text: &str) -> Option<Block> {
    let (address, length) = text.split_once('/').unwrap_or((text, "128"));
    Some(Block::network(address.parse().ok()?, length.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_the_default_route_that_the_kernel_prefers() {
        let routes: Vec<Route> = serde_json::from_str(
            r#"[{"dst": "default", "dev": "tunnel", "table": "52", "flags": []},
                {"type": "unreachable", "dst": "default", "metric": 1},
                {"dst": "default", "gateway": "192.0.2.1", "dev": "wlan0", "metric": 600},
                {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0", "metric": 100},
                {"dst": "192.0.2.0/24", "dev": "dock0"}]"#,
        )
        .unwrap();
        assert_eq!(leads_out(&routes).unwrap(), "eth0");
        assert_eq!(leads_out(&routes[..1]).unwrap(), "tunnel", "better than none");
        assert_eq!(leads_out(&routes[4..]), None);
    }
}
