//! Sockets of connections, owned, and waiting for very many of them.

use super::socket::{self, Raw};
use super::{checked, owned};
use crate::TestbedError;
use fairwind_units::Span;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The bytes of a `struct sockaddr_in` or `sockaddr_in6`.
pub(crate) fn socket_address(address: SocketAddr) -> Vec<u8> {
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
pub(crate) fn tcp_socket(address: SocketAddr) -> Result<OwnedFd, TestbedError> {
    let domain = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let raw = socket::socket(domain, kind, libc::IPPROTO_TCP);
    owned("open a socket", i32::try_from(raw.value).unwrap_or(-1))
}

/// The next connection that waits at a listening socket.
pub(crate) fn accept_connection(listener: impl AsFd) -> Result<Option<OwnedFd>, TestbedError> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let raw = socket::accept(listener.as_fd().as_raw_fd(), flags);
    match raw.errno {
        0 => owned("accept a connection", i32::try_from(raw.value).unwrap_or(-1)).map(Some),
        // A connection that was given up before it was accepted is nobody's concern.
        libc::EAGAIN | libc::EINTR | libc::ECONNABORTED => Ok(None),
        _ => checked("accept a connection", raw.value).map(|_| None),
    }
}

/// Reads at most `bytes` bytes without looking at them.
pub(crate) fn discard(stream: impl AsFd, bytes: usize) -> Raw {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with `MSG_TRUNC` a TCP socket writes nothing to the buffer, which may be nowhere.
    let read =
        unsafe { libc::recv(stream.as_fd().as_raw_fd(), std::ptr::null_mut(), bytes, flags) };
    Raw::of(i64::try_from(read).unwrap_or(-1))
}

/// Many descriptors to wait for.
#[derive(Debug)]
pub(crate) struct Poll {
    epoll: OwnedFd,
    ready: Vec<libc::epoll_event>,
}

/// What happened with a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ready {
    /// What it was registered with.
    pub(crate) token: u64,
    /// `EPOLLIN`, `EPOLLOUT`, ...
    pub(crate) events: u32,
}

impl Ready {
    pub(crate) fn has(self, events: i32) -> bool {
        self.events & events.cast_unsigned() != 0
    }
}

impl Poll {
    /// Takes up to `at_once` events per wait.
    pub(crate) fn new(at_once: usize) -> Result<Self, TestbedError> {
        let raw = socket::epoll_create(libc::EPOLL_CLOEXEC);
        let epoll = owned("make an epoll descriptor", i32::try_from(raw.value).unwrap_or(-1))?;
        Ok(Self { epoll, ready: vec![libc::epoll_event { events: 0, u64: 0 }; at_once] })
    }

    pub(crate) fn add(
        &self,
        descriptor: impl AsFd,
        token: u64,
        events: i32,
    ) -> Result<(), TestbedError> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, token, events)
    }

    pub(crate) fn change(
        &self,
        descriptor: impl AsFd,
        token: u64,
        events: i32,
    ) -> Result<(), TestbedError> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, token, events)
    }

    fn control(
        &self,
        operation: i32,
        descriptor: impl AsFd,
        token: u64,
        events: i32,
    ) -> Result<(), TestbedError> {
        let raw = socket::epoll_control(
            self.epoll.as_raw_fd(),
            operation,
            descriptor.as_fd().as_raw_fd(),
            (events.cast_unsigned(), token),
        );
        checked("watch a descriptor", raw.value).map(|_| ())
    }

    /// Waits until something happens, at most for `limit`; returns how many descriptors are ready.
    pub(crate) fn wait(&mut self, limit: Span) -> usize {
        let timeout = libc::timespec {
            tv_sec: i64::try_from(limit.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(limit.as_nanos() % 1_000_000_000).unwrap_or(0),
        };
        let most = i32::try_from(self.ready.len()).unwrap_or(i32::MAX);
        // SAFETY: the array is as long as is said, and the time lives over the call.
        let ready = unsafe {
            libc::epoll_pwait2(
                self.epoll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                most,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        usize::try_from(ready).unwrap_or(0)
    }

    /// What happened with the descriptor that is ready in this place.
    pub(crate) fn readiness(&self, place: usize) -> Ready {
        let event = self.ready[place];
        Ready { token: event.u64, events: event.events }
    }
}
