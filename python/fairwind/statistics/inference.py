"""Estimates of samples with their uncertainty: means, differences, ratios, equivalence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval, in the unit of the sample.

    Attributes
    ----------
    estimate : float
        NaN for an empty sample.
    low, high : float
        Bounds; NaN where the sample is too small to tell.
    level : float
        Confidence level, 0 to 1.
    samples : int
        Number of samples behind it.
    """

    estimate: float
    low: float
    high: float
    level: float
    samples: int

    def row(self) -> dict[str, float | int]:
        """Give columns of a table of estimates; missing bounds are NaN."""
        bounds = {"mean": self.estimate, "low": self.low, "high": self.high}
        return {**bounds, "replicates": self.samples}


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Estimate the mean with Student's t interval, for independent samples."""
    sample = finite(values)
    if sample.size == 0:
        return Interval(math.nan, math.nan, math.nan, level, 0)
    mean = float(sample.mean())
    if sample.size == 1:
        return Interval(mean, math.nan, math.nan, level, 1)
    half = t_quantile(level, sample.size - 1) * standard_error(sample)
    return Interval(mean, mean - half, mean + half, level, sample.size)


def prediction_half_width(values: ArrayLike, level: float = 0.95) -> float:
    """Half width of the prediction interval of one further sample (Student's t).

    Parameters
    ----------
    values : float64, shape (samples,)
        Independent samples of about normal distribution; NaN are left out.
    level : float
        Share of further samples that lie within, 0 to 1.

    Returns
    -------
    float
        Half the width of the interval around the mean, in the unit of the sample; NaN for fewer
        than two samples.
    """
    sample = finite(values)
    if sample.size < 2:
        return math.nan
    spread = float(sample.std(ddof=1)) * math.sqrt(1 + 1 / sample.size)
    return t_quantile(level, sample.size - 1) * spread


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[[Floats], float],
    *,
    seed: int,
    level: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """Estimate any statistic with a percentile bootstrap interval.

    Parameters
    ----------
    values : float64, shape (samples,)
        Independent samples.
    statistic : callable
        From an array of samples to one number.
    seed : int
        Of the generator that draws the resamples; the same seed gives the same interval.
    resamples : int
        How many resamples are drawn.
    """
    sample = finite(values)
    if sample.size == 0:
        return Interval(math.nan, math.nan, math.nan, level, 0)
    estimate = float(statistic(sample))
    if sample.size == 1:
        return Interval(estimate, math.nan, math.nan, level, 1)
    generator = np.random.default_rng(seed)
    draws = [
        float(statistic(sample[generator.integers(0, sample.size, sample.size)]))
        for _ in range(resamples)
    ]
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), level, sample.size)


def quantiles(values: ArrayLike, probabilities: Sequence[float]) -> Floats:
    """Give quantiles of a sample (linear between order statistics).

    Parameters
    ----------
    values : float64, shape (samples,)
        NaN are left out.
    probabilities : sequence of float
        Each 0 to 1.

    Returns
    -------
    float64, shape (len(probabilities),)
        NaN for an empty sample.
    """
    sample = finite(values)
    if sample.size == 0:
        return np.full(len(probabilities), math.nan)
    return np.asarray(np.quantile(sample, probabilities), dtype=np.float64)


def finite(values: ArrayLike) -> Floats:
    """Give the values that are numbers, as one flat array."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def standard_error(sample: Floats) -> float:
    """Estimate the standard error of the mean of at least two samples."""
    if np.ptp(sample) == 0:
        return 0.0  # the formula would give the rounding error of the mean
    return float(sample.std(ddof=1)) / math.sqrt(sample.size)


def t_quantile(level: float, degrees_of_freedom: float) -> float:
    """Two-sided quantile of Student's t distribution for a confidence level."""
    return float(special.stdtrit(degrees_of_freedom, (1 + level) / 2))


@dataclass(frozen=True)
class Difference:
    """The mean of B less the mean of A, with its uncertainty.

    Attributes
    ----------
    mean_a, mean_b : float
        Means of the samples, in their unit.
    estimate, low, high : float
        The difference B - A and its confidence interval, in the same unit.
    p_value : float
        Two-sided, of the hypothesis that there is no difference; NaN where it is unknown.
    level : float
        Confidence level of the interval, 0 to 1.
    samples_a, samples_b : int
        Sizes of the samples.
    is_paired : bool
        Whether the samples were compared pair by pair.
    standard_error : float
        Of the estimate, in the unit of the samples; NaN where it is unknown.
    freedom : float
        Degrees of freedom of the t test.
    """

    mean_a: float
    mean_b: float
    estimate: float
    low: float
    high: float
    p_value: float
    level: float
    samples_a: int
    samples_b: int
    is_paired: bool
    standard_error: float
    freedom: float

    @property
    def has_spread(self) -> bool:
        """Whether an interval can be computed.

        Differences that are all the same show a percentile's resolution, not certainty.
        """
        return self.estimate == 0 or self.high - self.low > SAME * abs(self.estimate)

    def at_level(self, level: float) -> Difference:
        """Give the same difference with the interval of another confidence level, 0 to 1."""
        half = half_width(self.standard_error, self.freedom, level)
        return replace(self, low=self.estimate - half, high=self.estimate + half, level=level)

    def p_value_against(self, null: float) -> float:
        """Give the two-sided p value of another hypothesis than no difference; NaN if unknown."""
        return _p_value(self.estimate - null, self.standard_error, self.freedom)


SAME = 1e-12
"""An interval narrower than this, relative to its estimate, is only rounding."""


@dataclass(frozen=True)
class Equivalence:
    """Outcome of two one-sided tests whether |B - A| is below a margin (Schuirmann 1987).

    Attributes
    ----------
    difference : Difference
        With the interval at level 1 - 2 alpha, which the test compares with the margin.
    margin : float
        In the unit of the samples.
    p_value : float
        Of the hypothesis that the difference is at least the margin, either way.
    is_equivalent : bool
        Whether that hypothesis is rejected at `alpha`.
    """

    difference: Difference
    margin: float
    p_value: float
    is_equivalent: bool


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Difference:
    """Compare samples pair by pair with Student's t test of their differences.

    Parameters
    ----------
    a, b : float64, shape (samples,)
        Sample i of both belongs together, for example by its seed. A pair with a NaN is left out.
    """
    first, second = complete_pairs(a, b)
    differences = second - first
    error = standard_error(differences) if differences.size > 1 else math.nan
    return _difference(first, second, error, differences.size - 1, level, is_paired=True)


def welch_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Difference:
    """Compare independent samples of perhaps unequal variance (Welch 1947)."""
    first, second = finite(a), finite(b)
    if min(first.size, second.size) < 2:
        return _difference(first, second, math.nan, 0, level, is_paired=False)
    error_a, error_b = standard_error(first) ** 2, standard_error(second) ** 2
    total = error_a + error_b
    if total == 0:
        freedom = float(first.size + second.size - 2)
    else:
        freedom = total**2 / (error_a**2 / (first.size - 1) + error_b**2 / (second.size - 1))
    return _difference(first, second, math.sqrt(total), freedom, level, is_paired=False)


def equivalence(
    a: ArrayLike, b: ArrayLike, margin: float, *, alpha: float = 0.05, is_paired: bool = True
) -> Equivalence:
    """Test whether two samples differ by less than a margin (two one-sided t tests).

    A large p value of `paired_difference` does not show that there is no difference; this does.

    Parameters
    ----------
    a, b : float64, shape (samples,)
    margin : float
        The largest difference that counts as none, in the unit of the samples, above 0.
    alpha : float
        Probability of calling samples equivalent that differ by the margin.
    is_paired : bool
        Whether sample i of both belongs together.
    """
    if not margin > 0:
        raise ValueError(f"margin must be above 0, not {margin}")
    compare = paired_difference if is_paired else welch_difference
    difference = compare(a, b, 1 - 2 * alpha)
    p_value = _equivalence_p_value(a, b, margin, is_paired=is_paired)
    return Equivalence(difference, margin, p_value, p_value < alpha)


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p values of several tests so that the chance of any false alarm stays bounded.

    Parameters
    ----------
    p_values : float64, shape (tests,)
        NaN stay NaN and do not count as tests.

    Returns
    -------
    float64, shape (tests,)
        Adjusted p values in the order given (Holm 1979), never above 1.
    """
    values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(values.shape, math.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted


def _equivalence_p_value(a: ArrayLike, b: ArrayLike, margin: float, *, is_paired: bool) -> float:
    if is_paired:
        first, second = complete_pairs(a, b)
        compare = paired_difference
    else:
        first, second = finite(a), finite(b)
        compare = welch_difference
    # Each one-sided p value is half the two-sided one of the samples moved by the margin, on the
    # side towards zero.
    above, below = compare(first - margin, second), compare(first + margin, second)
    p_low = above.p_value / 2 if above.estimate > 0 else 1 - above.p_value / 2
    p_high = below.p_value / 2 if below.estimate < 0 else 1 - below.p_value / 2
    return float(np.maximum(p_low, p_high))


def complete_pairs(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    """Give the pairs of which both values are numbers."""
    first = np.asarray(a, dtype=np.float64).ravel()
    second = np.asarray(b, dtype=np.float64).ravel()
    if first.size != second.size:
        raise ValueError(f"pairs need samples of one size, not {first.size} and {second.size}")
    known = np.isfinite(first) & np.isfinite(second)
    return first[known], second[known]


def _difference(
    a: Floats, b: Floats, error: float, freedom: float, level: float, *, is_paired: bool
) -> Difference:
    mean_a = float(a.mean()) if a.size else math.nan
    mean_b = float(b.mean()) if b.size else math.nan
    estimate = float((b - a).mean()) if is_paired and a.size else mean_b - mean_a
    p_value = _p_value(estimate, error, freedom)
    half = half_width(error, freedom, level)
    return Difference(
        mean_a=mean_a,
        mean_b=mean_b,
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        p_value=p_value,
        level=level,
        samples_a=a.size,
        samples_b=b.size,
        is_paired=is_paired,
        standard_error=error,
        freedom=freedom,
    )


def _p_value(estimate: float, error: float, freedom: float) -> float:
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if estimate == 0 else 0.0
    return 2 * float(special.stdtr(freedom, -abs(estimate) / error))


def half_width(error: float, freedom: float, level: float) -> float:
    """Half the width of a t interval; NaN where the standard error is unknown."""
    if math.isnan(error) or error == 0:
        return error
    return t_quantile(level, freedom) * error


LARGEST_EXPONENT = 700.0
"""Of which e to the power of it is a number: an interval as wide as that tells nothing."""


def relative_difference(
    a: ArrayLike, b: ArrayLike, level: float = 0.95, *, is_paired: bool
) -> Interval:
    """Estimate how much larger the mean of B is than that of A, relative to A.

    The interval is that of the ratio of two means by the delta method, with Student's t: for pairs
    from the residuals b - r a (Cochran 1977, section 6), else with Welch's degrees of freedom.
    It needs a mean of A that is many standard errors away from zero.

    Parameters
    ----------
    a, b : float64, shape (samples,)
        Of pairs, or independent samples that may differ in size; NaN are left out.
    is_paired : bool
        Whether sample i of both belongs together.

    Returns
    -------
    Interval
        Of mean(B) / mean(A) - 1, as a ratio; NaN where the mean of A is zero. `samples` counts
        pairs, or those of the smaller sample.
    """
    first, second = complete_pairs(a, b) if is_paired else (finite(a), finite(b))
    samples = min(first.size, second.size)
    mean_a = float(first.mean()) if first.size else 0.0
    if samples == 0 or mean_a == 0:
        return Interval(math.nan, math.nan, math.nan, level, samples)
    ratio = float(second.mean()) / mean_a
    estimate = ratio - 1 if mean_a > 0 else 1 - ratio
    if samples == 1:
        return Interval(estimate, math.nan, math.nan, level, samples)
    if is_paired:
        error, freedom = standard_error(second - ratio * first), float(samples - 1)
    else:
        error, freedom = _independent_error(first, second, ratio)
    half = t_quantile(level, freedom) * error / abs(mean_a)
    return Interval(estimate, estimate - half, estimate + half, level, samples)


def relative_change(
    a: ArrayLike, b: ArrayLike, level: float = 0.95, *, is_paired: bool
) -> Interval:
    """Estimate how much larger the mean of B is than that of A, of what cannot be below zero.

    As `relative_difference`, but the interval is that of the logarithm of the ratio, carried back:
    nothing falls by more than all of itself, so it never reaches beyond -100 %, however wide. To
    fall to a half is as far as to rise to double. Both agree where the interval is narrow.

    Parameters
    ----------
    a, b, level, is_paired
        As for `relative_difference`.

    Returns
    -------
    Interval
        Of mean(B) / mean(A) - 1, as a ratio; that of `relative_difference` where a value is below
        zero, or no value of B is above.
    """
    interval = relative_difference(a, b, level, is_paired=is_paired)
    ratio = 1 + interval.estimate
    is_below_zero = any((sample < 0).any() for sample in (finite(a), finite(b)))
    if is_below_zero or not ratio > 0:
        return interval
    half = min((interval.high - interval.estimate) / ratio, LARGEST_EXPONENT)
    low, high = ratio * math.exp(-half) - 1, ratio * math.exp(half) - 1
    return replace(interval, low=low, high=high)


def _independent_error(a: Floats, b: Floats, ratio: float) -> tuple[float, float]:
    """Give the standard error of mean(B) - ratio * mean(A), and its degrees of freedom."""
    of_a, of_b = (ratio * standard_error(a)) ** 2, standard_error(b) ** 2
    total = of_a + of_b
    if total == 0:
        return 0.0, float(a.size + b.size - 2)
    freedom = total**2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
    return math.sqrt(total), freedom
