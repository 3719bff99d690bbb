//! DCTCP falls by half the share of packets that the path marks.

use crate::driven::Driven;
use crate::path::{Path, control};
use fairwind_tcp::EcnFeedback;
use fairwind_units::Instant;

/// A window of 400 that does not grow.
fn dctcp() -> Driven {
    let mut dctcp = Driven::at_window("dctcp", 400);
    dctcp.sender.window_limited = 0;
    dctcp
}

/// The share of the window that a mark would take, from 0 to 1.
fn fall(dctcp: &mut Driven) -> f64 {
    1.0 - f64::from(dctcp.window_after_loss()) / f64::from(dctcp.sender.window)
}

/// alpha begins at 1 and is (15/16)^n after n windows without marks: 0.53 after ten, half of which is 0.27.
#[test]
fn alpha_decays_by_a_sixteenth_per_window() {
    let mut dctcp = dctcp();
    assert!((fall(&mut dctcp) - 0.5).abs() < 0.001);
    dctcp.rounds(10, 10_000);
    let fell = fall(&mut dctcp);
    assert!((fell - 0.27).abs() < 0.01, "{fell}");
    dctcp.rounds(200, 10_000);
    assert!(fall(&mut dctcp) < 0.001);
}

/// Whole numbers of 1024ths stop up to 15 of them above: 0.0074 of half the window.
#[test]
fn alpha_becomes_the_share_of_marks() {
    for every in [1, 2, 4, 10] {
        let mut dctcp = dctcp();
        dctcp.marks_every = every;
        dctcp.rounds(200, 10_000);
        let (fell, share) = (fall(&mut dctcp), 1.0 / f64::from(every));
        assert!((-0.003..0.009).contains(&(fell - share / 2.0)), "{fell} at a share of {share}");
    }
}

/// Nothing was marked for long, so that a mark would take next to nothing.
#[test]
fn loss_halves_window_regardless_of_marks() {
    let mut dctcp = dctcp();
    dctcp.rounds(200, 10_000);
    assert!(fall(&mut dctcp) < 0.001);
    assert_eq!(dctcp.threshold_in_recovery(), 200);
}

/// 100 Mbit/s by 10 ms are 83 packets; RFC 8257 and its paper ask for a threshold of at least a seventh of that.
#[test]
fn dctcp_keeps_queue_at_threshold() {
    let mut path = Path::new(100, 10, 500).marking_from(20).with_control("dctcp", 0);
    path.run_to(2);
    let (rates, seen) = path.measure(10);
    let queue = path.mean_queue(&seen);
    assert!(rates[0] > 8250.0, "{rates:?}");
    assert!((10.0..=22.0).contains(&queue), "{queue} packets");
    assert!(seen.most < 30, "{seen:?}");
    assert_eq!(seen.dropped, 0);
}

#[test]
fn two_dctcp_flows_share_link() {
    let path = Path::new(100, 10, 500).marking_from(20);
    let mut path = path.with_control("dctcp", 0).with_control("dctcp", 1000);
    path.run_to(5);
    let (rates, seen) = path.measure(15);
    assert!(rates.iter().sum::<f64>() > 8250.0, "{rates:?}");
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.25, "{rates:?}");
    assert!(seen.most < 40, "{seen:?}");
}

/// Each acknowledgment echoes one kind of packets, however late it comes: the sender counts as many marks as the queue
/// has made, with acknowledgments for every second packet.
#[test]
fn the_sender_counts_every_mark_exactly() {
    let (mut sends, receives) = (control("dctcp"), control("dctcp"));
    sends.send_buffer = 500_000;
    let mut path = Path::new(20, 40, 500).marking_from(8).with(sends, receives, 0);
    path.writes_until = Instant::from_secs(10);
    path.run_to(12);
    let sender = &path.flows[0].sender;
    assert!(sender.is_drained());
    let counted = sender.tcp_info(path.now).delivered_marked_segments;
    let seen = path.take_seen();
    assert!(seen.marked > 100 && seen.marked < seen.passed / 2, "{seen:?}");
    assert_eq!(counted.map(u64::from), Some(seen.marked), "{seen:?}");
}

/// With a receiver that refuses ECN nothing is marked, and losses halve the window.
#[test]
fn dctcp_without_ecn_is_reno() {
    let mut refuses = control("reno");
    refuses.ecn.incoming = EcnFeedback::None;
    let sends = control("dctcp");
    let mut path = Path::new(10, 40, 30).marking_from(5).with(sends, refuses, 0);
    path.run_to(10);
    let (rates, seen) = path.measure(30);
    assert_eq!(seen.marked, 0);
    assert!(seen.dropped > 0 && rates[0] > 780.0, "{rates:?} {seen:?}");
}
