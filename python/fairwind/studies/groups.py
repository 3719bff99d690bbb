"""Intervals of measures per panel, and differences between two groups in the same runs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairwind.statistics import holm, mean_interval, paired_difference


def interval_per_panel(frame: pl.DataFrame, measure: str, panels: Sequence[str]) -> pl.DataFrame:
    """Estimate the mean of a measure over the rows of each panel.

    Returns
    -------
    DataFrame
        The columns of the panels, ``mean``, ``low`` and ``high`` (95 % interval; missing of a
        single row), ``replicates``.
    """
    rows = []
    for key, part in frame.group_by(list(panels), maintain_order=True):
        interval = mean_interval(part[measure].cast(pl.Float64).drop_nulls().to_numpy())
        rows.append(
            dict(zip(panels, key, strict=True))
            | {
                "mean": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "replicates": interval.samples,
            }
        )
    # polars takes NaN for greater than every number.
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("low", "high").fill_nan(None)
    )


def between_groups(
    groups: pl.DataFrame, first: str, second: str, measure: str, panels: Sequence[str]
) -> pl.DataFrame:
    """Compare two groups of flows of the same runs, run by run.

    Parameters
    ----------
    groups : DataFrame
        Rows of the groups table.
    first, second : str
        Names of the groups.
    measure : str
        A column of the table.
    panels : sequence of str
        The columns of the axes; runs that agree in them are replicates.

    Returns
    -------
    DataFrame
        The columns of the panels, ``mean_first``, ``mean_second``, ``difference`` (second less
        first) with ``low`` and ``high`` (95 % interval), ``p_value_holm`` (corrected over all
        rows), ``pairs``.
    """
    keys = [*panels, "seed"]
    others = groups.filter(pl.col("group") == second)
    others = others.select(*keys, pl.col(measure).alias("second"))
    pairs = groups.filter(pl.col("group") == first).join(others, on=keys, maintain_order="left")
    rows = []
    for key, part in pairs.group_by(list(panels), maintain_order=True):
        found = paired_difference(part[measure].to_numpy(), part["second"].to_numpy())
        rows.append(
            dict(zip(panels, key, strict=True))
            | {
                "mean_first": found.mean_a,
                "mean_second": found.mean_b,
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "p_value": found.p_value,
                "pairs": found.samples_a,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("p_value_holm", holm([row["p_value"] for row in rows]))
    )
