//! A network namespace of its own for one run: a TUN device, addresses, routes, and a kernel as it
//! is out of the box.
//!
//! The namespace belongs to the thread that makes it and to what that thread starts; it ends, with
//! everything in it, when they and their descriptors have ended.

use crate::path::{IpVersion, Path};
use fairwind_linux as linux;
use fairwind_linux::KernelError;
use std::os::fd::OwnedFd;

/// The name of the TUN device in every namespace.
pub const DEVICE: &str = "tun0";

/// The descriptors of a namespace that packets go through.
#[derive(Debug)]
pub struct Namespace {
    /// Packets are injected here.
    pub device: OwnedFd,
    /// Packets are seen here, with the instant at which they were sent.
    pub tap: OwnedFd,
}

impl Namespace {
    /// Moves this thread into a fresh namespace and sets up `path` in it.
    pub fn enter(path: &Path) -> Result<Self, KernelError> {
        allow_congestion_controls();
        linux::enter_new_network()?;
        let device = linux::open_tun(DEVICE)?;
        linux::shell_checked(&set_up(path))?;
        let tap = linux::open_packet_socket(DEVICE)?;
        Ok(Self { device, tap })
    }
}

/// Lets something happen in a fresh namespace, which belongs to a thread and ends with it.
pub fn in_namespace<T: Send, E: From<KernelError> + Send>(
    path: &Path,
    happening: impl FnOnce(Namespace) -> Result<T, E> + Send,
) -> Result<T, E> {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| happening(Namespace::enter(path)?));
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Lets namespaces choose any congestion control that the machine has: by default they may only use
/// those that its administrator allowed. A refusal shows when one is chosen.
fn allow_congestion_controls() {
    const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    let words = |path| std::fs::read_to_string(path).unwrap_or_default();
    let (available, allowed) = (words(AVAILABLE), words(ALLOWED));
    let is_allowed = |name| allowed.split_whitespace().any(|one| one == name);
    if !available.split_whitespace().all(is_allowed) {
        let _ = std::fs::write(ALLOWED, available.trim());
    }
}

/// TCP's parameters that a namespace inherits from the machine, as the kernel has them out of the box;
/// scripts begin with its own buffers, which experiments do not.
const TCP_OUT_OF_THE_BOX: &str = "\
    net.ipv4.tcp_congestion_control=cubic \
    net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 16384 4194304'";

fn set_up(path: &Path) -> String {
    let Path { local, prefix, mtu, .. } = path;
    let (family, quiet) = match path.version {
        IpVersion::V6 => ("-6", "net.ipv6.conf.all.accept_dad=0"),
        IpVersion::V4 | IpVersion::V4Mapped => ("-4", ""),
    };
    let inherited = linux::NAMESPACE_DEFAULTS.iter().map(|(name, value)| format!("{name}={value}"));
    let inherited = inherited.collect::<Vec<_>>().join(" ");
    let alone = if path.version == IpVersion::V6 { "nodad" } else { "" };
    // A gateway that is the host itself means: there is none.
    let via =
        if path.gateway == path.local { String::new() } else { format!("via {}", path.gateway) };
    let quiet_device = format!(
        "net.ipv6.conf.{DEVICE}.router_solicitations=0 net.ipv6.conf.{DEVICE}.addr_gen_mode=1"
    );
    format!(
        "sysctl -q -e {inherited} {TCP_OUT_OF_THE_BOX} {quiet} {quiet_device}
ip link set lo up
ip link set {DEVICE} mtu {mtu} up
ip {family} addr add {local}/{prefix} dev {DEVICE} {alone}
ip {family} route replace default {via} dev {DEVICE}"
    )
}
