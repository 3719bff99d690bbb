//! Network of a host: device, addresses, routes, kernel parameters, and sockets as planned.
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

use super::plan::{HostPlan, SocketOption, SocketSettings, Sysctl, VethPlan};
use fairwind_linux::{self as linux, KernelError, NAMESPACE_DEFAULTS, parameter_path};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// The name of the TUN device in every host.
const TUN: &str = "tun0";
/// The name of the veth's end in a host that has one.
const ETHERNET: &str = "eth0";
/// Packets that the device's ring has room for.
const RING_PACKETS: u32 = 1 << 16;
/// The most that kernels since 2025 take from `ip`, by netlink.
const RING_PACKETS_BY_NETLINK: u32 = 32_767;

/// Makes the device, with addresses and routes.
pub(super) fn make_device(plan: &HostPlan) -> Result<OwnedFd, String> {
    match &plan.veth {
        None => make_tun(plan),
        Some(veth) => create_veth(plan, veth),
    }
}

/// Creates a veth pair to the router's namespace. The parent gets the host's own namespace.
fn create_veth(plan: &HostPlan, veth: &VethPlan) -> Result<OwnedFd, String> {
    let VethPlan { device, namespace, hardware_address, .. } = veth;
    let mtu = plan.mtu.get();
    let laid = format!(
        "link add {ETHERNET} mtu {mtu} address {hardware_address} type veth peer name {device} \
         mtu {mtu} address {hardware_address} netns {namespace}\n"
    );
    run_ip(&(laid + &commands(plan, ETHERNET)))?;
    set_ring(ETHERNET)?;
    linux::switch_offloads_off(ETHERNET).map_err(|error| error.to_string())?;
    let namespace = std::fs::File::open("/proc/self/ns/net");
    namespace.map(OwnedFd::from).map_err(|error| format!("open its own namespace: {error}"))
}

fn make_tun(plan: &HostPlan) -> Result<OwnedFd, String> {
    let device = linux::open_tun(TUN).map_err(|error| {
        let hint = match std::fs::File::options().read(true).write(true).open("/dev/net/tun") {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                "; whoever is not root needs permission: chmod 0666 /dev/net/tun"
            }
            _ => "",
        };
        format!("{error}{hint}")
    })?;
    run_ip(&commands(plan, TUN))?;
    set_ring(TUN)?;
    // Where `tc` is missing the default remains, which never has to hold a packet either.
    let noqueue = ["qdisc", "replace", "dev", TUN, "root", "noqueue"];
    let _ = linux::command_output("tc", &noqueue, "");
    Ok(device)
}

/// Gives the device's ring its length. Root of the machine sets any length by `ioctl`.
fn set_ring(device: &str) -> Result<(), String> {
    if linux::set_queue_length(device, RING_PACKETS).is_ok() {
        return Ok(());
    }
    let set = |packets: u32| run_ip(&format!("link set {device} txqueuelen {packets}\n"));
    set(RING_PACKETS).or_else(|_| set(RING_PACKETS_BY_NETLINK))
}

/// Commands of `ip` for the device, its addresses and routes.
fn commands(plan: &HostPlan, device: &str) -> String {
    let mut text = format!(
        "link set lo up\n\
         link set {device} mtu {} multicast off {} up\n",
        plan.mtu.get(),
        plan.device_attributes.join(" ")
    );
    for address in &plan.addresses {
        let (bits, alone) = if address.is_ipv4() { (32, "") } else { (128, " nodad") };
        let _ = writeln!(text, "address add {address}/{bits} dev {device}{alone}");
    }
    for (version, everywhere) in
        [(IpAddr::is_ipv4 as fn(&IpAddr) -> bool, "0.0.0.0/0"), (IpAddr::is_ipv6, "::/0")]
    {
        if plan.addresses.iter().any(version) {
            let attributes = plan.route_attributes.join(" ");
            let via = plan
                .veth
                .as_ref()
                .map_or_else(String::new, |veth| neighbour(&mut text, veth, version, device));
            let _ = writeln!(text, "route add {everywhere} {via} dev {device} {attributes}");
        }
    }
    text
}

/// Makes the router at the other end of a veth known, and gives how a route names it.
fn neighbour(
    text: &mut String,
    veth: &VethPlan,
    version: fn(&IpAddr) -> bool,
    device: &str,
) -> String {
    let Some(address) = veth.neighbours.iter().find(|address| version(address)) else {
        return String::new();
    };
    let _ = writeln!(
        text,
        "neighbor replace {address} lladdr {} dev {device} nud permanent",
        veth.hardware_address
    );
    format!("via {address} onlink")
}

/// Has `ip` execute commands.
fn run_ip(commands: &str) -> Result<(), String> {
    let done = linux::command_output("ip", &["-batch", "-"], commands);
    done.map(|_| ()).map_err(|error| match error {
        KernelError::Command { command, reason } => {
            format!("{command}: {reason} with\n{commands}")
        }
        other => other.to_string(),
    })
}

/// What makes experiments repeatable: nothing is said that no application asked for (neighbour and
/// router discovery of IPv6).
const QUIET: &[(&str, &str)] = &[
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
];

/// Settings that let thousands of connections arrive at once. A user namespace does not show
/// `somaxconn`; its default is 4096.
const WELCOMING: &[(&str, &str)] = &[
    ("net.core.somaxconn", "65535"),
    ("net.ipv4.tcp_max_syn_backlog", "65536"),
    ("net.ipv4.tcp_syncookies", "0"),
];

/// Sets what every host has, before its device exists. What this kernel does not have is left.
pub(super) fn set_default_sysctls() {
    for (name, value) in NAMESPACE_DEFAULTS.iter().chain(QUIET).chain(WELCOMING) {
        // What matters is planned, and `set` complains about it.
        let _ = fs::write(parameter_path(name), value);
    }
}

/// Sets what the plan says.
pub(super) fn set_sysctls(planned: &[Sysctl]) -> Result<(), String> {
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

/// Bytes of a congestion control's name (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;

/// A socket that is bound to `local`, and as `settings` say.
pub(super) fn bound(local: SocketAddr, settings: &SocketSettings) -> Result<OwnedFd, String> {
    let socket = linux::tcp_socket(local).map_err(|error| error.to_string())?;
    // Several connections may begin at one address and port, and end at different ones.
    set(&socket, "SO_REUSEADDR", libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    for SocketOption { name, level, number, value } in &settings.options {
        set(&socket, name, *level, *number, *value)?;
    }
    if let Some(congestion) = &settings.congestion {
        choose_congestion(&socket, congestion)?;
    }
    let raw = linux::bind(socket.as_raw_fd(), &linux::socket_address(local));
    succeeded(raw, || format!("bind a socket to {local}"))?;
    Ok(socket)
}

/// A socket that listens, with room for as many connections as the kernel lets wait.
pub(super) fn listening(local: SocketAddr, settings: &SocketSettings) -> Result<OwnedFd, String> {
    let socket = bound(local, settings)?;
    succeeded(linux::listen(socket.as_raw_fd(), i32::MAX), || format!("listen on {local}"))?;
    Ok(socket)
}

/// Sets an option that takes a number.
pub(super) fn set(
    socket: &impl AsRawFd,
    name: &str,
    level: i32,
    number: i32,
    value: i32,
) -> Result<(), String> {
    let raw = linux::set_option(socket.as_raw_fd(), level, number, &value.to_ne_bytes());
    succeeded(raw, || format!("set {name} to {value}"))
}

/// Chooses a congestion control, and makes sure that the socket has it: a namespace may be refused
/// one that its machine restricts.
fn choose_congestion(socket: &OwnedFd, wanted: &str) -> Result<(), String> {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let raw = linux::set_option(socket.as_raw_fd(), level, option, wanted.as_bytes());
    succeeded(raw, || format!("choose the congestion control {wanted}{}", available()))?;
    let mut name = [0; NAME_BYTES];
    let (raw, length) = linux::get_option(socket.as_raw_fd(), level, option, &mut name);
    succeeded(raw, || "ask for the congestion control".to_owned())?;
    let end = name[..length].iter().position(|&byte| byte == 0).unwrap_or(length);
    if &name[..end] == wanted.as_bytes() {
        return Ok(());
    }
    let got = String::from_utf8_lossy(&name[..end]);
    Err(format!("the congestion control is {got} although {wanted} was chosen{}", available()))
}

fn available() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    std::fs::read_to_string(path)
        .map_or_else(|_| String::new(), |names| format!(" (this kernel has {})", names.trim()))
}

/// The error that waits at a socket, 0 for none.
pub(super) fn waiting_error(socket: &OwnedFd) -> i32 {
    let mut value = [0; 4];
    linux::get_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut value);
    i32::from_ne_bytes(value)
}

fn succeeded(raw: linux::Raw, attempt: impl FnOnce() -> String) -> Result<(), String> {
    raw.result().map(|_| ()).map_err(|reason| format!("{}: {reason}", attempt()))
}
