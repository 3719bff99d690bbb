//! Real-time network between hosts: packets from the hosts' TUN devices pass a
//! [`Network`](fairwind_network::Network) and are written to the devices of their destinations.
//!
//! One thread owns the network. It sleeps until a host has sent a packet or the network has an event due, with the
//! kernel's finest timer. It injects each packet at the instant of the read, and advances the network to the clock. By the
//! late-poll law a late wake-up delays the hand-over of a packet and changes nothing else; the router records that delay
//! for every packet. The clock is an argument ([`Clock`](fairwind_linux::Clock)).
//!
//! Where system calls are dear, as on a kernel in virtual time, one call hands over all packets that are due, waits, and
//! brings those that have come ([`DeviceRing`](fairwind_linux::DeviceRing)).
//!
//! Cost per packet otherwise: one read and one write of a device, with the kernel's copies, a parse of the headers, and the work of
//! the network. Nothing is allocated once there are as many buffers as packets are in the network at most.
//!
//! | module | concern |
//! |---|---|
//! | `driver` | the loop, and observations of the network |
//! | `devices` | packets of the hosts' devices, by a call for each or one for all |
//! | `error` | why it ends |
//! | `buffers` | bytes of packets |
//! | `packet` | a packet in the network, what queue disciplines see of it, and bit errors |
//! | `classifier` | the flow and the destination of a packet |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod buffers;
mod classifier;
mod devices;
mod driver;
mod error;
mod packet;
#[cfg(test)]
mod tests;

pub use classifier::{Classification, Classifier, FlowTable};
pub use devices::Port;
pub use driver::{LATENESS_BOUND, Router, RouterControl, RouterParts, StopOnDrop, lateness_bound};
pub use error::RouterError;
pub use packet::RoutedPacket;
