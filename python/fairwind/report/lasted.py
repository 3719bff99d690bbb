"""Durations of the runs of a folder, in words."""

from __future__ import annotations

import polars as pl

from fairwind.quantities import parse_seconds
from fairwind.results import Results

ENDED_EARLY_S = 1.0
"""A run that is so much shorter than it was described was ended by somebody."""


def duration_in_words(results: Results) -> str:
    """Format the duration of the scenario, or those of runs that ended before it.

    A program behind a path ends when it likes: its scenario only says how long it may last at most.

    Parameters
    ----------
    results : Results

    Returns
    -------
    str
        Empty where nothing is said of a duration.
    """
    experiment = results.manifest.plan.cells[0].experiment
    described = str(experiment.get("duration", ""))
    lasted = _lasted_s(results)
    if not described or lasted is None:
        return described
    lasted += parse_seconds(experiment.get("measure", {}).get("warmup", "0 s"))
    if parse_seconds(described) - lasted < ENDED_EARLY_S:
        return described
    return f"{lasted:.1f} s"


def _lasted_s(results: Results) -> float | None:
    """Find the longest time that was measured."""
    groups = results.groups
    if "measured_s" not in groups.columns:
        return None
    times: list[float] = groups["measured_s"].cast(pl.Float64).drop_nulls().to_list()
    return max(times, default=None)
