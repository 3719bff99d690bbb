//! Westwood+ goes down to what the path carries without a queue.

use crate::driven::Driven;
use crate::path::Path;

/// 100 segments in each 100 ms are 1000 a second; with a least round trip of 60 ms the path carries 60.
#[test]
fn window_after_loss_is_bandwidth_delay_product() {
    let mut westwood = Driven::at_window("westwood", 100);
    westwood.sender.window_limited = 0;
    westwood.acknowledge(60_000);
    westwood.rounds(150, 100_000);
    assert_eq!(westwood.sender.window, 100, "it did not grow: the window was not the limit");
    let after = westwood.window_after_loss();
    assert!((59..=60).contains(&after), "{after}");
}

/// The first samples are those of a rate which then halves: after n of them 0.9^n of the difference is left, half a
/// sample's worth later for the mean of two. Here 1000 a second fall to 500; after ten samples
/// 500 + 500 (0.95 x 0.9^9) = 684 a second are left, at 100 ms 68 segments.
#[test]
fn the_estimate_forgets_a_tenth_per_round_trip() {
    let mut westwood = Driven::at_window("westwood", 100);
    westwood.sender.window_limited = 0;
    westwood.sender.threshold = 2;
    westwood.rounds(50, 100_000);
    westwood.sender.window = 50;
    westwood.rounds(10, 100_000);
    westwood.sender.window = 100;
    assert_eq!(westwood.window_after_loss(), 68);
}

#[test]
fn without_an_estimate_a_loss_halves_the_window() {
    assert_eq!(Driven::at_window("westwood", 40).window_after_loss(), 20);
}

/// With a queue of a fifth of the bandwidth-delay product, Reno leaves the link idle after each loss, which Westwood+
/// does not: 10 Mbit/s by 100 ms are 83 packets.
#[test]
fn westwood_fills_link_with_short_queue() {
    let share = |name: &str| {
        let mut path = Path::new(10, 100, 17).with_control(name, 0);
        path.run_to(20);
        let (rates, seen) = path.measure(100);
        assert!(seen.dropped > 0, "{name} met a loss");
        rates[0] / 833.3
    };
    let (westwood, reno) = (share("westwood"), share("reno"));
    assert!(westwood > 0.985, "{westwood}");
    assert!(westwood > reno + 0.03, "{westwood} {reno}");
}
