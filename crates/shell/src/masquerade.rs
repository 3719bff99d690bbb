//! The way beyond this machine: packets from the inside leave it with the machine's own address.
//!
//! A table of nftables, named after the run that it is for, translates addresses, and IPv4 is
//! forwarded on the two interfaces concerned. The run's reaper undoes both; a table whose run lives
//! no more, and whose reaper was killed as well, is removed by the next shell.

use super::addresses::Block;
use super::commands::{file_of, output, parameter, run, set_parameter};
use fairwind_linux::{Reaper, RunName};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What the table of a run is called behind the run's name.
const TABLE: &str = "shell";
/// The same, where forwarding was off before the first shell that needs it: whoever is last has to
/// switch it off again.
const TAKES_BACK: &str = "shell-takes-back";

/// Lets packets from `block`, which come through `device`, leave the machine through `leads_out`;
/// `reaper` is told how to undo it.
///
/// # Errors
/// Why that cannot be had; nothing is left behind then.
pub(super) fn begin(
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
    // What is undone last is told first.
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
            let _ = super::commands::run(&format!("nft delete table ip {table}"));
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
    let missing = |error: std::io::Error| format!("nft: {error} (install nftables)");
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut input) = nft.stdin.take() {
        // A nft that ends early tells why below.
        let _ = input.write_all(rules.as_bytes());
    }
    let output = nft.wait_with_output().map_err(missing)?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("nft: {}", told.lines().next().unwrap_or("no reason given").trim()))
}

/// The tables of shells in this namespace.
fn tables() -> Vec<String> {
    let all = output("nft", &["list", "tables", "ip"]).unwrap_or_default();
    let names = all.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.parse::<RunName>().is_ok()).map(str::to_owned).collect()
}

fn remove_ownerless() {
    for table in tables() {
        if table.parse::<RunName>().is_ok_and(|run| !run.is_alive()) {
            let _ = run(&format!("nft delete table ip {table}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_may_have_dots_in_its_name() {
        let file = file_of(&forwarding_of("eth0.100"));
        assert_eq!(file, "/proc/sys/net/ipv4/conf/eth0.100/forwarding");
    }
}
