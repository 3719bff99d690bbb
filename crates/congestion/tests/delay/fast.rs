//! FAST keeps alpha packets of each flow in the queue.

use crate::driven::Driven;
use crate::path::Path;

/// Half of the window, and half of what would leave alpha in the queue: at a window of 400, a base of 100 ms and a
/// round trip of 125 ms that is 200 + (320 + 20) / 2 = 370. At 3200 segments a second alpha is 20. The average weighs a
/// sample by 3/400, so that after a round trip it is still 0.05 x 25 ms short: 371.
#[test]
fn fast_converges_by_half_per_round() {
    let mut fast = Driven::at_window("fast", 400);
    fast.sender.window_limited = 0;
    fast.acknowledge(100_000);
    for _ in 0..400 {
        fast.acknowledge(125_000);
    }
    assert!((370..=372).contains(&fast.sender.window), "{}", fast.sender.window);
}

/// Rate times queueing delay is alpha: 8 below 1250 segments a second.
#[test]
fn a_slow_flow_queues_eight_packets() {
    let mut path = Path::new(10, 100, 100).with_control("fast", 0);
    path.run_to(30);
    let (rates, seen) = path.measure(30);
    let queue = path.mean_queue(&seen);
    assert!(rates[0] > 825.0, "{rates:?}");
    assert!((7.0..=9.5).contains(&queue), "{queue} packets");
    assert_eq!(seen.dropped, 0);
}

/// 20 between 1500 and 12500 segments a second: two flows at 100 Mbit/s queue twice that, and share by halves where
/// both have met the empty queue.
#[test]
fn two_flows_queue_twenty_packets_each() {
    let mut path = Path::new(100, 40, 400).with_control("fast", 0).with_control("fast", 0);
    path.run_to(20);
    let (rates, seen) = path.measure(20);
    let queue = path.mean_queue(&seen);
    assert!(rates.iter().sum::<f64>() > 8250.0, "{rates:?}");
    assert!((36.0..=48.0).contains(&queue), "{queue} packets");
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.15, "{rates:?}");
}

/// A flow that comes later takes the queue of the first for part of the path: it sees a greater base, queues on top of
/// it and gets more (the unfairness with identical paths that Leith found).
#[test]
fn later_fast_flow_overestimates_base_rtt() {
    let mut path = Path::new(100, 40, 400).with_control("fast", 0).with_control("fast", 10_000);
    path.run_to(30);
    let (rates, _) = path.measure(30);
    assert!(rates[1] > 1.3 * rates[0], "{rates:?}");
}
