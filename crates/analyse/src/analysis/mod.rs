//! The whole way from packets to tables: sources are read, merged and followed.
//!
//! Modules: `settings`, `source` (where packets come from), `captured` (out of files), `clock` (time that goes on whatever timestamps
//! do), `comparison` (of two captures), `groups`, `follower` (one packet after the other), `doubt` (SYNs and resets that endpoints would not believe), `placing` (where taps are), `part` (that of each connection which counts), `joining` (two taps), `translation` (of addresses between them), `waiting` (which segments took longest), `ending`
//! (rows and sums), `merge`, `streams` (those of open flows), `run` (the loop), `outcome` (what comes of it).

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

/// How far an analysis has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Working,
    /// Everything that there is has been read; more may come.
    Waiting,
    /// Everything has been read.
    Done,
}

/// Why settings cannot be analysed by.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// What the measures do not take.
    #[error(transparent)]
    StreamMeasures(#[from] SettingsError),
    /// A group is to be made of packets, not of flows.
    #[error(
        "the group \"{name}\" asks with `{filter}` for what packets of one flow do not have in common; \
         ask for addresses and ports only"
    )]
    GroupOfPackets {
        /// The group.
        name: String,
        /// Its filter.
        filter: String,
    },
    /// Packets are to be drawn, not flows.
    #[error(
        "what is drawn is asked for with `{filter}`, which packets of one flow do not have in common; \
         ask for addresses and ports only"
    )]
    DrawnPackets {
        /// The filter.
        filter: String,
    },
}
