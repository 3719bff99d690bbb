"""Replicates brought together: one estimate with its interval per cell, group and measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fairwind.results.results import Results
from fairwind.statistics import mean_interval

MAIN_MEASURES = (
    "goodput_bits_per_second",
    "throughput_bits_per_second",
    "packet_loss_ratio",
    "ack_latency_p50_s",
    "ack_latency_p99_s",
    "delivery_latency_p99_s",
)
"""Columns of the groups table that a person looks at first, in this order."""


@dataclass(frozen=True)
class Estimates:
    """A tidy table of estimates.

    Attributes
    ----------
    frame : DataFrame
        Key columns, then ``measure``, ``mean``, ``low``, ``high`` (95 % interval of the mean over
        replicates, Student's t) and ``replicates``; each in the unit that the measure's name ends
        in.
    keys : tuple of str
        The key columns.
    """

    frame: pl.DataFrame
    keys: tuple[str, ...]


def main_measures(frame: pl.DataFrame) -> list[str]:
    """Give the main measures that a table has."""
    return [name for name in MAIN_MEASURES if name in frame.columns]


def summarise(results: Results, measures: Sequence[str] | None = None) -> Estimates:
    """Estimate measures of every cell and group over the replicates.

    Parameters
    ----------
    results : Results
    measures : sequence of str, optional
        Numeric columns of the groups table; the main ones if not given.
    """
    axes = [axis.column for axis in results.manifest.plan.axes]
    names = list(measures) if measures is not None else main_measures(results.groups)
    return estimate(results.groups, (*axes, "group"), names)


def estimate(frame: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]) -> Estimates:
    """Estimate the mean of measures for every combination of keys, in order of appearance."""
    rows = []
    for key, part in frame.group_by(list(keys), maintain_order=True):
        for measure in measures:
            interval = mean_interval(part[measure].cast(pl.Float64).drop_nulls().to_numpy())
            rows.append(
                dict(zip(keys, key, strict=True))
                | {
                    "measure": measure,
                    "mean": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "replicates": interval.samples,
                }
            )
    schema = {name: frame.schema[name] for name in keys} | {
        "measure": pl.String,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "replicates": pl.Int64,
    }
    estimates = pl.DataFrame(rows, schema=schema, orient="row")
    return Estimates(
        estimates.with_columns(pl.col("mean", "low", "high").fill_nan(None)), tuple(keys)
    )
