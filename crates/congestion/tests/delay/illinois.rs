//! Illinois: steps by the queueing delay.

use crate::driven::Driven;
use crate::path::Path;

const BASE: i32 = 100_000;

/// An algorithm that has seen round trips of 100 ms and, once, of 200 ms.
fn with_greatest_delay(window: u32) -> Driven {
    let mut illinois = Driven::at_window("illinois", window);
    illinois.acknowledge(BASE);
    illinois.acknowledge(2 * BASE);
    illinois
}

/// Growth over ten round trips at a delay, after enough of them to be sure of it.
fn growth(illinois: &mut Driven, rtt: i32) -> u32 {
    illinois.rounds(8, rtt);
    let before = illinois.sender.window;
    illinois.rounds(10, rtt);
    illinois.sender.window - before
}

/// alpha: 10 up to a hundredth of the greatest delay, 0.3 at the greatest; at half of it 10 m / (m + 32.3 d) with both
/// a hundredth less is 0.583.
#[test]
fn illinois_increase_follows_queueing_delay() {
    for (delay, expected) in [(0, 98..=102), (900, 98..=102), (50_000, 5..=6), (100_000, 3..=3)] {
        let grown = growth(&mut with_greatest_delay(400), BASE + delay);
        assert!(expected.contains(&grown), "{grown} at {delay} us");
    }
}

/// beta: an eighth up to a tenth of the greatest delay, a half from eight tenths on, between them a line: at 45 % the
/// middle, 5/16.
#[test]
fn illinois_decrease_follows_queueing_delay() {
    for (delay, kept) in
        [(0, 0.875), (9_000, 0.875), (45_000, 0.6875), (80_000, 0.5), (100_000, 0.5)]
    {
        let mut illinois = with_greatest_delay(400);
        illinois.rounds(4, BASE + delay);
        let window = f64::from(illinois.sender.window);
        let left = f64::from(illinois.window_after_loss()) / window;
        assert!((left - kept).abs() < 0.005, "{left} at {delay} us");
    }
}

/// One segment per round trip, and half of it.
#[test]
fn illinois_small_window_matches_reno() {
    let mut illinois = Driven::at_window("illinois", 4);
    illinois.rounds(1, BASE);
    let before = illinois.sender.window;
    illinois.rounds(5, BASE);
    assert_eq!(illinois.sender.window, before + 5);
    assert_eq!(illinois.window_after_loss(), illinois.sender.window.div_ceil(2));
}

/// After a queue it takes five round trips without one before growth is fast again.
#[test]
fn illinois_waits_five_round_trips_after_a_queue() {
    let mut illinois = with_greatest_delay(400);
    illinois.rounds(3, 2 * BASE);
    // The first of these is judged by what came before.
    illinois.rounds(1, BASE);
    let before = illinois.sender.window;
    illinois.rounds(4, BASE);
    assert!(illinois.sender.window - before <= 2, "it waits");
    illinois.rounds(2, BASE);
    let before = illinois.sender.window;
    illinois.rounds(1, BASE);
    assert!((9..=11).contains(&(illinois.sender.window - before)), "it grows");
}

/// 50 Mbit/s by 100 ms are 417 packets; the queue holds half of that. Reno climbs 312 segments between losses,
/// 31 s and more; Illinois is there sooner and spends most of its time near the top.
#[test]
fn illinois_beats_reno_on_fast_path() {
    let share = |name: &str| {
        let mut path = Path::new(50, 100, 100).with_control(name, 0);
        path.run_to(30);
        let (rates, seen) = path.measure(90);
        assert!(seen.dropped > 0, "{name} met a loss");
        rates[0] / 4166.7
    };
    let (illinois, reno) = (share("illinois"), share("reno"));
    assert!(illinois > reno + 0.02, "{illinois} {reno}");
    assert!(illinois > 0.95, "{illinois}");
}
