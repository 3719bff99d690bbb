"""What those who share the path meet in the first second after a call."""

from __future__ import annotations

import polars as pl

from fairwind.results import Results
from fairwind.results.tidy import of_queue

from .transfers import with_axes

BOTTLENECK = "bottleneck"

FIRST_S = 1.0
"""A jump's burst has passed by then, whatever it has met."""


def in_the_first_second(results: Results, calls: pl.DataFrame, others: str) -> pl.DataFrame:
    """Give what a group met in the windows that begin within a second after the call.

    Parameters
    ----------
    results : Results
        With windows that are short beside a second, of groups and of queues.
    calls : DataFrame
        One row for each run, with ``start_s``, when it began.
    others : str
        The group.

    Returns
    -------
    DataFrame
        What `calls` tells runs apart by; ``..._lost`` (packets), ``..._first_bits_per_second``
        (goodput), each with the group's name before it; ``wait_s``, the mean over the windows of
        the mean time that packets waited in the bottleneck's queue, whosever they were: mostly
        the burst's own, where there is one.
    """
    keys = [name for name in calls.columns if name != "start_s"]
    since = calls.rename({"start_s": "called_s"})
    windows = _within(results.intervals.filter(pl.col("group") == others), since, keys)
    met = windows.group_by(keys, maintain_order=True).agg(
        pl.col("packets_lost").sum().alias(f"{others}_lost"),
        pl.col("goodput_bits_per_second").mean().alias(f"{others}_first_bits_per_second"),
    )
    queue = _within(of_queue(results, "queue_intervals", BOTTLENECK), since, keys)
    waited = queue.group_by(keys, maintain_order=True).agg(
        pl.col("sojourn_mean_s").mean().alias("wait_s")
    )
    return met.join(waited, on=keys, how="left", maintain_order="left")


def _within(windows: pl.DataFrame, since: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    begun = pl.col("start_s").is_between(
        pl.col("called_s"), pl.col("called_s") + FIRST_S, closed="left"
    )
    return with_axes(windows).join(since, on=keys, maintain_order="left").filter(begun)
