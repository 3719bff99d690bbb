//! The binding `fairwind._core`: converts arguments, tables and errors, nothing else.
//!
//! `python/fairwind/_core.pyi` describes it; the notebook re-exports what users need.

mod analyse;
mod controls;
mod errors;
mod machine;
mod packetdrill;
mod progress;
mod shell;
mod standard_input;
mod tables;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod virtual_kernel;
#[cfg(target_os = "linux")]
mod windows;
mod writes;

use controls::{Fault, Origin};
use errors::{Cancelled, ScenarioError, SimulationError};
use fairwind_scenario::{Document, Experiment, ScenarioErrors, json_schema};
use fairwind_simulation::{CaptureFiles, Simulation, SimulationInputs};
use progress::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tables::Table;

/// The version of the compiled part.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The text of `_core.pyi` at the time of building: Python sees by it whether it fits.
#[pyfunction]
fn interface() -> &'static str {
    include_str!("../../../python/fairwind/_core.pyi")
}

/// The JSON Schema of scenarios, as JSON text.
#[pyfunction]
fn schema() -> String {
    json_schema().to_string()
}

/// All tables' columns with unit and definition, as JSON text.
#[pyfunction]
fn columns() -> String {
    listed(fairwind_measure::columns())
}

/// The columns of tables that only captures have, as JSON text.
#[pyfunction]
fn analysis_columns() -> String {
    listed(fairwind_analyse::columns())
}

fn listed(columns: &[fairwind_measure::ColumnDefinition]) -> String {
    let columns: Vec<_> = columns
        .iter()
        .map(|column| {
            serde_json::json!({
                "table": column.table,
                "column": column.column,
                "unit": column.unit,
                "definition": column.definition,
            })
        })
        .collect();
    serde_json::Value::from(columns).to_string()
}

/// Columns of rates over the measured time: table, column, and the column of the bytes that it is made of.
#[pyfunction]
fn rate_columns() -> Vec<(&'static str, &'static str, &'static str)> {
    fairwind_measure::RATE_COLUMNS
        .iter()
        .map(|column| (column.table, column.rate, column.bytes))
        .collect()
}

/// Checks a scenario and resolves it: every cell of its grid, as JSON text. `provided` has the texts of
/// [`named_files`], in their order, `controls` the names of congestion controls that are not the repository's.
#[pyfunction]
#[pyo3(signature = (file, text, overrides, provided=Vec::new(), controls=Vec::new()))]
fn plan(
    py: Python<'_>,
    file: &str,
    text: &str,
    overrides: Vec<(String, String)>,
    provided: Vec<String>,
    controls: Vec<String>,
) -> PyResult<String> {
    let planned = document(file, text, &overrides).and_then(|mut document| {
        for control in &controls {
            document.provide_control(control);
        }
        for (named, text) in document.files().iter().zip(&provided) {
            document.provide(named, text)?;
        }
        document.plan()
    });
    let planned = planned.map_err(|all| errors::scenario(py, &all))?;
    serde_json::to_string(&planned).map_err(|error| SimulationError::new_err(error.to_string()))
}

/// The files that a scenario names: the name, what it is to hold, and of a capture the connection.
#[pyfunction]
fn named_files(
    py: Python<'_>,
    file: &str,
    text: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Vec<(String, &'static str, Option<String>)>> {
    let document = document(file, text, &overrides).map_err(|all| errors::scenario(py, &all))?;
    let files = document.files().into_iter();
    Ok(files.map(|named| (named.file, named.content.name(), named.connection)).collect())
}

/// Applications whose traffic was recorded, with what was recorded, as JSON text.
#[pyfunction]
fn recorded_applications() -> PyResult<String> {
    let recordings = fairwind_scenario::RecordedApplication::recordings();
    serde_json::to_string(recordings).map_err(|error| SimulationError::new_err(error.to_string()))
}

fn document(
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Result<Document, ScenarioErrors> {
    let mut document = Document::parse(file, text)?;
    let mut refused: Option<ScenarioErrors> = None;
    for (key, value) in overrides {
        if let Err(more) = document.set(key, value) {
            match &mut refused {
                Some(all) => all.errors.extend(more.errors),
                None => refused = Some(more),
            }
        }
    }
    match refused {
        Some(all) => Err(all),
        None => Ok(document),
    }
}

/// Rows of the table `queue_events` that are handed on at once.
const ROWS_AT_ONCE: usize = 1 << 17;

/// Runs one resolved experiment and gives its tables by name. Other Python threads run meanwhile. `queue_events` is
/// called with rows of that table as they come, where there are many; the last ones are in what is given.
/// `controls` are congestion controls that are not the repository's, each with its library or its class.
#[pyfunction]
#[pyo3(signature = (experiment_json, seed, progress=None, capture=None, queue_events=None, controls=Vec::new()))]
fn simulate<'py>(
    py: Python<'py>,
    experiment_json: &str,
    seed: u64,
    progress: Option<Py<Progress>>,
    capture: Option<&str>,
    queue_events: Option<Py<PyAny>>,
    controls: Vec<(String, Origin)>,
) -> PyResult<Bound<'py, PyDict>> {
    let experiment: Experiment = serde_json::from_str(experiment_json)
        .map_err(|error| SimulationError::new_err(format!("not a resolved experiment: {error}")))?;
    let control = progress.map(|progress| progress.get().control()).unwrap_or_default();
    let least = queue_events.as_ref().map_or(usize::MAX, |_| ROWS_AT_ONCE);
    let mut refusal: Option<PyErr> = None;
    let take = |table: fairwind_measure::Table| {
        let Some(taker) = &queue_events else { return true };
        refusal = Python::attach(|py| taker.call1(py, (Table::from_measured(&table)?,))).err();
        refusal.is_none()
    };
    let fault = Fault::new(control.clone());
    let controls = controls::plugged(py, &experiment, &controls, &fault);
    let run = || {
        let captures = capture_files(&experiment, capture)?;
        let provided = SimulationInputs { captures, controls: controls? };
        let simulation = Simulation::with_inputs(&experiment, seed, provided)?;
        Ok(simulation.run_streaming(&control, least, take)?)
    };
    let outcome = py.detach(|| guarded(seed, run));
    if let Some(error) = fault.take(py).or(refusal) {
        return Err(error);
    }
    let outcome = outcome.map_err(|failure| errors::from_failure(&failure, capture))?;
    let tables = PyDict::new(py);
    for table in &outcome.tables.tables {
        tables.set_item(table.name, Table::from_measured(table)?)?;
    }
    Ok(tables)
}

/// Why a run gave no tables.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Simulation(#[from] fairwind_simulation::SimulationError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Kernel(fairwind_testbed::RunError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Shell(#[from] fairwind_shell::ShellError),
    #[error(transparent)]
    Control(#[from] fairwind_congestion::LoadError),
    #[error("{0}")]
    Parameter(String),
    #[error("{path}: {error}")]
    File { path: String, error: std::io::Error },
    #[error("the run with seed {seed} broke one of its own rules: {message}")]
    Panic { seed: u64, message: String },
}

/// A broken invariant becomes an error that names the seed, never a crash of the notebook.
fn guarded<T>(seed: u64, run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message")
            .to_owned();
        Err(Failure::Panic { seed, message })
    })
}

/// Creates `sender.pcapng` and `receiver.pcapng` in the folder `capture`, as far as the experiment
/// wants them.
fn capture_files(experiment: &Experiment, folder: Option<&str>) -> Result<CaptureFiles, Failure> {
    use fairwind_scenario::CapturePoint::{Receiver, Sender};
    let (Some(wanted), Some(folder)) = (&experiment.capture, folder) else {
        return Ok(CaptureFiles::default());
    };
    let create = |point, name| -> Result<Option<Box<dyn std::io::Write + Send>>, Failure> {
        if !wanted.points.contains(&point) {
            return Ok(None);
        }
        let path = Path::new(folder).join(name);
        let file = File::create(&path)
            .map_err(|error| Failure::File { path: path.display().to_string(), error })?;
        Ok(Some(Box::new(file)))
    };
    Ok(CaptureFiles {
        sender: create(Sender, "sender.pcapng")?,
        receiver: create(Receiver, "receiver.pcapng")?,
    })
}

/// The compiled part of Fairwind.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(interface, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns, module)?)?;
    module.add_function(wrap_pyfunction!(analysis_columns, module)?)?;
    module.add_function(wrap_pyfunction!(rate_columns, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_function(wrap_pyfunction!(named_files, module)?)?;
    module.add_function(wrap_pyfunction!(recorded_applications, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::follow_script, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::kernel_problem, module)?)?;
    module.add_function(wrap_pyfunction!(shell::run_shell, module)?)?;
    module.add_function(wrap_pyfunction!(shell::serve_shell, module)?)?;
    #[cfg(target_os = "linux")]
    add_testbed(module)?;
    module.add_function(wrap_pyfunction!(machine::capabilities, module)?)?;
    module.add_function(wrap_pyfunction!(machine::kernel_obstacle, module)?)?;
    module.add_function(wrap_pyfunction!(machine::cleanup, module)?)?;
    module.add_function(wrap_pyfunction!(machine::kernel_settings, module)?)?;
    module.add_function(wrap_pyfunction!(writes::captured_writes, module)?)?;
    module.add_function(wrap_pyfunction!(controls::built_in_controls, module)?)?;
    module.add_function(wrap_pyfunction!(controls::control_interface, module)?)?;
    module.add_function(wrap_pyfunction!(controls::control_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(controls::control_name_fault, module)?)?;
    module.add_function(wrap_pyfunction!(controls::owner_of_kernel_name, module)?)?;
    module.add_function(wrap_pyfunction!(controls::compile_control, module)?)?;
    module.add_function(wrap_pyfunction!(controls::compile_control_object, module)?)?;
    module.add("ControlFault", module.py().get_type::<controls::ControlFault>())?;
    module.add("ControlError", module.py().get_type::<controls::ControlError>())?;
    module.add_class::<analyse::Analysis>()?;
    module.add("CaptureError", module.py().get_type::<analyse::CaptureError>())?;
    module.add_class::<Progress>()?;
    module.add_class::<Table>()?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("SimulationError", module.py().get_type::<SimulationError>())?;
    module.add("KernelUnavailable", module.py().get_type::<packetdrill::KernelUnavailable>())?;
    module.add("Cancelled", module.py().get_type::<Cancelled>())?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn add_testbed(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(testbed::run_on_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(testbed::check_on_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(testbed::serve_as_host, module)?)?;
    module.add_function(wrap_pyfunction!(virtual_kernel::run_on_virtual_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(virtual_kernel::check_on_virtual_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(virtual_kernel::follow_on_virtual_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(controls::load_control, module)?)?;
    module.add_function(wrap_pyfunction!(controls::unload_control, module)?)?;
    module.add_function(wrap_pyfunction!(controls::loaded_controls, module)?)?;
    module.add_function(wrap_pyfunction!(windows::start_windows, module)?)?;
    module.add_function(wrap_pyfunction!(windows::stop_windows, module)?)?;
    module.add_function(wrap_pyfunction!(windows::show_windows, module)?)?;
    module.add_function(wrap_pyfunction!(windows::clear_windows, module)?)?;
    module.add("WindowsError", module.py().get_type::<windows::WindowsError>())?;
    module.add("KernelRunError", module.py().get_type::<testbed::KernelRunError>())?;
    let virtual_kernel_error = module.py().get_type::<virtual_kernel::VirtualKernelError>();
    module.add("VirtualKernelError", virtual_kernel_error)?;
    Ok(())
}
