//! The list of columns and the tables agree.

use crate::dialogue::Dialogue;
use crate::traces::everything_traced;
use fairwind_analyse::columns;
use fairwind_measure::{Tables, definition_faults};

#[test]
fn every_column_is_defined_once_with_unit_and_sentence_and_in_the_order_of_the_list() {
    let tables = Dialogue::new().set_up(0).analysed_by(everything_traced()).tables;
    let is_of_measure = |name: &str| fairwind_measure::columns().iter().any(|it| it.table == name);
    let own = tables.into_iter().filter(|table| !is_of_measure(table.name)).collect();
    assert_eq!(definition_faults(columns(), &Tables { tables: own }), [""; 0]);
}
