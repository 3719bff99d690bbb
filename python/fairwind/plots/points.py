"""Points of traces as little data: thinned to what can be seen, written compactly."""

from __future__ import annotations

import altair as alt
import polars as pl

KEYS = ("name", "series", "kind")

FEWEST = 50
"""Points of a kind below which nothing is brought together, however little room there is."""

TIME_DECIMALS = 7

FEWEST_FOR_A_CLOSER_LOOK = 1500
SEGMENTS_IN_A_CLOSER_LOOK = 250


def thinned(traces: pl.DataFrame, most: int) -> pl.DataFrame:
    """Bring neighbouring points together until no more than about ``most`` are left.

    Points of one kind of one flow's series that fall into one column of time become one, from the
    least value to the greatest, with the number of points that it stands for. Kinds of which there
    are few are left as they are: what is rare is what one looks for.

    Parameters
    ----------
    traces : DataFrame
        Rows of the table ``traces``.
    most : int
        Points that there is room for.

    Returns
    -------
    DataFrame
        The same columns, in the order of time within each kind.
    """
    if traces.height <= most:
        return traces.sort("time_s", maintain_order=True)
    sizes = traces.group_by(*KEYS).len()["len"].to_list()
    limit = max(FEWEST, _fair_limit(sizes, most))
    is_small = pl.len().over(*KEYS) <= limit
    span = (pl.col("time_s").max() - pl.col("time_s").min()).over(*KEYS)
    column = (
        ((pl.col("time_s") - pl.col("time_s").min().over(*KEYS)) / span * (limit - 1))
        .fill_nan(0)
        .floor()
        .cast(pl.Int64)
    )
    # Points that stay as they are get a column of their own.
    own = -1 - pl.int_range(pl.len()).cast(pl.Int64)
    return (
        traces.with_columns(pl.when(is_small).then(own).otherwise(column).alias("column"))
        .group_by(*KEYS, "column", maintain_order=True)
        .agg(
            pl.col("time_s", "low").min(),
            pl.col("high").max(),
            pl.col("points").sum(),
        )
        .sort("time_s", maintain_order=True)
        .select(traces.columns)
    )


def _fair_limit(sizes: list[int], most: int) -> int:
    """Give the limit per kind at which all fit; small kinds leave their room to large ones."""
    left, room = sorted(sizes), most
    while left and left[0] * len(left) <= room:
        room -= left.pop(0)
    return max(1, room // len(left)) if left else most


def brought_together(traces: pl.DataFrame) -> str:
    """Describe how many of the points a chart shows; empty if it shows all."""
    total = int(traces["points"].sum())
    if total <= traces.height:
        return ""
    return (
        f" {traces.height:,} marks stand for {total:,} points: where more lie closer together than "
        "can be drawn, one mark spans from the least to the greatest."
    )


def closer_look(points: pl.DataFrame) -> tuple[float, float] | None:
    """Choose a piece of a long flow's life in which single segments are visible.

    Parameters
    ----------
    points : DataFrame
        Rows of the table ``traces`` of one flow.

    Returns
    -------
    tuple of float, optional
        From when to when, in seconds: where most is repaired for a first time. None where the
        whole flow is so short that it needs no closer look.
    """
    data = points.filter(pl.col("series") == "data").sort("time_s")
    if data.height < FEWEST_FOR_A_CLOSER_LOOK:
        return None
    first, last = float(data["time_s"][0]), float(data["time_s"][-1])
    length = (last - first) * SEGMENTS_IN_A_CLOSER_LOOK / data.height
    repairs = data.filter(~pl.col("kind").is_in(["new", "bundle"]))
    around = repairs if repairs.height else data.slice(data.height // 2, 1)
    pieces = (
        around.with_columns(((pl.col("time_s") - first) / length).floor().alias("piece"))
        .group_by("piece", maintain_order=True)
        .agg(pl.len().alias("repairs"), pl.col("time_s").first())
    )
    begin = float(pieces.filter(pl.col("repairs") == pl.col("repairs").max())["time_s"][0])
    begin = min(max(begin - length / 4, first), last - length)
    return begin, begin + length


def csv_data(frame: pl.DataFrame) -> alt.InlineData:
    """Embed a frame into a chart as comma-separated values, half as large as records."""
    rounded = frame.with_columns(pl.col(pl.Float64).round_sig_figs(9))
    if "time_s" in frame.columns:
        rounded = rounded.with_columns(frame["time_s"].round(TIME_DECIMALS))
    kinds = {name: _kind(dtype) for name, dtype in frame.schema.items()}
    return alt.InlineData(
        values=rounded.write_csv(), format=alt.CsvDataFormat(type="csv", parse=kinds)
    )


def _kind(dtype: pl.DataType) -> str:
    if dtype == pl.Boolean:
        return "boolean"
    return "string" if dtype == pl.String else "number"


def greatest(rows: pl.DataFrame) -> float:
    """Give the greatest value of points; 0 of none."""
    return max(rows["high"].to_list(), default=0.0)
