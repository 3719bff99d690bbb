"""Curves of a scenario of a screening: goodput and queue over time, of its first seed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fairwind.results import Results
from fairwind.screen.measures import LONGEST_S
from fairwind.screen.suite import Template

MOST_POINTS = 120
"""Points of a curve; longer ones are thinned out by means."""


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes
    ----------
    name : str
        The group, or ``queue``.
    times_s : tuple of float
        Beginnings of windows since the experiment began.
    values : tuple of float
        Goodput in bit/s, or waiting time in seconds.
    """

    name: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Series:
    """Curves of a scenario with the control, and with the standard control in its place.

    Attributes
    ----------
    control, standard : tuple of Curve
        The second is empty where nothing was held against the standard.
    """

    engine: str
    scenario: str
    area: str
    against: str
    control_name: str
    control: tuple[Curve, ...]
    standard: tuple[Curve, ...]


def series_of(
    engine: str,
    template: Template,
    against: str,
    beside: Results,
    reference: Results | None,
    control_name: str,
) -> Series:
    """Read the curves of the first seed of a scenario's runs."""
    return Series(
        engine=engine,
        scenario=template.name,
        area=template.area,
        against=against,
        control_name=control_name,
        control=_curves(beside),
        standard=() if reference is None else _curves(reference),
    )


def _curves(results: Results) -> tuple[Curve, ...]:
    windows = results.intervals.filter(
        (pl.col("interval_s") == LONGEST_S)
        & (pl.col("scope") == "group")
        & (pl.col("replicate") == 0)
    )
    found = [
        _curve(str(group), run, "goodput_bits_per_second")
        for (group,), run in windows.group_by(["group"], maintain_order=True)
        if not str(group).endswith("-responses") or run["goodput_bits_per_second"].sum() > 0
    ]
    queue = results.table("queue_intervals").filter(
        (pl.col("queue") == "bottleneck") & (pl.col("replicate") == 0)
    )
    if queue.height:
        found.append(_curve("queue", queue, "sojourn_mean_s"))
    return tuple(found)


def _curve(name: str, run: pl.DataFrame, column: str) -> Curve:
    step = -(-run.height // MOST_POINTS) or 1
    thinned = (
        run.sort("start_s")
        .with_row_index("row")
        .group_by(pl.col("row") // step, maintain_order=True)
        .agg(pl.col("start_s").first(), pl.col(column).mean().fill_null(0.0))
    )
    return Curve(name, tuple(thinned["start_s"]), tuple(thinned[column]))
