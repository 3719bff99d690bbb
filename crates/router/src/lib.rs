//! The network in between in real time: packets out of the hosts' TUN devices, through a
//! [`Network`](fairwind_network::Network), and into the devices of the hosts that they are for.
//!
//! One thread owns the network. It sleeps until a host has sent something or the network has
//! something due, whichever comes first, by the finest timer that the kernel has; it injects each
//! packet at the instant at which it was read, and advances the network to the clock. By the
//! network's late-poll law a late look changes when a
//! packet is handed over and nothing else: how late that was is recorded for every packet.
//!
//! Cost per packet: a read and a write of the device, one copy each (the kernel's), a parse of its
//! headers, and the network's own work; nothing is allocated once there are as many buffers as
//! packets are inside at most.
//!
//! | module | concern |
//! |---|---|
//! | `buffers` | where packets' bytes lie |
//! | `packet` | what travels through the network |
//! | `damage` | what a link that damages does to a packet's bytes |
//! | `header` | what queue disciplines see of it |
//! | `datagrams` | which flow a datagram belongs to |
//! | `classifier` | whose packet it is, and where it goes |
//! | `tap` | what the network reports |
//! | `driver` | the loop |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod buffers;
mod classifier;
mod driver;
mod packet;
mod tap;
#[cfg(test)]
mod tests;

pub use classifier::{Classification, Classifier, FlowTable};
pub use driver::{
    LATENESS_BOUND, Port, Router, RouterControl, RouterError, RouterParts, StopOnDrop,
    lateness_bound,
};
pub use packet::RoutedPacket;
