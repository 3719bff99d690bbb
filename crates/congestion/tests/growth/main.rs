//! Tests of window growth and decrease, against closed forms and published values.

mod clamp;
mod drive;
mod highspeed;
mod htcp;
mod hybla;
mod regrowth;
mod scalable;

fn assert_near(got: f64, expected: f64, share: f64, what: &str) {
    let off = (got / expected - 1.0).abs();
    assert!(off <= share, "{what}: {got:.3}, expected {expected:.3} within {share}");
}
