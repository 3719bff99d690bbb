//! Equality of Reno, BIC and CUBIC in Rust and in C: the windows are the same after every acknowledgment.

mod path;

use fairwind_congestion::built_in;
use fairwind_tcp::{Config, CongestionAlgorithm, EcnFeedback, Event, Profile};
use fairwind_units::{Instant, Span};
use path::{PathConditions, Record, run};

const END: Instant = Instant::from_secs(40);
const SEEDS: [u64; 3] = [1, 20, 300];

/// 10 Mbit/s, a round trip of 40 ms, a queue of 40 packets, always something to send.
fn calm() -> PathConditions {
    PathConditions {
        name: "drops of a short queue",
        writes: None,
        bytes_per_milli: 1250,
        one_way: Span::from_millis(20),
        queue: 40,
        marks_from: None,
        lost: 0,
        late: (0, Span::ZERO),
        acks_lost: 0,
        outage: None,
        spike: None,
        change: |_| {},
    }
}

const TODAY: Profile = Profile::Linux6_18;

/// With HyStart also where the profile's kernel had none: the C file of CUBIC always has it.
fn config(profile: Profile, congestion: CongestionAlgorithm) -> Config {
    let mut config = Config { congestion, ..profile.config() };
    config.growth.hystart = true;
    config
}

/// Both records of each pair of algorithms and each seed on today's kernel, compared line by line.
fn both(conditions: &PathConditions) -> Vec<Record> {
    both_on(TODAY, conditions)
}

/// The same on the kernel of a profile.
fn both_on(profile: Profile, conditions: &PathConditions) -> Vec<Record> {
    let pairs = [
        (CongestionAlgorithm::Reno, "reno-c"),
        (CongestionAlgorithm::Bic, "bic-c"),
        (CongestionAlgorithm::CubicLinux, "cubic-c"),
    ];
    let mut records = Vec::new();
    for (rust, name) in pairs {
        for seed in SEEDS {
            let c = CongestionAlgorithm::Plugged(built_in(name).expect("it is built in"));
            let expected = run(conditions, config(profile, rust.clone()), seed, END);
            let got = run(conditions, config(profile, c), seed, END);
            let place = format!("{}, {name}, {profile:?}, seed {seed}", conditions.name);
            for (number, (theirs, ours)) in expected.lines.iter().zip(&got.lines).enumerate() {
                assert_eq!(ours, theirs, "{place}: acknowledgment {number}");
            }
            assert_eq!(got.lines.len(), expected.lines.len(), "{place}");
            assert_eq!(
                (got.delivered, &got.events),
                (expected.delivered, &expected.events),
                "{place}"
            );
            assert!(got.lines.len() > 1000, "{place}: {} acknowledgments", got.lines.len());
            records.push(got);
        }
    }
    records
}

fn all(records: &[Record], holds: impl Fn(&Record) -> bool) -> bool {
    records.iter().all(holds)
}

#[test]
fn drops_of_a_short_queue() {
    let records = both(&calm());
    assert!(all(&records, |run| run.count(Event::FastRetransmit) > 2));
}

#[test]
fn a_long_path_and_a_large_window() {
    let conditions = PathConditions {
        name: "a long path",
        bytes_per_milli: 12_500,
        one_way: Span::from_micros(81_234),
        queue: 300,
        ..calm()
    };
    let records = both(&conditions);
    assert!(all(&records, |run| run.lines.iter().any(|line| line.window > 1000)));
}

#[test]
fn random_losses() {
    let records = both(&PathConditions { name: "losses", lost: 10, ..calm() });
    assert!(all(&records, |run| run.count(Event::FastRetransmit) > 50));
}

#[test]
fn time_outs() {
    let outage = Some((Span::from_secs(7), Span::from_millis(1_700)));
    let records = both(&PathConditions { name: "outages", lost: 2, outage, ..calm() });
    assert!(all(&records, |run| run.count(Event::RetransmissionTimeout) > 8));
}

/// Everything is late every few seconds: time-outs and losses that were none are taken back.
#[test]
fn undone_reductions() {
    let spike = Some((Span::from_secs(5), Span::from_millis(400)));
    let records = both(&PathConditions { name: "spikes of delay", spike, ..calm() });
    assert!(all(&records, |run| run.undone() > 2));
}

#[test]
fn reordered_segments() {
    let late = (10, Span::from_millis(15));
    let records = both(&PathConditions { name: "reordering", late, lost: 1, ..calm() });
    assert!(all(&records, |run| run.count(Event::FastRetransmit) > 2));
}

#[test]
fn pauses_of_the_application() {
    let writes = Some((400_000, Span::from_millis(1_313)));
    both(&PathConditions { name: "pauses", writes, lost: 3, ..calm() });
    let without_restart = |config: &mut Config| {
        config.idle_restart = fairwind_tcp::IdleRestart::Off;
    };
    both(&PathConditions {
        name: "pauses, kept window",
        writes,
        lost: 3,
        change: without_restart,
        ..calm()
    });
}

#[test]
fn application_limited_rate() {
    let writes = Some((9_000, Span::from_millis(13)));
    both(&PathConditions { name: "application", writes, lost: 3, ..calm() });
}

#[test]
fn echoes_of_congestion() {
    let change = |config: &mut Config| config.ecn.outgoing = EcnFeedback::Classic;
    let conditions =
        PathConditions { name: "marks", marks_from: Some(15), lost: 1, change, ..calm() };
    let records = both(&conditions);
    assert!(all(&records, path::Record::reduced_for_marks));
}

#[test]
fn lost_acknowledgments() {
    both(&PathConditions { name: "stretched", acks_lost: 600, lost: 3, ..calm() });
}

#[test]
fn a_peer_without_options() {
    let change = |config: &mut Config| {
        config.sack = false;
        config.timestamps = false;
    };
    let outage = Some((Span::from_secs(11), Span::from_millis(1_100)));
    let records = both(&PathConditions { name: "no options", lost: 5, outage, change, ..calm() });
    assert!(all(&records, |run| run.count(Event::RetransmissionTimeout) > 3));
}

#[test]
fn paced_segments() {
    let change = |config: &mut Config| config.sending.pacing.enabled = true;
    both(&PathConditions { name: "pacing", lost: 2, change, ..calm() });
}

/// Kernels that counted acknowledgments where today's counts segments: all the troubles in which that may matter.
#[test]
fn ack_counting_stacks() {
    let conditions = PathConditions {
        name: "all of it",
        writes: Some((400_000, Span::from_millis(1_313))),
        lost: 2,
        acks_lost: 100,
        late: (5, Span::from_millis(15)),
        outage: Some((Span::from_secs(11), Span::from_millis(1_100))),
        ..calm()
    };
    for profile in [Profile::Linux2_6, Profile::Linux3_16] {
        let records = both_on(profile, &calm());
        assert!(all(&records, |run| run.count(Event::FastRetransmit) > 2));
        both_on(profile, &PathConditions { name: "stretched", acks_lost: 300, lost: 1, ..calm() });
        both_on(profile, &conditions);
    }
}

/// What grows does so by acknowledgments there: with every second segment acknowledged, standard TCP's window takes
/// twice as long, and Scalable's, which grows with itself, more than that.
#[test]
fn ack_counted_growth_takes_twice_as_long() {
    let long = PathConditions {
        name: "a long path",
        bytes_per_milli: 12_500,
        one_way: Span::from_millis(50),
        queue: 5_000,
        change: |config| config.initial_ssthresh = Some(100),
        ..calm()
    };
    let grown = |profile, name: &str| {
        let c = CongestionAlgorithm::Plugged(built_in(name).expect("it is built in"));
        let record = run(&long, config(profile, c), 1, END);
        record.lines.last().expect("there are acknowledgments").window - 100
    };
    let (by_segment, by_ack) = (grown(TODAY, "reno-c"), grown(Profile::Linux2_6, "reno-c"));
    let twice = by_ack * 19 / 10..=by_ack * 21 / 10;
    assert!(twice.contains(&by_segment), "{by_segment} segments, {by_ack} by acknowledgments");
    assert!(grown(TODAY, "scalable") > 2 * grown(Profile::Linux2_6, "scalable"));
}

/// Those that exist in C alone carry a transfer: four fifths of what 10 Mbit/s take in 39 seconds.
#[test]
fn c_only_controls_fill_a_path() {
    for name in ["scalable", "highspeed", "htcp", "hybla"] {
        let c = CongestionAlgorithm::Plugged(built_in(name).expect("it is built in"));
        let record = run(&PathConditions { lost: 1, ..calm() }, config(TODAY, c), 1, END);
        let most = 39 * 10_000_000 / 8;
        assert!(record.delivered > most * 4 / 5, "{name}: {} of {most} bytes", record.delivered);
        assert!(record.count(Event::FastRetransmit) > 2, "{name}");
    }
}
