//! Simulation of one experiment, and what runs of any kind share.

use crate::controls::{self, Fault, Origin};
use crate::errors::{self, Failure, SimulationError};
use crate::tables::Table;
use fairwind_scenario::Experiment;
use fairwind_simulation::{CaptureFiles, Control, Simulation, SimulationInputs};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Progress of one simulation; may be read and cancelled from any thread.
#[pyclass(frozen, module = "fairwind._core")]
pub(crate) struct Progress {
    control: Arc<Control>,
}

impl Progress {
    pub(crate) fn control(&self) -> Arc<Control> {
        self.control.clone()
    }
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Self { control: Arc::default() }
    }

    /// Share of the experiment's time that has passed, 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        self.control.fraction()
    }

    /// The newest counts of the run as JSON text, unless they were given before; asks for the next.
    fn live_counts(&self) -> Option<String> {
        self.control.live().take()
    }

    /// Asks the simulation to stop soon.
    fn cancel(&self) {
        self.control.cancel();
    }
}

/// Rows of the table `queue_events` that are handed on at once.
const ROWS_AT_ONCE: usize = 1 << 17;

/// Runs one resolved experiment and gives its tables by name. Other Python threads run meanwhile. `queue_events` is
/// called with rows of that table as they come, where there are many; the last ones are in what is given.
/// `controls` are congestion controls that are not the repository's, each with its library or its class.
#[pyfunction]
#[pyo3(signature = (experiment_json, seed, progress=None, capture=None, queue_events=None, controls=Vec::new()))]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    experiment_json: &str,
    seed: u64,
    progress: Option<Py<Progress>>,
    capture: Option<&str>,
    queue_events: Option<Py<PyAny>>,
    controls: Vec<(String, Origin)>,
) -> PyResult<Bound<'py, PyDict>> {
    let experiment = experiment(experiment_json).map_err(SimulationError::new_err)?;
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
    Table::by_name(py, &outcome.tables.tables)
}

/// Reads an experiment that a plan has resolved.
pub(crate) fn experiment(json: &str) -> Result<Experiment, String> {
    serde_json::from_str(json).map_err(|error| format!("not a resolved experiment: {error}"))
}

/// A broken invariant becomes an error that names the seed, never a crash of the notebook.
pub(crate) fn guarded<T>(
    seed: u64,
    run: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
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
pub(crate) fn capture_files(
    experiment: &Experiment,
    folder: Option<&str>,
) -> Result<CaptureFiles, Failure> {
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
