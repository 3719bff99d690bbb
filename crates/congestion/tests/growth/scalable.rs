//! Kelly 2003: a hundredth of a segment per acknowledged segment, an eighth less after a loss.

use crate::assert_near;
use crate::drive::Drive;
use fairwind_units::Span;

const RTT: Span = Span::from_millis(100);

/// ln(1 / 0.875) / ln(1.01) = 13.42 round trips, whatever the window.
#[test]
fn scalable_recovers_in_13_42_round_trips() {
    for window in [1_000, 10_000, 80_000] {
        let mut drive = Drive::at("scalable", RTT, window);
        assert_eq!(drive.lose(), window - window / 8);
        let rounds = drive.seconds_until(window) / RTT.as_secs_f64();
        assert_near(rounds, 13.42, 0.01, "round trips");
    }
}

#[test]
fn scalable_small_windows_match_reno() {
    let mut drive = Drive::at("scalable", RTT, 16);
    drive.round();
    assert_eq!(drive.sender.window, 17, "a segment per round trip");
    drive.sender.window = 16;
    assert_eq!(drive.lose(), 8);
    drive.sender.window = 3;
    assert_eq!(drive.lose(), 2);
    drive.sender.window = 200;
    assert_eq!(drive.lose(), 175);
    assert_eq!(drive.undo(), 200);
}
