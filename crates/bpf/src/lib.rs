//! What the kernel itself tells, by eBPF programs at its tracepoints.
//!
//! | module | concern |
//! |---|---|
//! | `loader` | a compiled program on its tracepoints, and the ring that its events come through |
//! | `libbpf_log` | messages of libbpf about a refusal |
//! | `record` | the fields of an event |
//! | `reorder_buffer` | events of several processors in one order |
//! | `endpoints` | entries into recovery and loss, SYNs sent again, the window at every acknowledgment |
//! | `packets` | packets on a path of the kernel's own parts, at borders and at queues |
//!
//! The programs themselves are C, in `bpf/`. They are compiled where the feature `ebpf` is on; without
//! it everything here is still there, and says that it was not built.

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
