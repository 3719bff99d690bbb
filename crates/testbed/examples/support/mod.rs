//! What the examples share: command lines, scenarios run on the running kernel, and their results.

use fairwind_assembly::{CaptureFiles, Control};
use fairwind_hosts::HostCommand;
use fairwind_kernel_packetdrill::KernelOptions;
use fairwind_scenario::{Document, Experiment};
use fairwind_testbed::{KernelRun, Outcome};
use std::path::Path;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// Part of what headers allow that a greedy connection has to reach, in per cent.
pub(crate) const FILLED_PERCENT: f64 = 99.0;
/// Payload and length of a full packet, with timestamps.
const PAYLOAD: f64 = 1448.0;
const PACKET: f64 = 1500.0;

/// The value of `--seconds N`, the only option.
pub(crate) fn seconds(usual: u32) -> Result<u32, Failure> {
    let mut seconds = usual;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => seconds = arguments.next().ok_or("--seconds needs a number")?.parse()?,
            other => return Err(format!("{other} is not an option of this program").into()),
        }
    }
    Ok(seconds)
}

/// Runs a scenario of one experiment on the running kernel.
pub(crate) fn run_text(text: &str, files: CaptureFiles) -> Result<Outcome, Failure> {
    let document = Document::parse("example.toml", text)?;
    run(&document.experiment(&document.grid()?[0])?, 1, files)
}

/// Runs an experiment on the running kernel, with the host program beside the folder of examples.
pub(crate) fn run(
    experiment: &Experiment,
    seed: u64,
    files: CaptureFiles,
) -> Result<Outcome, Failure> {
    let here = std::env::current_exe()?;
    let folder = here.parent().and_then(|examples| examples.parent()).ok_or("no folder")?;
    let command = HostCommand { program: folder.join("fairwind-host"), arguments: Vec::new() };
    Ok(KernelRun::new(experiment, seed, files, command)?.run(&Control::default())?)
}

/// The first value of a column.
pub(crate) fn number(outcome: &Outcome, table: &str, column: &str) -> Option<f64> {
    outcome.tables.get(table)?.column(column)?.number(0)
}

/// How much of what headers allow a connection has reached over a path of `rate` Mbit/s, in per cent.
pub(crate) fn filled_percent(outcome: &Outcome, rate: u32) -> f64 {
    let allowed = f64::from(rate) * 1e6 * PAYLOAD / PACKET;
    100.0 * number(outcome, "flows", "goodput_bits_per_second").unwrap_or(0.0) / allowed
}

/// Options for a script on the kernel; its own files are in its folder.
pub(crate) fn kernel_options(script: &str) -> KernelOptions {
    let folder = Path::new(script).parent().filter(|folder| !folder.as_os_str().is_empty());
    KernelOptions { folder: folder.map(Path::to_path_buf), ..KernelOptions::default() }
}
