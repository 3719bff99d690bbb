"""Estimates of one sample: mean, any statistic by bootstrap, quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Estimate the mean with Student's t interval, for independent samples.

    Parameters
    ----------
    values : float64, shape (samples,)
        NaN are left out.
    level : float
        Confidence level, 0 to 1.
    """
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
        Independent samples; NaN are left out.
    statistic : callable
        From an array of samples to one number.
    seed : int
        Of the generator that draws the resamples; the same seed gives the same interval.
    level : float
        Confidence level, 0 to 1.
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
