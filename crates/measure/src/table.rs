//! Plain columns, of no library: what leaves this room.

use crate::formula;
use crate::texts::TextColumn;

/// The values of one column, one for each row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Whole numbers that may be missing.
    OptionalU64(Vec<Option<u64>>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Real numbers that may be missing.
    OptionalF64(Vec<Option<f64>>),
    /// Names.
    Text(TextColumn),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Yes or no, which may be missing.
    OptionalBool(Vec<Option<bool>>),
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::OptionalU64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::OptionalF64(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::OptionalBool(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in `row`, as a real one; `None` where it is missing or no number.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::U64(values) => values.get(row).copied().map(formula::real),
            Self::OptionalU64(values) => values.get(row).copied().flatten().map(formula::real),
            Self::F64(values) => values.get(row).copied(),
            Self::OptionalF64(values) => values.get(row).copied().flatten(),
            Self::Text(_) | Self::Bool(_) | Self::OptionalBool(_) => None,
        }
    }

    /// The text in `row`; `None` where the column has none.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text(values) => values.get(row),
            _ => None,
        }
    }
}

macro_rules! values_from {
    ($($item:ty => $variant:ident),* $(,)?) => {
        $(impl From<Vec<$item>> for Values {
            fn from(values: Vec<$item>) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

values_from! {
    u64 => U64,
    Option<u64> => OptionalU64,
    f64 => F64,
    Option<f64> => OptionalF64,
    bool => Bool,
    Option<bool> => OptionalBool,
}

impl From<Vec<String>> for Values {
    fn from(values: Vec<String>) -> Self {
        Self::Text(values.into_iter().collect())
    }
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, whole words with the unit at the end; see [`columns`](crate::columns).
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// One table; all its columns are equally long.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl Table {
    /// The values of the column `name`.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

/// The tables of one run, always the same ones in the same order; or rows of some of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// The tables of a whole run: `flows`, `groups`, `intervals`, `latencies`, `latency_histogram`, `queues`,
    /// `queue_drops`, `queue_loss_runs`, `queue_loss_run_lengths`,
    /// `queue_sojourn_histogram`, `queue_backlog_histogram`, `queue_events`, `fairness`, `endpoint`.
    pub tables: Vec<Table>,
}

impl Tables {
    /// The table `name`.
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The tables in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Table> {
        self.tables.iter()
    }

    /// Appends the rows of `more` to the tables of the same names; adds tables that are not there yet.
    pub fn append(&mut self, more: impl IntoIterator<Item = Table>) {
        for table in more {
            match self.tables.iter_mut().find(|there| there.name == table.name) {
                Some(there) => extend(there, table),
                None => self.tables.push(table),
            }
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

impl<'a> IntoIterator for &'a Tables {
    type Item = &'a Table;
    type IntoIter = std::slice::Iter<'a, Table>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Tables {
    type Item = Table;
    type IntoIter = std::vec::IntoIter<Table>;

    fn into_iter(self) -> Self::IntoIter {
        self.tables.into_iter()
    }
}

/// Rows on their way to become columns.
///
/// ```
/// use fairwind_measure::TableBuilder;
///
/// let rows = [("a", Some(1_u64)), ("b", None)];
/// let table = TableBuilder::new("letters", &rows)
///     .with_text("name", |row, text| text.push_str(row.0))
///     .with_known("number", |row| row.1)
///     .build();
/// assert_eq!(table.column("number").and_then(|values| values.number(1)), None);
/// ```
#[derive(Debug)]
pub struct TableBuilder<'a, Row> {
    table: Table,
    rows: &'a [Row],
}

impl<'a, Row> TableBuilder<'a, Row> {
    /// The table `name`, with a row for each of `rows` and no columns yet.
    pub const fn new(name: &'static str, rows: &'a [Row]) -> Self {
        Self { table: Table { name, columns: Vec::new() }, rows }
    }

    /// Adds the column `name`, whose value in each row is `value`.
    #[must_use]
    pub fn with<Value>(self, name: &str, value: impl Fn(&Row) -> Value) -> Self
    where
        Values: From<Vec<Value>>,
    {
        let values: Vec<Value> = self.rows.iter().map(value).collect();
        self.with_values(name, values.into())
    }

    /// Adds the column `name`, whose value is missing in rows of which it is not known. Where it is known
    /// in all rows, the column is one that misses none.
    #[must_use]
    pub fn with_known<Value>(self, name: &str, value: impl Fn(&Row) -> Option<Value>) -> Self
    where
        Values: From<Vec<Value>> + From<Vec<Option<Value>>>,
    {
        if self.rows.iter().all(|row| value(row).is_some()) {
            let values: Vec<Value> = self.rows.iter().filter_map(value).collect();
            return self.with_values(name, values.into());
        }
        self.with(name, value)
    }

    /// Adds the column `name`, whose text in each row is what `append` appends.
    #[must_use]
    pub fn with_text(self, name: &str, append: impl Fn(&Row, &mut String)) -> Self {
        let mut texts = TextColumn::with_room(self.rows.len());
        for row in self.rows {
            texts.push_with(|text| append(row, text));
        }
        self.with_values(name, Values::Text(texts))
    }

    /// Adds a column whose values are there already, one for each row.
    #[must_use]
    fn with_values(mut self, name: &str, values: Values) -> Self {
        self.table.columns.push(Column { name: name.to_owned(), values });
        self
    }

    /// The table.
    pub fn build(self) -> Table {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn append_extends_tables_of_same_name() {
        let part =
            |name, rows: &[u64]| TableBuilder::new(name, rows).with("it", |row| *row).build();
        let maybe = TableBuilder::new("a", &[None, Some(4_u64)]).with("it", |row| *row).build();
        let mut tables = Tables { tables: vec![part("a", &[1, 2])] };
        tables.append([part("b", &[9]), part("a", &[3]), maybe]);
        let numbers = |name: &str| {
            let values = tables.get(name).and_then(|table| table.column("it")).expect("a column");
            (0..values.len()).map(|row| values.number(row)).collect::<Vec<_>>()
        };
        assert_eq!(numbers("a"), [Some(1.0), Some(2.0), Some(3.0), None, Some(4.0)]);
        assert_eq!(numbers("b"), [Some(9.0)]);
    }
}
