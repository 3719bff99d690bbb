//! Measured tables as bytes, out of an instance.

use fairwind_measure::{Column, Table, TextColumn, Values, columns};
use serde::{Deserialize, Serialize};

/// A table whose name is any text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferTable {
    /// Its name.
    pub name: String,
    /// Names and values of its columns.
    pub columns: Vec<(String, TransferValues)>,
}

/// The values of one column, as [`Values`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TransferValues {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Whole numbers that may be missing.
    OptionalU64(Vec<Option<u64>>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Real numbers that may be missing.
    OptionalF64(Vec<Option<f64>>),
    /// Names.
    Text(Vec<String>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Yes or no, which may be missing.
    OptionalBool(Vec<Option<bool>>),
}

impl From<Table> for TransferTable {
    fn from(table: Table) -> Self {
        let each = table.columns.into_iter();
        Self {
            name: table.name.to_owned(),
            columns: each.map(|column| (column.name, column.values.into())).collect(),
        }
    }
}

impl TransferTable {
    /// The table as the measures make it; `None` where no measure has a table of this name.
    pub fn into_measured(self) -> Option<Table> {
        let name = columns().iter().find(|column| column.table == self.name)?.table;
        let each = self.columns.into_iter();
        let columns = each.map(|(name, values)| Column { name, values: values.into() }).collect();
        Some(Table { name, columns })
    }
}

impl From<Values> for TransferValues {
    fn from(values: Values) -> Self {
        match values {
            Values::U64(values) => Self::U64(values),
            Values::OptionalU64(values) => Self::OptionalU64(values),
            Values::F64(values) => Self::F64(values),
            Values::OptionalF64(values) => Self::OptionalF64(values),
            Values::Text(texts) => Self::Text(texts.iter().map(str::to_owned).collect()),
            Values::Bool(values) => Self::Bool(values),
            Values::OptionalBool(values) => Self::OptionalBool(values),
        }
    }
}

impl From<TransferValues> for Values {
    fn from(values: TransferValues) -> Self {
        match values {
            TransferValues::U64(values) => Self::U64(values),
            TransferValues::OptionalU64(values) => Self::OptionalU64(values),
            TransferValues::F64(values) => Self::F64(values),
            TransferValues::OptionalF64(values) => Self::OptionalF64(values),
            TransferValues::Text(texts) => Self::Text(texts.iter().collect::<TextColumn>()),
            TransferValues::Bool(values) => Self::Bool(values),
            TransferValues::OptionalBool(values) => Self::OptionalBool(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_back_as_they_went() {
        let values = |values: Values| Column { name: "values".to_owned(), values };
        let columns = vec![
            values(Values::U64(vec![0, u64::MAX])),
            values(Values::OptionalU64(vec![None, Some(7)])),
            values(Values::F64(vec![0.1, -3.5])),
            values(Values::OptionalF64(vec![Some(0.1), None])),
            values(Values::Text(["fast", ""].into_iter().collect())),
            values(Values::Bool(vec![true, false])),
            values(Values::OptionalBool(vec![None, Some(true)])),
        ];
        let table = Table { name: "flows", columns };
        let sent = TransferTable::from(table.clone());
        let bytes = postcard::to_allocvec(&sent).expect("plain values");
        let received: TransferTable = postcard::from_bytes(&bytes).expect("what was sent");
        assert_eq!(received.into_measured(), Some(table));
    }

    #[test]
    fn unknown_table_is_refused() {
        let table = TransferTable { name: "teapots".to_owned(), columns: Vec::new() };
        assert_eq!(table.into_measured(), None);
    }
}
