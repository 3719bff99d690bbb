//! Delays of the three layers, and over time.

use crate::world::{World, assert_conserved, bare, data, ms, number, stamped};
use fairwind_analyse::one_way::{ClockModel, OneWaySettings};
use fairwind_units::Span;
use fairwind_wire::Flags;

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

/// A packet every 10 ms from `from`, of 100 bytes, that arrives `delay` ms later; acknowledgments take 30 ms.
fn stream(world: &mut World, from: u64, packets: u64, delay: u64) {
    for packet in 0..packets {
        let at = from + packet * 10;
        let segment = data(u32::try_from(at).unwrap() * 10, 100);
        world.sent(at, &segment);
        world.came(at + delay, &segment);
        let acknowledgment = bare(Flags::ACK, 1, u32::try_from(at).unwrap() * 10 + 100);
        world.sent_back(at + delay, &acknowledgment);
        world.came_back(at + delay + 30, &acknowledgment);
    }
}

/// One-way delays are 30 ms until 1 s, and then 80 ms: of the part from 1 s on, all 50 ms are variation.
#[test]
fn queue_that_stands_in_whole_part_is_variation() {
    for clock in [ClockModel::Shared, ClockModel::Apart] {
        let intervals = vec![Span::from_secs(1)];
        let mut world =
            World::new(OneWaySettings { clock, intervals, ..OneWaySettings::default() });
        stream(&mut world, 0, 100, 30);
        world.passages.reset_counts(ms(1_000));
        stream(&mut world, 1_000, 100, 80);
        let (_, report) = world.end();
        assert_eq!(report.delay("network", "payload_bytes"), 10_000.0 * 1e3, "{clock:?}");
        for column in ["min_s", "mean_s", "max_s"] {
            assert_eq!(report.delay("network", column), 80.0, "{clock:?} {column}");
        }
        for layer in ["network", "transport", "application"] {
            assert_eq!(report.delay(layer, "variation_mean_s"), 50.0, "{clock:?} {layer}");
        }
        let queueing = report.groups.get("queueing").unwrap();
        assert_eq!(queueing.rows(), 1);
        assert_eq!(number(queueing, "min_s", 0), 0.05);
        let delays = report.groups.get("delays").unwrap();
        assert_eq!(number(delays, "variation_max_s", 0), 0.05);
    }
}
