//! What the columns of this room's tables mean.

use crate::{connection, one_way, slowest, stream, trace};
use fairwind_measure::{ColumnDefinition, define};
use std::sync::LazyLock;

/// Every column of the tables that captures have beside those of [`fairwind_measure::columns`], in the order
/// of tables and columns.
pub fn columns() -> &'static [ColumnDefinition] {
    static COLUMNS: LazyLock<Vec<ColumnDefinition>> = LazyLock::new(|| {
        let parts = [
            stream::columns(),
            one_way::columns().to_vec(),
            define(&connection::TABLES),
            define(&[slowest::COLUMNS]),
            define(&[trace::COLUMNS]),
        ];
        parts.concat()
    });
    &COLUMNS
}
