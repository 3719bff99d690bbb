"""A measure with its interval against a setting of the grid."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fairwind.plots.theme import CHARACTER, group_colours, inline, themed


def estimates_by_setting(
    frame: pl.DataFrame,
    *,
    setting: str,
    order: list[Any],
    measure_title: str,
    setting_title: str,
    panels: str | None = None,
) -> alt.TopLevelMixin:
    """Draw means with intervals against one axis of the grid, one colour per group.

    Parameters
    ----------
    frame : DataFrame
        Columns ``group``, ``mean``, ``low``, ``high``, the setting's column, and the panels'
        column if there is one.
    setting : str
        The column along x.
    order : list
        Its values, in order.
    measure_title, setting_title : str
        Titles of the axes; the measure's with its unit.
    panels : str, optional
        A column with one panel per value.
    """
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(f"{setting}:O", sort=order, title=setting_title, axis=alt.Axis(labelAngle=0)),
        color=alt.Color(
            "group:N", scale=group_colours(frame["group"]), legend=alt.Legend(title=None)
        ),
    )
    if setting != "group":  # groups would be moved away from their own labels
        base = base.encode(xOffset=alt.XOffset("group:N"))
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=alt.Y("mean:Q", title=measure_title, scale=alt.Scale(zero=True)),
        tooltip=[
            alt.Tooltip(f"{setting}:N"),
            alt.Tooltip("group:N"),
            *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "low", "high")),
        ],
    )
    intervals = base.mark_rule(strokeWidth=2).encode(y="low:Q", y2="high:Q")
    chart = alt.layer(intervals, points).properties(width=_width(order), height=240)
    if panels is not None:
        values = frame[panels].unique(maintain_order=True).to_list()
        chart = chart.facet(
            facet=alt.Facet(f"{panels}:N", sort=values, title=None),
            columns=2 if len(order) > 4 else 4,
        )
    return themed(chart)


def _width(order: list[Any]) -> int:
    """Give a panel's width at which no label touches the next one, in points."""
    longest = max((len(str(value)) for value in order), default=0)
    step = max(44, CHARACTER * (longest + 2))
    return max(180, min(560, 44 * len(order)), step * len(set(order)))
