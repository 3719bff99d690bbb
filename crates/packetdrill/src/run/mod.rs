//! Execution of a script.

mod commands;
mod error_queue;
mod host;
mod judge;
mod record;
mod runner;
mod settings;
mod simulated;
mod sockets;
mod system;
mod tcp_info;
mod translation;

pub use judge::{judge_control_messages, judge_epoll_events, judge_error_fields, judge_timestamp};
pub use record::{RecordedTimes, Recording, Windows, record, record_on};
pub use settings::{EchoRule, Files, Judging, RunOptions, TrailingPackets};
pub use system::{Advance, ConnectionIndex, Progress, Returned, Sent, System};
pub use translation::{options_from_bytes, options_to_bytes};

use crate::outcome::{Failure, Outcome};
use crate::script::{ParseError, Script};
use settings::Settings;

/// Reads a script and runs it. `name` is for messages.
///
/// A script that cannot be read has failed.
pub fn run_script(name: &str, text: &str, options: &RunOptions) -> Outcome {
    match Script::parse(name, text, &options.meanings()) {
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
    match Settings::new(script, options) {
        Ok(settings) => {
            let mut system = simulated::Simulated::new(&settings, options);
            runner::Runner::run(script, options, settings, &mut system)
        }
        Err(refused) => refused,
    }
}

/// Runs a script against any system; of the options those count that are about judging.
pub fn run_on(script: &Script, options: &RunOptions, system: &mut dyn System) -> Outcome {
    match Settings::new(script, options) {
        Ok(settings) => runner::Runner::run(script, options, settings, system),
        Err(refused) => refused,
    }
}
