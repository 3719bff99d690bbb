"""Measures over time, and distributions of measures inferred from captures."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import composed
from fairwind.plots.points import csv_data
from fairwind.plots.theme import (
    PLOT_HEIGHT,
    PLOT_WIDTH,
    are_far_apart,
    fields,
    group_lines,
    in_panels,
    inline,
    numbers,
    quantity_axis,
    themed,
)
from fairwind.quantities import RATES, unit_for

FEW_WINDOWS = 60
"""So few windows are marked by points: a single one would be no line, many make a blob."""


def rate_over_time(
    windows: pl.DataFrame,
    *,
    measure: str,
    title: str,
    panels: str | None = None,
    columns: int = 3,
    curve: str = "group",
    curve_title: str | None = None,
    unit: str | None = None,
) -> alt.TopLevelMixin:
    """Draw a measure per window: the mean over replicates as a line, their range as a band.

    Panels share the axis of rates where that leaves none of them flat.

    Parameters
    ----------
    windows : DataFrame
        Columns ``start_s`` (start of the window, seconds), the measure, that of the curves, and
        the panels' column if there is one; one row per window, curve and replicate.
    title : str
        The measure's name.
    unit : str, optional
        Of the measure. If none is given it is in bit/s, and drawn as its largest value asks.
    """
    keys = [curve, "start_s"] if panels is None else [panels, curve, "start_s"]
    greatest = float(windows[measure].cast(pl.Float64).to_numpy().max(initial=0))
    scaled, divisor, _ = unit_for([greatest], RATES) if unit is None else (unit, 1, 0)
    rate = pl.col(measure) / divisor
    frame = windows.group_by(keys, maintain_order=True).agg(
        rate.mean().alias("mean"), rate.min().alias("low"), rate.max().alias("high")
    )
    colour, dash = group_lines(windows[curve], curve, title=curve_title)
    base = alt.Chart(inline(frame)).encode(
        x=alt.X("start_s:Q", title=f"{'start of the window' if unit is None else 'time'} / s"),
        color=colour,
    )
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low:Q", title=f"{title} / {scaled}"), y2=alt.Y2("high:Q")
    )
    is_sparse = frame["start_s"].n_unique() <= FEW_WINDOWS
    line = base.mark_line(point=is_sparse, strokeWidth=2 if is_sparse else 1.4).encode(
        y=alt.Y("mean:Q", scale=alt.Scale(zero=True)),
        strokeDash=dash,
        tooltip=[
            alt.Tooltip(f"{curve}:N", title=curve_title or curve),
            alt.Tooltip("start_s:Q"),
            *numbers("mean", "low", "high"),
        ],
    )
    is_own = are_far_apart(frame, panels, "high")
    chart = composed.layers(band, line)
    return in_panels(chart, windows, panels, columns, 150, has_own_axes=is_own)


def value_over_time(windows: pl.DataFrame, value: pl.Expr, title: str) -> alt.TopLevelMixin:
    """Draw a value per window, one colour per group.

    Parameters
    ----------
    windows : DataFrame
        Columns ``group``, ``start_s`` (start of the window, seconds), and those of the value.
    value : Expr
        In the unit of the axis.
    """
    keys = ["group", "start_s"]
    frame = windows.group_by(keys, maintain_order=True).agg(value.mean().alias("value"))
    line = alt.Chart(csv_data(frame.drop_nulls("value").sort(keys))).mark_line(
        interpolate="step-after",
        strokeWidth=1.6,
        point=frame["start_s"].n_unique() <= FEW_WINDOWS,
    )
    return _by_group(
        line,
        windows["group"],
        x=alt.X("start_s:Q", title="start of the window / s"),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=True)),
        tooltip=[
            *fields("group:N", "start_s:Q"),
            alt.Tooltip("value:Q", title=title, format=".4g"),
        ],
    )


def percentile_curves(percentiles: pl.DataFrame, *, title: str, is_time: bool) -> alt.TopLevelMixin:
    """Draw distributions by their percentiles, one colour per group.

    Parameters
    ----------
    percentiles : DataFrame
        Columns ``group``, ``percentile`` (0 to 100) and ``value`` (seconds or bytes).
    title : str
        What the values are.
    is_time : bool
        Whether they are times, drawn in milliseconds; otherwise bytes.
    """
    scaled = pl.col("value") * (1000 if is_time else 1)
    # An axis of orders of magnitude has no zero.
    frame = percentiles.drop_nulls("value").select(
        "group",
        scaled.clip(lower_bound=1e-2 if is_time else 1).alias("value"),
        (pl.col("percentile") / 100).alias("share"),
    )
    scale, axis = quantity_axis(frame["value"])
    curves = alt.Chart(csv_data(frame.sort("group", "share"))).mark_line(point=True, strokeWidth=2)
    return _by_group(
        curves,
        percentiles["group"],
        x=alt.X("value:Q", title=f"{title} / {'ms' if is_time else 'B'}", scale=scale, axis=axis),
        y=alt.Y("share:Q", title="share of samples", scale=alt.Scale(domain=[0, 1])),
        order=alt.Order("share:Q"),
        tooltip=[*fields("group:N"), *numbers("value"), *numbers("share", form=".3f")],
    )


def _by_group(chart: alt.Chart, groups: pl.Series, **encodings: Any) -> alt.TopLevelMixin:  # noqa: ANN401 - channels share no base
    colour, dash = group_lines(groups)
    drawn = chart.encode(color=colour, strokeDash=dash, **encodings)
    return themed(drawn.properties(width=PLOT_WIDTH, height=PLOT_HEIGHT))


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
                *fields("group:N"),
                *numbers("latency_ms"),
                *numbers("share_ratio", form=".4f"),
            ],
        )
    )
    if marks is not None:
        chart = composed.layers(_marks(marks, frame, lowest_share), chart)
    return in_panels(chart, histogram, panels, columns, 170)


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
        .encode(x=alt.X("latency_ms:Q"))
    )
    above = _label(shown.filter(is_low)).mark_text(align="right", dx=-6, **LABEL)
    below = _label(shown.filter(~is_low)).mark_text(align="left", dx=6, **LABEL)
    ends = above.encode(y=alt.value(0)), below.encode(y=alt.value(PLOT_HEIGHT))
    return composed.layers(lines, *ends)


def _label(marks: pl.DataFrame) -> alt.Chart:
    return alt.Chart(inline(marks)).encode(x=alt.X("latency_ms:Q"), text=alt.Text("label:N"))
