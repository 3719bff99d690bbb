//! A real program behind an emulated path, inside an instance.
//!
//! What is outside of the path is the instance's first network namespace, in which nothing runs but what the task
//! starts there. Programs print to two serial lines of the kernel, which end in files of the machine.

use crate::task::{PATH, REPORT_INTERVAL, capture_files, experiment, host_command};
use crate::task::{ProgramAnswer, ProgramTask, TaskFailure};
use fairwind_assembly::CaptureFiles;
use fairwind_linux::{self as linux, KernelError};
use fairwind_shell::{self as shell, ShellAddresses, ShellError, ShellPlan};
use fairwind_units::Span;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

/// The serial lines of programs' standard output and standard error.
pub(crate) const OUTPUT_LINES: [&str; 2] = ["ssl0", "ssl1"];
/// The same, as devices.
const OUTPUT_DEVICES: [&str; 2] = ["/dev/ttyS0", "/dev/ttyS1"];
/// All variables of programs but the addresses. They print to serial lines, where nobody could answer a pager.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("PATH", PATH),
    ("HOME", "/root"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
];
/// How long servers outside may take until they listen.
const START_TIME: Span = Span::from_secs(1);

pub(crate) fn run(task: &ProgramTask) -> Result<ProgramAnswer, TaskFailure> {
    let experiment = experiment(&task.experiment_json)?;
    let files = match &task.report {
        Some(folder) => capture_files(&experiment, Path::new(folder))?,
        None => CaptureFiles::default(),
    };
    let plan = ShellPlan {
        experiment,
        seed: task.seed,
        program: task.program.clone(),
        directory: Some(task.directory.clone().into()),
        is_environment_inherited: false,
        environment: ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        user: None,
        is_measured: task.report.is_some(),
        live: Arc::default(),
        report_interval: REPORT_INTERVAL,
        is_time_virtual: true,
    };
    let refused = |error: KernelError| TaskFailure::experiment(error.to_string());
    linux::redirect_standard_streams(OUTPUT_DEVICES.map(Path::new)).map_err(refused)?;
    linux::command_output("ip", &["link", "set", "lo", "up"], "").map_err(refused)?;
    let mut outside = Vec::new();
    let opened = |addresses: &ShellAddresses| {
        outside = start_outside(task, addresses)?;
        Ok(())
    };
    let outcome =
        shell::run(&plan, &host_command(), files, opened).map_err(|error| failed(&error, task))?;
    let remarks = ended_early(&mut outside);
    let tables = outcome.tables.tables.into_iter().map(Into::into).collect();
    Ok(ProgramAnswer { code: outcome.code, not_started: outcome.not_started, remarks, tables })
}

/// Starts the commands outside and gives them time until they listen.
fn start_outside(
    task: &ProgramTask,
    addresses: &ShellAddresses,
) -> Result<Vec<(String, Child)>, KernelError> {
    let text =
        |list: &[std::net::IpAddr]| list.first().map(ToString::to_string).unwrap_or_default();
    let mut started = Vec::new();
    for command in &task.outside {
        let child = Command::new("sh")
            .args(["-c", command])
            .current_dir(&task.directory)
            .env_clear()
            .envs(ENVIRONMENT)
            .env("FAIRWIND_OUTSIDE", text(&addresses.outside))
            .env("FAIRWIND_INSIDE", text(&addresses.inside))
            .spawn()
            .map_err(|error| KernelError::Shell {
                reason: format!("the command outside, `{command}`, could not be started: {error}"),
            })?;
        started.push((command.clone(), child));
    }
    if !started.is_empty() {
        linux::wait_readable(&[], START_TIME);
    }
    match ended_early(&mut started).into_iter().next() {
        Some(reason) => {
            Err(KernelError::Shell { reason: format!("{reason}, before the program began") })
        }
        None => Ok(started),
    }
}

/// What there is to say of commands outside that have failed.
fn ended_early(outside: &mut [(String, Child)]) -> Vec<String> {
    let ended = |(command, child): &mut (String, Child)| match child.try_wait() {
        Ok(Some(status)) if !status.success() => {
            Some(format!("the command outside, `{command}`, ended with {status}"))
        }
        _ => None,
    };
    outside.iter_mut().filter_map(ended).collect()
}

fn failed(error: &ShellError, task: &ProgramTask) -> TaskFailure {
    match (error.storage(), &task.report) {
        (Some(storage), Some(folder)) => TaskFailure::storage(storage, folder),
        _ => TaskFailure::experiment(error.to_string()),
    }
}
