//! A network of the kernel's own parts: routers in namespaces, htb, tbf, pfifo and bfifo for rates and queues, netem for
//! delay and loss.
//!
//! It is the reference for our own router: same hosts, same observations, same tables. BPF programs at the tracepoints of
//! devices and queues report the packets.
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

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod commands;
mod error;
mod layout;
mod observer;
mod path;
mod requirements;

pub use error::KernelRouterError;
pub use observer::{PathObserver, PathObserverParts};
pub use path::{KernelPath, KernelPlan};
pub use requirements::differences;
