//! Running a scenario given as text.

use fairwind_measure::{Table, Tables, Values};
use fairwind_scenario::{Document, Experiment};
use fairwind_simulation::{Control, Outcome, Simulation};
use std::fmt::Write as _;

pub fn experiment(text: &str) -> Experiment {
    let document = Document::parse("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let point = &document.grid().unwrap()[0];
    document.experiment(point).unwrap_or_else(|errors| panic!("{errors}"))
}

pub fn outcome(text: &str, seed: u64) -> Outcome {
    Simulation::new(&experiment(text), seed).unwrap().run(&Control::default()).unwrap()
}

pub fn tables(text: &str, seed: u64) -> Tables {
    outcome(text, seed).tables
}

/// The value of a column in the row of a name.
pub fn value(table: &Table, key: &str, name: &str, column: &str) -> f64 {
    let names = table.column(key).unwrap_or_else(|| panic!("no column {key}"));
    let row = (0..table.rows())
        .find(|&row| names.text(row) == Some(name))
        .unwrap_or_else(|| panic!("no row {name}"));
    table
        .column(column)
        .unwrap_or_else(|| panic!("no column {column}"))
        .number(row)
        .unwrap_or_else(|| panic!("{column} of {name} is missing"))
}

pub fn group(tables: &Tables, name: &str, column: &str) -> f64 {
    value(tables.get("groups").unwrap(), "group", name, column)
}

/// The sum of a column over all rows.
pub fn sum(table: &Table, column: &str) -> f64 {
    let values = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
    (0..table.rows()).filter_map(|row| values.number(row)).sum()
}

/// Everything in the tables, as bytes that differ where any value differs.
pub fn fingerprint(tables: &Tables) -> String {
    let mut text = String::new();
    for table in tables {
        for column in &table.columns {
            let values = match &column.values {
                Values::F64(values) => {
                    format!("{:?}", values.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
                }
                other => format!("{other:?}"),
            };
            writeln!(text, "{}.{}={values}", table.name, column.name).unwrap();
        }
    }
    text
}
