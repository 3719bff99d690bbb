//! Rates of rows that were handed out before the measured time was known.

use crate::formula::bits_per_second;
use crate::table::{Table, Values};
use fairwind_units::Span;

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

/// The rates over the measured time of tables whose rows [`take_retired`](crate::Collector::take_retired)
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
