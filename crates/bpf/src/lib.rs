//! BPF programs at the kernel's tracepoints, and their events.
//!
//! | module | concern |
//! |---|---|
//! | `loader` | a compiled program at its tracepoints, and its ring buffer |
//! | `libbpf_log` | messages of libbpf, which hold the reason of a refusal |
//! | `events` | the order of events of several processors |
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
pub use packets::{
    PacketEvent, PacketEventKind, PacketWatch, QueueDropReason, WatchedEvents, WatchedInterface,
};

use std::path::Path;
use thiserror::Error;

/// The compiled program that remembers congestion windows at a control group.
#[cfg(feature = "ebpf")]
pub const WINDOWS_PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windows.bpf.o"));

/// The running kernel's description of its types, from which programs learn where fields lie.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Whether programs can be put on the kernel's tracepoints; tries it with one.
pub fn availability() -> Result<(), BpfError> {
    check_kernel_types()?;
    EndpointWatch::new(&[], EndpointEvents { recovery: true, ..EndpointEvents::default() })
        .map(|_| ())
}

fn check_kernel_types() -> Result<(), BpfError> {
    if Path::new(KERNEL_TYPES).exists() { Ok(()) } else { Err(BpfError::NoKernelTypes) }
}

/// An event's bytes. A field that lies outside reads as zero: programs and readers are of one build.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a>(pub &'a [u8]);

impl<'a> RawEvent<'a> {
    /// `count` bytes at `offset`; empty beyond the end.
    pub fn bytes(self, offset: usize, count: usize) -> &'a [u8] {
        self.0.get(offset..offset + count).unwrap_or_default()
    }

    fn array<const N: usize>(self, offset: usize) -> [u8; N] {
        self.bytes(offset, N).try_into().unwrap_or([0; N])
    }

    /// The byte at `offset`.
    pub fn u8(self, offset: usize) -> u8 {
        u8::from_ne_bytes(self.array(offset))
    }

    /// The number of 16 bits at `offset`.
    pub fn u16(self, offset: usize) -> u16 {
        u16::from_ne_bytes(self.array(offset))
    }

    /// The number of 32 bits at `offset`.
    pub fn u32(self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.array(offset))
    }

    /// The number of 64 bits at `offset`.
    pub fn u64(self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.array(offset))
    }
}

/// Why the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BpfError {
    /// The programs were not compiled.
    #[error(
        "this build has no eBPF programs; install clang and the headers of libelf and zlib \
         (apt-get install clang libelf-dev zlib1g-dev) and build again"
    )]
    NotBuilt,
    /// The kernel does not say how its structures are laid out.
    #[error("{} is missing: the kernel was built without CONFIG_DEBUG_INFO_BTF", KERNEL_TYPES)]
    NoKernelTypes,
    /// The kernel or the library refused.
    #[error("{attempt}: {reason}")]
    Refused {
        /// The failed operation.
        attempt: String,
        /// The messages.
        reason: String,
    },
}

impl BpfError {
    #[cfg(feature = "ebpf")]
    fn refused(attempt: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused { attempt: attempt.into(), reason: reason.into() }
    }
}
