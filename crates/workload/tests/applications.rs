//! What applications write, and when.

use fairwind_units::{Instant, Span};
use fairwind_workload::{Application, Greedy, Sampler, Thin};
use rand::SeedableRng as _;

fn thin(interval: Sampler, seed: u64) -> Application {
    let mut thin = Application::Thin(Thin::new(Sampler::Constant(120), interval, seed));
    thin.begin(Instant::from_secs(1));
    thin
}

#[test]
fn a_thin_application_keeps_its_rhythm_however_late_it_is_asked() {
    let mut application = thin(Sampler::Constant(150_000_000), 1);
    assert_eq!(application.poll_write(Instant::from_millis(999), 0), None);
    let late = Instant::from_millis(1310);
    let mut written = Vec::new();
    while let Some(bytes) = application.poll_write(late, 0) {
        written.push(bytes);
    }
    assert_eq!(written, [120, 120, 120], "due at 1000, 1150 and 1300 ms");
    assert_eq!(application.next_write(), Instant::from_millis(1450));
    application.end();
    assert_eq!(application.next_write(), Instant::MAX);
}

#[test]
fn the_same_seed_gives_the_same_rhythm() {
    let rhythm = |seed| {
        let mut application = thin(Sampler::Exponential { mean: 1e8 }, seed);
        (0..50)
            .map(|_| {
                let due = application.next_write();
                application.poll_write(due, 0);
                due
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rhythm(3), rhythm(3));
    assert_ne!(rhythm(3), rhythm(4));
}

#[test]
fn a_greedy_application_refills_below_its_low_water_and_stops_at_its_volume() {
    let mut endless = Application::Greedy(Greedy::new(None));
    assert_eq!(endless.poll_write(Instant::ZERO, 40_000), None);
    assert_eq!(endless.poll_write(Instant::ZERO, 30_000), Some(65_536));
    let mut bounded = Application::Greedy(Greedy::new(Some(100_000)));
    assert_eq!(bounded.poll_write(Instant::ZERO, 0), Some(65_536));
    assert!(!bounded.is_finished());
    assert_eq!(bounded.poll_write(Instant::ZERO, 0), Some(34_464));
    assert!(bounded.is_finished());
    assert_eq!(bounded.poll_write(Instant::ZERO, 0), None);
}

#[test]
fn samplers_have_their_mean_and_stay_at_least_one() {
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(11);
    let samplers = [
        Sampler::Constant(500),
        Sampler::Uniform { least: 100.0, greatest: 900.0 },
        Sampler::Normal { mean: 500.0, deviation: 50.0 },
        Sampler::Exponential { mean: 500.0 },
    ];
    for sampler in samplers {
        let draws: Vec<u64> = (0..20_000).map(|_| sampler.draw(&mut random)).collect();
        let mean = draws.iter().sum::<u64>() / 20_000;
        // Four standard errors of the widest of them, 4 x 500 / sqrt(20000) = 14.
        assert!(mean.abs_diff(500) <= 14, "{sampler:?} has mean {mean}");
        assert!(draws.iter().all(|&draw| draw >= 1));
    }
    let span = Span::from_millis(150);
    assert_eq!(Sampler::Constant(150_000_000).draw(&mut random), span.as_nanos());
}

#[test]
fn an_application_goes_on_in_another_process_as_it_would_have_here() {
    let interval = Sampler::Exponential { mean: 1.0e8 / 3.0 };
    let mut here = thin(interval, 5);
    here.poll_write(Instant::from_secs(9), 0);
    let text = serde_json::to_string(&here).expect("writes");
    let mut there: Application = serde_json::from_str(&text).expect("reads");
    for second in 9..40 {
        let now = Instant::from_secs(second);
        assert_eq!(here.poll_write(now, 0), there.poll_write(now, 0));
        assert_eq!(here.next_write(), there.next_write());
    }
}
