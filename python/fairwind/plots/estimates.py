"""A measure with its interval, or as boxes, against a setting of the grid."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fairwind.plots.theme import (
    CHARACTER,
    are_far_apart,
    group_colours,
    group_points,
    inline,
    panel_facet,
    themed,
)


def estimates_by_setting(
    frame: pl.DataFrame,
    *,
    setting: str,
    order: list[Any],
    measure_title: str,
    setting_title: str,
    panels: str | None = None,
) -> alt.TopLevelMixin:
    """Draw means with intervals against one axis of the grid, one colour and shape per group.

    Panels share the measure's axis where that leaves none of them flat.

    Parameters
    ----------
    frame : DataFrame
        Columns ``group``, ``mean``, ``low``, ``high``, the setting's column, and the panels'
        column if there is one.
    """
    colour, shape = group_points(frame["group"])
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(f"{setting}:O", sort=order, title=setting_title, axis=alt.Axis(labelAngle=0)),
        color=colour,
    )
    if setting != "group":  # groups would be moved away from their own labels
        base = base.encode(xOffset=alt.XOffset("group:N"))
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=alt.Y("mean:Q", title=measure_title, scale=alt.Scale(zero=True)),
        shape=shape,
        tooltip=[
            alt.Tooltip(f"{setting}:N"),
            alt.Tooltip("group:N"),
            *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "low", "high")),
        ],
    )
    layers = [points]
    if frame["low"].null_count() < frame.height:  # one run alone has no interval
        layers.insert(0, base.mark_rule(strokeWidth=2).encode(y="low:Q", y2="high:Q"))
    width = _width(order)
    chart = alt.layer(*layers).properties(width=width, height=240)
    if panels is not None:
        values = frame[panels].unique(maintain_order=True).to_list()
        chart = chart.facet(
            facet=panel_facet(panels, values, width), columns=_columns(len(order), len(values))
        )
        if are_far_apart(frame, panels, "high"):
            chart = chart.resolve_scale(y="independent")
    return themed(chart)


def _columns(settings: int, panels: int) -> int:
    """Give how many panels a row has: four narrow ones, or five if that leaves none alone."""
    if settings > 4:
        return 2
    return 5 if panels == 5 else 4


def _width(order: list[Any]) -> int:
    """Give a panel's width at which no label touches the next one, in points."""
    longest = max((len(str(value)) for value in order), default=0)
    step = max(44, CHARACTER * (longest + 2))
    return max(180, min(560, 44 * len(order)), step * len(set(order)))


BOX = {"lowest": 0.0, "lower_quarter": 0.25, "median": 0.5, "upper_quarter": 0.75, "highest": 1.0}
"""The numbers that a box shows, as quantiles."""


def box_numbers(rows: pl.DataFrame, value: pl.Expr, by: list[str]) -> pl.DataFrame:
    """Give the numbers of one box for every combination of keys.

    Parameters
    ----------
    rows : DataFrame
        The keys, and what the value is made of.
    value : Expr
        What the boxes are of; missing values are left out.
    by : list of str
        The keys.
    """
    return rows.group_by(by, maintain_order=True).agg(
        value.quantile(share, "linear").alias(name) for name, share in BOX.items()
    )


def boxes_by_setting(
    boxes: pl.DataFrame,
    *,
    setting: str,
    order: list[Any],
    measure_title: str,
    setting_title: str | None = None,
) -> alt.TopLevelMixin:
    """Draw a box per setting and group, one colour per group.

    Parameters
    ----------
    boxes : DataFrame
        Columns ``group``, the setting's column, and the numbers of a box as `BOX` names them, in
        the unit of the axis.
    """
    groups = boxes["group"].unique(maintain_order=True).to_list()
    base = alt.Chart(inline(boxes)).encode(
        x=alt.X(f"{setting}:N", sort=order, title=setting_title, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("group:N", sort=groups),
        color=alt.Color(
            "group:N", scale=group_colours(groups), legend=alt.Legend(title=None, symbolOpacity=1)
        ),
        tooltip=[f"{setting}:N", "group:N"]
        + [alt.Tooltip(f"{name}:Q", format=".4g") for name in BOX],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("lowest:Q", title=measure_title, scale=alt.Scale(zero=True)), y2="highest:Q"
    )
    quarters = base.mark_bar(size=14, opacity=0.45).encode(
        y="lower_quarter:Q", y2="upper_quarter:Q"
    )
    medians = base.mark_tick(size=14, thickness=2.5, opacity=1).encode(y="median:Q")
    longest = max((len(str(value)) for value in order), default=0)
    step = max(24 * len(groups) + 16, CHARACTER * (longest + 2))  # no label touches the next one
    width = max(240, len(order) * step)
    return themed(alt.layer(whiskers, quarters, medians).properties(width=width, height=260))
