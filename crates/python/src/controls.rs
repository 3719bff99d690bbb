//! Congestion controls: those of the repository, users' own in C, and Python classes.

mod class;
mod sender;

use crate::errors::{Failure, FairwindError};
use fairwind_congestion::load_with;
use fairwind_scenario::{Congestion, Experiment, PluggedControl};
use fairwind_tcp::PluggedAlgorithm;
use pyo3::create_exception;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use class::{ControlFault, Fault, PythonFactory};

create_exception!(
    fairwind._core,
    ControlError,
    FairwindError,
    "A congestion control could not be compiled, or not loaded into the kernel."
);

/// Where an algorithm of a run comes from: a compiled library, or a class of Python.
#[derive(FromPyObject)]
pub(crate) enum Origin {
    Library(PathBuf),
    Class(Py<PyAny>),
}

/// The algorithms that `experiment` asks for and somebody provides, each with its parameters, and where the first
/// exception of a class is left.
pub(crate) fn plugged(
    py: Python<'_>,
    experiment: &Experiment,
    controls: &[(String, Origin)],
    fault: &Fault,
) -> Result<Vec<PluggedAlgorithm>, Failure> {
    let ends = experiment.flows.iter().flat_map(|group| [&group.tcp, &group.receiver_tcp]);
    let wanted: BTreeSet<PluggedControl> = ends
        .filter_map(|tcp| match tcp.congestion {
            Some(Congestion::Plugged(control)) => Some(control),
            _ => None,
        })
        .collect();
    let each = |control: &PluggedControl| {
        let (_, origin) = controls.iter().find(|(name, _)| name == control.as_str())?;
        Some(match origin {
            Origin::Library(path) => whole_numbers(control)
                .and_then(|values| Ok(load_with(path, &control.label(), &values)?)),
            Origin::Class(class) => PythonFactory::new(py, control, class, fault.clone())
                .map(|factory| PluggedAlgorithm(Arc::new(factory)))
                .map_err(|error| Failure::Parameter(error.to_string())),
        })
    };
    wanted.iter().filter_map(each).collect()
}

/// Parameters as C has them.
fn whole_numbers(control: &PluggedControl) -> Result<Vec<(String, i64)>, Failure> {
    let parameters = control.parameters().into_iter();
    parameters
        .map(|(name, value)| {
            let number = value.as_i64().or_else(|| value.as_bool().map(i64::from));
            let label = control.label();
            let wrong = Failure::Parameter(format!("{label}: {name} is a whole number in C"));
            Ok((name, number.ok_or(wrong)?))
        })
        .collect()
}

/// A parameter of a C file: name, type in C, default, least and largest value.
type DeclaredParameter = (String, String, i128, i128, i128);

/// Parameters that a compiled source declares by `FAIRWIND_PARAM`.
#[pyfunction]
pub(crate) fn control_parameters(library: PathBuf) -> PyResult<Vec<DeclaredParameter>> {
    let found = fairwind_congestion::parameters(&library)
        .map_err(|error| ControlError::new_err(error.to_string()))?;
    let each = found.into_iter();
    Ok(each.map(|one| (one.name, one.c_type, one.default, one.least, one.largest)).collect())
}

/// The congestion controls of the repository that are written in C: name, name in the kernel, source.
#[pyfunction]
pub(crate) fn built_in_controls() -> Vec<(String, String, &'static str)> {
    let names = fairwind_congestion::names().into_iter();
    names
        .map(|name| {
            let kernel_name = fairwind_congestion::kernel_name_of(&name).unwrap_or_default();
            let source = fairwind_congestion::source_of(&name).unwrap_or_default();
            (name, kernel_name, source)
        })
        .collect()
}

/// What a compiled congestion control was compiled against: a library made of other headers is not to be loaded.
#[pyfunction]
pub(crate) fn control_interface() -> String {
    fairwind_congestion::interface()
}

/// Whether a text is a name that scenarios may have for a congestion control; else what is wrong with it.
#[pyfunction]
pub(crate) fn control_name_fault(name: &str) -> Option<String> {
    name.parse::<fairwind_scenario::Congestion>().err().map(|error| error.to_string())
}

/// The owner of a congestion control's kernel name, if there is one.
#[pyfunction]
pub(crate) fn owner_of_kernel_name(kernel_name: &str) -> Option<&'static str> {
    fairwind_congestion::owner_of_kernel_name(kernel_name)
}

/// Compiles a source for the simulator, and gives the kernel's name for it, what the compiler warned of, and the files
/// that it includes.
#[pyfunction]
pub(crate) fn compile_control(
    py: Python<'_>,
    source: PathBuf,
    library: PathBuf,
) -> PyResult<(String, String, Vec<PathBuf>)> {
    py.detach(|| {
        let compiled = fairwind_congestion::compile(&source, &library).map_err(error_from)?;
        let kernel_name =
            fairwind_congestion::kernel_name(&library, &source).map_err(error_from)?;
        Ok((kernel_name, compiled.warnings, compiled.included))
    })
}

/// Compiles a source for a kernel, and gives what the compiler warned of, and the files that it includes.
#[pyfunction]
pub(crate) fn compile_control_object(
    py: Python<'_>,
    source: PathBuf,
    object: PathBuf,
) -> PyResult<(String, Vec<PathBuf>)> {
    let compiled = py.detach(|| fairwind_congestion::compile_object(&source, &object));
    let compiled = compiled.map_err(error_from)?;
    Ok((compiled.warnings, compiled.included))
}

fn error_from(error: impl std::fmt::Display) -> PyErr {
    ControlError::new_err(error.to_string())
}

/// Loads a congestion control into the running kernel, where it stays. Without an object it is the repository's.
#[cfg(target_os = "linux")]
#[pyfunction]
#[pyo3(signature = (name, kernel_name, object=None))]
pub(crate) fn load_control(
    py: Python<'_>,
    name: String,
    kernel_name: String,
    object: Option<Vec<u8>>,
) -> PyResult<()> {
    use fairwind_kernel_settings::controls::{ControlObject, load};
    let object = object.or_else(|| fairwind_congestion::object_of(&name).map(<[u8]>::to_vec));
    let control = ControlObject { name, kernel_name, object: object.unwrap_or_default() };
    py.detach(|| load(&control)).map_err(error_from)
}

/// Removes a congestion control that was loaded, by its name in the kernel.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn unload_control(py: Python<'_>, kernel_name: &str) -> PyResult<()> {
    py.detach(|| fairwind_kernel_settings::controls::unload(kernel_name)).map_err(error_from)
}

/// The kernel's names of those that were loaded, or why they cannot be looked for.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn loaded_controls(py: Python<'_>) -> PyResult<Vec<String>> {
    py.detach(fairwind_kernel_settings::controls::loaded).map_err(error_from)
}
