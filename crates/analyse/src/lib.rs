//! Analyser: what captures show of TCP, at one tap or between two.
//!
//! The analyser reads a capture packet by packet, in one pass. Each packet finds its connection and its stream
//! (one direction's data). What the capture *shows* becomes an observation for [`fairwind_measure`]; its tables
//! have one definition for simulations, kernel runs and captures. What can only be *inferred* (causes of
//! retransmissions, windows, what limits the sender) goes to tables of this crate.
//!
//! It runs no experiment, keeps no packets, and remembers open connections only.
//!
//! Modules: `analysis` (from packet sources to tables), `connection` (open connections), [`stream`] (one direction
//! at one tap), [`one_way`] (one direction between two taps), `slowest` (the longest waits), [`trace`] (points to
//! draw), `turns` (one side answers the other), `writes` (writes of an application).

mod analysis;
mod connection;
pub mod one_way;
mod slowest;
pub mod stream;
pub mod trace;
mod turns;
mod writes;

pub use analysis::{
    AddressTranslation, Analysis, AnalysisError, CaptureFacts, CaptureSource, ClockMode,
    FrameCounts, GroupRule, NextPacket, Outcome, PacketSource, Progress, Settings, TimeLimit,
};
pub use connection::{Side, Vantage};
pub use writes::{Write, Writes, WritesError, extract_writes};

use fairwind_measure::{ColumnDefinition, define};
use std::sync::LazyLock;

/// Every column of the tables that captures have beside those of [`fairwind_measure::columns`], in the order
/// of tables and columns.
pub fn columns() -> &'static [ColumnDefinition] {
    static COLUMNS: LazyLock<Vec<ColumnDefinition>> = LazyLock::new(|| {
        let parts = [
            stream::columns(),
            define(&[turns::COLUMNS]),
            one_way::columns().to_vec(),
            define(&connection::TABLES),
            define(&[slowest::COLUMNS]),
            define(&[trace::COLUMNS]),
        ];
        parts.concat()
    });
    &COLUMNS
}
