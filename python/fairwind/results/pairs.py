"""Values of two sides of a comparison that have a seed in common."""

from __future__ import annotations

import numpy as np
import polars as pl

from fairwind.statistics.contrasts import Floats


def by_seed(a: pl.DataFrame, b: pl.DataFrame, measure: str) -> tuple[Floats, Floats]:
    """Give a measure of both sides, with the same seed at the same place, in the order of `a`.

    Parameters
    ----------
    a, b : DataFrame
        With the columns ``seed`` and `measure`, one row per seed.

    Returns
    -------
    float64, shape (seeds in common,), twice
        NaN where nothing is known.
    """
    one, other = values_of(a, measure), values_of(b, measure)
    seeds, others = a["seed"].to_numpy(), b["seed"].to_numpy()
    if np.array_equal(seeds, others):  # as nearly always, and it takes a tenth of the time
        return one, other
    places = {seed: place for place, seed in enumerate(others.tolist())}
    pairs = [(at, places[seed]) for at, seed in enumerate(seeds.tolist()) if seed in places]
    at_a, at_b = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return one[at_a], other[at_b]


def values_of(rows: pl.DataFrame, measure: str) -> Floats:
    """Give a column's values, NaN where nothing is known."""
    return rows[measure].cast(pl.Float64).to_numpy()
