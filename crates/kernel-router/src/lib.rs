//! Network of kernel qdiscs: routers in namespaces, htb, tbf, pfifo and bfifo for rates and queues, netem for
//! delay and loss.
//!
//! It is the reference for our own router: same hosts, same observations, same tables. BPF programs at the tracepoints of
//! devices and queues report the packets. Where there are none, or a queue does more than drop at its tail, packet
//! sockets do.
//!
//! Differences from our links:
//!
//! - A packet leaves htb's queue when its rate allows and arrives at once. Our link delivers it when its last bit has been
//!   sent, so packets arrive earlier here by their serialisation time.
//! - After a pause htb lets a burst pass. It holds at least one full packet, and more at high rates, because the rate
//!   would be missed if the kernel's timer is late (see `commands`).
//!
//! | module | concern |
//! |---|---|
//! | `layout` | namespaces, veth pairs and disciplines of a network |
//! | `requirements` | features that the kernel must have, and differences from our router |
//! | `commands` | commands of `ip` and `tc` |
//! | `path` | the network at work, in its namespaces |
//! | `observer` | observations of packets, and counts of missed ones |
//! | `sockets`, `ledger` | packets seen by packet sockets, and what that says about queues |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod commands;
mod layout;
mod ledger;
mod observer;
mod path;
mod requirements;
mod sockets;

pub use observer::{PathObserver, PathObserverParts};
pub use path::{KernelPath, KernelPlan, PathWatch};
pub use requirements::differences;

use fairwind_bpf::BpfError;
use fairwind_linux::KernelError;
use thiserror::Error;

/// Why the kernel cannot carry an experiment's packets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelRouterError {
    /// The running kernel lacks a part.
    #[error("{}", self.sentence())]
    Missing {
        /// The part.
        part: String,
        /// Its purpose.
        purpose: &'static str,
        /// The module that it comes with.
        module: String,
        /// Its name in the kernel configuration.
        option: String,
        /// An alternative for the scenario, with a comma before it; or nothing.
        instead: &'static str,
    },
    /// The kernel does not support a part of a queue.
    #[error("{}", self.sentence())]
    Unsupported {
        /// The unsupported part.
        what: String,
    },
    /// Packets cannot be seen on their way.
    #[error("{}", self.sentence())]
    Bpf(#[from] BpfError),
    /// Namespaces or devices cannot be made.
    #[error("path.router = \"kernel\": {0}")]
    Testbed(#[from] KernelError),
}

impl KernelRouterError {
    fn sentence(&self) -> String {
        let (mechanism, alternative) = self.reason();
        format!("path.router = \"kernel\": {mechanism}; {alternative}")
    }

    /// Why the kernel cannot, and what comes nearest.
    pub fn reason(&self) -> (String, String) {
        const OURS: &str = "leave out path.router to use Fairwind's router";
        match self {
            Self::Missing { part, purpose, module, option, instead } => (
                format!("this kernel has no {part}, which {purpose}"),
                format!(
                    "get it with `modprobe {module}` or a kernel that is built with \
                     {option}{instead}; or {OURS}"
                ),
            ),
            Self::Unsupported { what } => (
                format!("the kernel path does not support {what}"),
                format!("leave that out; or {OURS}"),
            ),
            Self::Bpf(error) => (
                format!("watching queues needs eBPF programs, which are not available: {error}"),
                OURS.to_owned(),
            ),
            Self::Testbed(error) => (error.to_string(), OURS.to_owned()),
        }
    }
}
