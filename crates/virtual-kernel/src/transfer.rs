//! Measured tables as bytes, out of an instance.

use fairwind_measure::{Column, Table, columns};
use serde::{Deserialize, Serialize};

/// A table whose name is any text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl From<Table> for TransferTable {
    fn from(table: Table) -> Self {
        Self { name: table.name.to_owned(), columns: table.columns }
    }
}

impl TransferTable {
    /// The table as the measures make it; `None` where no measure has a table of this name.
    pub fn into_measured(self) -> Option<Table> {
        let name = columns().iter().find(|column| column.table == self.name)?.table;
        Some(Table { name, columns: self.columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_measure::Values;

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
