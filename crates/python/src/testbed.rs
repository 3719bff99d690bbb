//! Experiments on the running kernel.

use crate::errors::{self, KernelRunError};
use crate::simulation::{Progress, capture_files, experiment, guarded};
use crate::tables::Table;
use fairwind_hosts::{self as host, HostCommand};
use fairwind_kernel_settings::controls::ControlObject;
use fairwind_testbed::{CheckReport, KernelRun};
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::ffi::CString;
use std::process::ExitCode;

/// Runs one resolved experiment on the running kernel, in real time, and gives its tables by name.
/// Other Python threads run meanwhile. `host_command` is what a host's process is started with: it
/// has to call `serve_as_host`. `controls` are congestion controls that are not the repository's: name, name in
/// the kernel, compiled object.
#[pyfunction]
#[pyo3(signature = (experiment_json, seed, progress, capture, host_command, controls=Vec::new()))]
pub(crate) fn run_on_kernel<'py>(
    py: Python<'py>,
    experiment_json: &str,
    seed: u64,
    progress: Py<Progress>,
    capture: &str,
    host_command: Vec<String>,
    controls: Vec<(String, String, Vec<u8>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let experiment = experiment(experiment_json).map_err(KernelRunError::new_err)?;
    let controls = objects(controls);
    let control = progress.get().control();
    let [program, arguments @ ..] = host_command.as_slice() else {
        return Err(PyValueError::new_err("the host command is empty"));
    };
    let command = HostCommand {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
    };
    let run = || {
        let files = capture_files(&experiment, Some(capture))?;
        let run = KernelRun::with_controls(&experiment, seed, files, command, &controls)?;
        Ok(run.run(&control)?)
    };
    let measured = py
        .detach(|| guarded(seed, run))
        .map_err(|failure| errors::from_failure(&failure, Some(capture)))?;
    warn(py, measured.remarks)?;
    Table::by_name(py, &measured.tables)
}

/// What the running kernel makes of an experiment, as JSON text: `refusals`, each with `group`, `key`,
/// `value`, `mechanism` and `alternative`, and `remarks`, each with `key` and `text`.
#[pyfunction]
#[pyo3(signature = (experiment_json, controls=Vec::new()))]
pub(crate) fn check_on_kernel(
    py: Python<'_>,
    experiment_json: &str,
    controls: Vec<(String, String, Vec<u8>)>,
) -> PyResult<String> {
    let experiment = experiment(experiment_json).map_err(KernelRunError::new_err)?;
    let controls = objects(controls);
    let checked = py.detach(|| fairwind_testbed::check(&experiment, &controls));
    Ok(described(&checked).to_string())
}

/// Issues a warning for each remark.
pub(crate) fn warn(py: Python<'_>, remarks: Vec<String>) -> PyResult<()> {
    for remark in remarks {
        let text = CString::new(remark).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(())
}

/// What `check_on_kernel` gives.
pub(crate) fn described(checked: &CheckReport) -> Value {
    let refusals = checked.refusals.iter().map(|refusal| {
        json!({
            "group": refusal.group,
            "key": refusal.key,
            "value": refusal.value,
            "mechanism": refusal.mechanism,
            "alternative": refusal.alternative,
        })
    });
    let remarks =
        checked.remarks.iter().map(|remark| json!({ "key": remark.key, "text": remark.text }));
    json!({ "refusals": refusals.collect::<Vec<_>>(), "remarks": remarks.collect::<Vec<_>>() })
}

/// Makes this process a host of an experiment, and gives its exit code when it has ended. Its
/// standard input has to be the socket that the testbed has started it with.
#[pyfunction]
pub(crate) fn serve_as_host(py: Python<'_>) -> u8 {
    py.detach(|| u8::from(host::serve() != ExitCode::SUCCESS))
}

fn objects(controls: Vec<(String, String, Vec<u8>)>) -> Vec<ControlObject> {
    let each = controls.into_iter();
    each.map(|(name, kernel_name, object)| ControlObject { name, kernel_name, object }).collect()
}
