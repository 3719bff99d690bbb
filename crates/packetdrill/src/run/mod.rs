//! Execution of a script.

mod commands;
mod error_queue;
mod host;
mod record;
mod runner;
mod settings;
mod simulated;
mod sockets;
mod system;
mod tcp_info;
mod translation;
mod verify;

pub use record::{RecordedTimes, Recording, Windows, record, record_on};
pub use settings::{EchoRule, Files, RunOptions, Strictness, TrailingPackets};
pub use system::{Advance, ConnectionIndex, Progress, Returned, Sent, System};
pub use translation::{options_from_bytes, options_to_bytes};
pub use verify::{
    verify_control_messages, verify_epoll_events, verify_error_fields, verify_timestamp,
};

use crate::outcome::{Failure, Outcome};
use crate::script::{ParseError, Script};
use settings::Settings;

/// Parses and runs a script. `name` is for messages.
///
/// A script that cannot be parsed fails.
pub fn run_script(name: &str, text: &str, options: &RunOptions) -> Outcome {
    match Script::parse(name, text, &options.meanings()) {
        Ok(script) => run(&script, options),
        Err(error) => unreadable(name, &error),
    }
}

/// Outcome of a script that cannot be parsed: it fails.
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

/// Runs a script against any system; only the comparison settings of `options` apply.
pub fn run_on(script: &Script, options: &RunOptions, system: &mut dyn System) -> Outcome {
    match Settings::new(script, options) {
        Ok(settings) => runner::Runner::run(script, options, settings, system),
        Err(refused) => refused,
    }
}
