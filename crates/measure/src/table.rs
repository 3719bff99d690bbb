//! Tables of plain columns, and the definitions of columns.

use crate::distribution::{PercentileIndex, Percentiles, Summary, percentile_name};
use crate::formula;
use crate::formula::bits_per_second;
use fairwind_units::Span;
use serde::{Deserialize, Serialize};
use std::ops::Index;

/// The values of one column, one for each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

    /// Adds the column `name` with the values of `value`.
    #[must_use]
    pub fn with<Value>(self, name: &str, value: impl Fn(&Row) -> Value) -> Self
    where
        Values: From<Vec<Value>>,
    {
        let values: Vec<Value> = self.rows.iter().map(value).collect();
        self.with_values(name, values.into())
    }

    /// Adds the column `name`; its value is missing in rows where it is unknown. Where it is known
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

    /// Adds the column `name` with the texts that `append` appends.
    #[must_use]
    pub fn with_text(self, name: &str, append: impl Fn(&Row, &mut String)) -> Self {
        let mut texts = TextColumn::with_room(self.rows.len());
        for row in self.rows {
            texts.push_with(|text| append(row, text));
        }
        self.with_values(name, Values::Text(texts))
    }

    /// Adds columns of a distribution of times: `{prefix}mean_s`, one for each of `shown` such as `{prefix}p99_s`, and
    /// `{prefix}max_s`. The summaries were made with `percentiles`.
    ///
    /// # Panics
    /// If one of `shown` is not among `percentiles`.
    #[must_use]
    pub fn with_times(
        self,
        prefix: &str,
        shown: &[f64],
        percentiles: &Percentiles,
        summary: impl Fn(&Row) -> &Summary,
    ) -> Self {
        self.with(&format!("{prefix}mean_s"), |row| summary(row).mean_s())
            .with_percentiles(prefix, "_s", shown, percentiles, |row, place| {
                summary(row).percentile_s(place)
            })
            .with(&format!("{prefix}max_s"), |row| summary(row).maximum_s())
    }

    /// Adds a column for each of `shown`, such as `{prefix}p99{unit}`.
    ///
    /// # Panics
    /// If one of `shown` is not among `percentiles`.
    #[must_use]
    pub fn with_percentiles<Value>(
        mut self,
        prefix: &str,
        unit: &str,
        shown: &[f64],
        percentiles: &Percentiles,
        value: impl Fn(&Row, PercentileIndex) -> Value,
    ) -> Self
    where
        Values: From<Vec<Value>>,
    {
        for &percentile in shown {
            let place = percentiles.place(percentile);
            let name = format!("{prefix}{}{unit}", percentile_name(percentile));
            self = self.with(&name, |row| value(row, place));
        }
        self
    }

    /// Adds a column of given values, one for each row.
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

/// Texts in their order.
///
/// ```
/// use fairwind_measure::TextColumn;
///
/// let texts: TextColumn = ["fast", "", "slow"].into_iter().collect();
/// assert_eq!((texts.len(), texts.get(2), texts.get(3)), (3, Some("slow"), None));
/// ```
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TextColumn {
    characters: String,
    ends: Vec<usize>,
}

impl TextColumn {
    /// No texts, with room for the ends of `texts`.
    pub(crate) fn with_room(texts: usize) -> Self {
        Self { characters: String::new(), ends: Vec::with_capacity(texts) }
    }

    /// Number of texts.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text in `row`.
    pub fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.characters.get(start..end)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.push_with(|characters| characters.push_str(text));
    }

    /// Adds the text that `write` appends to the characters of those before.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.characters);
        self.ends.push(self.characters.len());
    }

    /// Adds others behind them.
    pub fn append(&mut self, others: &Self) {
        let before = self.characters.len();
        self.characters.push_str(&others.characters);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }
}

impl<Text: AsRef<str>> FromIterator<Text> for TextColumn {
    fn from_iter<Source: IntoIterator<Item = Text>>(texts: Source) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}

impl Index<usize> for TextColumn {
    type Output = str;

    fn index(&self, row: usize) -> &str {
        self.get(row).expect("the row is one of the column's")
    }
}

impl std::fmt::Debug for TextColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A column of rates, and the column of the bytes that it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateColumn {
    /// The table that both are in.
    pub table: &'static str,
    /// The rate: eight times the bytes over the measured time, and missing where the bytes are missing.
    pub rate: &'static str,
    /// The bytes.
    pub bytes: &'static str,
}

/// The column with the measured time in seconds, in every table that has rates of it.
const MEASURED_COLUMN: &str = "measured_s";

/// The rates over the measured time in tables with rows that [`take_retired`](crate::Collector::take_retired)
/// hands out.
pub const RATE_COLUMNS: [RateColumn; 2] = [
    RateColumn { table: "flows", rate: "throughput_bits_per_second", bytes: "wire_bytes_received" },
    RateColumn { table: "flows", rate: "goodput_bits_per_second", bytes: "payload_bytes_read" },
];

/// Fills the rates, and the measured time, of rows that were handed out before that was known: as
/// [`finish`](crate::Collector::finish) would have.
pub fn fill_rates(table: &mut Table, measured: Span) {
    let rows = table.rows();
    let rates = RATE_COLUMNS.iter().filter(|column| column.table == table.name);
    let filled: Vec<(&str, Values)> = rates
        .filter_map(|column| Some((column.rate, rates_of(table.column(column.bytes)?, measured))))
        .collect();
    for column in &mut table.columns {
        if column.name == MEASURED_COLUMN {
            column.values = Values::F64(vec![measured.as_secs_f64(); rows]);
        }
        if let Some((_, values)) = filled.iter().find(|(name, _)| column.name == *name) {
            column.values = values.clone();
        }
    }
}

fn rates_of(bytes: &Values, measured: Span) -> Values {
    let rate = |bytes: Option<u64>| bits_per_second(bytes?, measured);
    Values::OptionalF64(match bytes {
        Values::U64(bytes) => bytes.iter().map(|bytes| rate(Some(*bytes))).collect(),
        Values::OptionalU64(bytes) => bytes.iter().map(|bytes| rate(*bytes)).collect(),
        _ => vec![None; bytes.len()],
    })
}

/// The meaning of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// The table.
    pub table: &'static str,
    /// The column's name; a `*` stands for a percentile, as in `p*_s` for `p99_9_s`.
    pub column: &'static str,
    /// Its unit, or what kind of value it is.
    pub unit: &'static str,
    /// Its description, in a sentence.
    pub definition: &'static str,
}

/// Column, unit, definition.
pub type DefinitionLine = (&'static str, &'static str, &'static str);

/// A table and its columns, in parts that tables can share.
pub type TableDefinition = (&'static str, &'static [&'static [DefinitionLine]]);

/// Defines columns of a table, each once: its name, its unit, its value and its definition. Gives the constant with the
/// definitions, and the function that adds the columns to a [`TableBuilder`].
///
/// A value is a method of the builder and its arguments but for the name. `= method(..)` adds several columns; those after
/// the first have `_`.
///
/// ```
/// use fairwind_measure::{TableBuilder, table_columns};
///
/// table_columns! {
///     LETTERS: with_letters(char);
///     "letter", "text", with_text(|letter, text| text.push(*letter)), "The letter.";
///     "code", "number", with(|letter| u64::from(u32::from(*letter))), "Its number in Unicode.";
/// }
/// let table = with_letters(TableBuilder::new("letters", &['a', 'b'])).build();
/// assert_eq!((LETTERS.len(), table.columns.len(), table.rows()), (2, 2, 2));
/// ```
#[macro_export]
macro_rules! table_columns {
    (
        $vis:vis $definitions:ident:
        $add:ident $([$($generics:tt)*])? ($row:ty $(, $argument:ident: $type:ty)*);
        $(
            $name:literal, $unit:literal, $($method:ident ($($value:tt)*))? $(= $all:ident $values:tt)? $(_)?,
            $definition:literal;
        )*
    ) => {
        $vis const $definitions: &[$crate::DefinitionLine] = &[$(($name, $unit, $definition)),*];

        fn $add<'rows $(, $($generics)*)?>(
            table: $crate::TableBuilder<'rows, $row>,
            $($argument: $type),*
        ) -> $crate::TableBuilder<'rows, $row>
        where
            [$row]: 'rows,
        {
            $(
                $(let table = table.$method($name, $($value)*);)?
                $(let table = table.$all $values;)?
            )*
            table
        }
    };
}

/// The columns of these tables one by one, for other crates that define tables.
pub fn define(tables: &[TableDefinition]) -> Vec<ColumnDefinition> {
    let lines = tables
        .iter()
        .flat_map(|(table, parts)| parts.iter().copied().flatten().map(|line| (*table, *line)));
    lines
        .map(|(table, (column, unit, definition))| ColumnDefinition {
            table,
            column,
            unit,
            definition,
        })
        .collect()
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

    #[test]
    fn text_column_keeps_values_when_appended() {
        let words = ["a", "", "größer", "c"];
        let mut texts: TextColumn = words.into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), words);
        let others: TextColumn = ["d".to_owned(), String::new()].into_iter().collect();
        texts.append(&others);
        texts.append(&TextColumn::default());
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "größer", "c", "d", ""]);
        assert_eq!((texts.get(6), &texts[4]), (None, "d"));
        assert_eq!(format!("{texts:?}"), r#"["a", "", "größer", "c", "d", ""]"#);
    }
}
