//! What experiments and programs in an instance have in common: settings, captures and further processes.

use crate::task::TaskFailure;
use fairwind_assembly::CaptureFiles;
use fairwind_hosts::HostCommand;
use fairwind_scenario::{CapturePoint, Experiment};
use fairwind_units::Span;
use std::fs::File;
use std::path::Path;

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
