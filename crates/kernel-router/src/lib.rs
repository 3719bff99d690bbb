//! An experiment's network made of the kernel's own parts, as the thesis' testbed was: routers in
//! namespaces, htb with any tree of pfifo, bfifo, tbf and htb for rates and queues, netem for delays and losses.
//!
//! It serves where our own router is to be held against the kernel's: same hosts, same observations,
//! same tables. What happens to packets is told by eBPF programs at the tracepoints of devices
//! and queues.
//!
//! What differs from our links, and cannot be had otherwise:
//!
//! - a packet leaves htb's queue when its rate allows and is at the other end at once, where our link
//!   hands it over when it has been sent: a packet is earlier by its own serialisation time;
//! - after a pause htb lets a bucket of packets pass at once, which has to hold one full packet, and more at
//!   high rates, lest the rate be missed when the kernel's timer is late (see `commands`).
//!
//! | module | concern |
//! |---|---|
//! | `layout` | which namespaces, cables and disciplines a network becomes |
//! | `commands` | what `ip` and `tc` are told |
//! | `queues` | the queue of a scenario, as commands |
//! | `parts` | whether the kernel has what is needed |
//! | `middle` | namespaces of ours |
//! | `path` | all of it at work |
//! | `remarks` | what differs from our own links, in the numbers of an experiment |
//! | `driver` | what packets do, told to the record |
//! | `tally` | how many packets were not told of |

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
