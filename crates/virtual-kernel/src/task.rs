//! What a worker is asked to do, and what it answers: two files in the folder of an instance. What experiments and
//! programs in an instance have in common: settings, captures and further processes.

use fairwind_assembly::CaptureFiles;
use fairwind_hosts::HostCommand;
use fairwind_measure::{Column, Table, columns};
use fairwind_packetdrill::Outcome;
use fairwind_scenario::{CapturePoint, Experiment};
use fairwind_testbed::CheckReport;
use fairwind_units::Span;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;

/// Version of both files; a worker of another version refuses the task.
pub(crate) const TASK_VERSION: u32 = 3;
/// The task, in JSON.
pub(crate) const TASK_FILE: &str = "task.json";
/// The answer, in postcard; it appears complete or not at all.
pub(crate) const ANSWER_FILE: &str = "answer";
/// The share of the experiment's time that has passed, 0 to 1, as decimal digits; behind it, on a line of their own, the
/// counts of the run. They are there whether somebody watches or not: what an instance does must not depend on that.
pub(crate) const PROGRESS_FILE: &str = "progress";
/// What precedes a failure on the console, in JSON, in case the answer cannot be written.
pub(crate) const FAILURE_MARK: &str = "fairwind-worker: failure: ";

/// A task, with the version of its form.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VersionedTask {
    pub(crate) version: u32,
    pub(crate) task: Task,
}

/// What a worker is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Report what the kernel cannot do of some experiments.
    Check(Vec<ExperimentTask>),
    /// Run an experiment.
    Run {
        /// The experiment.
        experiment: ExperimentTask,
        /// Its seed.
        seed: u64,
        /// The folder of its captures.
        captures: String,
    },
    /// Follow packetdrill scripts, one after the other.
    Scripts(Vec<ScriptTask>),
    /// Run a program behind a path until it ends.
    Program(ProgramTask),
}

/// A resolved experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExperimentTask {
    /// In JSON.
    pub experiment_json: String,
    /// Congestion controls that are not the repository's.
    pub controls: Vec<Control>,
}

/// A congestion control that is not the repository's; only its names count, since User-Mode Linux loads none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Control {
    /// The name in scenarios.
    pub name: String,
    /// The name in the kernel.
    pub kernel_name: String,
}

/// A packetdrill script.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScriptTask {
    /// Its file.
    pub file: String,
    /// What is written in it.
    pub text: String,
    /// Names that stand for something else.
    pub definitions: Vec<(String, String)>,
    /// Options that count as if they stood in the script.
    pub options: Vec<(String, Option<String>)>,
}

/// A program behind a path, and the programs outside that it talks to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramTask {
    /// The path, a resolved experiment in JSON.
    pub experiment_json: String,
    /// Seed of the path and of the kernel.
    pub seed: u64,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Commands of a shell, started outside before the program.
    pub outside: Vec<String>,
    /// The folder that all of them begin in.
    pub directory: String,
    /// The folder of captures, if the program's flows are measured.
    pub report: Option<String>,
}

/// What a worker answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Task::Check`], in the order of the experiments.
    Checked(Vec<CheckReport>),
    /// To [`Task::Run`].
    Ran(RunAnswer),
    /// To [`Task::Scripts`], in the order of the scripts.
    Followed(Vec<ScriptAnswer>),
    /// To [`Task::Program`].
    Ended(ProgramAnswer),
    /// It could not be done.
    Failed(TaskFailure),
}

/// What one experiment has given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunAnswer {
    /// The tables.
    pub tables: Vec<TransferTable>,
    /// What they lack, and why.
    pub remarks: Vec<String>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramAnswer {
    /// Its exit code, as of [`Outcome`](fairwind_shell::Outcome).
    pub code: i32,
    /// Why it could not be started.
    pub not_started: Option<String>,
    /// Notes for its user, such as on a command outside that has failed.
    pub remarks: Vec<String>,
    /// The measures of its flows, if they were asked for, and the path's lateness.
    pub tables: Vec<TransferTable>,
}

/// How one script ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptAnswer {
    /// `passed`, `failed` or `unsupported`.
    pub verdict: String,
    /// The line that does not hold, from 1.
    pub line: Option<u32>,
    /// What is wrong or missing.
    pub message: String,
    /// What was expected beside what was seen.
    pub dialogue: String,
}

impl From<Outcome> for ScriptAnswer {
    fn from(outcome: Outcome) -> Self {
        let (verdict, line, message, dialogue) = match outcome {
            Outcome::Passed => ("passed", None, String::new(), String::new()),
            Outcome::Failed(failure) => {
                let dialogue = failure.dialogue_text();
                ("failed", failure.line, failure.message, dialogue)
            }
            Outcome::Unsupported(reason) => {
                ("unsupported", reason.line, reason.reason, String::new())
            }
        };
        Self { verdict: verdict.to_owned(), line, message, dialogue }
    }
}

/// Why a task could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
}

/// Kinds of failures, as far as somebody acts on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A file could not be written, with the system's number for the reason.
    Storage(i32),
    /// The experiment could not be run, or did not finish.
    Experiment,
    /// The worker and the command that asked it are of different builds.
    Version,
}

impl TaskFailure {
    pub(crate) fn experiment(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Experiment, message: message.into() }
    }

    pub(crate) fn storage(error: &std::io::Error, what: &str) -> Self {
        let kind = FailureKind::Storage(error.raw_os_error().unwrap_or(0));
        Self { kind, message: format!("{what}: {error}") }
    }
}

/// A table whose name is any text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl From<Table> for TransferTable {
    fn from(table: Table) -> Self {
        Self { name: table.name.to_owned(), columns: table.columns }
    }
}

impl TransferTable {
    /// The table as the measures make it; `None` where no measure has a table of this name.
    pub fn into_measured(self) -> Option<Table> {
        let name = columns().iter().find(|column| column.table == self.name)?.table;
        Some(Table { name, columns: self.columns })
    }
}

/// The variable with the folder of the task, on the kernel's command line.
pub(crate) const FOLDER_VARIABLE: &str = "FAIRWIND_TASK";
/// The variable with the seed of the kernel's random numbers.
pub(crate) const SEED_VARIABLE: &str = "FAIRWIND_KERNEL_SEED";
/// Where an instance finds programs such as `ip`.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What a host process is started with.
pub(crate) const HOST_ARGUMENT: &str = "host";
/// How often the router reports what it has seen: each report costs some system calls.
pub(crate) const REPORT_INTERVAL: Span = Span::from_millis(500);

/// The command that starts a host or a role of a shell: this program with another argument.
pub(crate) fn host_command() -> HostCommand {
    HostCommand { program: "/proc/self/exe".into(), arguments: vec![HOST_ARGUMENT.into()] }
}

pub(crate) fn experiment(json: &str) -> Result<Experiment, TaskFailure> {
    serde_json::from_str(json)
        .map_err(|error| TaskFailure::experiment(format!("not a resolved experiment: {error}")))
}

/// The files of the captures that an experiment asks for.
pub(crate) fn capture_files(
    experiment: &Experiment,
    folder: &Path,
) -> Result<CaptureFiles, TaskFailure> {
    let Some(wanted) = &experiment.capture else { return Ok(CaptureFiles::default()) };
    let create = |point, name| -> Result<Option<Box<dyn std::io::Write + Send>>, TaskFailure> {
        if !wanted.points.contains(&point) {
            return Ok(None);
        }
        let file = File::create(folder.join(name));
        Ok(Some(Box::new(file.map_err(|error| TaskFailure::storage(&error, name))?)))
    };
    Ok(CaptureFiles {
        sender: create(CapturePoint::Sender, "sender.pcapng")?,
        receiver: create(CapturePoint::Receiver, "receiver.pcapng")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_measure::Values;

    #[test]
    fn tables_come_back_as_they_went() {
        let values = |values: Values| Column { name: "values".to_owned(), values };
        let columns = vec![
            values(Values::U64(vec![0, u64::MAX])),
            values(Values::OptionalU64(vec![None, Some(7)])),
            values(Values::F64(vec![0.1, -3.5])),
            values(Values::OptionalF64(vec![Some(0.1), None])),
            values(Values::Text(["fast", ""].into_iter().collect())),
            values(Values::Bool(vec![true, false])),
            values(Values::OptionalBool(vec![None, Some(true)])),
        ];
        let table = Table { name: "flows", columns };
        let sent = TransferTable::from(table.clone());
        let bytes = postcard::to_allocvec(&sent).expect("plain values");
        let received: TransferTable = postcard::from_bytes(&bytes).expect("what was sent");
        assert_eq!(received.into_measured(), Some(table));
    }

    #[test]
    fn unknown_table_is_refused() {
        let table = TransferTable { name: "teapots".to_owned(), columns: Vec::new() };
        assert_eq!(table.into_measured(), None);
    }
}
