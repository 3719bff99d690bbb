//! Runs scenario files on the running kernel and prints their tables.
//!
//! `kernel_run [--seed N] [--table NAME] SCENARIO.toml...`; every cell of a scenario's grid is run once.
//! The program `fairwind-host` has to stand beside this one's folder, where Cargo puts it
//! (`cargo build --bins`). Needs root.

#![expect(clippy::print_stdout, reason = "a program that prints tables")]

#[allow(dead_code, reason = "each example uses a part")]
mod support;

use fairwind_assembly::CaptureFiles;
use fairwind_measure::{Table, Values};
use fairwind_scenario::Document;
use std::fs::read_to_string;
use support::{Failure, run};

fn main() -> Result<(), Failure> {
    let mut seed = 1;
    let mut tables = Vec::new();
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seed" => seed = arguments.next().ok_or("--seed needs a number")?.parse()?,
            "--table" => tables.push(arguments.next().ok_or("--table needs a name")?),
            _ => files.push(argument),
        }
    }
    for file in &files {
        let document = Document::parse(file, &read_to_string(file)?)?;
        for cell in &document.grid()? {
            let experiment = document.experiment(cell)?;
            let outcome = run(&experiment, seed, CaptureFiles::default())?;
            let wanted = |name: &str| tables.is_empty() || tables.iter().any(|one| one == name);
            for table in outcome.tables.iter().filter(|table| wanted(table.name)) {
                print(table);
            }
            for (host, statistics) in &outcome.hosts {
                println!("{host}: {statistics:?}");
            }
        }
    }
    Ok(())
}

/// One line for each column, with the values of all rows.
fn print(table: &Table) {
    println!("{} ({} rows)", table.name, table.rows());
    for column in &table.columns {
        let values: Vec<String> =
            (0..table.rows().min(12)).map(|row| shown(&column.values, row)).collect();
        println!("  {:<36} {}", column.name, values.join("  "));
    }
}

fn shown(values: &Values, row: usize) -> String {
    match values {
        Values::Bool(values) => values[row].to_string(),
        Values::Text(values) => values[row].to_owned(),
        _ => values.number(row).map_or_else(|| "-".to_owned(), |number| format!("{number:.6}")),
    }
}
