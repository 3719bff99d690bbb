//! The binding `fairwind._core`: converts arguments, tables and errors, nothing else.
//!
//! `python/fairwind/_core.pyi` describes it; the notebook re-exports what users need.

mod analyse;
mod controls;
mod errors;
mod machine;
mod packetdrill;
#[cfg(target_os = "linux")]
mod probe;
mod shell;
mod simulation;
mod tables;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod virtual_kernel;
#[cfg(target_os = "linux")]
mod windows;

use errors::SimulationError;
use fairwind_scenario::{Document, ScenarioErrors, json_schema};
use pyo3::prelude::*;

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

/// The probability of a value of at most `value` by Student's t distribution.
#[pyfunction]
fn student_probability(degrees_of_freedom: f64, value: f64) -> f64 {
    fairwind_statistics::student_probability(degrees_of_freedom, value)
}

/// The quantile of a probability by Student's t distribution.
#[pyfunction]
fn student_quantile(degrees_of_freedom: f64, probability: f64) -> f64 {
    fairwind_statistics::student_quantile(degrees_of_freedom, probability)
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

/// Applications with recorded traffic, and their recordings, as JSON text.
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

/// The compiled part of Fairwind.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::analyse::{Analysis, CaptureError, captured_writes};
    #[pymodule_export]
    use super::controls::{
        ControlError, ControlFault, built_in_controls, compile_control, compile_control_object,
        control_interface, control_name_fault, control_parameters, owner_of_kernel_name,
    };
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::controls::{load_control, loaded_controls, unload_control};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::errors::KernelRunError;
    #[pymodule_export]
    use super::errors::{Cancelled, ScenarioError, SimulationError};
    #[pymodule_export]
    use super::machine::{capabilities, kernel_obstacle, kernel_settings, leftovers};
    #[pymodule_export]
    use super::packetdrill::{KernelUnavailable, follow_script, kernel_problem};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::probe::Probe;
    #[pymodule_export]
    use super::shell::{run_shell, serve_shell};
    #[pymodule_export]
    use super::simulation::{Progress, simulate};
    #[pymodule_export]
    use super::tables::Table;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::testbed::{check_on_kernel, run_on_kernel, serve_as_host};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::virtual_kernel::{
        VirtualKernelError, check_on_virtual_kernel, follow_on_virtual_kernel,
        run_on_virtual_kernel, run_shell_on_virtual_kernel,
    };
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::windows::{WindowsError, clear_windows, show_windows, start_windows, stop_windows};
    #[pymodule_export]
    use super::{
        analysis_columns, columns, interface, named_files, plan, rate_columns,
        recorded_applications, schema, student_probability, student_quantile, version,
    };
}
