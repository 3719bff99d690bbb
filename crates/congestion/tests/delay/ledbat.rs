//! LEDBAT keeps a queueing delay of 100 ms alone, and gives way to others.

use crate::driven::Driven;
use crate::path::Path;

/// At a window of 400 and half of the target, the window grows by half a segment per round trip; at one and a half of
/// the target it shrinks by as much, at the target it stays.
#[test]
fn ledbat_moves_proportionally_to_target_distance() {
    for (queued, change) in [(0, 20), (50_000, 10), (100_000, 0), (150_000, -10)] {
        let mut ledbat = Driven::at_window("ledbat", 400);
        ledbat.acknowledge(100_000);
        // The filter of the latest four samples.
        ledbat.rounds(1, 100_000 + queued);
        let before = ledbat.sender.window.cast_signed();
        ledbat.rounds(20, 100_000 + queued);
        let moved = ledbat.sender.window.cast_signed() - before;
        assert!((moved - change).abs() <= 1, "{moved} at {queued} us");
    }
}

/// A path that has become longer by 40 ms is taken for a queue, until the last minute of the shorter one is ten
/// minutes ago.
#[test]
fn ledbat_forgets_a_base_after_ten_minutes() {
    let mut ledbat = Driven::at_window("ledbat", 10);
    let change_after = |ledbat: &mut Driven, seconds: u32| {
        ledbat.sender.window_limited = 0;
        ledbat.rounds(seconds * 1_000_000 / 140_000, 140_000);
        ledbat.sender.window_limited = 1;
        ledbat.sender.window = 1000;
        ledbat.sender.outstanding = 1000;
        ledbat.sender.max_outstanding = 1000;
        ledbat.sender.threshold = 1000;
        ledbat.rounds(1, 140_000);
        let before = ledbat.sender.window;
        ledbat.rounds(10, 140_000);
        let change = ledbat.sender.window - before;
        ledbat.sender.window = 10;
        change
    };
    ledbat.acknowledge(100_000);
    assert_eq!(change_after(&mut ledbat, 500), 6, "off target by 60 of 100 ms");
    assert_eq!(change_after(&mut ledbat, 200), 10, "the longer path is the base");
}

/// 5 Mbit/s are 417 packets a second: 42 of them take 100 ms.
#[test]
fn alone_ledbat_queues_a_hundred_milliseconds() {
    let mut path = Path::new(5, 60, 200).with_control("ledbat", 0);
    path.run_to(60);
    let (rates, seen) = path.measure(60);
    let queue = path.mean_queue(&seen);
    assert!(rates[0] > 412.0, "{rates:?}");
    assert!((37.0..=46.0).contains(&queue), "{queue} packets");
    assert_eq!(seen.dropped, 0);
}

/// Reno fills the queue of 100 packets, which is 240 ms: more than the target.
#[test]
fn ledbat_gives_way_to_reno() {
    let path = Path::new(5, 60, 100).with_control("ledbat", 0);
    let mut path = path.with_control("reno", 30_000);
    path.run_to(60);
    let (rates, _) = path.measure(120);
    assert!(rates.iter().sum::<f64>() > 405.0, "{rates:?}");
    assert!(rates[0] < 0.15 * rates[1], "{rates:?}");
}

#[test]
fn loss_halves_ledbat_window_to_minimum() {
    for (window, left) in [(400, 200), (5, 2), (3, 2), (2, 2)] {
        assert_eq!(Driven::at_window("ledbat", window).window_after_loss(), left);
    }
    let mut ledbat = Driven::at_window("ledbat", 8);
    ledbat.acknowledge(100_000);
    ledbat.rounds(20, 1_000_000);
    assert_eq!(ledbat.sender.window, 2, "the queue is nine times the target");
}

/// A hundred segments are out, of a window of 400.
#[test]
fn ledbat_growth_is_bounded_by_flight() {
    let mut ledbat = Driven::at_window("ledbat", 400);
    for _ in 0..2000 {
        ledbat.sender.outstanding = 100;
        ledbat.acknowledge(100_000);
    }
    assert_eq!(ledbat.sender.window, 400);
}

/// An application that has left its window unused for a round trip has 100 segments out: with the one that is acknowledged
/// and the one that is allowed beyond, 102 are its window, and not the 400 of before.
#[test]
fn unused_ledbat_window_shrinks() {
    let mut ledbat = Driven::at_window("ledbat", 400);
    for (out, window) in [(100, 102), (50, 52), (0, 2)] {
        ledbat.sender.outstanding = out;
        ledbat.sender.max_outstanding = out;
        ledbat.sender.window_limited = 0;
        ledbat.acknowledge(100_000);
        assert_eq!(ledbat.sender.window, window);
    }
}

/// Bundles leave up to a bundle of the window open although the sender has more to send.
#[test]
fn ledbat_window_is_kept_for_bundle() {
    let mut ledbat = Driven::at_window("ledbat", 400);
    ledbat.sender.outstanding = 340;
    ledbat.sender.max_outstanding = 340;
    ledbat.sender.window_limited = 1;
    for _ in 0..10 {
        ledbat.acknowledge(100_000);
    }
    assert!(ledbat.sender.window >= 400, "{}", ledbat.sender.window);
}

/// At a window of 10 a segment is 1000 parts of growth. Four samples at the base give 400; while the least of the latest
/// four is one of them, each gives 100 more; then each takes 800, as the queue is of 900 ms: 700 - 3 * 800 = -1700.
#[test]
fn ledbat_uses_minimum_of_four_delays() {
    let mut ledbat = Driven::at_window("ledbat", 10);
    for _ in 0..4 {
        ledbat.acknowledge(100_000);
    }
    for _ in 0..3 {
        ledbat.acknowledge(1_000_000);
    }
    assert_eq!(ledbat.sender.window, 10);
    for _ in 0..3 {
        ledbat.acknowledge(1_000_000);
    }
    assert_eq!(ledbat.sender.window, 9);
}

/// Once the path was seen to be shorter by 40 ms, what is longer is a queue: off the target by 60 of 100 ms.
#[test]
fn ledbat_believes_a_shorter_base_at_once() {
    let mut ledbat = Driven::at_window("ledbat", 1000);
    ledbat.rounds(1, 140_000);
    ledbat.acknowledge(100_000);
    ledbat.rounds(1, 140_000);
    let before = ledbat.sender.window;
    ledbat.rounds(10, 140_000);
    assert_eq!(ledbat.sender.window - before, 6);
}
