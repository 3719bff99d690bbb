"""Replicates brought together: one estimate with its interval per cell, group and measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fairwind.results.results import Results
from fairwind.results.subjects import GROUPS, SUBJECTS, Subject, rows_of
from fairwind.statistics import mean_interval


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


def summarise(results: Results, measures: Sequence[str] | None = None) -> Estimates:
    """Estimate measures of every cell and group over the replicates.

    Parameters
    ----------
    results : Results
    measures : sequence of str, optional
        Numeric columns of the groups table; the main ones if not given.
    """
    axes = [axis.column for axis in results.manifest.plan.axes]
    names = list(measures) if measures is not None else GROUPS.measures_in(results.groups)
    return estimate(results.groups, (*axes, "group"), names)


def overview(results: Results) -> dict[Subject, Estimates]:
    """Estimate, of everything that a run measured, what a person looks at first.

    Returns
    -------
    dict
        Estimates by subject, whose keys are the axes and the subject's `column`; without subjects
        that the run knows nothing of.
    """
    axes = [axis.column for axis in results.manifest.plan.axes]
    found = {}
    for subject in SUBJECTS:
        rows = rows_of(results, subject)
        if rows.height:
            found[subject] = estimate(rows, (*axes, subject.column), subject.measures_in(rows))
    return found


def tidy_overview(results: Results) -> pl.DataFrame:
    """Give the overview as one frame: axes, ``table``, ``name``, then as in `Estimates`."""
    frames = [
        estimates.frame.rename({subject.column: "name"}).with_columns(
            pl.lit(subject.table).alias("table")
        )
        for subject, estimates in overview(results).items()
    ]
    axes = [axis.column for axis in results.manifest.plan.axes]
    return pl.concat(frames, how="vertical_relaxed").select(
        *axes, "table", pl.all().exclude(*axes, "table")
    )


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
