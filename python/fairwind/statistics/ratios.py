"""Relative differences of two samples, with the uncertainty of both."""

from __future__ import annotations

import math
from dataclasses import replace

from numpy.typing import ArrayLike

from fairwind.statistics.differences import complete_pairs
from fairwind.statistics.summaries import Floats, Interval, finite, standard_error, t_quantile

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
    level : float
        Confidence level, 0 to 1.
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
