//! Capabilities of the machine for experiments on the kernel, leftovers of runs, and kernel settings, as
//! JSON text. All are empty where there is no Linux.

use pyo3::prelude::*;
use serde_json::Value;

#[cfg(target_os = "linux")]
mod linux {
    use fairwind_kernel_settings as settings;
    use fairwind_linux::CleanupPaths;
    use fairwind_testbed::capabilities;
    use fairwind_testbed::cleanup::{find, remove};
    use serde_json::{Value, json};

    pub(super) fn capabilities() -> Value {
        json!(capabilities::probe())
    }

    pub(super) fn obstacle() -> Option<String> {
        capabilities::obstacle()
    }

    pub(super) fn leftovers(removes: bool) -> Value {
        let describe = |resource| {
            let problem = if removes { remove(&resource).err() } else { None };
            json!({
                "what": resource.to_string(),
                "problem": problem.map(|error| error.to_string()),
            })
        };
        find(&CleanupPaths::usual()).into_iter().map(describe).collect()
    }

    pub(super) fn kernel_settings() -> Value {
        json!(settings::keys().collect::<Vec<_>>())
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use serde_json::Value;

    pub(super) fn capabilities() -> Value {
        Value::Array(Vec::new())
    }

    pub(super) fn obstacle() -> Option<String> {
        Some("experiments on the kernel need Linux".to_owned())
    }

    pub(super) fn leftovers(_: bool) -> Value {
        Value::Array(Vec::new())
    }

    pub(super) fn kernel_settings() -> Value {
        Value::Array(Vec::new())
    }
}

fn text(py: Python<'_>, gather: impl FnOnce() -> Value + Send) -> String {
    py.detach(|| gather().to_string())
}

/// Everything that experiments on the kernel use: `what`, `state`, `found`, `remedy`.
#[pyfunction]
pub(crate) fn capabilities(py: Python<'_>) -> String {
    text(py, linux::capabilities)
}

/// Why no experiment at all can run on this kernel, and what to do about it; `None` if they can.
#[pyfunction]
pub(crate) fn kernel_obstacle(py: Python<'_>) -> Option<String> {
    py.detach(linux::obstacle)
}

/// Leftovers of ended runs, removed if `remove` is set: `what`, `problem`.
#[pyfunction]
#[pyo3(signature = (*, remove))]
pub(crate) fn leftovers(py: Python<'_>, remove: bool) -> String {
    text(py, || linux::leftovers(remove))
}

/// Kernel settings for each key of a scenario's `tcp` table: `name`, `setting`, `limits`.
#[pyfunction]
pub(crate) fn kernel_settings(py: Python<'_>) -> String {
    text(py, linux::kernel_settings)
}
