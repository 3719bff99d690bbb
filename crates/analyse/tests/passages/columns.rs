//! Every column is defined, and there.

use crate::definitions::definition_faults;
use crate::world::{World, data, stamped};
use fairwind_analyse::one_way::{OneWaySettings, columns};
use fairwind_measure::Tables;
use fairwind_units::Span;

#[test]
fn every_column_is_defined_once_and_in_order() {
    let mut world = World::new(OneWaySettings {
        intervals: vec![Span::from_secs(1)],
        ..OneWaySettings::default()
    });
    world.passed(0, &stamped(data(100, 100), 1));
    world.sent(1, &stamped(data(200, 100), 2));
    world.passed(2, &stamped(data(300, 100), 3));
    let (_, report) = world.end();
    let faults = definition_faults(columns(), &report.groups);
    assert!(faults.is_empty(), "{faults:#?}");
    let definitions = columns()
        .iter()
        .filter(|column| ["passages", "delays", "first_arrivals"].contains(&column.table));
    let definitions: Vec<_> = definitions.copied().collect();
    let flows = Tables { tables: report.flows.tables };
    let faults = definition_faults(&definitions, &flows);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn loss_runs_are_counted_by_group() {
    let mut world = World::new(OneWaySettings::default());
    for packet in 0..10_u32 {
        let data = stamped(data(packet * 10, 10), packet);
        if [3, 4, 7].contains(&packet) {
            world.sent(u64::from(packet), &data);
        } else {
            world.passed(u64::from(packet), &data);
        }
    }
    let (_, report) = world.end();
    let runs = report.groups.get("loss_runs").unwrap();
    let number = |column| crate::world::number(runs, column, 0);
    assert_eq!((number("packets_sent"), number("packets_lost")), (10.0, 3.0));
    assert_eq!(number("packet_loss_ratio"), 0.3);
    assert_eq!(number("in_succession_ratio"), 2.0 / 3.0);
    assert_eq!(number("among_connections_ratio"), 0.0);
    assert_eq!(number("within_connections_ratio"), 2.0 / 3.0);
    let lengths = report.groups.get("loss_run_lengths").unwrap();
    let row =
        |row| ["length_packets", "runs"].map(|column| crate::world::number(lengths, column, row));
    assert_eq!((lengths.rows(), row(0), row(1)), (2, [1.0, 1.0], [2.0, 1.0]));
}
