//! Measures of a live queue of the running kernel.
//!
//! Programs at tracepoints report each packet that the queue at a device's root takes, sends or drops, and the
//! collector of all engines makes the tables of queues of them.
//!
//! | module | concern |
//! |---|---|
//! | `probe` | a device under watch, from its first event to the tables |
//! | `ledger` | what waits in the queues, and observations of it |
//! | `connections` | addresses and ports in a packet's head, and counts by them |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod connections;
mod ledger;
mod probe;

pub use connections::{Connection, ConnectionCounts, Protocol};
pub use ledger::Counts;
pub use probe::{Probe, ProbeError, ProbeResult, ProbeSettings};
