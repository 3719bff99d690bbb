//! Faults of the definitions of columns, for the tests of all crates that define tables.

use fairwind_measure::{ColumnDefinition, Table, Tables};

/// Whether `definition` defines the column `column` of the table `table`; a `*` in it stands for a percentile.
fn defines(definition: &ColumnDefinition, table: &str, column: &str) -> bool {
    let is_column = match definition.column.split_once('*') {
        None => definition.column == column,
        Some((before, behind)) => column
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(behind))
            .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit())),
    };
    definition.table == table && is_column
}

/// Faults of `definitions` of columns, given tables that have all of them: columns not
/// defined once or not in the order of the list, defined ones that are not there, definitions that are no
/// sentences or have another unit than the name says, columns of a table that are not equally long.
pub(crate) fn definition_faults(definitions: &[ColumnDefinition], tables: &Tables) -> Vec<String> {
    let of_tables = tables.iter().flat_map(|table| table_faults(definitions, table));
    let of_definitions = definitions.iter().flat_map(|defined| {
        let is_there = tables.get(defined.table).is_some_and(|table| {
            table.columns.iter().any(|column| defines(defined, table.name, &column.name))
        });
        let unit = UNITS.iter().find(|(end, _)| defined.column.ends_with(end));
        [
            (!is_there).then_some("is in no table"),
            (!defined.definition.ends_with('.')).then_some("has no sentence for a definition"),
            defined.unit.is_empty().then_some("has no unit"),
            unit.is_some_and(|(_, unit)| *unit != defined.unit).then_some("has another unit"),
        ]
        .into_iter()
        .flatten()
        .map(|fault| format!("{}.{} {fault}", defined.table, defined.column))
    });
    of_tables.chain(of_definitions).collect()
}

/// Units that names end in.
const UNITS: [(&str, &str); 5] = [
    ("_bits_per_second", "bit/s"),
    ("_packets", "packets"),
    ("_bytes", "B"),
    ("_s", "s"),
    ("_ratio", "ratio"),
];

fn table_faults(definitions: &[ColumnDefinition], table: &Table) -> Vec<String> {
    let (mut faults, mut last) = (Vec::new(), 0);
    for column in &table.columns {
        let name = format!("{}.{}", table.name, column.name);
        let mut defining = definitions
            .iter()
            .enumerate()
            .filter(|(_, defined)| defines(defined, table.name, &column.name))
            .map(|(place, _)| place);
        match (defining.next(), defining.next()) {
            (Some(place), None) if place < last => faults.push(format!("{name} is out of order")),
            (Some(place), None) => last = place,
            _ => faults.push(format!("{name} is not defined once")),
        }
        if column.values.len() != table.rows() {
            faults.push(format!("{name} is not as long as its table"));
        }
    }
    faults
}
