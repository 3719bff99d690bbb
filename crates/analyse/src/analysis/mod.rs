//! From packets to tables: sources are read, merged by time and followed.
//!
//! Modules: `settings`, `source` (where packets come from), `input` (one tap, read ahead), `preview` (clocks of
//! two captures, compared in advance), `run` (the loop), `follower` (one packet after the other), `rules`,
//! `lifecycle` (connections begin and end), `streams`, `tap_pair` and `two_taps` (what two taps show),
//! `results` (tables and facts).

mod follower;
mod input;
mod lifecycle;
mod preview;
mod results;
mod rules;
mod run;
mod settings;
mod source;
mod streams;
mod tap_pair;
mod two_taps;

use fairwind_measure::SettingsError;
pub use results::{CaptureFacts, Outcome};
pub use run::Analysis;
pub use settings::{AddressTranslation, ClockMode, GroupRule, Settings, TimeLimit};
pub use source::{CaptureSource, FrameCounts, NextPacket, PacketSource};

/// Progress of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More packets are to be read.
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
        "the group \"{name}\" asks with `{filter}` for what packets of one flow do not have in common; \
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
        "what is drawn is asked for with `{filter}`, which packets of one flow do not have in common; \
         ask for addresses and ports only"
    )]
    DrawnPackets {
        /// The filter.
        filter: String,
    },
}
