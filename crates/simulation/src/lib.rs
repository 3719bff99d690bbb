//! The virtual-time driver: an experiment, run event by event, observed and measured.
//!
//! A [`Simulation`] joins endpoints and network, which do not know each other: it carries segments
//! between them, tells both the time, and tells the measures what happens at its taps. The same
//! experiment and seed give the same tables, byte for byte. It opens no file and asks no clock; a
//! capture goes to a writer that it was handed.
//!
//! ```
//! use fairwind_scenario::Document;
//! use fairwind_simulation::{Control, Simulation};
//!
//! let text = r#"
//!     name = "one greedy flow"
//!     duration = "10 s"
//!     [path]
//!     rate = "10 Mbit/s"
//!     rtt = "20 ms"
//!     [[flows]]
//!     name = "greedy"
//!     workload = { kind = "greedy" }
//! "#;
//! let document = Document::parse("example.toml", text)?;
//! let experiment = document.experiment(&document.grid()?[0])?;
//! let outcome = Simulation::new(&experiment, 1)?.run(&Control::default())?;
//! let goodput = outcome.tables.get("flows").and_then(|flows| flows.column("goodput_bits_per_second"));
//! assert!(goodput.and_then(|goodput| goodput.number(0)).is_some_and(|bits| bits > 9.0e6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Network, flows and measures are made by [`fairwind_assembly`], as for every engine. Modules:
//! `assemble` (endpoints are added to them), `stack` (settings of a scenario become an endpoint's),
//! `complaints` (what congestion controls did amiss), `flow` (two endpoints and an application), `dialogue` (what the other end
//! answers), `datagrams` (flows without endpoints), `agenda` (whose turn is next), `recorder` (captures),
//! `engine` (the loop).

mod agenda;
mod assemble;
mod complaints;
mod datagrams;
mod dialogue;
mod engine;
mod error;
mod flow;
mod memory;
mod packet;
mod recorder;
mod relays;
mod stack;

pub use engine::{Outcome, Provided, Simulation};
pub use error::SimulationError;
pub use fairwind_assembly::{CaptureFiles, Control};
