"""Estimates of samples with their uncertainty: means, differences, ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairwind._core import student_probability, student_quantile

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


def finite(values: ArrayLike) -> Floats:
    """Give the values that are numbers, as one flat array."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def standard_error(sample: Floats) -> float:
    """Estimate the standard error of the mean of at least two samples."""
    if np.ptp(sample) == 0:
        return 0.0  # the formula would give the rounding error of the mean
    return float(sample.std(ddof=1)) / math.sqrt(sample.size)


@lru_cache(maxsize=1024)
def t_quantile(level: float, degrees_of_freedom: float) -> float:
    """Two-sided quantile of Student's t distribution for a confidence level."""
    return student_quantile(degrees_of_freedom, (1 + level) / 2)


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
    error, freedom = _independent_error(first, second)
    return _difference(first, second, error, freedom, level, is_paired=False)


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
    return 2 * student_probability(freedom, -abs(estimate) / error)


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


def _independent_error(a: Floats, b: Floats, ratio: float = 1.0) -> tuple[float, float]:
    """Give the standard error of mean(B) - ratio * mean(A), and its degrees of freedom."""
    of_a, of_b = (ratio * standard_error(a)) ** 2, standard_error(b) ** 2
    total = of_a + of_b
    if total == 0:
        return 0.0, float(a.size + b.size - 2)
    freedom = total**2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
    return math.sqrt(total), freedom
