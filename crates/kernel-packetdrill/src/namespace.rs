//! The network namespace of a script: device, addresses, routes, packet size, and packets as bytes.
//!
//! The namespace belongs to the thread that makes it and to what that thread starts; it ends, with
//! everything in it, when they and their descriptors have ended.

use fairwind_linux as linux;
use fairwind_linux::KernelError;
use fairwind_packetdrill::{
    Expression, OptionLine, Packet, Step, Stop, options_from_bytes, options_to_bytes,
};
use fairwind_wire::bytes::{Addresses, IpHeader, emit_with_options, parse};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::str::FromStr;

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
        let device = if path.mss.is_some() {
            linux::open_tun_with_headers(DEVICE)?
        } else {
            linux::open_tun(DEVICE)?
        };
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
    linux::in_a_thread(|| happening(Namespace::enter(path)?))
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

/// Which addresses sockets and packets have (`--ip_version`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Sockets of IPv6 that speak IPv4.
    V4Mapped,
}

/// The path between the kernel and the peer that the script plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Which version of IP sockets and packets have.
    pub version: IpVersion,
    /// Address of the kernel under test.
    pub local: IpAddr,
    /// Address of the peer that the script plays.
    pub remote: IpAddr,
    /// Where the default route leads.
    pub gateway: IpAddr,
    /// Bits of the local network's prefix.
    pub prefix: u32,
    /// Largest packet in bytes.
    pub mtu: u16,
    /// Payload of a segment: injected packets with a larger one arrive as several segments that a
    /// device has joined.
    pub mss: Option<u16>,
    /// The port that `bind(..., ...)` takes.
    pub bind_port: u16,
    /// The port that `connect(..., ...)` goes to.
    pub connect_port: u16,
}

impl Path {
    /// Reads the option lines; those that are about something else are left alone.
    pub fn new(options: &[OptionLine]) -> Result<Self, KernelError> {
        let version = match last(options, "ip_version") {
            None | Some((_, "ipv4")) => IpVersion::V4,
            Some((_, "ipv6")) => IpVersion::V6,
            Some((_, "ipv4-mapped-ipv6")) => IpVersion::V4Mapped,
            Some((name, value)) => {
                return Err(wrong(name, value, "ipv4, ipv6 or ipv4-mapped-ipv6"));
            }
        };
        let mut path = Self::usual(version);
        if let Some(local) = address(options, "local_ip", version)? {
            path.local = local;
            path.gateway = local;
        }
        if let Some(remote) = address(options, "remote_ip", version)? {
            path.remote = remote;
        }
        if let Some(gateway) = address(options, "gateway_ip", version)? {
            path.gateway = gateway;
        }
        if let Some((name, value)) = last(options, "netmask_ip")
            && version != IpVersion::V6
        {
            let mask: Ipv4Addr = parsed(name, value, "a network mask")?;
            path.prefix = mask.to_bits().leading_ones();
        }
        if let Some((name, value)) = last(options, "mtu") {
            path.mtu = parsed(name, value, "a number of bytes")?;
        }
        if let Some((name, value)) = last(options, "mss") {
            path.mss = Some(parsed(name, value, "a number of bytes")?).filter(|mss| *mss > 0);
        }
        if let Some((name, value)) = last(options, "bind_port") {
            path.bind_port = parsed(name, value, "a port")?;
        }
        if let Some((name, value)) = last(options, "connect_port") {
            path.connect_port = parsed(name, value, "a port")?;
        }
        Ok(path)
    }

    /// The addresses that scripts count on where they write none.
    fn usual(version: IpVersion) -> Self {
        let (local, remote, prefix) = match version {
            IpVersion::V6 => (
                IpAddr::from(Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1)),
                IpAddr::from(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1)),
                48,
            ),
            IpVersion::V4 | IpVersion::V4Mapped => (
                IpAddr::from(Ipv4Addr::new(192, 168, 0, 1)),
                IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
                16,
            ),
        };
        Self {
            version,
            local,
            remote,
            gateway: local,
            prefix,
            mtu: 1500,
            mss: None,
            bind_port: 8080,
            connect_port: 8080,
        }
    }

    /// The addresses of an injected packet.
    pub fn inward(&self) -> Addresses {
        Addresses::between(self.remote, self.local).unwrap_or_else(|| Addresses::V6 {
            source: mapped(self.remote),
            destination: mapped(self.local),
        })
    }
}

/// As an address of IPv6.
pub fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// The last option line of this name that has a value.
fn last<'a>(options: &'a [OptionLine], name: &str) -> Option<(&'a str, &'a str)> {
    let found = options.iter().rev().find(|option| option.name == name);
    found.and_then(|option| Some((option.name.as_str(), option.value.as_deref()?)))
}

/// An address of the version that is spoken; lines for the other one are for other runs of the
/// same script.
fn address(
    options: &[OptionLine],
    name: &str,
    version: IpVersion,
) -> Result<Option<IpAddr>, KernelError> {
    let Some((name, value)) = last(options, name) else { return Ok(None) };
    // A prefix length may follow the address.
    let bare = value.split('/').next().unwrap_or(value);
    let address: IpAddr = parsed(name, bare, "an address")?;
    Ok(Some(address).filter(|address| address.is_ipv6() == (version == IpVersion::V6)))
}

fn parsed<T: FromStr>(name: &str, value: &str, expected: &'static str) -> Result<T, KernelError> {
    value.parse().map_err(|_| wrong(name, value, expected))
}

fn wrong(name: &str, value: &str, expected: &'static str) -> KernelError {
    KernelError::Option { name: name.to_owned(), value: value.to_owned(), expected }
}

/// Whose address `...` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// What a socket is bound to.
    Local,
    /// What it connects to.
    Remote,
}

/// The bytes of a `struct sockaddr`.
pub(super) fn socket_address_of(expression: &Expression, side: Side, path: &Path) -> Step<Vec<u8>> {
    match expression {
        Expression::Any => {
            let (address, port) = match side {
                Side::Local => (path.local, path.bind_port),
                Side::Remote => (path.remote, path.connect_port),
            };
            Ok(match path.version {
                IpVersion::V4 => internet(address, port),
                IpVersion::V6 | IpVersion::V4Mapped => internet(mapped(address).into(), port),
            })
        }
        Expression::Record(_) => written(expression),
        Expression::Name(name) if name == "AF_UNSPEC" => Ok(vec![0; 16]),
        other => Err(Stop::failed(format!("`{other}` is not an address"))),
    }
}

fn written(record: &Expression) -> Step<Vec<u8>> {
    let family = record.field("sa_family").or_else(|| record.field("sin_family"));
    let family = match family {
        Some(family) => family.int()?,
        None => return Err(Stop::failed(format!("`{record}` has no field sa_family"))),
    };
    if family == libc::AF_UNSPEC {
        return Ok(vec![0; 16]);
    }
    let port = record.field("sin_port").or_else(|| record.field("sin6_port"));
    let port = port.map_or(Ok(0), Expression::number)?;
    let port = u16::try_from(port).map_err(|_| Stop::failed(format!("{port} is not a port")))?;
    let place = record.field("sin_addr").or_else(|| record.field("sin6_addr"));
    let unspecified: IpAddr = if family == libc::AF_INET6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    Ok(internet(place.map_or(Ok(unspecified), internet_address)?, port))
}

/// `inet_addr("192.0.2.1")`, `inet_pton(AF_INET6, "fd3d::1")` and the like.
fn internet_address(expression: &Expression) -> Step<IpAddr> {
    let text = match expression {
        Expression::Text(text) => Some(text),
        Expression::Function(_, arguments) => arguments.iter().find_map(|one| match one {
            Expression::Text(text) => Some(text),
            _ => None,
        }),
        Expression::Name(name) if name == "INADDR_ANY" => return Ok(Ipv4Addr::UNSPECIFIED.into()),
        Expression::Name(name) if name == "INADDR_LOOPBACK" => {
            return Ok(Ipv4Addr::LOCALHOST.into());
        }
        _ => None,
    };
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| Stop::failed(format!("`{expression}` is not an address of the internet")))
}

fn internet(address: IpAddr, port: u16) -> Vec<u8> {
    linux::socket_address(SocketAddr::new(address, port))
}

/// The two ports of a connection, the kernel's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) local: u16,
    pub(super) remote: u16,
}

/// The hop limit of injected packets.
pub(super) const HOP_LIMIT: u8 = 255;

/// The bytes of a packet to the kernel.
pub(super) fn to_bytes(packet: &Packet, addresses: Addresses, ports: Ports) -> Step<Vec<u8>> {
    let Some(options) = &packet.options else {
        return Err(Stop::failed("an injected packet cannot have just any options"));
    };
    let ip = IpHeader { hop_limit: HOP_LIMIT, ..IpHeader::new(addresses) };
    let segment = packet.to_segment(ports.remote, ports.local);
    let payload = vec![0; usize::try_from(packet.payload_bytes).unwrap_or(0)];
    let mut bytes = Vec::new();
    emit_with_options(&ip, &segment, &options_to_bytes(options)?, &payload, &mut bytes)
        .map_err(|error| Stop::failed(error.to_string()))?;
    Ok(bytes)
}

/// A packet of the kernel, if it is one of TCP, and its ports.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<(Packet, Ports, Addresses)> {
    let parsed = parse(bytes).ok()?;
    let segment = &parsed.segment;
    let ports = Ports { local: segment.source_port, remote: segment.destination_port };
    let packet = Packet::from_segment(segment, options_from_bytes(parsed.tcp_options()));
    Some((packet, ports, parsed.ip.addresses))
}
