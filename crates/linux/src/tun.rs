//! TUN and Ethernet devices, and packet sockets.
//!
//! Virtual Ethernet devices, and the namespaces that they stand in.

use super::thread::nanos;
use super::{checked, owned};
use crate::KernelError;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const TUN_DEVICE: &std::ffi::CStr = c"/dev/net/tun";

/// A name as `struct ifreq` holds it.
pub(super) fn interface_name(name: &str) -> [libc::c_char; libc::IFNAMSIZ] {
    let mut field = [0; libc::IFNAMSIZ];
    for (place, byte) in field.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    field
}

/// Opens a TUN device of this name, without offloads; it ends with its descriptor.
pub fn open_tun(name: &str) -> Result<OwnedFd, KernelError> {
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    let descriptor = unsafe { libc::open(TUN_DEVICE.as_ptr(), flags) };
    let device = owned("open /dev/net/tun", descriptor)?;
    let kind = i16::try_from(libc::IFF_TUN | libc::IFF_NO_PI).unwrap_or(0);
    let mut request = libc::ifreq {
        ifr_name: interface_name(name),
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: kind },
    };
    // SAFETY: `TUNSETIFF` takes an `ifreq`, which lives over the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    checked(&format!("make the TUN device {name}"), i64::from(result))?;
    Ok(device)
}

/// Opens a socket that sees every packet of an interface, with the instant at which it passed.
pub fn open_packet_socket(interface: &str) -> Result<OwnedFd, KernelError> {
    let all = u16::try_from(libc::ETH_P_ALL).unwrap_or(0).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(all)) };
    let socket = owned("open a packet socket", descriptor)?;
    set_number(&socket, libc::SO_TIMESTAMPNS, 1)?;
    set_number(&socket, libc::SO_RCVBUFFORCE, 64 << 20)?;
    let name = std::ffi::CString::new(interface).unwrap_or_default();
    // SAFETY: the name is a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    // SAFETY: all zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = all;
    address.sll_ifindex = i32::try_from(index).unwrap_or(0);
    let length = socklen::<libc::sockaddr_ll>();
    // SAFETY: the address lives over the call, and its length is its type's.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    checked(&format!("watch {interface}"), i64::from(result))?;
    Ok(socket)
}

fn socklen<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0)
}

fn set_number(socket: &OwnedFd, option: i32, value: i32) -> Result<(), KernelError> {
    // SAFETY: the value lives over the call, and its length is its type's.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            socklen::<i32>(),
        )
    };
    checked("set an option of a packet socket", i64::from(result)).map(|_| ())
}

/// A packet that passed an interface.
#[derive(Debug, Clone, Copy)]
pub struct Sniffed {
    /// Its length.
    pub bytes: usize,
    /// By the clock of [`super::realtime`], in nanoseconds; 0 where the kernel did not say.
    pub stamp: u64,
    /// Whether this host sent it.
    pub outgoing: bool,
}

/// Room for the control message with the time.
#[repr(align(16))]
struct Control([u8; 128]);

/// The next packet that passed, if there is one, into `buffer`.
pub fn sniff(socket: &OwnedFd, buffer: &mut [u8]) -> Option<Sniffed> {
    let mut control = Control([0; 128]);
    // SAFETY: all zero is a valid `sockaddr_ll`.
    let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = socklen::<libc::sockaddr_ll>();
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    // SAFETY: all that the message points to lives over the call, with its lengths.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let bytes = usize::try_from(received).ok()?;
    let mut stamp = 0;
    // SAFETY: the kernel has filled in the control messages that these macros walk along.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(&raw const message);
        while !part.is_null() {
            if ((*part).cmsg_level, (*part).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)
            {
                let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(part).cast());
                stamp = nanos(time.tv_sec, time.tv_nsec);
            }
            part = libc::CMSG_NXTHDR(&raw const message, part);
        }
    }
    Some(Sniffed { bytes, stamp, outgoing: from.sll_pkttype == libc::PACKET_OUTGOING })
}

/// Moves this thread, and what it starts, into the network namespace of a descriptor.
pub fn enter_network(namespace: impl AsFd) -> Result<(), KernelError> {
    let descriptor = namespace.as_fd().as_raw_fd();
    // SAFETY: takes no pointers; it changes this thread's namespace alone.
    let result = unsafe { libc::setns(descriptor, libc::CLONE_NEWNET) };
    checked("enter a network namespace", i64::from(result)).map(|_| ())
}

/// The number of an interface in this thread's namespace; `None` where there is none of this name.
pub fn interface_index(name: &str) -> Option<u32> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name is a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index != 0).then_some(index)
}

/// Sets how many packets the queue of an interface of this thread's namespace has room for.
pub fn set_queue_length(name: &str, packets: u32) -> Result<(), KernelError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    let socket = owned("open a socket", descriptor)?;
    let length = i32::try_from(packets).unwrap_or(i32::MAX);
    let mut request = libc::ifreq {
        ifr_name: interface_name(name),
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_metric: length },
    };
    // SAFETY: `SIOCSIFTXQLEN` takes an `ifreq` whose number is where that of a metric is; it lives over the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFTXQLEN, &raw mut request) };
    checked(&format!("set the queue of {name}"), i64::from(result)).map(|_| ())
}

/// `struct ethtool_value`, with which an offload is switched.
#[repr(C)]
struct Switch {
    command: u32,
    value: u32,
}

/// Checksums, segmentation, and joining on arrival: `ETHTOOL_STXCSUM`, `STSO`, `SGSO`, `SGRO`.
const OFFLOADS: [u32; 4] = [0x17, 0x1f, 0x24, 0x2c];

/// Lets an interface of this thread's namespace send and receive packets as they are on a wire:
/// whole, of at most its MTU, and none joined with another.
pub fn switch_offloads_off(name: &str) -> Result<(), KernelError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    let socket = owned("open a socket", descriptor)?;
    for command in OFFLOADS {
        let mut switch = Switch { command, value: 0 };
        let mut request = libc::ifreq {
            ifr_name: interface_name(name),
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut switch).cast() },
        };
        // SAFETY: `SIOCETHTOOL` takes an `ifreq` whose data is what its command asks for, here an
        // `ethtool_value`; both live over the call.
        let result =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
        checked(&format!("switch an offload of {name} off"), i64::from(result))?;
    }
    Ok(())
}
