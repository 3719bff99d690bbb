"""Distributions of latency out of histograms."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fairwind.plots.theme import group_lines, inline, panel_facet, quantity_axis, themed

PLOT_HEIGHT = 260
"""Of a single plot, in points."""

PANEL_WIDTH = 220
"""Of one plot of several, in points."""

LABEL: dict[str, Any] = {"angle": 270, "dy": -6, "color": "#444444"}

STEPS = 200
"""A curve has at most about so many points: it is drawn to within 1/200 of the samples."""


def cumulative(histogram: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Turn histogram buckets into points of cumulative distributions.

    Parameters
    ----------
    histogram : DataFrame
        Columns ``upper_s`` (upper bound of a bucket, seconds), ``count``, and the keys.
    by : list of str
        Keys; one distribution each. Buckets of one key are added up, which brings replicates
        together.

    Returns
    -------
    DataFrame
        The keys, ``latency_ms`` (milliseconds), and ``share_ratio``: how many samples took at most
        that long, 0 to 1.
    """
    buckets = (
        histogram.group_by([*by, "upper_s"], maintain_order=True)
        .agg(pl.col("count").sum())
        .sort([*by, "upper_s"], maintain_order=True)
    )
    return buckets.select(
        *by,
        (pl.col("upper_s") * 1000).alias("latency_ms"),
        (pl.col("count").cum_sum() / pl.col("count").sum()).over(by).alias("share_ratio"),
    )


def thinned(distributions: pl.DataFrame, by: list[str], lowest_share: float = 0.0) -> pl.DataFrame:
    """Leave out the points of cumulative distributions that nobody could see.

    Parameters
    ----------
    distributions : DataFrame
        As `cumulative` gives them.
    by : list of str
        Their keys.
    lowest_share : float
        The least share that is shown; a step is that much finer.

    Returns
    -------
    DataFrame
        The first and last point of every distribution that is shown, and every point at which the
        share passes a multiple of 1 / `STEPS` of what is shown; latencies with four significant
        digits.
    """
    distributions = distributions.filter(pl.col("share_ratio") >= lowest_share)
    step = (pl.col("share_ratio") / (1 - lowest_share) * STEPS).floor()
    is_new = (step != step.shift(1)).fill_null(value=True)
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    return distributions.filter((is_new | is_last).over(by)).with_columns(
        pl.col("latency_ms", "share_ratio").round_sig_figs(4)
    )


def latency_distribution(
    histogram: pl.DataFrame,
    *,
    panels: str | None = None,
    columns: int = 3,
    title: str = "ACK latency",
    marks: pl.DataFrame | None = None,
    lowest_share: float = 0.0,
) -> alt.TopLevelMixin:
    """Draw cumulative distributions of latency, one colour and dash per group.

    Parameters
    ----------
    histogram : DataFrame
        Columns ``group``, ``upper_s``, ``count``, and the panels' column if there is one; of one
        kind of latency.
    title : str
        What the latency is.
    marks : DataFrame, optional
        Vertical lines to read the curves by: columns ``latency_ms`` and ``label``; without panels
        only.
    lowest_share : float
        Where the axis of shares begins: what matters may be the slowest few.
    """
    keys = ["group"] if panels is None else [panels, "group"]
    order = histogram[panels].unique(maintain_order=True).to_list() if panels else []
    frame = thinned(cumulative(histogram, keys), keys, lowest_share)
    scale, axis = quantity_axis(frame["latency_ms"])
    shares = alt.Scale(domain=[lowest_share, 1])
    colour, dash = group_lines(histogram["group"])
    chart = (
        alt.Chart(inline(frame))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("latency_ms:Q", title=f"{title} / ms", scale=scale, axis=axis),
            y=alt.Y("share_ratio:Q", title="share of samples", scale=shares),
            color=colour,
            strokeDash=dash,
            tooltip=[
                alt.Tooltip("group:N"),
                alt.Tooltip("latency_ms:Q", format=".4g"),
                alt.Tooltip("share_ratio:Q", format=".4f"),
            ],
        )
        .properties(
            width=560 if panels is None else PANEL_WIDTH,
            height=PLOT_HEIGHT if panels is None else 170,
        )
    )
    if marks is not None:
        chart = alt.layer(_marks(marks, frame, lowest_share), chart)
    if panels is not None:
        chart = chart.facet(facet=panel_facet(panels, order, PANEL_WIDTH), columns=columns)
    return themed(chart)


def _marks(
    marks: pl.DataFrame, curves: pl.DataFrame, lowest_share: float
) -> alt.LayerChart | alt.FacetChart:
    """Draw vertical lines, with labels where no curve is: above low curves, below high ones."""
    latencies_ms = curves["latency_ms"]
    shown = marks.filter(pl.col("latency_ms").is_between(latencies_ms.min(), latencies_ms.max()))
    high = curves.filter(pl.col("share_ratio") >= (1 + lowest_share) / 2)
    is_low = pl.col("latency_ms") < high["latency_ms"].min()
    lines = (
        alt.Chart(inline(shown))
        .mark_rule(strokeDash=[3, 3], color="#777777")
        .encode(x="latency_ms:Q")
    )
    above = _label(shown.filter(is_low)).mark_text(align="right", dx=-6, **LABEL)
    below = _label(shown.filter(~is_low)).mark_text(align="left", dx=6, **LABEL)
    return alt.layer(lines, above.encode(y=alt.value(0)), below.encode(y=alt.value(PLOT_HEIGHT)))


def _label(marks: pl.DataFrame) -> alt.Chart:
    return alt.Chart(inline(marks)).encode(x="latency_ms:Q", text="label:N")
