//! A real program behind an emulated path, inside an instance.
//!
//! What is outside of the path is the instance's first network namespace, in which nothing runs but what the task
//! starts there. Programs print to two serial lines of the kernel, which end in files of the machine.

use crate::inside::{REPORT_INTERVAL, capture_files, experiment, host_command};
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
        program: program(task),
        user: None,
        is_measured: task.report.is_some(),
        live: Arc::default(),
        report_interval: REPORT_INTERVAL,
    };
    let refused = |error: KernelError| TaskFailure::experiment(error.to_string());
    linux::print_to(OUTPUT_DEVICES.map(Path::new)).map_err(refused)?;
    linux::command_output("ip", &["link", "set", "lo", "up"], "").map_err(refused)?;
    let mut outside = Vec::new();
    let opened = |addresses: &ShellAddresses| {
        outside = start_outside(task, addresses)?;
        Ok(())
    };
    let outcome =
        shell::run(&plan, &host_command(), files, opened).map_err(|error| failed(&error, task))?;
    drop(outside);
    let tables = outcome.tables.tables.into_iter().map(Into::into).collect();
    Ok(ProgramAnswer { code: outcome.code, not_started: outcome.not_started, tables })
}

/// The program in its folder. What it prints is no terminal for a person.
fn program(task: &ProgramTask) -> Vec<String> {
    let mut words = vec!["env".to_owned(), format!("--chdir={}", task.directory)];
    words.extend(["TERM=dumb", "HOME=/root"].map(str::to_owned));
    words.extend(task.program.iter().cloned());
    words
}

/// Starts the commands outside and gives them time until they listen.
fn start_outside(
    task: &ProgramTask,
    addresses: &ShellAddresses,
) -> Result<Vec<Child>, KernelError> {
    let failed = |command: &str, reason: String| KernelError::Shell {
        reason: format!("the command outside, `{command}`, {reason}"),
    };
    let text =
        |list: &[std::net::IpAddr]| list.first().map(ToString::to_string).unwrap_or_default();
    let mut started = Vec::new();
    for command in &task.outside {
        let child = Command::new("sh")
            .args(["-c", command])
            .current_dir(&task.directory)
            .env("TERM", "dumb")
            .env("HOME", "/root")
            .env("FAIRWIND_OUTSIDE", text(&addresses.outside))
            .env("FAIRWIND_INSIDE", text(&addresses.inside))
            .spawn()
            .map_err(|error| failed(command, format!("could not be started: {error}")))?;
        started.push(child);
    }
    if !started.is_empty() {
        linux::wait_readable(&[], START_TIME);
    }
    for (child, command) in started.iter_mut().zip(&task.outside) {
        if let Ok(Some(status)) = child.try_wait()
            && !status.success()
        {
            return Err(failed(command, format!("ended before the program began: {status}")));
        }
    }
    Ok(started)
}

fn failed(error: &ShellError, task: &ProgramTask) -> TaskFailure {
    match (error.storage(), &task.report) {
        (Some(storage), Some(folder)) => TaskFailure::storage(storage, folder),
        _ => TaskFailure::experiment(error.to_string()),
    }
}
