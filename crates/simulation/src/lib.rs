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
mod external_controls;
mod packet;
mod simulation;
mod window_caches;

pub use fairwind_assembly::{CaptureFiles, Control};
pub use simulation::{Outcome, Simulation, SimulationInputs};

/// Why a simulation cannot be run, or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The experiment does not hold together.
    #[error(transparent)]
    Assembly(#[from] fairwind_assembly::AssemblyError),
    /// More flows than can be numbered.
    #[error("{0} flows exceed the limit of 16 million")]
    TooManyFlows(u64),
    /// A TCP setting does not fit its field.
    #[error("group \"{group}\": {setting} = {value} is larger than {largest}")]
    Setting {
        /// The group of flows.
        group: String,
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// The largest value there is.
        largest: u64,
    },
    /// A congestion control that is neither the repository's nor was handed in.
    #[error(
        "group \"{group}\": there is no congestion control \"{name}\"; compile your own first: \
         fairwind congestion build {name}.c"
    )]
    UnknownControl {
        /// The group of flows.
        group: String,
        /// The name.
        name: String,
    },
    /// A capture could not be written.
    #[error("the capture could not be written: {0}")]
    Capture(#[from] fairwind_capture::CaptureError),
    /// The caller cancelled the run.
    #[error("the simulation was cancelled")]
    Cancelled,
}

impl SimulationError {
    /// The system's error behind a capture that could not be written, if that is what happened.
    pub fn storage(&self) -> Option<&std::io::Error> {
        match self {
            Self::Capture(fairwind_capture::CaptureError::Write { source, .. }) => Some(source),
            _ => None,
        }
    }
}
