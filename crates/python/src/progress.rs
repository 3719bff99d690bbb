//! How a Python thread follows a simulation in another, and stops it.

use fairwind_simulation::Control;
use pyo3::prelude::*;
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

    /// Asks the simulation to stop soon.
    fn cancel(&self) {
        self.control.cancel();
    }
}
