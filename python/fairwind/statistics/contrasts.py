"""Contrasts of two samples: one t test, of logarithms or of values.

The test is of the logarithms where every value is above zero, which gives the ratio of geometric
means, and else of the values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from fairwind.statistics.inference import Difference, paired_difference, welch_difference

Floats = NDArray[np.float64]


class Method(StrEnum):
    """What the t test of a row is of."""

    RATIO = "log ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True)
class Contrast:
    """What a row compares, and its one t test.

    Attributes
    ----------
    method : Method
        What the test is of.
    test : Difference
        Of the logarithms or of the values.
    values : Difference
        Of the values, whatever the test is of.
    least : float
        The relative difference that nothing can fall below: -1, if no value is negative.
    """

    method: Method
    test: Difference
    values: Difference
    least: float

    def relative(self, bound: float) -> float:
        """Give a value on the scale of the test relative to the mean of A; NaN where that is 0."""
        if self.method is Method.RATIO:
            return math.expm1(bound)
        mean = self.values.mean_a
        return math.nan if mean == 0 or math.isnan(mean) else max(bound / abs(mean), self.least)

    def difference(self, bound: float) -> float:
        """Give a value on the scale of the test in the unit of the values."""
        is_ratio = self.method is Method.RATIO
        return self.values.mean_a * math.expm1(bound) if is_ratio else bound

    def bound(self, relative: float) -> float:
        """Give a relative difference above -1 on the scale of the test; NaN where A is zero."""
        if self.method is Method.RATIO:
            return math.log1p(relative)
        return relative * abs(self.values.mean_a) if self.values.mean_a != 0 else math.nan


def contrast_of_samples(first: Floats, second: Floats, *, is_paired: bool) -> Contrast:
    """Compare two samples without NaN, float64 of shape (samples,); paired by their places."""
    compare = paired_difference if is_paired else welch_difference
    values = compare(first, second)
    is_negative = bool((first < 0).any() or (second < 0).any())
    least = -math.inf if is_negative else -1.0
    if len(first) > 0 and len(second) > 0 and min(first.min(), second.min()) > 0:
        return Contrast(Method.RATIO, compare(np.log(first), np.log(second)), values, least)
    return Contrast(Method.DIFFERENCE, values, values, least)
