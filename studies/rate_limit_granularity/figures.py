"""The source's figure: attained over nominal rate, by clock and bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from fairwind.plots import Figure, group_colours, inline, themed
from fairwind.results import Results

from .accuracy import accuracies, expected_ratio

CURVE_POINTS = 60
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down")


def figures(results: Results) -> list[Figure]:
    """Draw figure 3.6."""
    return [
        Figure(
            name="rate-accuracy",
            title="Accuracy of a rate limit at different clock granularities (figure 3.6)",
            caption=(
                "Attained over nominal rate, one panel per discipline and burst. Points: attained; "
                "lines: the closed form min(1, burst x 8 x HZ / rate)."
            ),
            chart=accuracy_chart(accuracies(results)),
        )
    ]


def accuracy_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw what was attained and the closed form against the nominal rate.

    Parameters
    ----------
    table : DataFrame
        As `accuracies` gives it.
    """
    clocks = table["clock"].unique(maintain_order=True).to_list()
    buckets = table["bucket"].unique(maintain_order=True).to_list()
    legend = alt.Legend(title="clock", symbolOpacity=1)
    base = alt.Chart().encode(
        x=alt.X(
            "nominal_mbit_per_second:Q",
            title="nominal rate / Mbit/s",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[0.1, 1, 10, 100], format="~r"),
        ),
        color=alt.Color("clock:N", sort=clocks, scale=group_colours(clocks), legend=legend),
    )
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y="closed_form_ratio:Q")
    points = base.mark_point(filled=False, size=45, strokeWidth=1.8, opacity=1).encode(
        # Where all attain the rate, each mark is still seen.
        shape=alt.Shape(
            "clock:N",
            sort=clocks,
            scale=alt.Scale(domain=clocks, range=list(SHAPES)),
            legend=legend,
        ),
        y=alt.Y("attained_ratio:Q", title="attained / nominal rate"),
        tooltip=[
            "clock:N",
            "bucket:N",
            *(
                alt.Tooltip(f"{name}:Q", format=".4g")
                for name in ("nominal_mbit_per_second", "attained_ratio", "expected_ratio")
            ),
        ],
    )
    chart = (
        alt.layer(lines, points, data=inline(_points_and_curves(table)))
        .properties(width=230, height=200)
        .facet(facet=alt.Facet("bucket:N", sort=buckets, title=None), columns=_columns(table))
    )
    return themed(chart)


def curves(table: pl.DataFrame) -> pl.DataFrame:
    """Give the closed form of every bucket and clock as a smooth curve over the rates.

    Returns
    -------
    DataFrame
        ``clock``, ``bucket``, ``nominal_mbit_per_second``, ``closed_form_ratio``.
    """
    rates = table["nominal_mbit_per_second"].unique().sort().to_numpy()
    buckets = table.unique(["clock", "bucket"], maintain_order=True)
    rows = [
        (row["clock"], row["bucket"], rate, _closed_form(row, rate))
        for row in buckets.iter_rows(named=True)
        for rate in np.geomspace(rates[0], rates[-1], CURVE_POINTS).tolist()
    ]
    names = ["clock", "bucket", "nominal_mbit_per_second", "closed_form_ratio"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _points_and_curves(table: pl.DataFrame) -> pl.DataFrame:
    on_curves = pl.col("expected_ratio").alias("closed_form_ratio")  # a curve has no gaps at points
    return pl.concat([table.with_columns(on_curves), curves(table)], how="diagonal")


def _closed_form(bucket: Mapping[str, Any], mbit_per_second: float) -> float:
    return expected_ratio(mbit_per_second * 1e6, bucket["burst_bytes"], bucket["tick_s"])


def _columns(table: pl.DataFrame) -> int:
    """Give so many columns that each discipline has rows of its own."""
    by_limiter = table.group_by("limiter").agg(pl.col("bucket").n_unique())
    widest: int = by_limiter["bucket"].max()  # type: ignore[assignment]
    return min(4, widest)
