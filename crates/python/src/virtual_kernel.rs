//! Experiments and scripts on a kernel in virtual time.

use crate::errors::{self, FairwindError};
use crate::simulation::Progress;
use crate::tables::Table;
use crate::testbed::{described, warn};
use fairwind_virtual_kernel::{
    Answer, Control, ExperimentTask, InstanceError, ProgramTask, ScriptTask, Task, TransferTable,
    VirtualKernel,
};
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

create_exception!(
    fairwind._core,
    VirtualKernelError,
    FairwindError,
    "A kernel in virtual time could not be started, or did not finish."
);

/// The seed of kernels that no experiment runs on.
const NO_SEED: u64 = 1;
/// The folder of an instance, below that of the captures.
const FOLDER: &str = ".instance";

/// A resolved experiment in JSON, with the names in scenarios and in the kernel of congestion controls that are not the
/// repository's.
type NamedExperiment = (String, Vec<(String, String)>);

/// Runs one resolved experiment on a kernel in virtual time, and gives its tables by name. Other Python threads run
/// meanwhile. The instance ends with the calling thread.
#[pyfunction]
pub(crate) fn run_on_virtual_kernel<'py>(
    py: Python<'py>,
    kernel: (PathBuf, PathBuf),
    experiment: NamedExperiment,
    seed: u64,
    progress: Py<Progress>,
    capture: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let control = progress.get().control();
    let task =
        Task::Run { experiment: named(experiment), seed, captures: absolute(Path::new(capture))? };
    let folder = Path::new(capture).join(FOLDER);
    let answer = py.detach(|| virtual_kernel(kernel).perform(task, seed, &folder, &control));
    let answer = answer.map_err(|error| exception(&error, capture))?;
    let Answer::Ran(ran) = answer else { return Err(unexpected()) };
    warn(py, ran.remarks)?;
    tables(py, ran.tables)
}

/// What a kernel in virtual time makes of experiments, one JSON text for all: a list of objects as of
/// `check_on_kernel`. `folder` does not exist yet.
#[pyfunction]
pub(crate) fn check_on_virtual_kernel(
    py: Python<'_>,
    kernel: (PathBuf, PathBuf),
    experiments: Vec<NamedExperiment>,
    folder: &str,
) -> PyResult<String> {
    let task = Task::Check(experiments.into_iter().map(named).collect());
    let Answer::Checked(checked) = ask(py, kernel, task, NO_SEED, folder)? else {
        return Err(unexpected());
    };
    Ok(checked.iter().map(described).collect::<serde_json::Value>().to_string())
}

/// Follows scripts on a kernel in virtual time; each is a file and its text. The list has dictionaries as of
/// `follow_script`. `folder` does not exist yet.
#[pyfunction]
#[pyo3(signature = (kernel, scripts, folder, *, definitions=Vec::new(), options=Vec::new()))]
pub(crate) fn follow_on_virtual_kernel<'py>(
    py: Python<'py>,
    kernel: (PathBuf, PathBuf),
    scripts: Vec<(PathBuf, String)>,
    folder: &str,
    definitions: Vec<(String, String)>,
    options: Vec<(String, Option<String>)>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let script = |(file, text): (PathBuf, String)| -> PyResult<ScriptTask> {
        let (definitions, options) = (definitions.clone(), options.clone());
        Ok(ScriptTask { file: absolute(&file)?, text, definitions, options })
    };
    let task = Task::Scripts(scripts.into_iter().map(script).collect::<PyResult<_>>()?);
    let Answer::Followed(all) = ask(py, kernel, task, NO_SEED, folder)? else {
        return Err(unexpected());
    };
    let each = all.into_iter().map(|script| {
        let answer = PyDict::new(py);
        answer.set_item("outcome", script.verdict)?;
        answer.set_item("line", script.line)?;
        answer.set_item("message", script.message)?;
        answer.set_item("dialogue", script.dialogue)?;
        Ok(answer)
    });
    each.collect()
}

/// Runs a program behind the path of a resolved experiment on a kernel in virtual time, until it ends; results are as of
/// `run_shell`. `outside` are commands of a shell that run at the other end. `folder` does not exist yet; captures go to
/// `report`, where it is given.
#[pyfunction]
#[pyo3(signature = (kernel, experiment_json, seed, program, outside, folder, *, report=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn run_shell_on_virtual_kernel<'py>(
    py: Python<'py>,
    kernel: (PathBuf, PathBuf),
    experiment_json: String,
    seed: u64,
    program: Vec<String>,
    outside: Vec<String>,
    folder: &str,
    report: Option<PathBuf>,
) -> PyResult<(i32, Option<String>, Bound<'py, PyDict>)> {
    let directory = absolute(Path::new("."))?;
    let report = report.as_deref().map(absolute).transpose()?;
    let task = ProgramTask { experiment_json, seed, program, outside, directory, report };
    let answer = ask(py, kernel, Task::Program(task), seed, folder)?;
    let Answer::Ended(ended) = answer else { return Err(unexpected()) };
    warn(py, ended.remarks)?;
    Ok((ended.code, ended.not_started, tables(py, ended.tables)?))
}

fn tables(py: Python<'_>, tables: Vec<TransferTable>) -> PyResult<Bound<'_, PyDict>> {
    let measured: Option<Vec<_>> = tables.into_iter().map(TransferTable::into_measured).collect();
    Table::by_name(py, &measured.ok_or_else(unexpected)?)
}

/// Has an instance answer in a thread of its own, while this one looks for Ctrl-C.
fn ask(
    py: Python<'_>,
    kernel: (PathBuf, PathBuf),
    task: Task,
    seed: u64,
    folder: &str,
) -> PyResult<Answer> {
    let kernel = virtual_kernel(kernel);
    let control = fairwind_simulation::Control::default();
    let (control, path) = (&control, Path::new(folder));
    std::thread::scope(|scope| {
        #[expect(clippy::disallowed_methods, reason = "a person waits, in real time")]
        let pause = || std::thread::sleep(std::time::Duration::from_millis(5));
        let asked = scope.spawn(move || kernel.perform(task, seed, path, control));
        while !asked.is_finished() {
            py.detach(pause);
            if let Err(interrupted) = py.check_signals() {
                control.cancel();
                // The instance ends before the exception goes on.
                let _ = py.detach(|| asked.join());
                return Err(interrupted);
            }
        }
        let answer = asked.join().map_err(|_| unexpected())?;
        answer.map_err(|error| exception(&error, folder))
    })
}

fn virtual_kernel((program, worker): (PathBuf, PathBuf)) -> VirtualKernel {
    VirtualKernel { program, worker, memory_bytes: None }
}

fn named((experiment_json, controls): NamedExperiment) -> ExperimentTask {
    let controls = controls.into_iter();
    let controls = controls.map(|(name, kernel_name)| Control { name, kernel_name });
    ExperimentTask { experiment_json, controls: controls.collect() }
}

/// A path as it is seen from everywhere.
fn absolute(path: &Path) -> PyResult<String> {
    let path = std::path::absolute(path)?;
    path.into_os_string().into_string().map_err(|path| {
        VirtualKernelError::new_err(format!("{} is not a path in UTF-8", path.display()))
    })
}

fn unexpected() -> PyErr {
    VirtualKernelError::new_err(
        "the worker of the kernel is of another build than the command; build both with `make build`",
    )
}

fn exception(error: &InstanceError, folder: &str) -> PyErr {
    match (error, error.storage()) {
        (InstanceError::Cancelled, _) => errors::Cancelled::new_err(error.to_string()),
        (_, Some(storage)) => errors::from_storage(&storage, folder),
        (_, None) => VirtualKernelError::new_err(error.to_string()),
    }
}
