//! The hosts of an experiment on the kernel: one process each, in a network namespace of its own.
//!
//! The parent starts a host by executing a [`HostCommand`] and holds it as a [`HostProcess`]. The
//! two speak over a Unix socket, the host's standard input: the parent sends a [`HostPlan`], the
//! host makes its namespace, its TUN device and its sockets and hands the TUN device over; at "go"
//! its applications begin, and what they see comes back as [`HostEvent`]s.
//!
//! A host ends with its parent, whatever ends that, and its namespace with it.
//!
//! | module | concern |
//! |---|---|
//! | `protocol` | what parent and host say to each other |
//! | `process` | the parent's side: starting, speaking, ending |
//! | `serve` | the host's side: from the first message to the last |
//! | `namespace` | a network namespace, as root or not, and its name |
//! | `parameters` | kernel parameters: as out of the box, then as planned |
//! | `datagram` | what hosts write into datagrams, so that readers know them |
//! | `device` | the TUN device, or the end of a veth; addresses and routes |
//! | `sockets` | sockets as planned, and whether they are |
//! | `worker` | the loop that drives applications and sockets, and tells what happens |

mod datagram;
mod device;
mod process;
mod protocol;
mod serve;
mod sockets;
mod worker;

pub use datagram::number_of;
pub use process::{HostCommand, HostProcess, monotonic_clock};
pub use protocol::{
    EndpointState, EventBatch, EventKind, Failure, FromHost, HostEvent, HostPlan, HostStatistics,
    IncomingDatagrams, IncomingPlan, NextOutgoing, OutgoingDatagrams, OutgoingPlan,
    PROTOCOL_VERSION, PayloadCheck, ReplyPlan, Sampling, SenderStatistics, SocketOption,
    SocketSettings, Start, Sysctl, ToHost, VethPlan,
};
pub use serve::files_for;
pub use serve::serve;
