//! Analysis of packets, up to tables: sources are read, merged by time and followed.
//!
//! Modules: `settings` (and the rules made of them), `source` (where packets come from), `input` (one tap, read ahead;
//! the clocks of two captures, compared in advance), `run` (the loop and its results), `follower` (one packet after the
//! other), `two_taps` (packets between two taps, and the longest waits), `lifecycle` (connections begin and end),
//! `streams`.

mod follower;
mod input;
mod lifecycle;
mod run;
mod settings;
mod source;
mod streams;
mod two_taps;

use fairwind_measure::SettingsError;
pub use run::{Analysis, CaptureFacts, Outcome};
pub use settings::{AddressTranslation, ClockMode, GroupRule, Settings, TimeLimit};
pub use source::{CaptureSource, FrameCounts, NextPacket, PacketSource};

/// Progress of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More packets can be read.
    Working,
    /// All packets so far have been read; more may come.
    Waiting,
    /// All packets have been read.
    Done,
}

/// Why settings are invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The settings of the measures are invalid.
    #[error(transparent)]
    StreamMeasures(#[from] SettingsError),
    /// A group's filter asks about packets, not flows.
    #[error(
        "the group \"{name}\" uses `{filter}`, which does not select whole flows; \
         ask for addresses and ports only"
    )]
    GroupOfPackets {
        /// Name of the group.
        name: String,
        /// Its filter.
        filter: String,
    },
    /// The filter of traces asks about packets, not flows.
    #[error(
        "traces are selected with `{filter}`, which does not select whole flows; \
         ask for addresses and ports only"
    )]
    DrawnPackets {
        /// The filter.
        filter: String,
    },
}
