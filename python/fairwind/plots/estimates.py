"""A measure with its interval, or as boxes, against a setting of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import composed
from fairwind.plots.theme import (
    CHARACTER,
    are_far_apart,
    fields,
    group_colours,
    group_points,
    inline,
    legend_of,
    numbers,
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
        tooltip=[*fields(f"{setting}:N", "group:N"), *numbers("mean", "low", "high")],
    )
    layers = [points]
    if frame["low"].null_count() < frame.height:  # one run alone has no interval
        layers.insert(
            0, base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
        )
    width = _width(order)
    chart: Any = composed.layers(*layers, width=width, height=240)
    if panels is not None:
        values = frame[panels].unique(maintain_order=True).to_list()
        chart = composed.panels(
            chart,
            panel_facet(panels, values, width),
            columns=_columns(len(order), len(values)),
            resolve=composed.axes(is_own=are_far_apart(frame, panels, "high")),
        )
    return themed(chart)


def _columns(settings: int, panels: int) -> int:
    """Give how many panels a row has: four narrow ones, or five if that leaves none alone."""
    if settings > 4:
        return 2
    return 5 if panels == 5 else 4


def _width(order: list[Any]) -> int:
    """Give a panel's width at which no label touches the next one, in points."""
    return max(180, min(560, 44 * len(order)), max(44, _label_step(order)) * len(set(order)))


def _label_step(order: list[Any]) -> int:
    """Give the distance at which no label touches the next one, in points."""
    return CHARACTER * (2 + max((len(str(value)) for value in order), default=0))


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
        color=alt.Color("group:N", scale=group_colours(groups), legend=legend_of(groups)),
        tooltip=[*fields(f"{setting}:N", "group:N"), *numbers(*BOX)],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("lowest:Q", title=measure_title, scale=alt.Scale(zero=True)), y2=alt.Y2("highest:Q")
    )
    quarters = base.mark_bar(size=14, opacity=0.45).encode(
        y=alt.Y("lower_quarter:Q"), y2=alt.Y2("upper_quarter:Q")
    )
    medians = base.mark_tick(size=14, thickness=2.5, opacity=1).encode(y=alt.Y("median:Q"))
    width = max(240, len(order) * max(24 * len(groups) + 16, _label_step(order)))
    return themed(composed.layers(whiskers, quarters, medians, width=width, height=260))


CELL_WIDTH, CELL_HEIGHT = 56, 26
"""Of one pair, in points."""

DIGITS_DARK, DIGITS_LIGHT = "#222222", "#ffffff"

STRONG_SHARE = 0.7
"""Beyond this share of the way to the strongest colour digits are light: their ground is dark."""


@dataclass(frozen=True)
class Heat:
    """Data and titles of a grid of heat maps.

    Attributes
    ----------
    frame : DataFrame
        Columns `x`, `y`, `value`, ``row`` and ``column``; one row for each cell of each map.
    x, y : str
        Columns along the axes; texts.
    value : str
        Positive; its middle, which is pale, is 1.
    x_order, y_order : sequence of str
        Their values, from the left and from above.
    x_title, y_title, title : str
        Of the axes and of the value, with units.
    """

    frame: pl.DataFrame
    x: str
    y: str
    value: str
    x_order: Sequence[str]
    y_order: Sequence[str]
    x_title: str
    y_title: str
    title: str


def heat_maps(drawn: Heat) -> alt.TopLevelMixin:
    """Draw a map for each ``row`` and ``column`` of the frame, all in the same colours."""
    base = alt.Chart(inline(drawn.frame)).encode(
        x=alt.X(
            f"{drawn.x}:N", sort=list(drawn.x_order), title=drawn.x_title,
            axis=alt.Axis(labelAngle=0),
        ),
        y=alt.Y(f"{drawn.y}:N", sort=list(drawn.y_order), title=drawn.y_title),
    )  # fmt: skip
    logarithm = f"log(datum.{drawn.value})"
    most = float(drawn.frame[drawn.value].log().abs().to_numpy().max())
    # Equally far from pale for a factor and for its inverse.
    colours = alt.Scale(scheme="purplegreen", domain=[-most, most])
    cells = base.transform_calculate(gain=logarithm).mark_rect().encode(
        color=alt.Color("gain:Q", scale=colours, legend=None),
        tooltip=[*fields("row:N", "column:N", f"{drawn.x}:N", f"{drawn.y}:N"),
                 alt.Tooltip(f"{drawn.value}:Q", format=".3f", title=drawn.title)],
    )  # fmt: skip
    is_strong = f"abs({logarithm}) > {STRONG_SHARE * most}"
    digits = base.mark_text(fontSize=11).encode(
        text=alt.Text(f"{drawn.value}:Q", format=".2f"),
        color=alt.condition(is_strong, alt.value(DIGITS_LIGHT), alt.value(DIGITS_DARK)),
    )
    rows, columns = (drawn.frame[name].unique(maintain_order=True) for name in ("row", "column"))
    # Titles of rows lie, broken where they have a colon.
    beside = alt.Header(labelAngle=0, labelAlign="left", labelExpr="split(datum.label, ': ')")
    size = {"width": CELL_WIDTH * len(drawn.x_order), "height": CELL_HEIGHT * len(drawn.y_order)}
    facet = alt.FacetMapping(
        row=alt.Row("row:N", sort=rows.to_list(), title=None, header=beside),
        column=alt.Column("column:N", sort=columns.to_list(), title=None),
    )
    return themed(composed.panels(composed.layers(cells, digits, **size), facet))
