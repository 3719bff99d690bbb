//! Both taps: what left one is found again at the other.
//!
//! One direction of a connection, seen where it departs and where it arrives, tells what no single
//! capture can: which packets and bytes were lost, how long each was under way, which copy of a range came
//! first, and when the bytes were there in order.
//!
//! A departure *is lost* when it has not arrived `loss_timeout` after it was seen, or at the end of the
//! captures if something that departed later has arrived, or if it departed well before the end. What
//! could still come, or departed before the receiver's capture began, is *unjudged*. So, in bytes, what was
//! sent is what arrived, what was lost and what is unjudged, and nothing else.
//!
//! Bytes are matched, not packets (`flight`): a *range* is a stretch of one departure that arrived in one
//! packet, or that was lost, as many of the latter as the network makes packets of it. Where the
//! sender's capture shows packets larger than the network's, ranges tell what packets cannot.
//!
//! Memory: what is under way, what was lost less than the patience ago, and blocks of delays; groups and
//! their windows. What is more goes to a temporary file (`samples`).
//!
//! Modules: `offset_of` (64-bit places of sequence numbers), `transmission`, `flight` (which departure an arrival is), `control` (the same for
//! packets without payload), `delivery` (what is in order), `one_way` (one direction), `directions` (all of
//! them), `group`, `counts`, `first` (which copy came first), `timeline` (something for each window of time), `windows` (what that is of losses), `clustering`
//! (runs of losses), `clock` (offset and drift), `samples` (delays, written down until the clocks are
//! known), `delays` (what becomes of them), `closed_flows`, `tables`, `columns` (what each column means), `scratch`.

mod clock_drift;
mod clock_offset;
mod columns;
mod context;
mod control;
mod counts;
mod delays;
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
pub use columns::columns;
pub use context::{Arrival, Departure, FlowName, FlowPairDescription, FlowPairId, LostPacket, Tap};
pub use counts::{FirstArrival, FirstArrivals, LossWindow, OneWayCounts};
pub use flows::{OneWayFlows, OneWaySettings};
