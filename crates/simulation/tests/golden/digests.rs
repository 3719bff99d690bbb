//! Digests and texts of tables.

use crate::ledger::{Digest, Parts, dump};
use fairwind_measure::{Table, Tables, Values};
use std::fmt::Write as _;

/// A digest of every table that has rows, behind their number.
pub(crate) fn of_tables(case: &str, run: &str, tables: &Tables) -> Parts {
    let part_of = |table: &Table| {
        let part = format!("{run}{}", table.name);
        dump(case, &format!("{part}.csv"), || text(table));
        (part, format!("{}:{}", table.rows(), of_table(table)))
    };
    tables.iter().filter(|table| table.rows() > 0).map(part_of).collect()
}

fn of_table(table: &Table) -> String {
    let mut digest = Digest::default();
    for column in &table.columns {
        digest.text(&column.name);
        digest.text(kind(&column.values));
        column_into(&mut digest, &column.values);
    }
    digest.finish()
}

fn kind(values: &Values) -> &'static str {
    match values {
        Values::U64(_) => "u64",
        Values::OptionalU64(_) => "u64?",
        Values::F64(_) => "f64",
        Values::OptionalF64(_) => "f64?",
        Values::Text(_) => "text",
        Values::Bool(_) => "bool",
        Values::OptionalBool(_) => "bool?",
    }
}

fn column_into(digest: &mut Digest, values: &Values) {
    let mut optional = |value: Option<u64>| {
        digest.bytes(&[u8::from(value.is_some())]);
        digest.number(value.unwrap_or(0));
    };
    match values {
        Values::U64(values) => values.iter().for_each(|it| optional(Some(*it))),
        Values::OptionalU64(values) => values.iter().for_each(|it| optional(*it)),
        Values::F64(values) => values.iter().for_each(|it| optional(Some(it.to_bits()))),
        Values::OptionalF64(values) => values.iter().for_each(|it| optional(it.map(f64::to_bits))),
        Values::Bool(values) => values.iter().for_each(|it| optional(Some(u64::from(*it)))),
        Values::OptionalBool(values) => values.iter().for_each(|it| optional(it.map(u64::from))),
        Values::Text(_) => {
            for row in 0..values.len() {
                digest.text(values.text(row).unwrap_or_default());
            }
        }
    }
}

/// The table as comma-separated values, with every bit of every number.
fn text(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = names.join(",");
    for row in 0..table.rows() {
        text.push('\n');
        for (place, column) in table.columns.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(text, "{comma}{}", value(&column.values, row)).expect("a text takes all");
        }
    }
    text.push('\n');
    text
}

fn value(values: &Values, row: usize) -> String {
    let or_nothing = |text: Option<String>| text.unwrap_or_default();
    match values {
        Values::U64(values) => values[row].to_string(),
        Values::OptionalU64(values) => or_nothing(values[row].map(|it| it.to_string())),
        Values::F64(values) => format!("{:?}", values[row]),
        Values::OptionalF64(values) => or_nothing(values[row].map(|it| format!("{it:?}"))),
        Values::Text(_) => values.text(row).unwrap_or_default().to_owned(),
        Values::Bool(values) => values[row].to_string(),
        Values::OptionalBool(values) => or_nothing(values[row].map(|it| it.to_string())),
    }
}
