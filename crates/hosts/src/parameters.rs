//! Kernel parameters of a host's namespace: as out of the box, quiet, and then as planned.

use super::protocol::Sysctl;
use fairwind_linux::{NAMESPACE_DEFAULTS, parameter_path};
use std::fs;
use std::io::ErrorKind;

/// What makes experiments repeatable: nothing is said that no application asked for (neighbour and
/// router discovery of IPv6).
const QUIET: &[(&str, &str)] = &[
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
];

/// What lets thousands of connections arrive at once. A user namespace does not show the first,
/// whose default is 4096.
const WELCOMING: &[(&str, &str)] = &[
    ("net.core.somaxconn", "65535"),
    ("net.ipv4.tcp_max_syn_backlog", "65536"),
    ("net.ipv4.tcp_syncookies", "0"),
];

/// Sets what every host has, before its device exists. What this kernel does not have is left.
pub(super) fn set_usual() {
    for (name, value) in NAMESPACE_DEFAULTS.iter().chain(QUIET).chain(WELCOMING) {
        // What matters is planned, and `set` complains about it.
        let _ = fs::write(parameter_path(name), value);
    }
}

/// Sets what the plan says.
pub(super) fn set(planned: &[Sysctl]) -> Result<(), String> {
    for Sysctl { name, value } in planned {
        fs::write(parameter_path(name), value).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "this kernel has no such parameter".to_owned(),
                ErrorKind::InvalidInput => "this kernel does not take the value".to_owned(),
                _ => error.to_string(),
            };
            format!("set {name} = {value}: {why}")
        })?;
    }
    Ok(())
}
