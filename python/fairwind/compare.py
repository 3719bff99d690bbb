"""Two runs side by side: the difference of every measure, with its uncertainty.

Replicates that share cell settings and seed saw the same random numbers, so they are compared in
pairs; where the seeds differ the samples are compared as independent ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairwind.errors import FairwindError
from fairwind.results import Results, main_measures
from fairwind.statistics import Difference, paired_difference, welch_difference


def compare(a: Results, b: Results, measures: Sequence[str] | None = None) -> pl.DataFrame:
    """Compare the groups of two runs, cell by cell.

    Parameters
    ----------
    a, b : Results
        Differences are B less A.
    measures : sequence of str, optional
        Numeric columns of the groups table; the main ones if not given.

    Returns
    -------
    DataFrame
        One row per cell settings, group and measure: ``mean_a``, ``mean_b``, ``difference``,
        ``low``, ``high`` (95 % interval), all in the unit that the measure's name ends in,
        ``relative_ratio`` (difference over mean A), ``p_value`` (two-sided, of no difference,
        not corrected for the number of rows), ``pairs`` (0 if compared as independent). Interval
        and p value are missing where all pairs differ by the same amount.

    Raises
    ------
    FairwindError
        If the runs have no cell and group in common, or lack a measure.
    """
    keys = _shared_keys(a, b)
    names = _measures(a, b, measures)
    parts_b = dict(_parts(b.groups, keys))
    rows = [
        dict(zip(keys, key, strict=True)) | {"measure": name} | _columns(part, parts_b[key], name)
        for key, part in _parts(a.groups, keys)
        if key in parts_b
        for name in names
    ]
    if not rows:
        raise FairwindError(
            f"{a.folder} and {b.folder} have no cell and group in common",
            "compare runs of scenarios whose grids share settings and group names",
        )
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )


def _shared_keys(a: Results, b: Results) -> list[str]:
    axes_a = [axis.column for axis in a.manifest.plan.axes]
    axes_b = [axis.column for axis in b.manifest.plan.axes]
    if set(axes_a) != set(axes_b):
        raise FairwindError(
            f"the grids differ: {a.folder} sweeps {', '.join(axes_a) or 'nothing'}, "
            f"{b.folder} sweeps {', '.join(axes_b) or 'nothing'}",
            "compare runs with the same axes",
        )
    return [*axes_a, "group"]


def _measures(a: Results, b: Results, measures: Sequence[str] | None) -> list[str]:
    shared = [name for name in a.groups.columns if name in b.groups.columns]
    if measures is None:
        return [name for name in main_measures(a.groups) if name in shared]
    for name in measures:
        if name not in shared or not a.groups.schema[name].is_numeric():
            raise FairwindError(
                f"both runs need a numeric column {name!r} in their groups table",
                f"there are {', '.join(n for n in shared if a.groups.schema[n].is_numeric())}",
            )
    return list(measures)


def _parts(groups: pl.DataFrame, keys: list[str]) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    return list(groups.group_by(keys, maintain_order=True))


def _columns(a: pl.DataFrame, b: pl.DataFrame, measure: str) -> dict[str, float | int | None]:
    difference = _difference(a, b, measure)
    # Differences that are all the same tell of a percentile's resolution, not of certainty:
    # there is nothing to compute an interval from.
    has_spread = difference.estimate == 0 or difference.low != difference.high
    return {
        "mean_a": difference.mean_a,
        "mean_b": difference.mean_b,
        "difference": difference.estimate,
        "low": difference.low if has_spread else None,
        "high": difference.high if has_spread else None,
        "relative_ratio": difference.relative[0],
        "p_value": difference.p_value if has_spread else None,
        "pairs": difference.samples_a if difference.is_paired else 0,
    }


def _difference(a: pl.DataFrame, b: pl.DataFrame, measure: str) -> Difference:
    pairs = a.select("seed", pl.col(measure).cast(pl.Float64).alias("a")).join(
        b.select("seed", pl.col(measure).cast(pl.Float64).alias("b")),
        on="seed",
        maintain_order="left",
    )
    if pairs.height:
        return paired_difference(pairs["a"].to_numpy(), pairs["b"].to_numpy())
    return welch_difference(_numbers(a, measure), _numbers(b, measure))


def _numbers(frame: pl.DataFrame, measure: str) -> list[float]:
    return frame[measure].cast(pl.Float64).drop_nulls().to_list()
