//! Errors of the core as Python exceptions.

use fairwind_scenario::ScenarioErrors;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{create_exception, import_exception};

import_exception!(fairwind.errors, FairwindError);
create_exception!(
    fairwind._core,
    ScenarioError,
    FairwindError,
    "A scenario is wrong; `errors` lists all that is."
);
#[cfg(target_os = "linux")]
create_exception!(
    fairwind._core,
    KernelRunError,
    FairwindError,
    "A run on the kernel could not be set up, or did not finish."
);
create_exception!(fairwind._core, SimulationError, FairwindError, "A simulation could not be run.");
create_exception!(fairwind._core, Cancelled, FairwindError, "A simulation was stopped on request.");

/// Why a run gave no tables.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Simulation(#[from] fairwind_simulation::SimulationError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Kernel(#[from] fairwind_testbed::RunError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Shell(#[from] fairwind_shell::ShellError),
    #[error(transparent)]
    Control(#[from] fairwind_congestion::LoadError),
    #[error("{0}")]
    Parameter(String),
    #[error("{path}: {error}")]
    File { path: String, error: std::io::Error },
    #[error("the run with seed {seed} broke an internal rule: {message}")]
    Panic { seed: u64, message: String },
}

/// All errors of a scenario as one exception with the attribute `errors`.
pub(crate) fn scenario(py: Python<'_>, errors: &ScenarioErrors) -> PyErr {
    match listed(py, errors) {
        Ok(list) => {
            let exception = ScenarioError::new_err(errors.to_string());
            match exception.value(py).setattr("errors", list) {
                Ok(()) => exception,
                Err(failed) => failed,
            }
        }
        Err(failed) => failed,
    }
}

fn listed<'py>(py: Python<'py>, errors: &ScenarioErrors) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for error in &errors.errors {
        let entry = PyDict::new(py);
        entry.set_item("file", &errors.file)?;
        entry.set_item("line", error.line)?;
        entry.set_item("key", &error.key)?;
        entry.set_item("value", &error.value)?;
        entry.set_item("rule", &error.rule)?;
        entry.set_item("hint", &error.hint)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Why a run that captures to `folder` gave no tables.
pub(crate) fn from_failure(failure: &Failure, folder: Option<&str>) -> PyErr {
    match failure {
        Failure::Simulation(fairwind_simulation::SimulationError::Cancelled) => {
            Cancelled::new_err(failure.to_string())
        }
        Failure::Simulation(error) => match error.storage() {
            Some(storage) => from_storage(storage, folder.unwrap_or_default()),
            None => SimulationError::new_err(error.to_string()),
        },
        #[cfg(target_os = "linux")]
        Failure::Kernel(fairwind_testbed::RunError::Cancelled) => {
            Cancelled::new_err(failure.to_string())
        }
        #[cfg(target_os = "linux")]
        Failure::Kernel(error) => match error.storage() {
            Some(storage) => from_storage(storage, folder.unwrap_or_default()),
            None => KernelRunError::new_err(error.to_string()),
        },
        #[cfg(target_os = "linux")]
        Failure::Shell(error) => match error.storage() {
            Some(storage) => from_storage(storage, folder.unwrap_or_default()),
            None => SimulationError::new_err(error.to_string()),
        },
        Failure::File { path, error } => from_storage(error, path),
        Failure::Control(_) | Failure::Parameter(_) | Failure::Panic { .. } => {
            SimulationError::new_err(failure.to_string())
        }
    }
}

/// With number, text and file name, Python picks the matching subclass of `OSError`.
pub(crate) fn from_storage(error: &std::io::Error, path: &str) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return PyOSError::new_err(format!("{path}: {error}"));
    };
    // Python shows the number itself.
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, words, path.to_owned()))
}
