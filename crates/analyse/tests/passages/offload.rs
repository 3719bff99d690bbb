//! Packets that are cut and joined on the way.

use crate::world::{World, assert_conserved, data, ms, number, stamped};
use fairwind_analyse::one_way::OneWaySettings;

#[test]
fn segmented_packet_is_matched_by_ranges() {
    let mut world = World::new(OneWaySettings::default());
    // 45 packets' worth; the fourth and the last two are lost.
    world.sent(0, &stamped(data(100, 45 * 1448), 1));
    for part in 0..45_u32 {
        if part == 3 || part > 42 {
            continue;
        }
        world.came(10 + u64::from(part), &stamped(data(100 + part * 1448, 1448), 1));
    }
    for (at, part) in [(200, 3), (201, 43), (202, 44)] {
        world.passed(at, &stamped(data(100 + part * 1448, 1448), 200));
    }
    let (lost, report) = world.end();
    assert_eq!(lost.iter().map(|lost| lost.payload_bytes).collect::<Vec<_>>(), [1448; 3]);
    assert!(lost.iter().all(|lost| lost.at == ms(0)));
    let packets = ["packets_sent", "packets_received", "packets_lost", "packets_partly_lost"];
    assert_eq!(report.counts(packets), [4.0, 45.0, 0.0, 1.0]);
    let ranges = ["ranges_received", "ranges_lost", "packets_cut", "payload_bytes_lost"];
    assert_eq!(report.counts(ranges), [45.0, 3.0, 1.0, 3.0 * 1448.0]);
    // What others would call a packet loss of -1025 %.
    assert_eq!(report.count("packet_balance_ratio"), (4.0 - 45.0) / 4.0);
    assert_eq!(report.count("range_loss_ratio"), 3.0 / 48.0);
    let table = report.flows.get("passages").unwrap();
    let offload = table.column("is_cut_by_offload").unwrap();
    assert_eq!(*offload, fairwind_measure::Values::Bool(vec![true]));
    // Each lost part with its own header.
    assert_eq!(report.count("wire_bytes_lost"), 3.0 * 1500.0);
    assert_conserved(&report);
}

#[test]
fn merged_packets_are_matched() {
    let mut world = World::new(OneWaySettings::default());
    for part in 0..4_u32 {
        world.sent(u64::from(part), &stamped(data(100 + part * 1448, 1448), 1));
    }
    world.came(20, &stamped(data(100, 3 * 1448), 1));
    world.came(21, &stamped(data(100 + 3 * 1448, 1448), 1));
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    let counts = ["packets_sent", "packets_received", "packets_merged", "ranges_received"];
    assert_eq!(report.counts(counts), [4.0, 2.0, 1.0, 4.0]);
    assert_eq!(report.delay("network", "min_s"), 18.0);
    assert_eq!(report.delay("network", "max_s"), 20.0);
    assert_conserved(&report);
}

#[test]
fn merged_retransmission_is_matched() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 10), 1));
    for packet in 1..4_u32 {
        world.sent(u64::from(packet), &stamped(data(100 + packet * 10, 10), packet));
    }
    world.sent(300, &stamped(data(110, 30), 300));
    let arrival = world.came(310, &stamped(data(110, 30), 300));
    assert_eq!((arrival.delay, arrival.repeat), (Some(10_000_000), 1));
    assert_eq!(arrival.in_order_end, Some(40));
    let (lost, report) = world.end();
    assert_eq!(lost.iter().map(|lost| lost.at).collect::<Vec<_>>(), [ms(1), ms(2), ms(3)]);
    // Each of the three has its own first departure: 309, 308 and 307 ms.
    assert_eq!(report.delay("transport", "max_s"), 309.0);
    let transport = report.delay("transport", "mean_s");
    assert!((transport - (10.0 + 309.0 + 308.0 + 307.0) / 4.0).abs() < 1e-6, "{transport}");
    assert_conserved(&report);
}

#[test]
fn other_cuts_at_both_ends_lose_no_byte() {
    let mut world = World::new(OneWaySettings::default());
    world.sent(0, &data(0, 3000));
    world.sent(1, &data(3000, 3000));
    // Something in the middle cuts anew, across the borders.
    for (at, start, length) in [(10, 0, 2500), (11, 2500, 2000), (12, 4500, 1500)] {
        world.came(at, &data(start, length));
    }
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.counts(["ranges_received", "payload_bytes_matched"]), [4.0, 6000.0]);
    assert_conserved(&report);
}

#[test]
fn distributions_count_bytes() {
    let mut world = World::new(OneWaySettings::default());
    world.sent(0, &data(0, 900));
    world.came(10, &data(0, 900));
    world.sent(20, &data(900, 100));
    world.came(50, &data(900, 100));
    let (_, report) = world.end();
    let table = report.groups.get("delay_histogram").unwrap();
    let is_row = |row: &usize| {
        let text = |column: &str| table.column(column).unwrap().text(*row).unwrap().to_owned();
        text("layer") == "network" && text("kind") == "variation"
    };
    let rows: Vec<_> = (0..table.rows())
        .filter(is_row)
        .map(|row| ["lower_s", "upper_s", "payload_bytes"].map(|column| number(table, column, row)))
        .collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0][0], rows[0][2]), (0.0, 900.0));
    assert!(rows[1][0] <= 0.020 && 0.020 < rows[1][1]);
    assert_eq!(rows[1][2], 100.0);
}
