//! One-way flows between two taps: loss, delay and order (RFC 7679, RFC 7680).
//!
//! One direction of a connection, seen where it departs and where it arrives, shows what a single capture
//! cannot: lost packets and bytes, delays, which copy arrived first, and when bytes were in order.
//!
//! A departure is *lost* if it has not arrived within `loss_timeout`; at the end of the captures, if a later
//! departure has arrived, or if it departed well before the end. It is *unjudged* if it could still arrive, or
//! departed before the receiver's capture began. So, in bytes: sent = arrived + lost + unjudged.
//!
//! Bytes are matched, not packets (`flight`). A *range* is the part of a departure that arrived in one packet,
//! or that was lost in one packet of the network. Ranges are meaningful even if offload shows larger packets at
//! a tap.
//!
//! Memory: packets under way, recent losses, blocks of delays, groups and their windows; the rest goes to a
//! temporary file (`samples`).
//!
//! Modules: `flows` (all connections), `flow` (one direction), `context` (shared types), `flight` (matching of data)
//! and `transmission`, `control` (matching of packets without payload), `delivery` (offsets and order), `counts`,
//! `group` (sums, loss runs and delays), `clock_offset`, `clock_drift`, `samples` (delays until the clocks are known),
//! `tables`.

mod clock_drift;
mod clock_offset;
mod context;
mod control;
mod counts;
mod delivery;
mod flight;
mod flow;
mod flows;
mod group;
mod samples;
mod tables;
mod transmission;

pub use clock_drift::{ClockDrift, ClockModel};
pub use clock_offset::{ClockOffset, ClockOffsetEstimator, DepartureTaps};
pub use context::{Arrival, Departure, FlowName, FlowPairDescription, FlowPairId, LostPacket, Tap};
pub use counts::{FirstArrival, FirstArrivals, LossWindow, OneWayCounts};
pub use flows::{OneWayFlows, OneWaySettings};
pub use tables::columns;
