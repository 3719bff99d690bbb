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
//! | `network` | TUN device or veth, addresses, routes, kernel parameters, sockets with their options |
//! | `worker` | the loop that drives applications and sockets |

mod network;
mod plan;
mod process;
mod protocol;
mod serve;
mod worker;

pub use plan::{
    HostPlan, IncomingDatagrams, IncomingPlan, NextOutgoing, OutgoingDatagrams, OutgoingPlan,
    PayloadCheck, ReplyPlan, Sampling, SocketOption, SocketSettings, Sysctl, VethPlan,
};
pub use process::{HostCommand, HostProcess};
pub use protocol::{
    EndpointState, EventBatch, EventKind, FromHost, HostEvent, HostStatistics, PROTOCOL_VERSION,
    SenderStatistics, ToHost,
};
pub use serve::{files_for, serve};
pub use worker::number_of;
