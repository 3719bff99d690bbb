//! Caini and Firrincieli 2004: rho = RTT / 25 ms; 2^rho - 1 per segment in slow start, rho^2 / w afterwards.

use crate::assert_near;
use crate::drive::Drive;
use fairwind_units::Span;

/// rho^2 segments per round trip of rho times 25 ms: by 25 ms, rho segments.
#[test]
fn congestion_avoidance_grows_by_the_square_of_rho() {
    for (millis, rho) in [(10, 1.0), (25, 1.0), (50, 2.0), (100, 4.0), (150, 6.0), (600, 24.0)] {
        let mut drive = Drive::at("hybla", Span::from_millis(millis), 10_000);
        drive.acknowledge();
        assert_near(drive.growth_per_round(), rho * rho, 0.02, &format!("{millis} ms"));
    }
}

#[test]
fn slow_start_grows_by_a_power_of_two() {
    // 2^rho - 1 segments for each that is acknowledged.
    for (millis, per_segment) in [(20, 1), (50, 3), (75, 7), (100, 15), (250, 1023)] {
        let mut drive = Drive::new("hybla", Span::from_millis(millis));
        let before = drive.sender.window;
        drive.acknowledge();
        assert_eq!(drive.sender.window, before + per_segment, "{millis} ms");
    }
    // An eighth of rho: 2^(1 + 4/8) - 1 = 1.828.
    let mut drive = Drive::new("hybla", Span::from_micros(37_500));
    for _ in 0..100 {
        drive.acknowledge();
    }
    assert_near(f64::from(drive.sender.window), 10.0 + 182.8, 0.01, "a hundred segments");
}

#[test]
fn hybla_window_starts_at_rho() {
    let mut drive = Drive::new("hybla", Span::from_millis(840));
    assert_eq!(drive.sender.window, 33, "840 / 25");
    drive.acknowledge();
    assert_eq!(drive.sender.window, 65_535, "2^16");
    drive.acknowledge();
    assert_eq!(drive.sender.window, 65_535);
}

#[test]
fn slow_start_ends_at_the_threshold() {
    let mut drive = Drive::new("hybla", Span::from_millis(100));
    drive.sender.threshold = 60;
    for _ in 0..4 {
        drive.acknowledge();
    }
    assert_eq!(drive.sender.window, 60);
    assert_eq!(drive.lose(), 30, "half, as Reno");
}

#[test]
fn hybla_is_reno_in_recovery() {
    let mut drive = Drive::at("hybla", Span::from_millis(100), 10);
    drive.sender.control.state = 4;
    drive.round();
    assert_eq!(drive.sender.window, 11);
}
