//! Queue disciplines as descriptions: which there are, and their parameters with the names and defaults of `tc`.
//!
//! One definition for everybody who speaks of them: a scenario resolves to a [`Qdisc`], the network builds a
//! discipline from it, and the testbed tells the kernel. It decides nothing about any packet.
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
//! Modules: `qdisc` (the tree), `aqm` (disciplines that drop or mark early), `fair` (those that keep flows apart),
//! `shape` (shapers and schedulers with classes), `select` (which packets a class takes), `impair` (what a
//! link does to packets besides taking time), `trace` (rates as recorded), `recorded` (losses and
//! delays as recorded), `check` (what is wrong with a tree), `correlated` (how often what is
//! correlated happens), `demand` (capacity that is assigned as it is asked for), [`tc`] (the syntax of `tc`).

mod aqm;
mod check;
mod correlated;
mod demand;
mod fair;
mod impair;
mod qdisc;
mod recorded;
mod select;
mod shape;
pub mod tc;
mod trace;

pub use aqm::{Choke, Codel, DEFAULT_BANDWIDTH, Dualpi2, Pie, Red};
pub use check::QdiscFinding;
pub use demand::{Carrier, CarrierError, Placement, RequestPolicy, Terminal};
pub use fair::{Cake, CakeIsolation, CakeTins, Drr, DrrClass, FqCodel, FqPie, Sfq};
pub use impair::{
    Chance, DelayStep, ImpairmentError, ImpairmentWarning, Impairments, Jitter, JitterDistribution,
    Loss, Reorder, Slot,
};
pub use qdisc::{DEFAULT_PACKETS, ETHERNET_FRAME, Qdisc};
pub use recorded::{LineError, parse_delay_table, parse_losses};
pub use select::Filter;
pub use shape::{Htb, HtbClass, Prio, Tbf};
pub use trace::{OPPORTUNITY_BYTES, RateStep, RateTrace};
