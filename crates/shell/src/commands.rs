//! Commands of the system that set up devices, addresses and routes.

use fairwind_linux::KernelError;
use std::process::{Command, Stdio};

/// What a command prints, where it succeeds.
pub(super) fn output(program: &str, arguments: &[&str]) -> Result<String, KernelError> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let told = format!("{program} {}", arguments.join(" "));
    let failed = |reason: String| KernelError::Command { command: told.clone(), reason };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Runs a command that has to succeed: words without blanks within.
pub(super) fn run(words: &str) -> Result<(), KernelError> {
    let mut words = words.split_whitespace();
    let program = words.next().unwrap_or_default();
    output(program, &words.collect::<Vec<_>>()).map(|_| ())
}

/// Something that is in the way of a shell, and what to do about it.
pub(super) fn problem(reason: impl Into<String>) -> KernelError {
    KernelError::Shell { reason: reason.into() }
}

/// Where a parameter of the network is found, as `net/ipv4/ip_forward`: the names of devices may have
/// dots in them, so dots divide nothing.
pub(super) fn file_of(parameter: &str) -> String {
    format!("/proc/sys/{parameter}")
}

/// The value of a parameter of this namespace; none where the kernel does not have it.
pub(super) fn parameter(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(file_of(name)).ok()?.trim().to_owned())
}

/// Sets a parameter of this namespace; whether that was possible.
pub(super) fn set_parameter(name: &str, value: &str) -> bool {
    std::fs::write(file_of(name), value).is_ok()
}
