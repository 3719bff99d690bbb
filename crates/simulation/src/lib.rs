//! The virtual-time simulator: runs an experiment event by event and measures it.
//!
//! A [`Simulation`] joins endpoints and network, which do not know each other: it carries segments between them, gives
//! both the time, and reports observations to the measures. The same experiment and seed give the same tables, byte
//! for byte. It opens no file and asks no clock; captures go to writers that it is given.
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
//! [`fairwind_assembly`] makes network, flows and measures, as for every engine. Modules: `simulation` (the event
//! loop), `end` (ends of connections, streams of datagrams), `packet`, `agenda` (deadlines of connections), `assemble` (endpoints join
//! what was assembled), `endpoint_settings` (a scenario's `tcp` table becomes endpoint settings),
//! `window_caches`, `external_controls`, `capture`.

mod agenda;
mod assemble;
mod capture;
mod end;
mod endpoint_settings;
mod error;
mod external_controls;
mod packet;
mod simulation;
mod window_caches;

pub use error::SimulationError;
pub use fairwind_assembly::{CaptureFiles, Control};
pub use simulation::{Outcome, Simulation, SimulationInputs};
