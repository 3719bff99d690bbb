//! Causes of retransmissions: inferences of a tap against the endpoint.
#![expect(clippy::print_stdout, reason = "the matrices stand in the documentation")]

use crate::conversation::{Application, Setting, hold};
use crate::matrix::Matrix;
use fairwind_analyse::stream::{Cause, ProbeUseCounts};
use fairwind_tcp::{Config, Profile, TailLossProbe};
use fairwind_units::Span;

/// A change of an endpoint, and its name.
type Variant = (&'static str, fn(&mut Config));

const VARIANTS: [Variant; 6] = [
    ("plain", |_| {}),
    ("no probes", |config| config.loss.tail_loss_probe = TailLossProbe::Off),
    ("no SACK", |config| config.sack = false),
    ("no timestamps", |config| config.timestamps = false),
    ("linear time-outs", |config| config.linear_timeouts = true),
    ("linear time-outs, first duplicate, no probes", |config| {
        config.linear_timeouts = true;
        config.modified_fast_retransmit = true;
        config.loss.tail_loss_probe = TailLossProbe::Off;
    }),
];

const fn thin(bytes: u64, millis: u64) -> Application {
    Application::Thin { bytes, interval: Span::from_millis(millis) }
}

/// A path with a round trip of 100 ms, 5 Mbit/s, and a queue of 60 packets; of a thousand packets `lost`
/// are lost on the way there, half as many on the way back, and `late` are up to 40 ms late.
fn setting(
    profile: Profile,
    change: fn(&mut Config),
    application: Application,
    (lost, late): (u64, u64),
) -> Setting {
    let mut sender = profile.config();
    change(&mut sender);
    Setting {
        lost_per_thousand: (lost, lost / 2),
        late: (late, Span::from_millis(40)),
        duration: Span::from_secs(600),
        ..Setting::new(sender, application)
    }
}

/// All conversations of a profile, a variant and an application.
fn matrix(profile: Profile, change: fn(&mut Config), application: Application) -> Matrix {
    let mut habits = ProbeUseCounts::default();
    let mut matrix = Matrix::default();
    for path in [(50, 0), (50, 10), (10, 0), (10, 10)] {
        let setting = setting(profile, change, application, path);
        let outcome = hold(&setting, 57 + path.1, &mut habits);
        assert_eq!(outcome.mistaken, [], "new data is new data");
        let measures = outcome.stream.measures();
        assert_eq!(measures.data_segments(), outcome.data_segments);
        assert_eq!(measures.retransmissions(), outcome.repetitions.len() as u64);
        matrix.add(&outcome);
    }
    matrix
}

/// All profiles and variants; with `linear` also those with linear time-outs and no probes.
fn matrices(application: Application, linear: bool) -> Matrix {
    let mut all = Matrix::default();
    for profile in Profile::ALL {
        for (variant, change) in VARIANTS {
            let config = setting(profile, change, application, (0, 0)).sender;
            let probes = config.loss.tail_loss_probe != TailLossProbe::Off;
            if linear || probes || !config.linear_timeouts {
                let matrix = matrix(profile, change, application);
                println!("{} {variant}: {matrix}", profile.name());
                all.merge(&matrix);
            }
        }
    }
    println!("all: {all}");
    all
}

#[test]
fn greedy_retransmissions_have_correct_cause() {
    let matrix = matrices(Application::Greedy, true);
    assert!(matrix.right_share(Cause::FastRetransmit) > 0.99, "{matrix}");
    assert!(matrix.right_share(Cause::AfterTimeout) > 0.98, "{matrix}");
    assert!(matrix.timeout_error() < 0.02, "{matrix}");
}

#[test]
fn thin_retransmissions_have_correct_cause() {
    let mut matrix = Matrix::default();
    for millis in [30, 100, 150] {
        matrix.merge(&matrices(thin(120, millis), true));
    }
    assert!(matrix.right_share(Cause::FastRetransmit) > 0.99, "{matrix}");
    assert!(matrix.right_share(Cause::AfterTimeout) > 0.99, "{matrix}");
    assert!(matrix.right_share(Cause::TailLossProbe) > 0.99, "{matrix}");
    assert!(matrix.timeout_error() < 0.01, "{matrix}");
}

/// One segment at a time, and nothing that follows: only the waits tell, and linear ones do not.
#[test]
fn single_segment_cause_follows_growing_waits() {
    let matrix = matrices(thin(300, 1000), false);
    assert!(matrix.right_share(Cause::AfterTimeout) > 0.98, "{matrix}");
    assert!(matrix.right_share(Cause::TailLossProbe) > 0.98, "{matrix}");
}
