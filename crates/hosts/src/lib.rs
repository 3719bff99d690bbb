//! Hosts of an experiment on the kernel: one process each, in its own network namespace.
//!
//! The parent executes a [`HostCommand`] and holds the process as a [`HostProcess`]. Both speak over a Unix socket, the
//! host's standard input. The parent sends a [`HostPlan`]; the host creates its namespace, its TUN device and its sockets
//! and passes the device on. At [`ToHost::Start`] its applications begin, and the host sends [`HostEvent`]s.
//!
//! A host and its namespace end with its parent, however that ends.
//!
//! | module | concern |
//! |---|---|
//! | `plan` | addresses, sysctls, sockets and applications of a host |
//! | `protocol` | messages between parent and host |
//! | `process` | the parent's side: start, send, receive, end |
//! | `serve` | the host's side: set-up, and the end |
//! | `device` | TUN device or veth, addresses, routes, kernel parameters |
//! | `sockets` | sockets with the options of the plan |
//! | `datagram` | the time stamp and the number in a datagram's payload |
//! | `worker` | the loop that drives applications and sockets |

mod datagram;
mod device;
mod plan;
mod process;
mod protocol;
mod serve;
mod sockets;
mod worker;

pub use datagram::number_of;
pub use plan::{
    HostPlan, IncomingDatagrams, IncomingPlan, NextOutgoing, OutgoingDatagrams, OutgoingPlan,
    PayloadCheck, ReplyPlan, Sampling, SocketOption, SocketSettings, Sysctl, VethPlan,
};
pub use process::{HostCommand, HostProcess, monotonic_clock};
pub use protocol::{
    EndpointState, EventBatch, EventKind, Failure, FromHost, HostEvent, HostStatistics,
    PROTOCOL_VERSION, SenderStatistics, Start, ToHost,
};
pub use serve::files_for;
pub use serve::serve;
