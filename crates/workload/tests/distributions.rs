//! Draws follow their distributions.

use fairwind_workload::{Quantiles, QuantilesError, Sampler};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

const SEED: u64 = 7;
const DRAWS: u32 = 40_000;

/// Kolmogorov's distance between draws and the law with this cumulative function; a true law is
/// farther away once in a thousand seeds.
fn assert_follows(sampler: &Sampler, cumulative: impl Fn(f64) -> f64) {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut draws: Vec<u64> = (0..DRAWS).map(|_| sampler.draw(&mut random)).collect();
    draws.sort_unstable();
    let count = f64::from(DRAWS);
    let mut farthest: f64 = 0.0;
    for (rank, draw) in (0..DRAWS).zip(draws) {
        #[expect(clippy::cast_precision_loss, reason = "draws are far below 2^53")]
        let expected = cumulative(draw as f64);
        let (below, above) = (f64::from(rank) / count, f64::from(rank + 1) / count);
        farthest = farthest.max((expected - below).abs()).max((expected - above).abs());
    }
    let limit = 1.95 / count.sqrt();
    assert!(farthest < limit, "{sampler:?}: distance {farthest} > {limit} with seed {SEED}");
}

/// Share of the standard normal law below `z`.
fn normal(z: f64) -> f64 {
    f64::midpoint(1.0, libm::erf(z / std::f64::consts::SQRT_2))
}

#[test]
fn pareto_tail_follows_shape() {
    assert_follows(&Sampler::Pareto { least: 1e6, shape: 1.2 }, |x| 1.0 - (1e6 / x).powf(1.2));
}

#[test]
fn bounded_pareto_follows_truncated_distribution() {
    let whole = 1.0 - (1e6_f64 / 1e8).powf(0.8);
    assert_follows(&Sampler::bounded_pareto(1e6, 1e8, 0.8), |x| {
        (1.0 - (1e6 / x).powf(0.8)) / whole
    });
}

#[test]
fn lognormal_draw_stays_within_bounds() {
    // Mean 1e6 and deviation 2e6: variance of the logarithm ln 5, mean ln 1e6 - ln 5 / 2.
    let scale = 5.0_f64.ln().sqrt();
    let location = 1e6_f64.ln() - 5.0_f64.ln() / 2.0;
    let free = |x: f64| normal((x.ln() - location) / scale);
    assert_follows(&Sampler::lognormal(1e6, 2e6, 0.0, None), free);
    let (least, greatest) = (2e5, 5e6);
    assert_follows(&Sampler::lognormal(1e6, 2e6, least, Some(greatest)), |x| {
        (free(x) - free(least)) / (free(greatest) - free(least))
    });
}

#[test]
fn an_endless_tail_ends_at_a_pebibyte() {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let heavy = Sampler::Pareto { least: 1e9, shape: 0.5 };
    let largest = (0..DRAWS).map(|_| heavy.draw(&mut random)).max();
    assert_eq!(largest, Some(1 << 50), "seed {SEED}: one in 1061 draws is larger");
}

#[test]
fn draws_between_quantiles_are_uniform() {
    let points = [(0.0, 1e6), (0.25, 1e6), (0.5, 3e6), (1.0, 7e6)];
    let law = Quantiles::new(&points).expect("quantiles rise");
    // 0.25 of all at 1e6, the rest in two stretches with means 2e6 and 5e6.
    assert!((law.mean() - (0.25e6 + 0.5e6 + 2.5e6)).abs() < 1e-3);
    for (share, value) in [(0.1, 1e6), (0.375, 2e6), (0.75, 5e6), (1.0, 7e6)] {
        assert!((law.quantile(share) - value).abs() < 1e-3, "share {share}");
    }
}

#[test]
fn single_interval_with_mean_is_truncated_exponential() {
    // From 0 to 1 with decay 2 the mean is 1/2 - 1/(e^2 - 1), and the share below x is
    // (1 - e^-2x) / (1 - e^-2).
    let mean = 0.5 - 1.0 / 2.0_f64.exp_m1();
    let law = Quantiles::new(&[(0.0, 0.0), (1.0, 1e6)]).expect("quantiles rise");
    let law = law.with_mean(1e6 * mean).expect("the mean is between the bounds");
    for share in [0.0, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0] {
        let expected = -1e6 * (1.0 - share * (1.0 - (-2.0_f64).exp())).ln() / 2.0;
        let found = law.quantile(share);
        assert!((found - expected).abs() < 1e-4, "share {share}: {found} for {expected}");
    }
    assert_follows(&Sampler::quantiles(law), |x| (-2e-6 * x).exp_m1() / (-2.0_f64).exp_m1());
}

#[test]
fn mean_is_met_without_changing_quantiles() {
    let points = [(0.0, 7.0), (0.01, 83.0), (0.5, 449.0), (0.99, 4195.0), (1.0, 17032.0)];
    // The bounds: 0.01*7 + 0.49*83 + 0.49*449 + 0.01*4195, and the same one quantile higher.
    let (least, greatest) = (302.70, 2446.71);
    for mean in [302.8, 400.0, 632.0, 1500.0, 2400.0, 2446.1] {
        let law = Quantiles::new(&points).and_then(|law| law.with_mean(mean));
        let law = law.expect("the mean is possible");
        assert!((law.mean() - mean).abs() < 1e-6, "{} for {mean}", law.mean());
        for (share, value) in points {
            let found = law.quantile(share);
            assert!((found - value).abs() < 1e-6, "share {share}: {found} for {value}");
        }
        let shares = (0..=10_000).map(|step| f64::from(step) / 10_000.0);
        let values: Vec<f64> = shares.map(|share| law.quantile(share)).collect();
        assert!(values.is_sorted(), "the quantile function of mean {mean} falls");
        // The mean is the area under the quantile function: each step between its two ends.
        let area = |offset: usize| values[offset..offset + 10_000].iter().sum::<f64>() / 10_000.0;
        assert!((area(0)..=area(1)).contains(&mean), "{} to {} for {mean}", area(0), area(1));
    }
    let error =
        Quantiles::new(&points).and_then(|law| law.with_mean(302.0)).expect_err("too small");
    let QuantilesError::Mean { least: found_least, greatest: found_greatest } = error else {
        panic!("{error}");
    };
    assert!((found_least - least).abs() < 0.01 && (found_greatest - greatest).abs() < 0.01);
}

#[test]
fn quantiles_must_rise_from_0_to_1() {
    let wrong: [&[(f64, f64)]; 5] = [
        &[],
        &[(0.0, 1.0)],
        &[(0.0, 1.0), (0.9, 2.0)],
        &[(0.0, 1.0), (0.5, 3.0), (1.0, 2.0)],
        &[(0.0, 1.0), (0.5, 1.5), (0.5, 1.7), (1.0, 2.0)],
    ];
    for points in wrong {
        assert_eq!(Quantiles::new(points), Err(QuantilesError::NotRising), "{points:?}");
    }
}
