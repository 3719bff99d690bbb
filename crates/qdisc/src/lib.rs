//! Descriptions of queue disciplines and links, with the names and defaults of `tc`.
//!
//! One description for all users: a scenario resolves to a [`Qdisc`], the network builds a discipline from it, and the
//! testbed prints it as commands for the kernel. This crate handles no packets.
//!
//! Disciplines nest as they do in `tc`: a shaper or a scheduler holds others for its classes.
//!
//! ```
//! use fairwind_qdisc::{Codel, Qdisc};
//! let queue = Qdisc::Codel(Codel::default());
//! assert_eq!(queue.name(), "codel");
//! assert_eq!(Codel::default().target, "5 ms".parse()?);
//! # Ok::<(), fairwind_units::UnitError>(())
//! ```
//!
//! Modules: `qdisc` (the tree), `aqm` (disciplines that drop or mark early), `fair` (fair queueing), `shape` (shapers,
//! classful schedulers and filters), `check` and `warnings` (of a tree), `impair` (netem's impairments), `correlated` (the
//! share that correlated draws hit), `recordings` (recorded rates, losses and delays), `demand` (capacity assigned on
//! demand), [`tc`] (the syntax of `tc`).

mod aqm;
mod check;
mod correlated;
mod demand;
mod fair;
mod impair;
mod qdisc;
mod recordings;
mod shape;
pub mod tc;
mod warnings;

pub use aqm::{Choke, Codel, DEFAULT_BANDWIDTH, Dualpi2, Pie, Red};
pub use check::QdiscFinding;
pub use demand::{Carrier, CarrierError, Placement, RequestPolicy, Terminal};
pub use fair::{Cake, CakeIsolation, CakeTins, Drr, DrrClass, FqCodel, FqPie, Sfq};
pub use impair::{
    Chance, DelayStep, ImpairmentError, ImpairmentWarning, Impairments, Jitter, JitterDistribution,
    Loss, Reorder, Slot,
};
pub use qdisc::{DEFAULT_BYTES, DEFAULT_PACKETS, ETHERNET_FRAME, Qdisc};
pub use recordings::{
    LineError, OPPORTUNITY_BYTES, RateStep, RateTrace, parse_delay_table, parse_losses,
};
pub use shape::{Filter, Htb, HtbClass, Prio, Tbf};
