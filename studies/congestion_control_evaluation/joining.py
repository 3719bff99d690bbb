"""How long it takes until a flow that joins another one has its share."""

from __future__ import annotations

import math

import polars as pl

from fairwind.results import Results
from fairwind.statistics import convergence_time, delta_fair_time, min_to_max

from .shares import (
    BANDWIDTH,
    CONTROL,
    LIMIT,
    RTT,
    payload_capacity,
    with_places,
)

WINDOW_S = 1.0
"""The short term over which rates are averaged."""

JOINED = "20 % bdp"
"""The queue of the runs in which one flow joins another."""


def joining(results: Results, bandwidth: str | None = None) -> pl.DataFrame:
    """Give how long the second flow of every run takes.

    Parameters
    ----------
    results : Results
        With windows of a second, whose groups are ``first`` and ``second``.
    bandwidth : str, optional
        That of all cells, where it is no axis.

    Returns
    -------
    DataFrame
        The axes, ``seed``, ``convergence_s`` (80 % of its fair share), ``delta_fair_s`` (both but
        for 10 %), ``observed_s`` (how long the second flow was watched), the first two once more
        with ``observed_s`` in the place of what did not happen, as ``..._capped_s``, and
        ``settled_fairness`` (the smaller goodput by the larger in the last half of that time).
    """
    rows = []
    windows = with_places(results.intervals.filter(pl.col("interval_s") == WINDOW_S))
    starts = results.flows.filter(pl.col("group") == "second")
    axes = [name for name in (CONTROL, BANDWIDTH, LIMIT, RTT) if name in windows.columns]
    flow_starts = {
        (row["cell"], row["seed"]): row["start_s"]
        for row in starts.select("cell", "seed", "start_s").iter_rows(named=True)
    }
    for (cell, seed), run in windows.group_by(["cell", "seed"], maintain_order=True):
        place = {name: run[name][0] for name in axes}
        rate = str(place.setdefault(BANDWIDTH, bandwidth))
        times = _times(run, flow_starts[cell, seed], rate)
        rows.append({**place, "seed": seed, **times})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.min_horizontal(f"{name}_s", "observed_s").alias(f"{name}_capped_s")
        for name in ("convergence", "delta_fair")
    )


def _times(run: pl.DataFrame, start: float, bandwidth: str) -> dict[str, float]:
    """Judge windows since the second flow has started."""
    begun = run.filter(pl.col("start_s") >= start)
    rates = {
        group: begun.filter(pl.col("group") == group).sort("start_s")
        for group in ("first", "second")
    }
    measure = "goodput_bits_per_second"
    first, second = (rates[group][measure].to_numpy() for group in ("first", "second"))
    since = rates["second"]["start_s"].to_numpy() - start
    fair = payload_capacity(bandwidth) / 2
    half = since.size // 2
    return {
        "convergence_s": convergence_time(since, second, WINDOW_S, fair),
        "delta_fair_s": delta_fair_time(since, first, second, WINDOW_S),
        "observed_s": float(since[-1]) + WINDOW_S if since.size else math.nan,
        "settled_fairness": min_to_max((first[half:].sum(), second[half:].sum())),
    }
