//! The floating-point formulas of the measures; everything else is counted in integers.

use fairwind_units::Span;

/// `count` as a real number; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a table's number needs no more than 53 bits")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// A sum of whole numbers as a real number; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a table's number needs no more than 53 bits")]
pub(crate) fn real_sum(sum: u128) -> f64 {
    sum as f64
}

/// `sum / count`, or `None` of nothing.
pub(crate) fn mean(sum: u128, count: u64) -> Option<f64> {
    (count > 0).then(|| real_sum(sum) / real(count))
}

/// `part / whole`, or `None` where there is no whole.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| real(part) / real(whole))
}

/// Bits per second that `bytes` in `time` are, or `None` in no time.
pub(crate) fn bits_per_second(bytes: u64, time: Span) -> Option<f64> {
    (!time.is_zero()).then(|| real(bytes) * 8.0 / time.as_secs_f64())
}

/// Time-weighted mean of an amount whose sum over packets of (amount x nanoseconds) is `weighted`.
pub(crate) fn time_weighted(weighted: u128, time: Span) -> Option<f64> {
    mean(weighted, time.as_nanos())
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    Span::from_nanos(nanos).as_secs_f64()
}

/// The rank, counted from 1, of the smallest of `count` samples that `percentile` per cent do not
/// exceed; `None` of nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is no more than the count, and above zero"
)]
pub(crate) fn rank(percentile: f64, count: u64) -> Option<u64> {
    // Percentiles are decimals and ranks of whole samples: what rounding adds must not make a rank more.
    let rank = percentile * real(count) / 100.0 * (1.0 - 4.0 * f64::EPSILON);
    (count > 0).then(|| (rank.ceil() as u64).clamp(1, count))
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn a_rank_is_exact_wherever_the_percentile_falls_on_a_sample() {
        for count in (1..=400).chain([1_000, 123_000, 7_000_000, 3_000_000_000]) {
            for tenths in 1_u32..=1000 {
                let exact = (u64::from(tenths) * count).div_ceil(1000);
                assert_eq!(rank(f64::from(tenths) / 10.0, count), Some(exact), "{tenths} {count}");
            }
        }
    }
}
