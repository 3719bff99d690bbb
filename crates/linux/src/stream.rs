//! Sockets of connections, owned.

use super::socket::{self, Raw};
use super::{checked, owned};
use crate::KernelError;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The bytes of a `struct sockaddr_in` or `sockaddr_in6`.
pub fn socket_address(address: SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    let family = |number: i32| u16::try_from(number).unwrap_or(0).to_ne_bytes();
    let mut bytes = Vec::with_capacity(28);
    match address.ip() {
        IpAddr::V4(ip) => {
            bytes.extend_from_slice(&family(libc::AF_INET));
            bytes.extend_from_slice(&port);
            bytes.extend_from_slice(&ip.octets());
            bytes.extend_from_slice(&[0; 8]);
        }
        IpAddr::V6(ip) => {
            bytes.extend_from_slice(&family(libc::AF_INET6));
            bytes.extend_from_slice(&port);
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&ip.octets());
            bytes.extend_from_slice(&[0; 4]);
        }
    }
    bytes
}

/// A TCP socket of the address's version that never waits.
pub fn tcp_socket(address: SocketAddr) -> Result<OwnedFd, KernelError> {
    let domain = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let raw = socket::socket(domain, kind, libc::IPPROTO_TCP);
    owned("open a socket", i32::try_from(raw.value).unwrap_or(-1))
}

/// The next connection that waits at a listening socket.
pub fn accept_connection(listener: impl AsFd) -> Result<Option<OwnedFd>, KernelError> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let raw = socket::accept(listener.as_fd().as_raw_fd(), flags);
    match raw.errno {
        0 => owned("accept a connection", i32::try_from(raw.value).unwrap_or(-1)).map(Some),
        // A connection that was given up before it was accepted is nobody's concern.
        libc::EAGAIN | libc::EINTR | libc::ECONNABORTED => Ok(None),
        _ => checked("accept a connection", raw.value).map(|_| None),
    }
}

/// Lets the end of a connection be told by a reset when its socket is closed (socket(7), `SO_LINGER` with no time).
pub fn reset_at_close(stream: impl AsFd) {
    let linger = [1_i32.to_ne_bytes(), 0_i32.to_ne_bytes()].concat();
    socket::set_option(stream.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger);
}

/// Reads at most `bytes` bytes without looking at them.
pub fn discard(stream: impl AsFd, bytes: usize) -> Raw {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with `MSG_TRUNC` a TCP socket writes nothing to the buffer, which may be nowhere.
    let read =
        unsafe { libc::recv(stream.as_fd().as_raw_fd(), std::ptr::null_mut(), bytes, flags) };
    Raw::of(i64::try_from(read).unwrap_or(-1))
}
