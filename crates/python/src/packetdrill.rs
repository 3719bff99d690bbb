//! Packetdrill scripts: one at a time, on our endpoint or on the kernel.

use crate::errors::FairwindError;
use fairwind_packetdrill::{Files, OptionLine, Outcome, RunOptions};
use fairwind_tcp::Profile;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

create_exception!(
    fairwind._core,
    KernelUnavailable,
    FairwindError,
    "The running kernel cannot be used: no rights, or no TUN device."
);

/// How often a run is looked after for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(50);

/// Follows one script. The dictionary has `outcome` (`passed`, `failed`, `unsupported`), `line`,
/// `message` and `dialogue`.
#[pyfunction]
#[pyo3(signature = (file, text, *, on="sim", profile="linux-6.18", definitions=Vec::new(), options=Vec::new()))]
pub(crate) fn follow_script<'py>(
    py: Python<'py>,
    file: String,
    text: String,
    on: &str,
    profile: &str,
    definitions: Vec<(String, String)>,
    options: Vec<(String, Option<String>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let profile: Profile =
        profile.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let mut run = RunOptions::new(profile);
    run.definitions = definitions.into_iter().collect();
    let line = |(name, value)| OptionLine { line: 0, name, value };
    run.option_lines = options.into_iter().map(line).collect();
    let folder = Path::new(&file).parent().map(Path::to_path_buf).unwrap_or_default();
    let outcome = match on {
        "sim" => {
            run.files = Files::reading(move |path| std::fs::read_to_string(folder.join(path)).ok());
            py.detach(|| fairwind_packetdrill::run_script(&file, &text, &run))
        }
        "kernel" => on_kernel(py, file, text, run, folder)?,
        other => {
            return Err(PyValueError::new_err(format!("\"{other}\" is neither sim nor kernel")));
        }
    };
    to_dict(py, &outcome)
}

/// Runs in a separate thread, so that Ctrl-C can stop it.
#[cfg(target_os = "linux")]
fn on_kernel(
    py: Python<'_>,
    file: String,
    text: String,
    run: RunOptions,
    folder: PathBuf,
) -> PyResult<Outcome> {
    let stop = Arc::new(AtomicBool::new(false));
    let folder = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
    let kernel = fairwind_kernel_packetdrill::KernelOptions { folder, stop: stop.clone() };
    let (done, mut outcome) = channel();
    let thread = std::thread::spawn(move || {
        // Who listens goes on until it has come.
        let _ = done.send(fairwind_kernel_packetdrill::run_script(&file, &text, &run, &kernel));
    });
    let outcome = loop {
        let come = &mut outcome;
        match py.detach(move || come.recv_timeout(GLANCE)) {
            Err(RecvTimeoutError::Timeout) => {}
            answer => break answer,
        }
        if let Err(interrupted) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            // The namespace is cleaned up before the exception goes on.
            py.detach(|| thread.join()).ok();
            return Err(interrupted);
        }
    };
    match outcome {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(error)) => Err(KernelUnavailable::new_err(error.to_string())),
        Err(_) => Err(KernelUnavailable::new_err("the run broke an internal rule")),
    }
}

#[cfg(not(target_os = "linux"))]
fn on_kernel(_: Python<'_>, _: String, _: String, _: RunOptions, _: PathBuf) -> PyResult<Outcome> {
    Err(KernelUnavailable::new_err("this system is not Linux"))
}

/// Why scripts cannot be run on the kernel; `None` if they can.
#[pyfunction]
pub(crate) fn kernel_problem(py: Python<'_>) -> Option<String> {
    #[cfg(target_os = "linux")]
    return py.detach(|| {
        fairwind_kernel_packetdrill::availability().err().map(|error| error.to_string())
    });
    #[cfg(not(target_os = "linux"))]
    return Some("this system is not Linux".to_owned());
}

fn to_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let (word, line, message, dialogue) = match outcome {
        Outcome::Passed => ("passed", None, String::new(), String::new()),
        Outcome::Failed(failure) => {
            ("failed", failure.line, failure.message.clone(), failure.dialogue_text())
        }
        Outcome::Unsupported(reason) => {
            ("unsupported", reason.line, reason.reason.clone(), String::new())
        }
    };
    let answer = PyDict::new(py);
    answer.set_item("outcome", word)?;
    answer.set_item("line", line)?;
    answer.set_item("message", message)?;
    answer.set_item("dialogue", dialogue)?;
    Ok(answer)
}
