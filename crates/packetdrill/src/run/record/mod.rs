//! Recordings: a script of stimuli becomes one with the system's responses.
//!
//! A stimulus is a call, an injected packet, a message of the path, a command or code. A recording
//! lets them happen at their times and writes down, in the language, every packet that the system
//! sends, what calls return where the script leaves that open (`= ...`), and on demand what
//! `TCP_INFO` reports after each injection. The recording of one system can be run against another.

mod recorder;

use super::settings::Settings;
use super::simulated::Simulated;
use super::system::System;
use super::{RunOptions, refused};
use crate::outcome::Outcome;
use crate::script::Script;
use fairwind_units::Span;

/// How a recording writes times down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordedTimes {
    /// From the event before, as scripts are usually written.
    #[default]
    Relative,
    /// From the beginning, so that stimuli come at the same instants whatever happened before.
    Absolute,
}

/// What a recording writes down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// How times are written.
    pub times: RecordedTimes,
    /// Whether the window of packets is written (`win`).
    pub windows: Windows,
    /// Fields of `TCP_INFO` that are asserted after each injected packet, as far as the system tells
    /// them.
    pub fields: Vec<String>,
    /// How long the system is watched after the last stimulus. Where this is not zero, an event
    /// without effect stands at the end, so that whoever follows the script watches as long.
    pub watch: Span,
}

/// Whether the window of recorded packets is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Windows {
    /// In none.
    #[default]
    Omitted,
    /// In every packet.
    Written,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            times: RecordedTimes::default(),
            windows: Windows::default(),
            fields: Vec::new(),
            watch: Span::ZERO,
        }
    }
}

/// Records what our endpoint does about the stimuli of a script, in virtual time.
///
/// Packets that the script expects are left out; the time that they take counts. Comments of `text`,
/// which is the script's text, stay before the events that they stand before.
///
/// # Errors
/// As a run ends: where a stimulus is not possible, or a result that the script does tell is another.
pub fn record(
    script: &Script,
    text: &str,
    options: &RunOptions,
    recording: &Recording,
) -> Result<String, Outcome> {
    let settings = match Settings::new(script, options) {
        Ok(settings) => settings,
        Err((line, stop)) => return Err(refused(script, line, stop)),
    };
    let mut system = Simulated::new(&settings, options);
    record_on(script, text, recording, &mut system)
}

/// Records what any system does about the stimuli of a script; see [`record`].
///
/// # Errors
/// As [`record`].
pub fn record_on(
    script: &Script,
    text: &str,
    recording: &Recording,
    system: &mut dyn System,
) -> Result<String, Outcome> {
    let recorded = recorder::Recorder::record(script, recording, system)?;
    Ok(recorder::write(script, text, recording, &recorded))
}
