"""Indices of how evenly a resource is shared."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from fairwind.statistics.summaries import finite


def jain_index(shares: ArrayLike) -> float:
    """Jain's fairness index: 1 if all shares are equal, 1/n if one has everything.

    Parameters
    ----------
    shares : float64, shape (participants,)
        What each got, in any one unit, none negative; NaN are left out.

    Returns
    -------
    float
        (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984); NaN if there is no share at all.
    """
    sample = finite(shares)
    if (sample < 0).any():
        raise ValueError("shares must not be negative")
    largest = float(sample.max()) if sample.size else 0.0
    if largest == 0:
        return math.nan
    scaled = sample / largest  # keeps tiny and huge shares away from underflow and overflow
    return float(scaled.sum() ** 2 / (sample.size * (scaled**2).sum()))
