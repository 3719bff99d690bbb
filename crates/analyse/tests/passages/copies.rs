//! Matching of several copies of a packet.

use crate::world::{World, assert_conserved, data, ms, numbered, stamped};
use fairwind_analyse::one_way::OneWaySettings;

fn first(kind: &str, repeat: f64, ranges: f64, bytes: f64) -> (String, f64, f64, f64) {
    (kind.to_owned(), repeat, ranges, bytes)
}

#[test]
fn timestamps_distinguish_late_original_from_retransmission() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 100), 1));
    world.sent(1, &stamped(data(200, 100), 2));
    world.sent(300, &stamped(data(200, 100), 300));
    // The original comes after all, then the repetition.
    let original = world.came(305, &stamped(data(200, 100), 2));
    assert_eq!((original.delay, original.repeat), (Some(304_000_000), 0));
    let repetition = world.came(310, &stamped(data(200, 100), 300));
    assert_eq!((repetition.delay, repetition.repeat), (Some(10_000_000), 1));
    assert_eq!(repetition.in_order_end, None);
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.first_arrivals(), [first("original", 0.0, 2.0, 200.0)]);
    assert_eq!(report.count("packets_duplicated"), 0.0);
    assert_conserved(&report);
}

#[test]
fn identifications_distinguish_copies_without_timestamps() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &numbered(data(100, 100), 1));
    world.sent(1, &numbered(data(200, 100), 2));
    world.sent(300, &numbered(data(200, 100), 3));
    let original = world.came(310, &numbered(data(200, 100), 2));
    assert_eq!(original.delay, Some(309_000_000));
    let (lost, _) = world.end();
    assert_eq!(lost.len(), 0, "the repetition may still come");
}

#[test]
fn each_retransmission_has_its_number() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 100), 1));
    for (at, stamp) in [(1, 2), (300, 300), (900, 900)] {
        world.sent(at, &stamped(data(200, 50), stamp));
    }
    world.passed(2_100, &stamped(data(200, 50), 2_100));
    let (lost, report) = world.end();
    let lost: Vec<_> = lost.iter().map(|lost| lost.at).collect();
    assert_eq!(lost, [ms(1), ms(300), ms(900)]);
    let expected = [first("original", 0.0, 1.0, 100.0), first("retransmission", 3.0, 1.0, 50.0)];
    assert_eq!(report.first_arrivals(), expected);
    // From the first sending on, at the upper layers.
    assert_eq!(report.delay("network", "max_s"), 10.0);
    assert_eq!(report.delay("transport", "max_s"), 2_109.0);
}

#[test]
fn bundle_hits_only_after_loss() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 100), 1));
    // Lost, and brought by the bundle behind it.
    world.sent(100, &stamped(data(200, 100), 100));
    world.passed(200, &stamped(data(200, 180), 200));
    // A bundle of what has come, and one that is lost.
    world.passed(300, &stamped(data(300, 160), 300));
    world.sent(400, &stamped(data(380, 140), 400));
    world.passed(700, &stamped(data(460, 60), 700));
    let (lost, report) = world.end();
    assert_eq!(lost.len(), 2);
    let bundles = ["bundles_sent", "bundles_lost", "bundle_hits", "bundle_misses"];
    assert_eq!(report.counts(bundles), [3.0, 1.0, 1.0, 1.0]);
    let bytes = ["bundled_bytes_sent", "bundled_bytes_hit", "bundled_bytes_missed"];
    assert_eq!(report.counts(bytes), [100.0 + 80.0 + 80.0, 100.0, 80.0]);
    let expected = [
        first("original", 0.0, 3.0, 100.0 + 80.0 + 80.0),
        first("bundle", 0.0, 1.0, 100.0),
        first("retransmission", 1.0, 1.0, 60.0),
    ];
    assert_eq!(report.first_arrivals(), expected);
    assert_conserved(&report);
}

#[test]
fn network_copy_is_not_a_new_arrival() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 100), 1));
    world.sent(1, &stamped(data(200, 100), 2));
    for at in [11, 12, 13] {
        world.came(at, &stamped(data(200, 100), 2));
    }
    // Even while a repetition is under way.
    world.sent(20, &stamped(data(200, 100), 20));
    world.came(25, &stamped(data(200, 100), 2));
    let repetition = world.came(30, &stamped(data(200, 100), 20));
    assert_eq!(repetition.delay, Some(10_000_000));
    let (_, report) = world.end();
    assert_eq!(report.counts(["packets_duplicated", "payload_bytes_duplicated"]), [3.0, 300.0]);
    assert_eq!(report.counts(["packets_lost", "packets_unjudged"]), [0.0, 0.0]);
    assert_conserved(&report);
}

#[test]
fn bytes_missing_in_sender_capture_are_separate() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &data(100, 100));
    world.came(11, &data(200, 100));
    world.passed(2, &data(300, 100));
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    let unseen = ["packets_departure_unseen", "payload_bytes_departure_unseen"];
    assert_eq!(report.counts(unseen), [1.0, 100.0]);
    assert_conserved(&report);
}
