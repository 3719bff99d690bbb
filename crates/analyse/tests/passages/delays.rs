//! Delays of the three layers, and over time.

use crate::world::{World, assert_conserved, data, number, stamped};
use fairwind_analyse::one_way::OneWaySettings;
use fairwind_units::Span;

#[test]
fn gap_delays_only_application_layer() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 100), 1));
    world.sent(10, &stamped(data(200, 100), 10));
    world.passed(20, &stamped(data(300, 100), 20));
    let hole = world.sent(100, &stamped(data(200, 100), 100));
    assert_eq!((hole.new_end, hole.in_order_end), (None, None));
    let filled = world.came(110, &stamped(data(200, 100), 100));
    assert_eq!(filled.in_order_end, Some(300));
    let (_, report) = world.end();
    // Delays of the three packets: 10 each; 10, 100, 10; 10, 100, 90.
    let mean = |layer| report.delay(layer, "mean_s");
    assert_eq!(mean("network"), 10.0);
    assert_eq!(mean("transport"), 40.0);
    assert!((mean("application") - 200.0 / 3.0).abs() < 1e-6);
    assert_eq!(report.delay("application", "variation_max_s"), 90.0);
    assert_eq!(report.delay("application", "p50_s").round(), 90.0);
    assert_eq!(report.delay("network", "variation_mean_s"), 0.0);
    assert_conserved(&report);
}

#[test]
fn new_and_delivered_bytes_are_reported() {
    let mut world = World::new(OneWaySettings::default());
    let first = world.sent(0, &data(u32::MAX - 49, 100));
    assert_eq!(first.new_end, Some(100));
    let second = world.sent(1, &data(50, 100));
    assert_eq!(second.new_end, Some(200), "over the end of sequence space");
    assert_eq!(world.came(10, &data(u32::MAX - 49, 100)).in_order_end, Some(100));
    assert_eq!(world.came(11, &data(50, 100)).in_order_end, Some(200));
    let (_, report) = world.end();
    assert_conserved(&report);
}

#[test]
fn queueing_has_windows() {
    let mut world = World::new(OneWaySettings {
        intervals: vec![Span::from_millis(100)],
        ..OneWaySettings::default()
    });
    for (packet, queue) in [(0, 0), (1, 4), (2, 8), (10, 20)] {
        let packet_data = data(packet * 10, 10);
        world.sent(u64::from(packet) * 10, &packet_data);
        world.came(u64::from(packet) * 10 + 30 + queue, &packet_data);
    }
    let (_, report) = world.end();
    let table = report.groups.get("queueing").unwrap();
    let row = |row: usize| {
        ["start_s", "ranges", "min_s", "mean_s", "max_s"].map(|column| number(table, column, row))
    };
    assert_eq!(table.rows(), 2);
    assert_eq!(row(0), [0.0, 3.0, 0.0, 0.004, 0.008]);
    assert_eq!(row(1), [0.1, 1.0, 0.020, 0.020, 0.020]);
}
