//! Experiments and their runs.

use fairwind_assembly::{CaptureFiles, Control};
use fairwind_hosts::HostCommand;
use fairwind_measure::{Table, Tables};
use fairwind_scenario::{Document, Experiment};
use fairwind_testbed::{KernelRun, Outcome, RunError};

/// The hosts' program; `mark` stands on its command line, and means nothing to it.
pub(crate) fn command(mark: &str) -> HostCommand {
    HostCommand {
        program: env!("CARGO_BIN_EXE_fairwind-host").into(),
        arguments: vec![mark.into()],
    }
}

pub(crate) fn experiment(text: &str) -> Experiment {
    let document = Document::parse("test.toml", text).expect("the scenario is valid");
    document.experiment(&document.grid().expect("a grid")[0]).expect("the scenario is complete")
}

/// The first seconds of a path of 5 Mbit/s with these further lines.
pub(crate) fn path(duration: &str, further: &str) -> Experiment {
    experiment(&format!(
        "name = \"a test\"\nduration = \"{duration}\"\n[path]\nrate = \"5 Mbit/s\"\nrtt = \"20 ms\"\n\
         queue = {{ limit = \"20 packets\" }}\n{further}"
    ))
}

pub(crate) fn run(experiment: &Experiment, mark: &str) -> Result<Outcome, RunError> {
    run_with(experiment, mark, CaptureFiles::default(), &Control::default())
}

pub(crate) fn run_with(
    experiment: &Experiment,
    mark: &str,
    files: CaptureFiles,
    control: &Control,
) -> Result<Outcome, RunError> {
    KernelRun::new(experiment, 1, files, command(mark))?.run(control)
}

pub(crate) fn number(table: &Table, column: &str, row: usize) -> f64 {
    let values = table.column(column).unwrap_or_else(|| panic!("there is a column {column}"));
    values.number(row).unwrap_or_else(|| panic!("{column} has a number in row {row}"))
}

pub(crate) fn table<'a>(tables: &'a Tables, name: &str) -> &'a Table {
    tables.get(name).unwrap_or_else(|| panic!("there is a table {name}"))
}
