//! The streams of recorded applications have the numbers of their table.

use super::parcel::Parcel;
use fairwind_assembly::Assembly;
use fairwind_scenario::{Document, RecordedApplication, RecordedInterval, Recording};
use fairwind_units::{ByteCount, Instant, Span};
use fairwind_workload::Application;

const SEED: u64 = 5;
const WRITES: usize = 100_000;

/// The application as an engine gets it.
fn application(name: &str) -> Application {
    let text = format!(
        "name = \"one stream\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\n\
         [[flows]]\nname = \"thin\"\nworkload = {{ kind = \"profile\", application = \"{name}\" }}\n"
    );
    let document = Document::parse("profile.toml", &text).expect("this is TOML");
    let point = &document.grid().expect("there is one point")[0];
    let experiment = document.experiment(point).expect("the scenario keeps all rules");
    let assembly = Assembly::<Parcel>::new(&experiment, SEED, |_| true).expect("it is a network");
    assembly.flows[0].application.clone()
}

/// Bytes written, and nanoseconds to the next write.
fn writes(mut application: Application) -> (Vec<u64>, Vec<u64>) {
    application.begin(Instant::ZERO);
    let mut bytes = Vec::new();
    let mut intervals = Vec::new();
    while bytes.len() < WRITES {
        let now = application.next_write();
        bytes.push(application.poll_write(now, 0).expect("a write is due"));
        intervals.push((application.next_write() - now).as_nanos());
    }
    (bytes, intervals)
}

/// Asserts that the mean of `values` is `mean`, rounded as in the table, within four times its
/// standard error.
#[expect(clippy::cast_precision_loss, reason = "numbers below 2^53")]
fn assert_mean(what: &str, values: &[u64], mean: u64, half_a_unit: f64) {
    let count = values.len() as f64;
    let found = values.iter().map(|&value| value as f64).sum::<f64>() / count;
    let square = |value: &u64| (*value as f64 - found).powi(2);
    let error = (values.iter().map(square).sum::<f64>() / count / count).sqrt();
    let distance = (found - mean as f64).abs();
    assert!(distance < 4.0 * error + half_a_unit, "{what}: mean {found} for {mean}, seed {SEED}");
}

/// Asserts that `values` come near both bounds and exceed none.
fn assert_bounds(what: &str, values: &[u64], min: u64, max: u64) {
    let least = *values.iter().min().expect("there are some");
    let greatest = *values.iter().max().expect("there are some");
    let near = (max - min).div_ceil(100);
    assert!(min <= least && least <= min + near, "{what}: least {least}, seed {SEED}");
    assert!(max - near <= greatest && greatest <= max, "{what}: greatest {greatest}, seed {SEED}");
}

/// Asserts that a share of `values` is no larger than `value`, within four times what chance does
/// to it.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn assert_quantile(what: &str, values: &[u64], share: f64, value: u64) {
    let count = values.len() as f64;
    let chance = 4.0 * (share * (1.0 - share) / count).sqrt();
    let below = values.iter().filter(|&&found| found < value).count() as f64 / count;
    // A draw of no time is made one of a nanosecond.
    let within = values.iter().filter(|&&found| found <= value + 1).count() as f64 / count;
    let is_met = below <= share + chance && within >= share - chance;
    assert!(is_met, "{what}: {below} below and {within} up to {value}, for {share}; seed {SEED}");
}

fn check_payload(name: &str, bytes: &[u64], recording: &Recording) {
    let payload = recording.payload;
    assert_bounds(&format!("{name}, payload"), bytes, payload.min.get(), payload.max.get());
    assert_mean(&format!("{name}, payload"), bytes, payload.mean.get(), 0.5);
}

fn check_intervals(name: &str, intervals: &[u64], recorded: &RecordedInterval) {
    let RecordedInterval { mean, median, min, max, percentile_1, percentile_99 } = *recorded;
    let what = format!("{name}, interval");
    // A draw of no time is made one of a nanosecond.
    assert_bounds(&what, intervals, min.as_nanos().max(1), max.as_nanos());
    assert_mean(&what, intervals, mean.as_nanos(), 1.0);
    for (share, value) in [(0.01, percentile_1), (0.5, median), (0.99, percentile_99)] {
        assert_quantile(&what, intervals, share, value.as_nanos());
    }
}

#[test]
fn recorded_streams_match_their_table() {
    for recording in RecordedApplication::recordings() {
        let name = serde_json::to_value(recording.application).expect("it has a name");
        let name = name.as_str().expect("a name is a text");
        let application = application(name);
        let Some(interval) = &recording.interval else {
            assert!(matches!(application, Application::Greedy(_)), "{name}");
            continue;
        };
        let (bytes, intervals) = writes(application);
        check_payload(name, &bytes, recording);
        check_intervals(name, &intervals, interval);
    }
}

#[test]
fn the_table_holds_what_was_printed() {
    let rows = RecordedApplication::recordings();
    assert_eq!(rows.len(), 19);
    let warcraft = RecordedApplication::WorldOfWarcraft.recording();
    assert_eq!(
        (warcraft.payload.min, warcraft.payload.mean, warcraft.payload.max),
        (ByteCount::new(6), ByteCount::new(26), ByteCount::new(1228))
    );
    let interval = warcraft.interval.expect("it is thin");
    assert_eq!((interval.mean, interval.median), (Span::from_millis(314), Span::from_millis(133)));
    assert_eq!((interval.min, interval.max), (Span::ZERO, Span::from_millis(14_855)));
    assert_eq!(
        (interval.percentile_1, interval.percentile_99),
        (Span::ZERO, Span::from_millis(3785))
    );
}
