//! RFC 3649: the response function and the table of appendix B.

use crate::assert_near;
use crate::drive::Drive;
use fairwind_units::Span;

const RTT: Span = Span::from_millis(100);

fn share_lost(window: u32) -> f64 {
    let left = Drive::at("highspeed", RTT, window).lose();
    1.0 - f64::from(left) / f64::from(window)
}

fn increase(window: u32) -> f64 {
    Drive::at("highspeed", RTT, window).growth_per_round()
}

/// Rows of appendix B: window, a(w), b(w).
#[test]
fn the_table_of_the_rfc_holds() {
    let rows = [
        (38, 1.0, 0.50),
        (118, 2.0, 0.44),
        (221, 3.0, 0.41),
        (495, 5.0, 0.37),
        (1_058, 8.0, 0.33),
        (2_699, 14.0, 0.28),
        (5_497, 21.0, 0.24),
        (10_661, 30.0, 0.21),
        (30_975, 50.0, 0.15),
        (84_035, 71.0, 0.10),
    ];
    for (window, a, b) in rows {
        // Ten steps change a small window by so much.
        let share = 0.02 + 10.0 / f64::from(window);
        assert_near(increase(window), a, share, &format!("a({window})"));
        let got = share_lost(window);
        assert!((got - b).abs() < 0.006 + 1.0 / f64::from(window), "b({window}) = {got}");
    }
}

/// §5: b(w) by the logarithm of the window, a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), p(w) = 0.078 / w^1.2.
#[test]
fn between_the_rows_the_formula_holds() {
    for window in [60_u32, 160, 800, 5_250, 9_000, 25_000, 60_000, 91_000] {
        let w = f64::from(window);
        let by_logarithm = (w / 38.0).ln() / (83_000_f64 / 38.0).ln();
        let b = 0.5 - 0.4 * by_logarithm;
        let a = w * w * (0.078 / w.powf(1.2)) * 2.0 * b / (2.0 - b);
        assert_near(increase(window), a, 0.03 + 5.0 / w, &format!("a({window})"));
        assert!((share_lost(window) - b).abs() < 0.006 + 1.0 / w, "b({window})");
    }
}

#[test]
fn highspeed_is_reno_to_38_segments() {
    let mut drive = Drive::at("highspeed", RTT, 20);
    drive.round();
    assert_eq!(drive.sender.window, 21);
    drive.sender.window = 38;
    assert_eq!(drive.lose(), 19);
    drive.sender.window = 2;
    assert_eq!(drive.lose(), 2);
}

#[test]
fn beyond_the_table_its_last_row_holds() {
    assert_near(increase(200_000), 73.0, 0.01, "a");
    assert!((share_lost(200_000) - 0.09).abs() < 0.005);
}
