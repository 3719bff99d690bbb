//! Clocks that disagree.

use crate::world::{World, assert_conserved, bare, data, number};
use fairwind_analyse::one_way::{ClockModel, OneWaySettings};
use fairwind_measure::Direction;
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;

/// Packets each 10 ms for a minute, 30 ms each way, with a queue of up to 9 ms there, by a receiver's
/// clock that is `ahead` nanoseconds ahead and gains `gain` ppm.
fn world(ahead: i64, gain: i64) -> World {
    let mut world = World::new(OneWaySettings {
        clock: ClockModel::Apart,
        intervals: vec![Span::from_secs(10)],
        ..OneWaySettings::default()
    });
    let receiver = |nanos: u64| {
        let gained = i64::try_from(nanos - 10_000_000_000).unwrap() / 1_000_000 * gain;
        Instant::from_nanos(nanos.checked_add_signed(ahead + gained).unwrap())
    };
    // By the true instant, as a merge by roughly corrected clocks gives them.
    let mut events: Vec<(u64, u8, u32)> = Vec::new();
    for packet in 0..6_000_u32 {
        let sent = 10_000_000_000 + u64::from(packet) * 10_000_000;
        let came = sent + 30_000_000 + u64::from(packet % 10) * 1_000_000;
        events.extend([(sent, 0, packet), (came, 1, packet), (came, 2, packet)]);
        events.push((came + 30_000_000, 3, packet));
    }
    events.sort_unstable();
    for (nanos, what, packet) in events {
        let acknowledgment = bare(Flags::ACK, 1, 10 + packet * 10);
        let data = data(packet * 10, 10);
        let (passages, id) = (&mut world.passages, world.id);
        match what {
            0 => drop(passages.on_departure(
                id,
                Direction::Forward,
                Instant::from_nanos(nanos),
                &data,
            )),
            1 => drop(passages.on_arrival(id, Direction::Forward, receiver(nanos), &data)),
            2 => drop(passages.on_departure(
                id,
                Direction::Reverse,
                receiver(nanos),
                &acknowledgment,
            )),
            _ => drop(passages.on_arrival(
                id,
                Direction::Reverse,
                Instant::from_nanos(nanos),
                &acknowledgment,
            )),
        }
    }
    world
}

#[test]
fn a_clock_behind_or_ahead_changes_no_delay() {
    for ahead in [0, -1_600_000_000, 1_600_000_000] {
        let (lost, report) = world(ahead, 0).end();
        assert!(lost.is_empty());
        let delay = |column| report.delay("network", column);
        let close = |found: f64, expected: f64| (found - expected).abs() < 0.01 * expected;
        assert!(close(delay("min_s"), 30.0), "{ahead}: {}", delay("min_s"));
        assert!(close(delay("variation_mean_s"), 4.5), "{ahead}: {}", delay("variation_mean_s"));
        assert!(close(delay("variation_p99_s"), 9.0), "{ahead}: {}", delay("variation_p99_s"));
        let clocks = report.groups.get("clocks").unwrap();
        let offset = number(clocks, "offset_s", 0) * 1e9;
        assert!((offset - f64::from(i32::try_from(ahead).unwrap())).abs() < 1e4, "{offset}");
        assert_conserved(&report);
    }
}

#[test]
fn drift_is_reported_and_compensated() {
    for gain in [50, -80] {
        let (_, report) = world(250_000_000, gain).end();
        let clocks = report.groups.get("clocks").unwrap();
        let drift = number(clocks, "drift_parts_per_million", 0);
        assert!((drift - f64::from(i32::try_from(gain).unwrap())).abs() < 0.5, "{drift}");
        // In a minute, 50 ppm are 3 ms.
        let variation = report.delay("network", "variation_max_s");
        assert!((variation - 9.0).abs() < 0.1, "{gain}: {variation}");
        let queueing = report.groups.get("queueing").unwrap();
        for row in 0..queueing.rows() {
            assert!(number(queueing, "min_s", row) < 100e-6);
        }
    }
}

#[test]
fn arrival_before_departure_is_held() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(100, &data(0, 10));
    let early = world.came(109, &data(10, 10));
    assert_eq!((early.delay, early.in_order_end), (None, None));
    let departure = world.sent(110, &data(10, 10));
    assert_eq!((departure.new_end, departure.in_order_end), (Some(20), Some(20)));
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.count("payload_bytes_matched"), 20.0);
    assert_conserved(&report);
}

#[test]
fn early_arrival_does_not_delay_later_ones() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(100, &data(0, 10));
    // A damaged number, and then one that comes a little early.
    world.came(108, &data(900_000_000, 10));
    world.came(109, &data(10, 10));
    assert_eq!(world.sent(110, &data(10, 10)).in_order_end, Some(20));
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.counts(["payload_bytes_matched", "packets_departure_unseen"]), [20.0, 1.0]);
    assert_conserved(&report);
}

#[test]
fn capture_ending_early_has_no_losses() {
    let mut world =
        World::new(OneWaySettings { clock: ClockModel::Apart, ..OneWaySettings::default() });
    for packet in 0..100_u32 {
        let at = u64::from(packet) * 1_000;
        if packet < 20 {
            world.passed(at, &data(packet * 10, 10));
        } else {
            world.sent(at, &data(packet * 10, 10));
        }
    }
    let (lost, report) = world.end();
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(report.count("packets_unjudged"), 80.0);
    assert_conserved(&report);
}
