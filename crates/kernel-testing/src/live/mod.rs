//! A live conversation: our endpoint on a TUN device, the running kernel at its other end.
//!
//! [`converse`] creates a network namespace, puts a host with our endpoint behind its TUN device, and lets a program
//! (`curl`, a kernel socket) talk to it from inside the namespace, in both directions. The network elements of
//! `fairwind-network` lose, delay, reorder and duplicate packets in between. [`Stream`] keeps the bytes.
//!
//! | module | concern |
//! |---|---|
//! | `host` | connections by their ports, their bytes, packets in and out, resets |
//! | `driver` | the loop, and the path with impairments |
//! | `http` | a tiny server and client |

mod driver;
mod host;
mod http;

pub use driver::Impairments;
pub use driver::{Ends, IpFamily, LiveOptions, converse};
pub use host::{Application, ConnectionId, LiveHost, Stream};
pub use http::{HttpClient, HttpServer, body};

use fairwind_linux::KernelError;

/// Why a live conversation could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The kernel cannot be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Our endpoint has sent a segment that cannot become a packet.
    #[error("{segment}: {reason}")]
    Segment {
        /// The segment.
        segment: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The conversation did not come to its end.
    #[error("{reason}")]
    Conversation {
        /// Why.
        reason: String,
    },
}
