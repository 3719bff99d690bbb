//! Open connections: whose a packet is, how connections begin and end, and when they are forgotten.
//!
//! Source: RFC 9293 for the life of a connection; what a new SYN on known ports means, who opened a
//! connection whose beginning nobody saw, and how long silence may last are rules of our own, each told
//! where it stands. Memory: the connections that are open, and those that ended less than the linger ago.
//!
//! Modules: `ends` (addresses and ports), `directory` (the slot that they have), `slots` (places used again),
//! `side` (what each side sent), `lifecycle` (set-up and end), `pending_syn` (a SYN on a connection that is open),
//! `vantage` (which side a tap is near), `mapping` (what follows from that: the flows of a connection, and what a
//! packet at a tap is to them), `record` (the row of a connection that is over), `setups` (summaries of set-ups),
//! `part` (where a packet lies of which only a part counts),
//! `columns`, `table` (all open connections), `names`.

mod directory;
mod endpoints;
mod lifecycle;
mod pending_syn;
mod table;
mod tables;
mod vantage;

pub use endpoints::Side;
pub(crate) use endpoints::{Ends, addresses_of, flow_name};
pub(crate) use lifecycle::{Beginning, LifecycleEvent, Phase, ResetVerdict};
pub(crate) use pending_syn::{HeldPacket, PendingSyn, SynVerdict};
pub(crate) use table::{Connection, Connections, SlotHint, Timeouts};
pub(crate) use tables::{Record, SetUps, TABLES, connections_table, count_setup, setup_tables};
pub use vantage::Vantage;
pub(crate) use vantage::{CountedPart, TapMapping, TapPosition, position_from_handshake};
