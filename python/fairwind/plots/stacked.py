"""Measures of different kinds against the same axis, one panel below the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import composed
from fairwind.plots.theme import (
    CHARACTER,
    FEW_TIMES,
    broken_labels,
    fields,
    group_series,
    inline,
    numbers,
    quantity_axis,
    themed,
)

HEIGHT, LEAST_WIDTH = 200, 300
"""Of one panel, in points."""

LABEL = 12
"""Characters of a setting in one line, below its place."""


@dataclass(frozen=True)
class Panel:
    """One panel of several.

    Attributes
    ----------
    frame : DataFrame
        Columns ``series``, ``group``, ``mean``, ``low``, ``high``, and the setting's column.
    title : str
        Of the axis of the measure, with its unit.
    """

    frame: pl.DataFrame
    title: str


def stacked_by_setting(
    panels: Sequence[Panel], *, setting: str, order: list[Any], setting_title: str
) -> alt.TopLevelMixin:
    """Draw panels one below the other against one axis of the grid.

    A series has a shape of its own, in the colour of its group, and a line through settings that
    are quantities and stand beside each other. A panel's axis begins at zero, or is one of orders
    of magnitude where values are far apart.

    Parameters
    ----------
    order : list
        The settings, from the left.
    """
    series = pl.concat(panel.frame.select("series", "group") for panel in panels).unique(
        maintain_order=True
    )
    drawn = [
        _panel(panel, series, setting, order, setting_title if panel is panels[-1] else None)
        for panel in panels
    ]
    return themed(composed.rows(*drawn))


def _panel(
    panel: Panel, series: pl.DataFrame, setting: str, order: list[Any], below: str | None
) -> alt.LayerChart | alt.FacetChart:
    """Draw one panel; the settings are named below the last one only."""
    stretch = pl.col(setting).replace_strict(_stretches(order), return_dtype=pl.Int64)
    frame = _above_zero(panel.frame).with_columns(stretch.alias("stretch"))
    scale, axis = _axis(pl.concat(frame[name] for name in ("mean", "low", "high")))
    axis.title = panel.title
    labels = alt.Axis(labels=False, ticks=False)
    if below:
        labels = alt.Axis(labelAngle=0, labelLimit=0, labelExpr=broken_labels(order, LABEL))
    colour, dash, shape = group_series(*(series[name].to_list() for name in ("series", "group")))
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(f"{setting}:O", sort=order, title=below, axis=labels), color=colour
    )
    mean = alt.Y("mean:Q", scale=scale, axis=axis)
    line = base.mark_line(strokeWidth=1.5).encode(y=mean, strokeDash=dash, detail="stretch:N")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=mean,
        shape=shape,
        tooltip=[*fields(f"{setting}:N", "series:N"), *numbers("mean", "low", "high")],
    )
    layers = [line, points]
    if frame["low"].null_count() < frame.height:  # one run alone has no interval
        ends = {"y": alt.Y("low:Q", scale=scale, axis=axis), "y2": alt.Y2("high:Q")}
        layers.insert(0, base.mark_rule(strokeWidth=2, clip=True).encode(**ends))
    width = max(LEAST_WIDTH, len(order) * (LABEL + 1) * CHARACTER)
    return composed.layers(*layers, width=width, height=HEIGHT)


def _axis(values: pl.Series) -> tuple[alt.Scale, alt.Axis]:
    """Begin at zero, so that small differences look small, unless values are far apart."""
    above = values.filter(values > 0).cast(pl.Float64).to_list()
    if not above or max(above) < FEW_TIMES * min(above):
        return alt.Scale(zero=True), alt.Axis(format=",~r")
    return quantity_axis(values)


def _stretches(order: Sequence[Any]) -> dict[Any, int]:
    """Give the number of each setting's stretch, in which quantities stand beside each other."""
    is_quantity = [re.match(r"[-\d.]", str(value)) is not None for value in order]
    found: dict[Any, int] = {}
    number = 0
    for value, before, here in zip(order, [False, *is_quantity], is_quantity, strict=False):
        number += not (before and here)
        found[value] = number
    return found


def _above_zero(frame: pl.DataFrame) -> pl.DataFrame:
    """End intervals above zero, where an axis of orders of magnitude can show them.

    What is drawn is never negative; Student's t does not know it.
    """
    least = frame["mean"].filter(frame["mean"] > 0).min()
    above = pl.max_horizontal("low", pl.lit(least) / 2)
    return frame.with_columns(pl.when(pl.col("low").is_not_null()).then(above).alias("low"))
