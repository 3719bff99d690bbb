//! A real program behind an emulated path.

use crate::packetdrill::KernelUnavailable;
use pyo3::prelude::*;

#[cfg(target_os = "linux")]
mod linux {
    use super::KernelUnavailable;
    use crate::errors::SimulationError;
    use fairwind_scenario::Experiment;
    use fairwind_testbed::host::HostCommand;
    use fairwind_testbed::shell::{self, Opened, ShellPlan, User};
    use pyo3::prelude::*;
    use std::net::IpAddr;

    pub(super) fn serve(arguments: &[String]) -> Option<i32> {
        shell::serve(arguments)
    }

    pub(super) fn run(
        py: Python<'_>,
        (experiment_json, seed): (&str, u64),
        program: Vec<String>,
        mut host_command: Vec<String>,
        user: Option<(String, u32, u32)>,
        opened: Py<PyAny>,
    ) -> PyResult<(i32, Option<String>)> {
        let experiment: Experiment = serde_json::from_str(experiment_json).map_err(|error| {
            SimulationError::new_err(format!("not a resolved experiment: {error}"))
        })?;
        let user = user.map(|(name, user, group)| User { name, user, group });
        let plan = ShellPlan { experiment, seed, program, user };
        let arguments = host_command.split_off(1.min(host_command.len()));
        let command = HostCommand {
            program: host_command.pop().unwrap_or_default().into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        };
        let tell = |all: &Opened| {
            Python::attach(|py| {
                let told = (texts(&all.outside), texts(&all.inside), all.remarks.clone());
                // The program runs already; a caller that cannot be told is not a reason to end it.
                if let Err(error) = opened.call1(py, told) {
                    error.write_unraisable(py, None);
                }
            });
        };
        let outcome = py.detach(|| shell::run(&plan, &command, tell));
        let outcome = outcome.map_err(|error| KernelUnavailable::new_err(error.to_string()))?;
        Ok((outcome.code, outcome.not_started))
    }

    fn texts(addresses: &[IpAddr]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }
}

/// Runs a program behind the path of a resolved experiment until it ends. Gives its exit code, and
/// why it could not be started, if so. `opened` is called with the addresses outside and inside and
/// with remarks.
#[pyfunction]
#[pyo3(signature = (experiment_json, seed, program, host_command, opened, user=None))]
pub(crate) fn run_shell(
    py: Python<'_>,
    experiment_json: &str,
    seed: u64,
    program: Vec<String>,
    host_command: Vec<String>,
    opened: Py<PyAny>,
    user: Option<(String, u32, u32)>,
) -> PyResult<(i32, Option<String>)> {
    #[cfg(target_os = "linux")]
    return linux::run(py, (experiment_json, seed), program, host_command, user, opened);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (py, experiment_json, seed, program, host_command, user, opened);
        Err(KernelUnavailable::new_err("this system is not Linux"))
    }
}

/// Is one of the other processes of a shell, the one that plays `role`, and gives its exit code.
#[pyfunction]
pub(crate) fn serve_shell(role: String, descriptor: String) -> PyResult<i32> {
    #[cfg(target_os = "linux")]
    let code = linux::serve(&[role.clone(), descriptor]);
    #[cfg(not(target_os = "linux"))]
    let code = None;
    let unknown = || KernelUnavailable::new_err(format!("no process of a shell is a {role}"));
    code.ok_or_else(unknown)
}
