//! Execution of a script.

mod commands;
mod error_queue;
mod host;
mod judge;
mod packets;
mod record;
mod runner;
mod settings;
mod simulated;
mod sockets;
mod system;
mod tcp_info;
mod translation;

pub use judge::EchoRule;
pub use record::{RecordedTimes, Recording, Windows, record, record_on};
pub use settings::Files;
pub use system::{Advance, ConnectionIndex, Progress, Returned, Sent, System};
pub use translation::{options_from_bytes, options_to_bytes};

use crate::outcome::{Failure, Outcome, Stop};
use crate::script::{OptionLine, ParseError, Script};
use fairwind_tcp::Profile;
use fairwind_wire::SequenceNumber;
use settings::Settings;
use std::collections::BTreeMap;

/// What becomes of packets that the endpoint sends and the script does not speak of, after its last
/// event (before, they are always errors).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrailingPackets {
    /// They are errors, if they were sent up to the last event.
    Refused,
    /// Nobody looks any more, as in the tool that the language comes from.
    #[default]
    Ignored,
}

/// How scripts are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Behaviour of the endpoint.
    pub profile: Profile,
    /// Whether `TSecr` is compared.
    pub echo: EchoRule,
    /// What becomes of packets after the last event.
    pub trailing: TrailingPackets,
    /// The endpoint's initial sequence number; scripts do not notice.
    pub initial_sequence: SequenceNumber,
    /// Names that stand for something else, as `-D NAME=VALUE` in a script.
    pub definitions: BTreeMap<String, String>,
    /// Lines `--name=value` that count as if they stood behind the script's own.
    pub option_lines: Vec<OptionLine>,
    /// Where the text of a script's commands is found that are files.
    pub files: Files,
}

impl RunOptions {
    /// Judging of this profile as the tool judges that the language comes from.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            echo: EchoRule::default(),
            trailing: TrailingPackets::default(),
            initial_sequence: SequenceNumber::new(2_271_560_481),
            definitions: BTreeMap::new(),
            option_lines: Vec::new(),
            files: Files::none(),
        }
    }
}

/// Reads a script and runs it. `name` is for messages.
///
/// A script that cannot be read has failed.
pub fn run_script(name: &str, text: &str, options: &RunOptions) -> Outcome {
    match Script::parse(name, text, &options.definitions) {
        Ok(script) => run(&script, options),
        Err(error) => unreadable(name, &error),
    }
}

/// What became of a script that cannot be read: it has failed.
pub fn unreadable(name: &str, error: &ParseError) -> Outcome {
    Outcome::Failed(Failure {
        script: name.to_owned(),
        line: Some(error.at.line),
        message: format!(
            "column {}: expected {}, found {}",
            error.at.column, error.expected, error.found
        ),
        dialogue: Vec::new(),
    })
}

/// Runs a script against a fresh endpoint, in virtual time.
pub fn run(script: &Script, options: &RunOptions) -> Outcome {
    let settings = match Settings::new(script, options) {
        Ok(settings) => settings,
        Err((line, stop)) => return refused(script, line, stop),
    };
    let mut system = simulated::Simulated::new(&settings, options);
    runner::Runner::run(script, options, settings, &mut system)
}

/// Runs a script against any system; of the options those count that are about judging.
pub fn run_on(script: &Script, options: &RunOptions, system: &mut dyn System) -> Outcome {
    match Settings::new(script, options) {
        Ok(settings) => runner::Runner::run(script, options, settings, system),
        Err((line, stop)) => refused(script, line, stop),
    }
}

fn refused(script: &Script, line: u32, stop: Stop) -> Outcome {
    runner::outcome(script, Some(line), stop, Vec::new())
}
