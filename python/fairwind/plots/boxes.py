"""Distributions of a measure as boxes."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fairwind.plots.theme import CHARACTER, group_colours, inline, themed

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
    setting : str
        The column along x.
    order : list
        Its values, in order.
    measure_title, setting_title : str
        Titles of the axes; the measure's with its unit.
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
