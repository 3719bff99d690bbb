//! A host's TUN device: its only way to the others.
//!
//! Without offloads the device takes packets of at most its MTU: what TCP hands down in bundles
//! (GSO) is cut just above the device, so the router sees the packets that a wire would carry. The
//! other way round nothing joins packets (GRO needs NAPI, which a TUN device has only on request),
//! so that each is acknowledged as it comes.
//!
//! The device gives up a packet's socket as soon as it takes the packet, as an infinitely fast
//! network card would: TCP small queues never hold a sender back, and packets wait nowhere but in
//! the experiment's network. So that this is so, the device has no queue discipline (`noqueue`),
//! whatever the machine's default is, and its own ring, from which the router reads, has room
//! for every burst that thousands of connections may send at once. Pacing, where a
//! congestion control asks for it, is done by TCP's own timers.

use super::protocol::HostPlan;
use crate::sys;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// The name of the device in every host.
const DEVICE: &str = "tun0";
/// Packets that the device's ring has room for.
const RING_PACKETS: u32 = 1 << 16;

/// Makes the device, with addresses and routes.
pub(super) fn make(plan: &HostPlan) -> Result<OwnedFd, String> {
    let device = sys::open_tun(DEVICE).map_err(|error| {
        let hint = match std::fs::File::options().read(true).write(true).open("/dev/net/tun") {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                "; whoever is not root needs permission: chmod 0666 /dev/net/tun"
            }
            _ => "",
        };
        format!("{error}{hint}")
    })?;
    run("ip", &["-batch", "-"], &commands(plan))?;
    // Where `tc` is missing the default remains, which never has to hold a packet either.
    let _ = run("tc", &["qdisc", "replace", "dev", DEVICE, "root", "noqueue"], "");
    Ok(device)
}

/// What `ip` is told.
fn commands(plan: &HostPlan) -> String {
    let mut text = format!(
        "link set lo up\n\
         link set {DEVICE} mtu {} txqueuelen {RING_PACKETS} multicast off {} up\n",
        plan.mtu.get(),
        plan.device_attributes.join(" ")
    );
    for address in &plan.addresses {
        let (bits, alone) = if address.is_ipv4() { (32, "") } else { (128, " nodad") };
        let _ = writeln!(text, "address add {address}/{bits} dev {DEVICE}{alone}");
    }
    for (version, everywhere) in
        [(IpAddr::is_ipv4 as fn(&IpAddr) -> bool, "0.0.0.0/0"), (IpAddr::is_ipv6, "::/0")]
    {
        if plan.addresses.iter().any(version) {
            let attributes = plan.route_attributes.join(" ");
            let _ = writeln!(text, "route add {everywhere} dev {DEVICE} {attributes}");
        }
    }
    text
}

fn run(program: &str, arguments: &[&str], input: &str) -> Result<(), String> {
    let failed = |reason: String| {
        let what = if input.is_empty() { String::new() } else { format!(" with\n{input}") };
        format!("{program} {}: {reason}{what}", arguments.join(" "))
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{error} (is iproute2 installed?)")))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
