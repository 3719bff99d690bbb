//! draft-leith-tcp-htcp: increase by the time since the last loss, decrease by the queue.

use crate::assert_near;
use crate::drive::Drive;
use fairwind_units::Span;

const RTT: Span = Span::from_millis(100);

/// beta is 1/2 in the first period: w += alpha(D) / w, with alpha(D) = 1 + 10 (D - 1) + ((D - 1) / 2)^2.
#[test]
fn htcp_increase_follows_time_since_loss() {
    let mut drive = Drive::at("htcp", RTT, 20_000);
    let left = drive.lose();
    for round in 1..=9 {
        drive.round();
        assert_eq!(
            drive.sender.window,
            left + round,
            "a segment per round trip in the first second"
        );
    }
    for (seconds, expected) in [(2.0, 11.25), (3.0, 22.0), (5.0, 45.0), (11.0, 126.0)] {
        let mut drive = Drive::at("htcp", RTT, 20_000);
        drive.lose();
        drive.tick(Span::from_secs_f64(seconds));
        // The first step looks at the time.
        let window = drive.sender.window;
        let waited = drive.seconds_until(window + 1);
        let start = drive.now;
        let grown = drive.growth_per_round();
        let passed = waited + drive.now.saturating_since(start).as_secs_f64();
        // While it is looked at, time goes on: alpha rises by 10 + d / 2 per second.
        let drift = (10.0 + seconds / 2.0) * passed;
        let most = (expected + drift) * 1.02;
        assert!(grown >= expected * 0.98 && grown <= most, "alpha({seconds}) = {grown}");
    }
}

/// Grows for some round trips of equal length, which may begin with a longer one, and loses.
fn period(drive: &mut Drive, rounds: u32) -> f64 {
    for _ in 0..rounds {
        drive.round();
    }
    let before = drive.sender.window;
    f64::from(drive.lose()) / f64::from(before)
}

#[test]
fn htcp_decrease_becomes_adaptive() {
    let mut drive = Drive::at("htcp", RTT, 1_000);
    assert_near(period(&mut drive, 12), 0.5, 0.01, "the first period");
    // Windows, and with them throughputs, differ by half from those before.
    drive.sender.window = 500;
    assert_near(period(&mut drive, 12), 0.5, 0.01, "a different throughput");
    drive.sender.window = 500;
    assert_near(period(&mut drive, 12), 102.0 / 128.0, 0.01, "round trips that are equal");
    // Round trips of up to 160 ms, reached by less than 20 ms a sample: 100 / 160.
    for millis in [115, 130, 145, 160] {
        drive.rtt = Span::from_millis(millis);
        drive.acknowledge();
    }
    drive.rtt = RTT;
    drive.sender.window = 500;
    assert_near(period(&mut drive, 12), 100.0 / 160.0, 0.02, "a queue of 60 ms");
}

#[test]
fn short_paths_halve() {
    let mut drive = Drive::at("htcp", Span::from_millis(10), 1_000);
    for _ in 0..3 {
        drive.sender.window = 500;
        assert_near(period(&mut drive, 12), 0.5, 0.01, "a round trip of 10 ms");
    }
}

#[test]
fn a_needless_loss_is_forgotten() {
    let mut drive = Drive::at("htcp", RTT, 10_000);
    drive.tick(Span::from_secs(11));
    let before = drive.growth_per_round();
    let window = drive.sender.window;
    drive.lose();
    drive.sender.window = drive.undo();
    assert_eq!(drive.sender.window, window);
    assert!(drive.growth_per_round() >= before, "it grows as long after the loss before");
}
