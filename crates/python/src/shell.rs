//! A real program behind an emulated path.

use crate::packetdrill::KernelUnavailable;
use crate::simulation::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[cfg(target_os = "linux")]
mod linux {
    use crate::errors::{self, Failure, SimulationError, from_storage};
    use crate::packetdrill::KernelUnavailable;
    use crate::shell::ShellResult;
    use crate::simulation::{Progress, capture_files, experiment, guarded};
    use crate::tables::Table;
    use fairwind_hosts::HostCommand;
    use fairwind_shell::{
        self as shell, Outcome, REPORT_INTERVAL, ShellAddresses, ShellPlan, User,
    };
    use pyo3::prelude::*;
    use std::net::IpAddr;

    pub(super) fn serve(arguments: &[String]) -> Option<i32> {
        shell::serve(arguments)
    }

    /// Arguments of a shell, from Python.
    pub(super) struct Asked<'a> {
        pub(super) experiment_json: &'a str,
        pub(super) seed: u64,
        pub(super) program: Vec<String>,
        pub(super) host_command: Vec<String>,
        pub(super) user: Option<(String, u32, u32)>,
        pub(super) folder: Option<&'a str>,
        pub(super) progress: Option<Py<Progress>>,
    }

    pub(super) fn run<'py>(
        py: Python<'py>,
        asked: Asked<'_>,
        opened: Py<PyAny>,
    ) -> PyResult<ShellResult<'py>> {
        let experiment = experiment(asked.experiment_json).map_err(SimulationError::new_err)?;
        let files = capture_files(&experiment, asked.folder)
            .map_err(|failure| errors::from_failure(&failure, asked.folder))?;
        let plan = ShellPlan {
            experiment,
            seed: asked.seed,
            program: asked.program,
            directory: None,
            is_environment_inherited: true,
            environment: Vec::new(),
            user: asked.user.map(|(name, user, group)| User { name, user, group }),
            is_measured: asked.folder.is_some() || asked.progress.is_some(),
            live: asked.progress.map(|it| it.get().control().live().clone()).unwrap_or_default(),
            report_interval: REPORT_INTERVAL,
            is_time_virtual: false,
        };
        let mut words = asked.host_command.into_iter();
        let command = HostCommand {
            program: words.next().unwrap_or_default().into(),
            arguments: words.map(Into::into).collect(),
        };
        let report = |all: &ShellAddresses| {
            Python::attach(|py| report(py, &opened, all));
            Ok(())
        };
        let run = || Ok(shell::run(&plan, &command, files, report)?);
        let outcome = py.detach(|| guarded(plan.seed, run));
        result(py, &outcome.map_err(|failure| failed(&failure, asked.folder))?)
    }

    fn report(py: Python<'_>, opened: &Py<PyAny>, all: &ShellAddresses) {
        let addresses = (texts(&all.outside), texts(&all.inside), all.remarks.clone());
        // An error in the caller's function does not stop the program.
        if let Err(error) = opened.call1(py, addresses) {
            error.write_unraisable(py, None);
        }
    }

    fn texts(addresses: &[IpAddr]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    fn result<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<ShellResult<'py>> {
        let tables = Table::by_name(py, &outcome.tables.tables)?;
        Ok((outcome.code, outcome.not_started.clone(), tables))
    }

    fn failed(failure: &Failure, folder: Option<&str>) -> PyErr {
        let storage = match failure {
            Failure::Shell(error) => error.storage(),
            _ => None,
        };
        match storage {
            Some(storage) => from_storage(storage, folder.unwrap_or_default()),
            None => KernelUnavailable::new_err(failure.to_string()),
        }
    }
}

/// Exit code of the program, why it could not be started, and tables by name.
type ShellResult<'py> = (i32, Option<String>, Bound<'py, PyDict>);

/// Runs a program behind the path of a resolved experiment until it ends. Gives its exit code, and
/// why it could not be started, if so, and tables: of its flows where `folder` is given, into which
/// captures go as well, and of the path's punctuality. `opened` is called with the addresses outside
/// and inside and with remarks. With `progress` the flows are counted while the program runs.
#[pyfunction]
#[pyo3(signature = (experiment_json, seed, program, host_command, opened, *, user=None, folder=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn run_shell<'py>(
    py: Python<'py>,
    experiment_json: &str,
    seed: u64,
    program: Vec<String>,
    host_command: Vec<String>,
    opened: Py<PyAny>,
    user: Option<(String, u32, u32)>,
    folder: Option<&str>,
    progress: Option<Py<Progress>>,
) -> PyResult<ShellResult<'py>> {
    #[cfg(target_os = "linux")]
    {
        let asked =
            linux::Asked { experiment_json, seed, program, host_command, user, folder, progress };
        linux::run(py, asked, opened)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (py, experiment_json, seed, program, host_command, user, opened, folder, progress);
        Err(KernelUnavailable::new_err("this system is not Linux"))
    }
}

/// Is one of the other processes of a shell, the one that plays `role`, and gives its exit code.
#[pyfunction]
pub(crate) fn serve_shell(role: String, descriptor: String) -> PyResult<i32> {
    #[cfg(target_os = "linux")]
    let code = linux::serve(&[role.clone(), descriptor]);
    #[cfg(not(target_os = "linux"))]
    let code: Option<i32> = {
        let _ = descriptor;
        None
    };
    let unknown = || KernelUnavailable::new_err(format!("no process of a shell is a {role}"));
    code.ok_or_else(unknown)
}
