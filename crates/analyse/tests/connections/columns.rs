//! The list of columns and the tables agree.

use crate::definitions::definition_faults;
use crate::dialogue::{Dialogue, Pair};
use crate::traces::everything_traced;
use fairwind_analyse::{Settings, columns};
use fairwind_measure::Tables;
use fairwind_units::Span;
use fairwind_wire::Flags;

#[test]
fn every_column_is_defined_once_in_order() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(100_000).client(150_000, Flags::ACK, (1, 1, 100));
    let settings = Settings { intervals: vec![Span::from_secs(1)], ..everything_traced() };
    let tables = Pair::of(&dialogue).analysed_by(settings).tables;
    let is_of_measure = |name: &str| fairwind_measure::columns().iter().any(|it| it.table == name);
    let own = tables.into_iter().filter(|table| !is_of_measure(table.name)).collect();
    assert_eq!(definition_faults(columns(), &Tables { tables: own }), [""; 0]);
}
