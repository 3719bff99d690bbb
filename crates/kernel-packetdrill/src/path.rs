//! Where a script's packets go to and come from: addresses and packet size.

use fairwind_linux::KernelError;
use fairwind_packetdrill::OptionLine;
use fairwind_wire::bytes::Addresses;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

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
                64,
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
            bind_port: 8080,
            connect_port: 8080,
        }
    }

    /// The addresses of an injected packet.
    pub fn inward(&self) -> Addresses {
        match (self.remote, self.local) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (source, destination) => {
                Addresses::V6 { source: mapped(source), destination: mapped(destination) }
            }
        }
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
