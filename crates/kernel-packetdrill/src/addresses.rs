//! Socket addresses as bytes.

use super::values::{field, int, number};
use crate::path::{IpVersion, Path, mapped};
use fairwind_linux as linux;
use fairwind_packetdrill::{Expression, Step, Stop};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whose address `...` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// What a socket is bound to.
    Local,
    /// What it connects to.
    Remote,
}

/// The bytes of a `struct sockaddr`.
pub(super) fn address(expression: &Expression, side: Side, path: &Path) -> Step<Vec<u8>> {
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
        other => Err(Stop::failed(format!("`{other}` is no address"))),
    }
}

fn written(record: &Expression) -> Step<Vec<u8>> {
    let family = field(record, "sa_family").or_else(|| field(record, "sin_family"));
    let family = match family {
        Some(family) => int(family)?,
        None => return Err(Stop::failed(format!("`{record}` has no field sa_family"))),
    };
    if family == libc::AF_UNSPEC {
        return Ok(vec![0; 16]);
    }
    let port = field(record, "sin_port").or_else(|| field(record, "sin6_port"));
    let port = port.map_or(Ok(0), number)?;
    let port = u16::try_from(port).map_err(|_| Stop::failed(format!("{port} is no port")))?;
    let place = field(record, "sin_addr").or_else(|| field(record, "sin6_addr"));
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
        .ok_or_else(|| Stop::failed(format!("`{expression}` is no address of the internet")))
}

fn internet(address: IpAddr, port: u16) -> Vec<u8> {
    linux::socket_address(SocketAddr::new(address, port))
}
