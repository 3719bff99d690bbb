//! BPF programs at the kernel's tracepoints, and their events.
//!
//! | module | concern |
//! |---|---|
//! | `loader` | a compiled program at its tracepoints, and its ring buffer |
//! | `libbpf_log` | messages of libbpf, which hold the reason of a refusal |
//! | `events` | the fields of an event, and the order of events of several processors |
//! | `endpoints` | entries into recovery and loss, retransmitted SYNs, the window at every acknowledgment |
//! | `packets` | packets at interfaces and queues of the kernel's own network |
//!
//! The programs are C, in `bpf/`. They are compiled with the feature `ebpf`; without it, every call returns
//! [`BpfError::NotBuilt`].

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod endpoints;
mod error;
mod events;
#[cfg(feature = "ebpf")]
pub mod libbpf_log;
#[cfg(feature = "ebpf")]
mod loader;
#[cfg(not(feature = "ebpf"))]
#[path = "no_loader.rs"]
mod loader;
mod packets;
#[cfg(test)]
mod tests;

pub use endpoints::{Connection, EndpointEvents, EndpointWatch};
pub use error::BpfError;
pub use events::RawEvent;
pub use packets::{PacketEvent, PacketEventKind, PacketWatch, WatchedEvents, WatchedInterface};

use std::path::Path;

/// The compiled program that remembers congestion windows at a control group.
#[cfg(feature = "ebpf")]
pub const WINDOWS_PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windows.bpf.o"));

/// The running kernel's description of its types, from which programs learn where fields lie.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Whether programs can be put on the kernel's tracepoints; tries it with one.
///
/// # Errors
/// What stands in the way.
pub fn availability() -> Result<(), BpfError> {
    check_kernel_types()?;
    EndpointWatch::new(&[], EndpointEvents { recovery: true, ..EndpointEvents::default() })
        .map(|_| ())
}

fn check_kernel_types() -> Result<(), BpfError> {
    if Path::new(KERNEL_TYPES).exists() { Ok(()) } else { Err(BpfError::NoKernelTypes) }
}
