//! TUN and Ethernet devices, and packet sockets.

use crate::clock::nanos;
use crate::{KernelError, Raw, checked, set_option};
use rustix::net::{AddressFamily, SocketFlags, SocketType, eth, netdevice, socket_with};
use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

const TUN_DEVICE: &str = "/dev/net/tun";

/// A name as `struct ifreq` holds it.
fn interface_name(name: &str) -> [libc::c_char; libc::IFNAMSIZ] {
    let mut field = [0; libc::IFNAMSIZ];
    for (place, byte) in field.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    field
}

/// Makes a request about an interface.
fn request(descriptor: &OwnedFd, number: u64, request: &mut libc::ifreq) -> std::io::Result<i64> {
    // SAFETY: all requests made here take an `ifreq`, which lives over the call, as what it points to does.
    let result =
        unsafe { libc::ioctl(descriptor.as_raw_fd(), number, std::ptr::from_mut(request)) };
    Raw::of(i64::from(result)).result()
}

/// Opens a TUN device of this name, without offloads; it ends with its descriptor.
pub fn open_tun(name: &str) -> Result<OwnedFd, KernelError> {
    open_tun_of_kind(name, libc::IFF_TUN | libc::IFF_NO_PI)
}

/// The same, with an offload header before every packet ([`offload_header`]).
pub fn open_tun_with_headers(name: &str) -> Result<OwnedFd, KernelError> {
    open_tun_of_kind(name, libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR)
}

/// What a packet is to the kernel that stands for several segments of TCP with `payload_bytes` each
/// but the last, as a device hands it over that joins them; `None` for one that is a segment
/// (`struct virtio_net_hdr`, `include/uapi/linux/virtio_net.h`).
pub fn offload_header(packet: &[u8], payload_bytes: Option<u16>) -> [u8; 10] {
    const TCP_V4: u8 = 1;
    const TCP_V6: u8 = 4;
    let mut header = [0; 10];
    if let Some(bytes) = payload_bytes {
        let is_v6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
        header[1] = if is_v6 { TCP_V6 } else { TCP_V4 };
        header[4..6].copy_from_slice(&bytes.to_ne_bytes());
    }
    header
}

fn open_tun_of_kind(name: &str, kind: i32) -> Result<OwnedFd, KernelError> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN_DEVICE);
    let device = OwnedFd::from(checked("open /dev/net/tun", opened)?);
    let kind = i16::try_from(kind).unwrap_or(0);
    let mut named = libc::ifreq {
        ifr_name: interface_name(name),
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: kind },
    };
    let made = request(&device, libc::TUNSETIFF, &mut named);
    checked(&format!("make the TUN device {name}"), made)?;
    Ok(device)
}

/// What the kernel calls a TUN device.
pub fn device_name(device: &OwnedFd) -> Result<String, KernelError> {
    // SAFETY: all zero is a valid `ifreq`.
    let mut named: libc::ifreq = unsafe { std::mem::zeroed() };
    let asked = request(device, libc::TUNGETIFF, &mut named);
    checked("ask for the name of the TUN device", asked)?;
    let bytes = named.ifr_name.iter().flat_map(|byte| byte.to_ne_bytes());
    let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// Opens a socket that sees every packet of an interface, with the instant at which it passed.
pub fn open_packet_socket(interface: &str) -> Result<OwnedFd, KernelError> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, Some(eth::ALL));
    let socket = checked("open a packet socket", socket)?;
    for (option, value) in [(libc::SO_TIMESTAMPNS, 1), (libc::SO_RCVBUFFORCE, 64 << 20)] {
        let value = i32::to_ne_bytes(value);
        let set = set_option(socket.as_raw_fd(), libc::SOL_SOCKET, option, &value);
        checked("set an option of a packet socket", set.result())?;
    }
    // SAFETY: all zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = u16::try_from(libc::ETH_P_ALL).unwrap_or(0).to_be();
    let index = interface_index(interface).unwrap_or(0);
    address.sll_ifindex = i32::try_from(index).unwrap_or(0);
    let length = socklen::<libc::sockaddr_ll>();
    // SAFETY: the address lives over the call, and its length is its type's.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    let bound = Raw::of(i64::from(bound));
    checked(&format!("watch {interface}"), bound.result())?;
    Ok(socket)
}

fn socklen<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0)
}

/// A packet that passed an interface.
#[derive(Debug, Clone, Copy)]
pub struct Sniffed {
    /// Its length.
    pub bytes: usize,
    /// By the clock of [`crate::realtime`], in nanoseconds; 0 if the kernel did not say.
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

/// The number of an interface in this thread's namespace; `None` if there is none of this name.
pub fn interface_index(name: &str) -> Option<u32> {
    netdevice::name_to_index(any_socket().ok()?, name).ok()
}

/// A socket for requests about interfaces.
fn any_socket() -> Result<OwnedFd, KernelError> {
    let flags = SocketFlags::CLOEXEC;
    checked("open a socket", socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None))
}

/// Sets how many packets the queue of an interface of this thread's namespace has room for.
pub fn set_queue_length(name: &str, packets: u32) -> Result<(), KernelError> {
    let length = i32::try_from(packets).unwrap_or(i32::MAX);
    let mut named = libc::ifreq {
        ifr_name: interface_name(name),
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_metric: length },
    };
    let set = request(&any_socket()?, libc::SIOCSIFTXQLEN, &mut named);
    checked(&format!("set the queue of {name}"), set).map(|_| ())
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
    let socket = any_socket()?;
    for command in OFFLOADS {
        let mut switch = Switch { command, value: 0 };
        let mut named = libc::ifreq {
            ifr_name: interface_name(name),
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut switch).cast() },
        };
        let switched = request(&socket, libc::SIOCETHTOOL, &mut named);
        checked(&format!("switch an offload of {name} off"), switched)?;
    }
    Ok(())
}
