//! Invalid settings are refused with a reason.

use crate::run::settings;
use fairwind_measure::{Collector, Settings, SettingsError};
use fairwind_units::{Instant, Span};

fn error(change: impl FnOnce(&mut Settings)) -> SettingsError {
    let mut changed = settings("ab");
    change(&mut changed);
    changed.check().expect_err("the settings break a rule")
}

#[test]
fn a_group_that_is_not_named_is_refused() {
    let error = error(|settings| settings.flows[1].group = 2);
    let text = "flow 1 (\"b-1\") is in group 2, but only 2 groups are named";
    assert_eq!(error.to_string(), text);
}

#[test]
fn warm_up_until_end_is_refused() {
    let error = error(|settings| {
        settings.end = Instant::from_secs(5);
        settings.warmup = Span::from_secs(5);
    });
    assert!(matches!(error, SettingsError::WarmupPastEnd { .. }));
}

#[test]
fn empty_or_repeated_intervals_are_refused() {
    assert_eq!(
        error(|settings| settings.intervals = vec![Span::ZERO]),
        SettingsError::EmptyInterval
    );
    let second = Span::from_secs(1);
    let repeated = error(|settings| settings.intervals = vec![second, second]);
    assert_eq!(repeated, SettingsError::RepeatedInterval(second));
}

#[test]
fn invalid_or_repeated_percentiles_are_refused() {
    for percentile in [0.0, -1.0, 100.1, f64::NAN] {
        let error = error(|settings| settings.percentiles = vec![percentile]);
        assert!(matches!(error, SettingsError::Percentile(_)), "{percentile}");
    }
    let repeated = error(|settings| settings.percentiles = vec![50.0, 50.0]);
    assert_eq!(repeated, SettingsError::RepeatedPercentile(50.0));
}

#[test]
#[should_panic(expected = "the interval 1 s is named twice")]
fn collector_panics_on_invalid_settings() {
    let intervals = vec![Span::from_secs(1); 2];
    let _ = Collector::new(&Settings { intervals, ..settings("a") });
}
