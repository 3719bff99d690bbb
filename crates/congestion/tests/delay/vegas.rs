//! Vegas keeps between two and four packets of each flow in the queue.

use crate::driven::Driven;
use crate::path::Path;

/// At a base of 100 ms, a window of 100 and a round trip of 101, 103 and 105 ms there stand 0.99, 2.9 and 4.8
/// segments in the queue.
#[test]
fn vegas_keeps_two_to_four_queued() {
    for (rtt, change) in [(101_000, 1), (103_000, 0), (105_000, -1)] {
        let mut vegas = Driven::at_window("vegas", 100);
        vegas.rounds(3, 100_000);
        vegas.sender.window = 100;
        // The round that began before is still judged by what it had seen.
        vegas.rounds(2, rtt);
        let before = vegas.sender.window;
        vegas.rounds(1, rtt);
        let after = vegas.sender.window;
        assert_eq!(after.cast_signed() - before.cast_signed(), change, "at {rtt} us");
    }
}

#[test]
fn vegas_queue_is_alpha_to_beta() {
    let mut path = Path::new(10, 100, 100).with_control("vegas", 0);
    path.run_to(20);
    let (rates, seen) = path.measure(40);
    let queue = path.mean_queue(&seen);
    // 10 Mbit/s are 833 packets of 1500 bytes.
    assert!(rates[0] > 825.0, "{rates:?}");
    assert!((1.5..=4.5).contains(&queue), "{queue} packets");
    assert_eq!(seen.dropped, 0);
}

/// The second flow takes the two to four packets of the first for part of the path, and queues its own on top of them.
#[test]
fn second_vegas_flow_adds_queue() {
    let mut path = Path::new(10, 50, 100).with_control("vegas", 0).with_control("vegas", 20_000);
    path.run_to(60);
    let (rates, seen) = path.measure(60);
    let queue = path.mean_queue(&seen);
    assert!(rates.iter().sum::<f64>() > 825.0, "{rates:?}");
    assert!((4.0..=12.5).contains(&queue), "{queue} packets");
    assert!(rates[1] > rates[0] && rates[1] < 4.0 * rates[0], "{rates:?}");
}
