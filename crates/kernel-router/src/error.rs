//! Why the kernel cannot carry an experiment's packets.

use fairwind_bpf::BpfError;
use fairwind_linux::KernelError;
use thiserror::Error;

/// Why the kernel cannot carry an experiment's packets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelRouterError {
    /// The running kernel lacks a part.
    #[error(
        "path.router = \"kernel\": this kernel has no {part}, which {purpose}; get it with \
         `modprobe {module}`, or a kernel that is built with {option}{instead}: or leave out \
         path.router, and our own router carries the packets"
    )]
    Missing {
        /// The part.
        part: &'static str,
        /// What it is needed for.
        purpose: &'static str,
        /// The module that it comes with.
        module: &'static str,
        /// How it is called where a kernel is configured.
        option: &'static str,
        /// What a scenario could do without it, with a comma before it; or nothing.
        instead: &'static str,
    },
    /// Something of a queue is not told to the kernel.
    #[error(
        "path.router = \"kernel\": the kernel is not told of {what}; have pfifo, bfifo, tbf or htb there, or leave \
         out path.router, and our own router carries the packets"
    )]
    Unsupported {
        /// What of it.
        what: String,
    },
    /// Packets cannot be seen on their way.
    #[error(
        "path.router = \"kernel\": queues are watched by eBPF programs, and there are none: {0}"
    )]
    Bpf(#[from] BpfError),
    /// Namespaces or devices cannot be made.
    #[error("path.router = \"kernel\": {0}")]
    Testbed(#[from] KernelError),
}

impl KernelRouterError {
    /// Why the kernel cannot, and what comes nearest.
    pub fn reason(&self) -> (String, String) {
        const OURS: &str = "leave out path.router, and our own router carries the packets";
        match self {
            Self::Missing { part, purpose, module, option, instead } => (
                format!("this kernel has no {part}, which {purpose}"),
                format!(
                    "get it with `modprobe {module}` or a kernel that is built with \
                     {option}{instead}; or {OURS}"
                ),
            ),
            Self::Unsupported { what } => (
                format!("the kernel is not told of {what}"),
                format!("have pfifo, bfifo, tbf or htb there; or {OURS}"),
            ),
            Self::Bpf(error) => (
                format!("queues are watched by eBPF programs, and there are none: {error}"),
                OURS.to_owned(),
            ),
            Self::Testbed(error) => (error.to_string(), OURS.to_owned()),
        }
    }
}
