"""Maps: a number for each pair of settings, as a colour and in digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from fairwind.plots.theme import inline, themed

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
    cells = base.transform_calculate(gain=logarithm).mark_rect().encode(
        color=alt.Color("gain:Q", scale=_colours(most), legend=None),
        tooltip=["row:N", "column:N", f"{drawn.x}:N", f"{drawn.y}:N",
                 alt.Tooltip(f"{drawn.value}:Q", format=".3f", title=drawn.title)],
    )  # fmt: skip
    is_strong = f"abs({logarithm}) > {STRONG_SHARE * most}"
    digits = base.mark_text(fontSize=11).encode(
        text=alt.Text(f"{drawn.value}:Q", format=".2f"),
        color=alt.condition(is_strong, alt.value(DIGITS_LIGHT), alt.value(DIGITS_DARK)),
    )
    rows, columns = (drawn.frame[name].unique(maintain_order=True) for name in ("row", "column"))
    chart = alt.layer(cells, digits).properties(
        width=CELL_WIDTH * len(drawn.x_order), height=CELL_HEIGHT * len(drawn.y_order)
    ).facet(
        row=alt.Row("row:N", sort=rows.to_list(), title=None, header=_beside()),
        column=alt.Column("column:N", sort=columns.to_list(), title=None),
    )  # fmt: skip
    return themed(chart)


def _beside() -> alt.Header:
    """Let titles of rows lie, broken where they have a colon."""
    return alt.Header(labelAngle=0, labelAlign="left", labelExpr="split(datum.label, ': ')")


def _colours(most: float) -> alt.Scale:
    """Give colours that are equally far from pale for a factor and for its inverse."""
    return alt.Scale(scheme="purplegreen", domain=[-most, most])
