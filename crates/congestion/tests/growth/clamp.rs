//! The greatest window that a connection may have (`snd_cwnd_clamp`).

use crate::drive::Drive;
use fairwind_units::Span;

#[test]
fn no_window_exceeds_clamp() {
    for name in ["scalable", "highspeed", "htcp", "hybla", "reno-c", "bic-c", "cubic-c", "illinois"]
    {
        let mut drive = Drive::at(name, Span::from_millis(100), 60);
        drive.sender.max_window = 64;
        for _ in 0..60 {
            drive.round();
        }
        assert_eq!(drive.sender.window, 64, "{name}");
    }
}
