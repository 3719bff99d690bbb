"""Domination, fronts and their hypervolume. Costs are small where they are good."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether costs are nowhere greater than others, and somewhere smaller."""
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(
        x < y for x, y in zip(a, b, strict=True)
    )


def front_of(costs: Sequence[Sequence[float]]) -> list[int]:
    """Give the places of costs that no others dominate, each set of equal costs once."""
    found: list[int] = []
    for place, one in enumerate(costs):
        if any(dominates(other, one) for other in costs):
            continue
        if not any(tuple(costs[other]) == tuple(one) for other in found):
            found.append(place)
    return found


def hypervolume(costs: ArrayLike, bound: ArrayLike) -> float:
    """Give the volume that is dominated by costs and lies below a bound.

    Slices along the last objective (Knowles 2002): exact, and fast enough for a front of hundreds
    of points in two or three objectives.

    Parameters
    ----------
    costs : float64, shape (points, objectives)
    bound : float64, shape (objectives,)
        Points that are not below it in every objective count nothing.
    """
    points = np.atleast_2d(np.asarray(costs, dtype=np.float64))
    limit = np.asarray(bound, dtype=np.float64)
    if points.size == 0:
        return 0.0
    return _volume(points[(points < limit).all(axis=1)], limit)


def _volume(points: NDArray[np.float64], bound: NDArray[np.float64]) -> float:
    if points.shape[0] == 0:
        return 0.0
    if points.shape[1] == 1:
        return float(bound[0] - points.min())
    points = points[np.argsort(points[:, -1], kind="stable")]
    ends = np.append(points[1:, -1], bound[-1])
    slices = zip(points[:, -1], ends, range(1, len(points) + 1), strict=True)
    return math.fsum(
        float(end - begin) * _volume(points[:count, :-1], bound[:-1])
        for begin, end, count in slices
        if end > begin
    )
