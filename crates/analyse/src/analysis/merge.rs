//! Rows of one table that come in parts.

use fairwind_measure::{Table, Tables, Values};

/// Adds tables to others: rows of a table that is there already come behind its rows.
pub(super) fn append(tables: &mut Tables, more: impl IntoIterator<Item = Table>) {
    for table in more {
        match tables.tables.iter_mut().find(|there| there.name == table.name) {
            Some(there) => extend(there, table),
            None => tables.tables.push(table),
        }
    }
}

fn extend(table: &mut Table, more: Table) {
    let columns = table.columns.iter_mut().zip(more.columns);
    for (column, more) in columns.filter(|(column, more)| column.name == more.name) {
        extend_values(&mut column.values, more.values);
    }
}

fn extend_values(values: &mut Values, more: Values) {
    match (&mut *values, more) {
        (Values::U64(values), Values::U64(more)) => values.extend(more),
        (Values::OptionalU64(values), Values::OptionalU64(more)) => values.extend(more),
        (Values::F64(values), Values::F64(more)) => values.extend(more),
        (Values::OptionalF64(values), Values::OptionalF64(more)) => values.extend(more),
        (Values::Text(values), Values::Text(more)) => values.append(&more),
        (Values::Bool(values), Values::Bool(more)) => values.extend(more),
        (Values::OptionalBool(values), Values::OptionalBool(more)) => values.extend(more),
        // One part may miss what the other has: then both may.
        (_, more) => extend_mixed(values, &more),
    }
}

fn extend_mixed(values: &mut Values, more: &Values) {
    let whole = |values: &Values| match values {
        Values::U64(values) => Some(values.iter().copied().map(Some).collect()),
        Values::OptionalU64(values) => Some(values.clone()),
        _ => None,
    };
    *values = if let (Some(first), Some(second)) = (whole(values), whole(more)) {
        Values::OptionalU64([first, second].concat())
    } else {
        let all = [&*values, more];
        let numbers = all.iter().flat_map(|part| (0..part.len()).map(|row| part.number(row)));
        Values::OptionalF64(numbers.collect())
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_measure::TableBuilder;

    #[test]
    fn rows_of_one_name_come_behind_each_other() {
        let part =
            |name, rows: &[u64]| TableBuilder::new(name, rows).with("it", |row| *row).build();
        let maybe = TableBuilder::new("a", &[None, Some(4_u64)]).with("it", |row| *row).build();
        let mut tables = Tables { tables: vec![part("a", &[1, 2])] };
        append(&mut tables, [part("b", &[9]), part("a", &[3]), maybe]);
        let numbers = |name: &str| {
            let values = tables.get(name).and_then(|table| table.column("it")).expect("a column");
            (0..values.len()).map(|row| values.number(row)).collect::<Vec<_>>()
        };
        assert_eq!(numbers("a"), [Some(1.0), Some(2.0), Some(3.0), None, Some(4.0)]);
        assert_eq!(numbers("b"), [Some(9.0)]);
    }
}
