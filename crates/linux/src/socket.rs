//! Socket calls: raw ones with the numbers of a script, which the kernel may refuse, and owned sockets.

use crate::{KernelError, checked};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, accept_with, ipproto, recvmsg,
    sendmsg, socket_with, sockopt,
};
use std::collections::BTreeSet;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// What a call returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw {
    /// What the call returned; negative if it failed.
    pub value: i64,
    /// 0 where it did not fail.
    pub errno: i32,
}

impl Raw {
    pub(super) fn of(value: i64) -> Self {
        let failed = value < 0;
        let errno = if failed { std::io::Error::last_os_error().raw_os_error() } else { None };
        Self { value, errno: errno.unwrap_or(0) }
    }

    /// The value, or the error of a call that failed.
    pub fn result(self) -> std::io::Result<i64> {
        if self.value >= 0 {
            Ok(self.value)
        } else {
            Err(std::io::Error::from_raw_os_error(self.errno))
        }
    }
}

fn socklen(bytes: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(bytes).unwrap_or(libc::socklen_t::MAX)
}

fn signed(count: isize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// `socket(2)`.
pub fn socket(domain: i32, kind: i32, protocol: i32) -> Raw {
    // SAFETY: takes no pointers.
    Raw::of(i64::from(unsafe { libc::socket(domain, kind, protocol) }))
}

/// `bind(2)`, to the bytes of a `struct sockaddr`.
pub fn bind(descriptor: i32, address: &[u8]) -> Raw {
    let length = socklen(address.len());
    // SAFETY: the address is as long as is said.
    Raw::of(i64::from(unsafe { libc::bind(descriptor, address.as_ptr().cast(), length) }))
}

/// `connect(2)`, to the bytes of a `struct sockaddr`.
pub fn connect(descriptor: i32, address: &[u8]) -> Raw {
    let length = socklen(address.len());
    // SAFETY: the address is as long as is said.
    Raw::of(i64::from(unsafe { libc::connect(descriptor, address.as_ptr().cast(), length) }))
}

/// `listen(2)`.
pub fn listen(descriptor: i32, backlog: i32) -> Raw {
    // SAFETY: takes no pointers.
    Raw::of(i64::from(unsafe { libc::listen(descriptor, backlog) }))
}

/// `accept4(2)`, without the address.
pub fn accept(descriptor: i32, flags: i32) -> Raw {
    // SAFETY: the kernel takes null pointers for an address that nobody wants.
    let accepted =
        unsafe { libc::accept4(descriptor, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
    Raw::of(i64::from(accepted))
}

/// `shutdown(2)`.
pub fn shutdown(descriptor: i32, how: i32) -> Raw {
    // SAFETY: takes no pointers.
    Raw::of(i64::from(unsafe { libc::shutdown(descriptor, how) }))
}

/// `close(2)`.
pub fn close(descriptor: i32) -> Raw {
    // SAFETY: only descriptors are closed that a script has opened, each once.
    Raw::of(i64::from(unsafe { libc::close(descriptor) }))
}

/// `fcntl(2)` with a number.
pub fn control(descriptor: i32, command: i32, argument: i32) -> Raw {
    // SAFETY: only commands with a number are made.
    Raw::of(i64::from(unsafe { libc::fcntl(descriptor, command, argument) }))
}

/// An `ioctl` that takes or gives a number.
pub fn query(descriptor: i32, request: u64, number: &mut i32) -> Raw {
    // SAFETY: only requests with an `int` are made, and it lives over the call.
    Raw::of(i64::from(unsafe { libc::ioctl(descriptor, request, std::ptr::from_mut(number)) }))
}

/// `read(2)`.
pub fn read_plain(descriptor: i32, buffer: &mut [u8]) -> Raw {
    // SAFETY: the buffer is as long as is said.
    let read = unsafe { libc::read(descriptor, buffer.as_mut_ptr().cast(), buffer.len()) };
    Raw::of(signed(read))
}

/// `write(2)`.
pub fn write_plain(descriptor: i32, buffer: &[u8]) -> Raw {
    // SAFETY: the buffer is as long as is said.
    let written = unsafe { libc::write(descriptor, buffer.as_ptr().cast(), buffer.len()) };
    Raw::of(signed(written))
}

/// `recv(2)`.
pub fn receive(descriptor: i32, buffer: &mut [u8], flags: i32) -> Raw {
    let length = buffer.len();
    // SAFETY: the buffer is as long as is said.
    let received = unsafe { libc::recv(descriptor, buffer.as_mut_ptr().cast(), length, flags) };
    Raw::of(signed(received))
}

/// `send`, or `sendto` where there is an address.
pub fn send(descriptor: i32, buffer: &[u8], flags: i32, address: Option<&[u8]>) -> Raw {
    let (to, length) = match address {
        Some(address) => (address.as_ptr().cast(), socklen(address.len())),
        None => (std::ptr::null(), 0),
    };
    // SAFETY: the buffer and the address are as long as is said.
    let sent = unsafe {
        libc::sendto(descriptor, buffer.as_ptr().cast(), buffer.len(), flags, to, length)
    };
    Raw::of(signed(sent))
}

/// A buffer of a call.
#[derive(Debug, Clone)]
pub enum Buffer {
    /// Bytes to fill or to send.
    Bytes(Vec<u8>),
    /// At no address, and so many bytes long.
    Nowhere(usize),
}

/// Buffers for `readv`, `writev`, `recvmsg`, `sendmsg`.
#[derive(Debug, Clone, Default)]
pub struct Transfer {
    /// In the order in which they are filled or sent.
    pub buffers: Vec<Buffer>,
}

impl Transfer {
    fn vectors(&mut self) -> Vec<libc::iovec> {
        let one = |buffer: &mut Buffer| match buffer {
            Buffer::Bytes(bytes) => {
                libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
            }
            Buffer::Nowhere(bytes) => {
                libc::iovec { iov_base: std::ptr::null_mut(), iov_len: *bytes }
            }
        };
        self.buffers.iter_mut().map(one).collect()
    }
}

/// A message with all its parts.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Its data.
    pub transfer: Transfer,
    /// The bytes of a `struct sockaddr`.
    pub address: Option<Vec<u8>>,
    /// Control messages: level, type and content.
    pub control: Vec<(i32, i32, Vec<u8>)>,
    /// Flags that came back.
    pub flags: i32,
}

/// Control messages are aligned as the kernel's `size_t`.
const CONTROL_ALIGNMENT: usize = 8;
const CONTROL_HEADER: usize = 16;

fn control_bytes(parts: &[(i32, i32, Vec<u8>)]) -> Vec<u64> {
    let mut bytes: Vec<u8> = Vec::new();
    for (level, kind, content) in parts {
        bytes.extend_from_slice(&(CONTROL_HEADER + content.len()).to_ne_bytes());
        bytes.extend_from_slice(&level.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(CONTROL_ALIGNMENT), 0);
    }
    let (words, _) = bytes.as_chunks::<CONTROL_ALIGNMENT>();
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

fn control_parts(words: &[u64], bytes: usize) -> Vec<(i32, i32, Vec<u8>)> {
    let all: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take(bytes).collect();
    let mut parts = Vec::new();
    let mut rest = all.as_slice();
    while let Some((header, behind)) = rest.split_first_chunk::<CONTROL_HEADER>() {
        let [l0, l1, l2, l3, l4, l5, l6, l7, v0, v1, v2, v3, t0, t1, t2, t3] = *header;
        let length = usize::from_ne_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
        let Some(content) = behind.get(..length.saturating_sub(CONTROL_HEADER)) else { break };
        let level = i32::from_ne_bytes([v0, v1, v2, v3]);
        parts.push((level, i32::from_ne_bytes([t0, t1, t2, t3]), content.to_vec()));
        rest = rest.get(length.next_multiple_of(CONTROL_ALIGNMENT)..).unwrap_or_default();
    }
    parts
}

/// `sendmsg(2)`.
pub fn send_message(descriptor: i32, message: &mut Message, flags: i32) -> Raw {
    let mut vectors = message.transfer.vectors();
    let mut control = control_bytes(&message.control);
    // SAFETY: all zero is a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    if let Some(address) = &mut message.address {
        header.msg_name = address.as_mut_ptr().cast();
        header.msg_namelen = socklen(address.len());
    }
    header.msg_iov = vectors.as_mut_ptr();
    header.msg_iovlen = vectors.len();
    if !control.is_empty() {
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = control.len() * size_of::<u64>();
    }
    // SAFETY: all that the header points to lives over the call, with its lengths.
    Raw::of(signed(unsafe { libc::sendmsg(descriptor, &raw const header, flags) }))
}

/// `recvmsg(2)`.
pub fn receive_message(descriptor: i32, message: &mut Message, flags: i32) -> Raw {
    let mut vectors = message.transfer.vectors();
    let mut control = vec![0_u64; 128];
    // SAFETY: all zero is a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = vectors.as_mut_ptr();
    header.msg_iovlen = vectors.len();
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = control.len() * size_of::<u64>();
    // SAFETY: all that the header points to lives over the call, with its lengths.
    let raw = Raw::of(signed(unsafe { libc::recvmsg(descriptor, &raw mut header, flags) }));
    // A call that fails hands nothing back, and leaves the lengths as they were.
    if raw.value >= 0 {
        message.flags = header.msg_flags;
        message.control = control_parts(&control, header.msg_controllen);
    }
    raw
}

/// `setsockopt(2)`.
pub fn set_option(descriptor: i32, level: i32, name: i32, value: &[u8]) -> Raw {
    let length = socklen(value.len());
    // SAFETY: the value is as long as is said.
    let result =
        unsafe { libc::setsockopt(descriptor, level, name, value.as_ptr().cast(), length) };
    Raw::of(i64::from(result))
}

/// Also returns how many bytes of the value the kernel has filled in.
pub fn get_option(descriptor: i32, level: i32, name: i32, value: &mut [u8]) -> (Raw, usize) {
    let mut length = socklen(value.len());
    // SAFETY: the value is as long as is said.
    let result = unsafe {
        libc::getsockopt(descriptor, level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    (Raw::of(i64::from(result)), usize::try_from(length).unwrap_or(0))
}

/// `poll`, over descriptors, events and what is returned of them.
pub fn descriptors_wait(watched: &mut [(i32, i16, i16)], milliseconds: i32) -> Raw {
    let mut entries: Vec<libc::pollfd> =
        watched.iter().map(|&(fd, events, _)| libc::pollfd { fd, events, revents: 0 }).collect();
    let count = libc::nfds_t::try_from(entries.len()).unwrap_or(0);
    // SAFETY: the array lives over the call, and `count` is its length.
    let raw = Raw::of(i64::from(unsafe { libc::poll(entries.as_mut_ptr(), count, milliseconds) }));
    for (one, entry) in watched.iter_mut().zip(&entries) {
        one.2 = entry.revents;
    }
    raw
}

/// `epoll_create1(2)`.
pub fn epoll_create(flags: i32) -> Raw {
    // SAFETY: takes no pointers.
    Raw::of(i64::from(unsafe { libc::epoll_create1(flags) }))
}

/// `epoll_ctl(2)`, with events and data.
pub fn epoll_control(
    epoll: i32,
    operation: i32,
    descriptor: i32,
    (events, data): (u32, u64),
) -> Raw {
    let mut event = libc::epoll_event { events, u64: data };
    // SAFETY: the event lives over the call.
    let result = unsafe { libc::epoll_ctl(epoll, operation, descriptor, &raw mut event) };
    Raw::of(i64::from(result))
}

/// Also returns the events and data of what is ready.
pub fn epoll_wait(epoll: i32, most: i32, milliseconds: i32) -> (Raw, Vec<(u32, u64)>) {
    let room = usize::try_from(most).unwrap_or(0).min(1024);
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; room];
    let most = i32::try_from(room).unwrap_or(0);
    // SAFETY: the array is as long as is said.
    let ready = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), most, milliseconds) };
    let raw = Raw::of(i64::from(ready));
    events.truncate(usize::try_from(ready).unwrap_or(0));
    (raw, events.iter().map(|event| (event.events, event.u64)).collect())
}

/// `open(2)`, with mode 0600 for a new file.
pub fn open(path: &std::ffi::CStr, flags: i32) -> Raw {
    // SAFETY: the path is a C string.
    Raw::of(i64::from(unsafe { libc::open(path.as_ptr(), flags, 0o600) }))
}

/// `pipe(2)`: the end to read from, and the end to write to.
pub fn pipe() -> (Raw, [i32; 2]) {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for two descriptors.
    let result = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    (Raw::of(i64::from(result)), ends)
}

/// `splice(2)`, without offsets.
pub fn splice(from: i32, to: i32, bytes: usize, flags: u32) -> Raw {
    let none = std::ptr::null_mut();
    // SAFETY: the kernel takes null pointers for the descriptors' own offsets.
    Raw::of(signed(unsafe { libc::splice(from, none, to, none, bytes, flags) }))
}

/// `sendfile(2)`.
pub fn transmit_file(to: i32, from: i32, offset: Option<i64>, bytes: usize) -> Raw {
    let mut place = offset.unwrap_or(0);
    let offset = if offset.is_some() { &raw mut place } else { std::ptr::null_mut() };
    // SAFETY: the offset, where there is one, lives over the call.
    Raw::of(signed(unsafe { libc::sendfile(to, from, offset, bytes) }))
}

/// Calls getsockname or getpeername, and discards the address.
pub fn name_of(descriptor: i32, of_peer: bool) -> Raw {
    address_of(descriptor, of_peer).0
}

/// The port that a socket is bound to.
pub fn local_port(descriptor: i32) -> Option<u16> {
    let (raw, address) = address_of(descriptor, false);
    // The port stands at the same place in addresses of both versions.
    (raw.value == 0).then(|| u16::from_be(address.sin6_port))
}

fn address_of(descriptor: i32, of_peer: bool) -> (Raw, libc::sockaddr_in6) {
    // SAFETY: all zero is a valid `sockaddr_in6`, which is the longer of the two.
    let mut address: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
    let mut length = socklen(size_of::<libc::sockaddr_in6>());
    let ask = if of_peer { libc::getpeername } else { libc::getsockname };
    // SAFETY: the address has room for as many bytes as is said.
    let result = unsafe { ask(descriptor, (&raw mut address).cast(), &raw mut length) };
    (Raw::of(i64::from(result)), address)
}

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
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP));
    checked("open a socket", socket)
}

/// Those of `options` at the level of TCP that a socket of this kernel knows.
pub fn known_tcp_options(options: &[i32]) -> BTreeSet<i32> {
    let Ok(socket) = tcp_socket(SocketAddr::from(([0; 4], 0))) else { return BTreeSet::new() };
    let known = |option: &&i32| {
        let level = libc::IPPROTO_TCP;
        get_option(socket.as_raw_fd(), level, **option, &mut [0; 4]).0.value >= 0
    };
    options.iter().filter(known).copied().collect()
}

/// The next connection that waits at a listening socket.
pub fn accept_connection(listener: impl AsFd) -> Result<Option<OwnedFd>, KernelError> {
    match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        // Ignore a connection that was aborted before it was accepted.
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        accepted => checked("accept a connection", accepted).map(Some),
    }
}

/// Resets the connection when its socket is closed (socket(7), `SO_LINGER` with no time).
pub fn reset_at_close(stream: impl AsFd) {
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// Reads at most `bytes` bytes without looking at them.
pub fn discard(stream: impl AsFd, bytes: usize) -> Raw {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with `MSG_TRUNC` a TCP socket writes nothing to the buffer, which may be nowhere.
    let read =
        unsafe { libc::recv(stream.as_fd().as_raw_fd(), std::ptr::null_mut(), bytes, flags) };
    Raw::of(i64::try_from(read).unwrap_or(-1))
}

/// Sends all of `bytes`, which a socket's buffer takes at once, and the descriptor.
pub fn send_with_descriptor(
    socket: impl AsFd,
    bytes: &[u8],
    descriptor: impl AsFd,
) -> Result<(), KernelError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL);
    checked("pass a descriptor on", sent).map(|_| ())
}

/// Receives what there is, at most `buffer`, and a descriptor that came along; 0 bytes at the end.
pub fn receive_with_descriptor(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> std::io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let buffers = &mut [IoSliceMut::new(buffer)];
    let received = recvmsg(socket, buffers, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let passed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok((received.bytes, passed))
}
