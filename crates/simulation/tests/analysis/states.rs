//! Other inferences of a tap, against both endpoints and the path.
#![expect(clippy::print_stdout, reason = "the tables stand in the documentation")]

use crate::conversation::{Application, Outcome, Reading, Setting, hold};
use fairwind_analyse::stream::{ProbeUseCounts, RowKey, Stream, StreamRows};
use fairwind_tcp::{KeepAlive, Profile, RedundantBundling};
use fairwind_units::Span;

type Change = fn(&mut Setting);

const APPLICATIONS: [(&str, Application); 3] = [
    ("greedy", Application::Greedy),
    ("small", Application::Thin { bytes: 120, interval: Span::from_millis(60) }),
    ("full", Application::Thin { bytes: 1448, interval: Span::from_millis(200) }),
];

/// A path with a round trip of 100 ms, 5 Mbit/s and a queue of 60 packets. Of a thousand packets `lost` are lost
/// on the way there, half as many on the way back, and `late` are up to 150 ms late.
fn setting(profile: Profile, application: Application, (lost, late): (u64, u64)) -> Setting {
    Setting {
        lost_per_thousand: (lost, lost / 2),
        late: (late, Span::from_millis(150)),
        ..Setting::new(profile.config(), application)
    }
}

/// A number of the only row of `transport`.
fn measured(stream: &Stream, column: &str) -> f64 {
    let mut rows = StreamRows::new(&[50.0]);
    let subject = RowKey { flow: Some(0), name: "a>b".to_owned(), group: "all".to_owned() };
    rows.push(subject, stream.measures());
    let tables = rows.take();
    let table = tables.iter().find(|table| table.name == "transport").expect("the table");
    table.column(column).expect(column).number(0).expect("a number")
}

/// A count of the only row of `transport`.
fn count(stream: &Stream, column: &str) -> u64 {
    format!("{:.0}", measured(stream, column)).parse().expect("a count")
}

/// All profiles with all applications.
fn conversations(change: Change, path: (u64, u64)) -> Vec<(String, Outcome)> {
    let mut all = Vec::new();
    // In these conversations linux-7.3 behaves as linux-6.18, which would count twice.
    for profile in Profile::ALL.into_iter().filter(|&profile| profile != Profile::Linux7_3) {
        for (name, application) in APPLICATIONS {
            let mut setting = setting(profile, application, path);
            change(&mut setting);
            let outcome = hold(&setting, 7 + path.0 + path.1, &mut ProbeUseCounts::default());
            all.push((format!("{} {name}", profile.name()), outcome));
        }
    }
    all
}

fn share(part: u64, whole: u64) -> f64 {
    let real = |count: u64| f64::from(u32::try_from(count).expect("a test counts few"));
    real(part) / real(whole)
}

/// Segments that came and brought nothing: there were, reported, and proven by timestamps.
fn needless(change: Change, path: (u64, u64)) -> (u64, u64, u64) {
    let (mut known, mut reported, mut proven) = (0, 0, 0);
    for (name, outcome) in conversations(change, path) {
        let by_report = count(&outcome.stream, "spurious_by_report");
        let by_stamp = count(&outcome.stream, "spurious_by_timestamp");
        let needless = outcome.truth.needless;
        assert!(by_report + by_stamp <= needless, "{name}: {by_report} {by_stamp} of {needless}");
        known += needless;
        reported += by_report;
        proven += by_stamp;
    }
    println!("needless {path:?}: {known}, reported {reported}, proven {proven}");
    (known, reported, proven)
}

const PLAIN: Change = |_| {};
const WITHOUT_STAMPS: Change = |setting| setting.sender.timestamps = false;
const WITHOUT_SACK: Change = |setting| setting.sender.sack = false;

/// Where nothing is reordered the receiver reports each of them, unless all its reports are lost.
#[test]
fn reported_spurious_retransmissions_are_exact() {
    for change in [PLAIN, WITHOUT_STAMPS] {
        let (known, reported, proven) = needless(change, (20, 0));
        assert!(known > 30 && reported + proven == known, "{reported} {proven} of {known}");
    }
    // A receiver throws away what comes late with an old timestamp, and reports nothing (RFC 7323 §5).
    let (known, reported, proven) = needless(|_| {}, (20, 20));
    assert!(share(reported + proven, known) > 0.85);
    let (known, reported, _) = needless(WITHOUT_STAMPS, (20, 20));
    assert!(share(reported, known) > 0.98);
    // Only the oldest segment is judged by timestamps.
    let (known, _, proven) = needless(WITHOUT_SACK, (20, 20));
    assert!(share(proven, known) > 0.35);
}

/// A round trip is the time since one of the segments left that have come and are acknowledged by it.
#[test]
fn rtts_and_flights_match_sender() {
    for change in [PLAIN, WITHOUT_STAMPS, WITHOUT_SACK] {
        let (mut trips, mut segments, mut other) = (0, 0, 0);
        for (name, outcome) in conversations(change, (20, 10)) {
            let (stream, truth) = (&outcome.stream, &outcome.truth);
            assert_eq!(truth.false_round_trips, [], "{name}");
            assert_eq!(count(stream, "flight_max_packets"), truth.flight_packets_max, "{name}");
            assert_eq!(count(stream, "flight_max_bytes"), truth.flight_bytes_max, "{name}");
            trips += truth.round_trips;
            segments += outcome.data_segments;
            other += truth.other_flights;
        }
        println!("{trips} round trips, {other} other flights of {segments}");
        assert!(trips > 30_000);
        // A sender that joins two small segments into one, of which one was under way twice.
        assert!(share(other, segments) < 0.0002, "{other}");
    }
}

/// What went again in bundles only has come by itself if what is behind it in the bundle has not.
#[test]
fn rtts_with_bundles_match_sender() {
    for change in [
        (|setting: &mut Setting| {
            setting.sender.sending.redundancy = Some(RedundantBundling::USUAL);
        }) as Change,
        |setting| {
            let max_segments = Some(3);
            let rule = RedundantBundling { max_segments, ..RedundantBundling::USUAL };
            setting.sender.sending.redundancy = Some(rule);
        },
    ] {
        let (mut trips, mut bundles) = (0, 0);
        for (name, outcome) in conversations(change, (20, 10)) {
            assert_eq!(outcome.truth.false_round_trips, [], "{name}");
            trips += outcome.truth.round_trips;
            bundles += count(&outcome.stream, "bundles");
        }
        println!("{trips} round trips, {bundles} bundles");
        assert!(trips > 30_000 && bundles > 5_000, "{trips} {bundles}");
    }
}

/// With SYNs of 60 bytes, or 52 without timestamps, at 5 Mbit/s and 100 ms.
#[test]
fn handshakes_and_initial_windows_match_sender() {
    for (change, handshake) in [(PLAIN, 0.100_096), (WITHOUT_STAMPS, 0.100_083_2)] {
        for profile in Profile::ALL {
            let mut setting = setting(profile, Application::Greedy, (0, 0));
            change(&mut setting);
            setting.duration = Span::from_secs(2);
            let outcome = hold(&setting, 1, &mut ProbeUseCounts::default());
            let stream = &outcome.stream;
            let found = measured(stream, "handshake_rtt_mean_s");
            let is_plain = profile == Profile::Linux6_18;
            assert!(!is_plain || (found - handshake).abs() < 1e-9, "{found}");
            assert!((found - measured(&outcome.far.stream, "handshake_rtt_mean_s")) > 0.09);
            let window = count(stream, "initial_window_mean_packets");
            assert_eq!(window, u64::from(setting.sender.initial_window), "{}", profile.name());
        }
    }
}

/// Shares of time: idle, and limited by application, receiver, and congestion.
fn shares(stream: &Stream) -> [f64; 4] {
    [
        "idle_ratio",
        "application_limited_ratio",
        "receiver_limited_ratio",
        "congestion_limited_ratio",
    ]
    .map(|column| measured(stream, column))
}

/// Limits of the sender, its peer's windows, and its probes.
#[test]
fn limitation_ratios_match_sender() {
    let variants: [(&str, Change); 3] = [
        ("open", |_| {}),
        ("6 kB", |setting| setting.receiver.set_receive_window(6_000)),
        ("pauses", |setting| {
            let (reads, rests) = (Span::from_secs(3), Span::from_secs(4));
            setting.reading = Reading::Pausing { reads, rests };
            setting.receiver.set_receive_window(60_000);
        }),
    ];
    let mut closings = 0;
    for (variant, change) in variants {
        for lost in [0, 10] {
            let mut worst = [0.0_f64; 3];
            for (name, outcome) in conversations(change, (lost, 0)) {
                let (stream, truth) = (&outcome.stream, &outcome.truth);
                let (known, found) = (truth.limits.shares(), shares(stream));
                let errors = known.iter().zip(found).map(|(known, found)| (known - found).abs());
                let error = errors.fold(0.0, f64::max);
                let place = APPLICATIONS.iter().position(|it| name.ends_with(it.0)).expect("one");
                worst[place] = worst[place].max(error);
                assert_eq!(count(stream, "zero_windows"), truth.closings, "{name}");
                let closed = measured(stream, "zero_window_s") - truth.closed.as_secs_f64();
                assert!(closed.abs() < 1e-6, "{name}");
                assert_eq!(count(stream, "window_probes"), outcome.zero_window_probes, "{name}");
                closings += truth.closings;
            }
            println!("{variant}, {lost} lost: worst error of a share {worst:.4?}");
            assert!(worst[0] < 0.006 && worst[1] < 0.025 && worst[2] < 0.06, "{variant} {worst:?}");
        }
    }
    assert!(closings > 150, "{closings}");
}

/// A receiver with little room throws away what it has acknowledged selectively, and Linux notices.
#[test]
fn timeouts_are_found_after_sack_reneging() {
    let (mut known, mut found) = (0, 0);
    for seed in 0..8 {
        let mut setting = setting(Profile::Linux6_18, Application::Greedy, (10, 0));
        setting.receiver.set_receive_window(6_000);
        let outcome = hold(&setting, seed, &mut ProbeUseCounts::default());
        known += outcome.timeouts;
        found += outcome.timeouts_told;
    }
    println!("{known} time-outs, measured {found}");
    assert!(known > 80 && share(found.abs_diff(known), known) < 0.02, "{found} of {known}");
}

/// Silence of 3 s, then a question each second; what is written every 5 to 15 s comes between.
#[test]
fn keep_alives_are_counted_at_both_taps() {
    let application = Application::Thin { bytes: 120, interval: Span::from_secs(10) };
    let mut setting = setting(Profile::Linux6_18, application, (0, 0));
    let (idle, interval) = (Span::from_secs(3), Span::from_secs(1));
    setting.sender.liveness.keep_alive = KeepAlive { enabled: true, idle, interval, probes: 9 };
    let outcome = hold(&setting, 1, &mut ProbeUseCounts::default());
    let asked = outcome.questions;
    assert!(asked > 10, "{asked}");
    assert_eq!(count(&outcome.stream, "keep_alives"), asked);
    assert_eq!(count(&outcome.far.stream, "keep_alives"), asked);
}

/// Of all that is repeated a tap near the receiver sees what was not lost, and when, but neither the sender's
/// timers nor what it knew.
#[test]
fn near_receiver_cause_estimates_add_up() {
    for (path, fast_bound, timeout_bound) in
        [((10, 0), 0.01, 0.25), ((50, 0), 0.04, 0.1), ((20, 20), 0.04, 0.4)]
    {
        let change: Change = |setting| setting.duration = Span::from_secs(300);
        let (mut known, mut found) = ((0, 0), (0, 0));
        for (_, outcome) in conversations(change, path) {
            known.0 += outcome.fast_retransmits;
            known.1 += outcome.timeouts;
            found.0 += outcome.far.fast_retransmits;
            found.1 += outcome.far.timeouts;
        }
        println!("from afar {path:?}: fast {} measured {}", known.0, found.0);
        println!("from afar {path:?}: time-outs {} measured {}", known.1, found.1);
        assert!(share(found.0.abs_diff(known.0), known.0) < fast_bound);
        assert!(share(found.1.abs_diff(known.1), known.1) < timeout_bound);
    }
}
