//! Open connections: lookup, lifecycle and timeouts.
//!
//! Source: RFC 9293 for the lifecycle. Our own rules say what a new SYN on known ports means, who opened a
//! connection without a captured handshake, and how long silence may last; each stands where it is applied.
//! Memory: open connections, and those that closed within the linger time.
//!
//! Modules: `endpoints` (addresses, ports and sides), `directory` (slots by endpoints), `table` (all open
//! connections), `lifecycle` (handshake, close and new SYNs), `vantage` (position of the tap), `tables` (rows and
//! columns).

mod directory;
mod endpoints;
mod lifecycle;
mod table;
mod tables;
mod vantage;

pub(crate) use directory::Slots;
pub use endpoints::Side;
pub(crate) use endpoints::{Ends, addresses_of, flow_name};
pub(crate) use lifecycle::{
    Beginning, HeldPacket, LifecycleEvent, PendingSyn, Phase, ResetVerdict, SynVerdict,
};
pub(crate) use table::{Connection, Connections, SlotHint, Timeouts};
pub(crate) use tables::{Record, SetUps, TABLES, connections_table, count_setup, setup_tables};
pub use vantage::Vantage;
pub(crate) use vantage::{CountedPart, TapMapping, TapPosition, position_from_handshake};
