//! Student's t distribution, of which the intervals and tests of results are made.
//!
//! Its probabilities are those of `statrs`. The quantiles of `statrs` lose digits far out in the tail (all of them with
//! one degree of freedom at 10^-12), so they are only the start of Newton's method.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// A relative step of Newton's method below which the quantile is found: probabilities have ten digits or more.
const TOLERANCE: f64 = 1e-12;

/// Newton's method doubles the digits of each step; from the centre it reaches the far tail in a few dozen.
const MAX_STEPS: u32 = 100;

/// The probability of a value of at most `value` (cumulative distribution function).
///
/// NaN if the degrees of freedom are not positive, or an argument is NaN.
pub fn student_probability(degrees_of_freedom: f64, value: f64) -> f64 {
    match distribution(degrees_of_freedom) {
        Some(student) if !value.is_nan() => student.cdf(value),
        _ => f64::NAN,
    }
}

/// The value that is exceeded with a probability of 1 − `probability` (quantile).
///
/// With infinite degrees of freedom it is that of the normal distribution. Infinite for the probabilities 0 and 1. NaN
/// for others that are not between them, if the degrees of freedom are not positive, or an argument is NaN.
pub fn student_quantile(degrees_of_freedom: f64, probability: f64) -> f64 {
    let Some(student) = distribution(degrees_of_freedom) else { return f64::NAN };
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    if degrees_of_freedom.is_infinite() {
        return Normal::standard().inverse_cdf(probability);
    }
    // In the upper tail the probability would be rounded to parts of one.
    if probability > 0.5 {
        -lower(&student, 1.0 - probability)
    } else {
        lower(&student, probability)
    }
}

fn distribution(degrees_of_freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()
}

/// The quantile of a probability of at most one half.
fn lower(student: &StudentsT, probability: f64) -> f64 {
    if probability == 0.0 {
        return f64::NEG_INFINITY;
    }
    let mut quantile = student.inverse_cdf(probability);
    for _ in 0..MAX_STEPS {
        let step = (student.cdf(quantile) - probability) / student.pdf(quantile);
        quantile -= step;
        if step.abs() <= TOLERANCE * quantile.abs() {
            break;
        }
    }
    quantile
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    const PROBABILITIES: [f64; 9] = [1e-12, 1e-6, 1e-4, 0.005, 0.025, 0.2, 0.45, 0.9, 0.975];

    fn assert_close(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs(),
            "{found:e}, not {expected:e}"
        );
    }

    /// Cauchy distribution: F(t) = 1/2 + arctan(t) / π.
    #[test]
    fn one_degree_of_freedom_has_a_closed_form() {
        for probability in PROBABILITIES {
            let expected = -1.0 / (PI * probability).tan();
            let expected =
                if probability > 0.5 { -1.0 / (PI * (probability - 1.0)).tan() } else { expected };
            assert_close(student_quantile(1.0, probability), expected, 1e-11);
            assert_close(student_probability(1.0, expected), probability, 1e-11);
        }
        assert_close(student_probability(1.0, 1.0), FRAC_PI_2 * 0.5 / PI + 0.5, 1e-12);
    }

    /// F(t) = 1/2 + t / (2 √(2 + t²)).
    #[test]
    fn two_degrees_of_freedom_have_a_closed_form() {
        for probability in PROBABILITIES {
            let expected =
                (2.0 * probability - 1.0) / (2.0 * probability * (1.0 - probability)).sqrt();
            assert_close(student_quantile(2.0, probability), expected, 1e-11);
        }
    }

    /// Tables of Student's t distribution, for two-sided levels of 95 and 99 %.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, of_95, of_99) in
            [(3.0, 3.182_446, 5.840_909), (9.0, 2.262_157, 3.249_836), (19.0, 2.093_024, 2.860_935)]
        {
            assert_close(student_quantile(freedom, 0.975), of_95, 1e-6);
            assert_close(student_quantile(freedom, 0.995), of_99, 1e-6);
        }
    }

    #[test]
    fn quantiles_and_probabilities_are_inverse() {
        for freedom in [0.3, 1.2, 4.0, 7.3, 59.0, 1_000.0, 1e5] {
            for probability in PROBABILITIES {
                let there = student_quantile(freedom, probability);
                assert_close(student_probability(freedom, there), probability, 1e-9);
            }
        }
    }

    /// With infinite degrees of freedom it is the normal distribution.
    #[test]
    fn limit_is_the_normal_distribution() {
        assert_close(student_quantile(f64::INFINITY, 0.975), 1.959_963_984_540_054, 1e-11);
        assert_close(student_quantile(f64::INFINITY, 0.8), 0.841_621_233_572_914, 1e-11);
        assert_close(student_probability(f64::INFINITY, -3.0), 1.349_898_031_630_094_6e-3, 1e-10);
    }

    #[test]
    fn ends_and_nonsense() {
        assert!(student_quantile(5.0, 0.0) == f64::NEG_INFINITY);
        assert!(student_quantile(5.0, 1.0) == f64::INFINITY);
        assert!(student_quantile(5.0, 0.5).abs() < 1e-12);
        assert_close(student_probability(5.0, f64::NEG_INFINITY) + 1.0, 1.0, 0.0);
        for nonsense in [
            student_quantile(0.0, 0.5),
            student_quantile(f64::NAN, 0.5),
            student_quantile(5.0, 1.1),
            student_quantile(5.0, f64::NAN),
            student_probability(-1.0, 0.0),
            student_probability(5.0, f64::NAN),
        ] {
            assert!(nonsense.is_nan());
        }
    }
}
