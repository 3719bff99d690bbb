//! Virtual Ethernet devices, and the namespaces that they stand in.

use super::device::interface_name;
use super::{checked, owned};
use crate::KernelError;
use std::os::fd::{AsFd, AsRawFd};

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
