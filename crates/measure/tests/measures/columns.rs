//! The list of columns and the tables agree.

use crate::definitions::definition_faults;
use crate::run::{Run, settings};
use fairwind_measure::{
    DefinitionLine, Lateness, Settings, TableBuilder, Tables, columns, control_complaints_table,
    define, hosts_table, remembered_table, resumptions_table, senders_table,
};
use fairwind_units::Span;

fn all_tables() -> fairwind_measure::Tables {
    let described = Settings {
        intervals: vec![Span::from_millis(100)],
        per_flow_intervals: true,
        keeps_endpoint_samples: true,
        ..settings("ab")
    };
    let mut run = Run::new(&described);
    run.send(0, 0, 0, 100).acknowledge(20, 0, 100);
    let mut tables = run.finish(500);
    // What only runs in real time have.
    tables.tables.push(Lateness::new(Span::from_micros(200)).table());
    tables.tables.push(hosts_table(&[]));
    tables.tables.push(control_complaints_table(&[]));
    tables.tables.push(senders_table(&[]));
    tables.tables.push(resumptions_table(&[]));
    tables.tables.push(remembered_table(Vec::new()));
    tables
}

#[test]
fn every_column_is_defined_once_in_order() {
    assert_eq!(definition_faults(columns(), &all_tables()), [""; 0]);
}

#[test]
fn definition_faults_are_found() {
    const ONE: &[DefinitionLine] = &[("first_s", "B", "No"), ("second", "", "A sentence.")];
    const TWICE: &[DefinitionLine] =
        &[("second", "B", "A sentence."), ("nowhere_bytes", "B", "It.")];
    let rows = [1_u64];
    let table = TableBuilder::new("table", &rows)
        .with("second", |row| *row)
        .with("first_s", |row| *row)
        .with("third", |row| *row)
        .build();
    let tables = Tables { tables: vec![table] };
    let faults = definition_faults(&define(&[("table", &[ONE])]), &tables);
    let expected = [
        "table.first_s is out of order",
        "table.third is not defined once",
        "table.first_s has no sentence for a definition",
        "table.first_s has another unit",
        "table.second has no unit",
    ];
    assert_eq!(faults, expected);
    let faults = definition_faults(&define(&[("table", &[ONE, TWICE])]), &tables);
    assert!(faults.contains(&"table.second is not defined once".to_owned()), "{faults:?}");
    assert!(faults.contains(&"table.nowhere_bytes is in no table".to_owned()), "{faults:?}");
}

#[test]
fn tables_always_come_in_the_same_order() {
    let tables = Run::new(&settings("")).finish(1);
    let names: Vec<_> = tables.iter().map(|table| table.name).collect();
    let expected = [
        "flows",
        "groups",
        "intervals",
        "latencies",
        "latency_histogram",
        "queues",
        "queue_drops",
        "queue_loss_runs",
        "queue_loss_run_lengths",
        "queue_sojourn_histogram",
        "queue_backlog_histogram",
        "queue_intervals",
        "slots",
        "slot_intervals",
        "queue_events",
        "fairness",
        "endpoint",
    ];
    assert_eq!(names, expected);
}
