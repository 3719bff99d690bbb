"""Measures over time."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots.theme import are_far_apart, group_lines, inline, panel_facet, themed

PANEL_WIDTH = 220

FEW_WINDOWS = 60
"""So few windows are marked by points: a single one would be no line, many make a blob."""


def rate_over_time(
    windows: pl.DataFrame,
    *,
    measure: str,
    title: str,
    panels: str | None = None,
    columns: int = 3,
) -> alt.TopLevelMixin:
    """Draw a rate per window: the mean over replicates as a line, their range as a band.

    Panels share the axis of rates where that leaves none of them flat.

    Parameters
    ----------
    windows : DataFrame
        Columns ``group``, ``start_s`` (start of the window, seconds), the measure in bit/s, and
        the panels' column if there is one; one row per window, group and replicate.
    measure : str
        The measure's column.
    title : str
        The measure's name; it is drawn in kbit/s.
    panels : str, optional
        A column with one panel per value.
    columns : int
        Panels in one row.
    """
    keys = ["group", "start_s"] if panels is None else [panels, "group", "start_s"]
    order = windows[panels].unique(maintain_order=True).to_list() if panels else []
    rate = pl.col(measure) / 1000
    frame = windows.group_by(keys, maintain_order=True).agg(
        rate.mean().alias("mean"), rate.min().alias("low"), rate.max().alias("high")
    )
    colour, dash = group_lines(windows["group"])
    base = alt.Chart(inline(frame)).encode(
        x=alt.X("start_s:Q", title="start of the window / s"),
        color=colour,
    )
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low:Q", title=f"{title} / kbit/s"), y2="high:Q"
    )
    is_sparse = frame["start_s"].n_unique() <= FEW_WINDOWS
    line = base.mark_line(point=is_sparse, strokeWidth=2 if is_sparse else 1.4).encode(
        y=alt.Y("mean:Q", scale=alt.Scale(zero=True)),
        strokeDash=dash,
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip("start_s:Q"),
            *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "low", "high")),
        ],
    )
    chart = alt.layer(band, line).properties(
        width=560 if panels is None else PANEL_WIDTH, height=260 if panels is None else 150
    )
    if panels is not None:
        chart = chart.facet(facet=panel_facet(panels, order, PANEL_WIDTH), columns=columns)
        if are_far_apart(frame, panels, "high"):
            chart = chart.resolve_scale(y="independent")
    return themed(chart)
