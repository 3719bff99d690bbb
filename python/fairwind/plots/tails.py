"""Tails of distributions: the share of samples beyond a value, on two axes of magnitudes."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from fairwind.plots.points import csv_data
from fairwind.plots.series import cumulative
from fairwind.plots.theme import group_lines, in_panels, quantity_axis

STEPS_PER_DECADE = 40
"""Points of a curve for each tenth of the samples that is left: steps of less than 6 %."""

EVEN_STEPS = 100
"""Points of a curve from all samples to none, so that the body of a distribution is smooth."""

MOST_OF_TIMES = 1e4
"""Times that are shorter than the longest by more than this factor lie left of the axis."""

LEAST_SHARE = 1e-5
"""No smaller share is drawn: of fewer samples than a hundred thousand none is lost."""


def tail_distribution(
    histogram: pl.DataFrame,
    *,
    title: str,
    curve: str = "group",
    curve_title: str | None = None,
    panels: str | None = None,
    columns: int = 3,
) -> alt.TopLevelMixin:
    """Draw which share of samples took longer than a time, one line per curve.

    Both axes are logarithmic, so that the slowest thousandth has as much room as the median. The
    line of each curve falls to the lower end of the axis at its largest sample.

    Parameters
    ----------
    histogram : DataFrame
        Columns ``upper_s`` (upper bound of a bucket, seconds), ``count``, that of the curves, and
        the panels' column if there is one; of one kind of time.
    title : str
        What takes time; it is drawn in milliseconds.
    """
    keys = [curve] if panels is None else [panels, curve]
    names = histogram[curve].unique(maintain_order=True).to_list()
    frame = survivors(histogram, keys)
    lowest = float(frame["share_ratio"].to_numpy().min(initial=1.0))
    decades = [10.0**power for power in range(round(math.log10(lowest)), 1)]
    slowest_ms = float(frame["latency_ms"].to_numpy().max(initial=0.0))
    scale, axis = quantity_axis(frame["latency_ms"].clip(lower_bound=slowest_ms / MOST_OF_TIMES))
    colour, dash = group_lines(names, curve, title=curve_title)
    chart = (
        alt.Chart(csv_data(frame))
        .mark_line(interpolate="step-after", strokeWidth=1.8, clip=True)
        .encode(
            x=alt.X("latency_ms:Q", title=f"{title} / ms", scale=scale, axis=axis),
            y=alt.Y(
                "share_ratio:Q",
                title="share of samples that took longer",
                scale=alt.Scale(type="log", domain=[lowest, 1], nice=False),
                axis=alt.Axis(values=decades, labelExpr="format(datum.value * 100, '~r') + ' %'"),
            ),
            color=colour,
            strokeDash=dash,
            tooltip=[
                alt.Tooltip(f"{curve}:N", title=curve_title or curve),
                alt.Tooltip("latency_ms:Q", title=f"{title} / ms", format=".4g"),
                alt.Tooltip("share_ratio:Q", title="took longer", format=".3~%"),
            ],
        )
    )
    return in_panels(chart, histogram, panels, columns, 190)


def survivors(histogram: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Turn histogram buckets into the points of complementary distributions that can be seen.

    Parameters
    ----------
    histogram : DataFrame
        As `cumulative` takes it.
    by : list of str
        Keys; one distribution each.

    Returns
    -------
    DataFrame
        The keys, ``latency_ms``, and ``share_ratio``: which share of the samples took longer. It
        ends at the power of ten below the least share of all distributions, where each has its
        largest sample.
    """
    points = cumulative(histogram, by).with_columns(
        (1 - pl.col("share_ratio")).clip(lower_bound=0.0).alias("share_ratio")
    )
    above = points.filter(pl.col("share_ratio") > LEAST_SHARE)["share_ratio"]
    least = float(above.to_numpy().min(initial=0.1))
    floor = 10.0 ** math.floor(math.log10(least) + 1e-9)
    share = pl.col("share_ratio").clip(lower_bound=floor)
    step = (share.log10() * STEPS_PER_DECADE).floor() * 1e6 + (share * EVEN_STEPS).floor()
    is_new = (step != step.shift(1)).fill_null(value=True)
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    # The smallest sample: until there, all of them took longer.
    start = points.group_by(by, maintain_order=True).agg(
        pl.col("latency_ms").min(), pl.lit(1.0).alias("share_ratio")
    )
    kept = points.filter((is_new | is_last).over(by)).with_columns(share.alias("share_ratio"))
    return (
        pl.concat([start, kept])
        .with_columns(pl.col("latency_ms", "share_ratio").round_sig_figs(4))
        .sort([*by, "latency_ms", "share_ratio"], descending=[*[False] * (len(by) + 1), True])
    )
