//! The list of columns and the tables agree.

use crate::run::{Run, settings};
use fairwind_measure::{Lateness, Settings, columns, hosts_table};
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
    tables
}

#[test]
fn every_column_is_defined_once_and_in_the_order_of_the_list() {
    for table in &all_tables() {
        let mut places = Vec::new();
        for column in &table.columns {
            let defining: Vec<usize> = (0..columns().len())
                .filter(|&place| columns()[place].defines(table.name, &column.name))
                .collect();
            assert_eq!(defining.len(), 1, "{}.{} is defined once", table.name, column.name);
            places.extend(defining);
        }
        assert!(places.is_sorted(), "the columns of {} are in the order of the list", table.name);
    }
}

#[test]
fn every_defined_column_is_in_its_table() {
    let tables = all_tables();
    for defined in columns() {
        let table = tables.get(defined.table).expect("the table exists");
        let is_there = table.columns.iter().any(|column| defined.defines(table.name, &column.name));
        assert!(is_there, "{}.{} is in the tables", defined.table, defined.column);
    }
}

#[test]
fn every_definition_is_a_sentence_with_a_unit() {
    for defined in columns() {
        assert!(!defined.unit.is_empty(), "{}", defined.column);
        assert!(defined.definition.ends_with('.'), "{}", defined.definition);
    }
}

#[test]
fn units_at_the_end_of_names_are_those_of_the_list() {
    let units = [
        ("_bits_per_second", "bit/s"),
        ("_packets", "packets"),
        ("_bytes", "B"),
        ("_s", "s"),
        ("_ratio", "ratio"),
    ];
    for defined in columns() {
        if let Some((_, unit)) = units.iter().find(|(end, _)| defined.column.ends_with(end)) {
            assert_eq!(defined.unit, *unit, "{}.{}", defined.table, defined.column);
        }
    }
}

#[test]
fn the_columns_of_a_table_are_equally_long() {
    for table in &all_tables() {
        assert!(
            table.columns.iter().all(|column| column.values.len() == table.rows()),
            "{}",
            table.name
        );
    }
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
        "fairness",
        "endpoint",
    ];
    assert_eq!(names, expected);
}
