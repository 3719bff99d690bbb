"""Curves of formulas with measured points, and the figures of a start-up on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots import composed
from fairwind.plots.theme import (
    fields,
    group_colours,
    inline,
    legend_of,
    numbers,
    quantity_axis,
    themed,
)

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [1, 3])
"""Dashes of the curves in their order, so that they differ without colours, too."""

EVEN = alt.Scale(zero=False, nice=False)


@dataclass(frozen=True)
class Curves:
    """Curves and points of one pair of axes.

    Attributes
    ----------
    frame : DataFrame
        Columns ``curve``, `x` and `y`, in the order in which lines connect the points.
    x, y : str
        Columns along the axes.
    x_title, y_title : str
        With units.
    title : str
        Above the axes; nothing if empty.
    measured : DataFrame, optional
        The same columns: points that belong to no formula.
    x_scale : altair Scale, optional
        Even and without zero if not given.
    x_axis : altair Axis, optional
        Where the axis has lines.
    """

    frame: pl.DataFrame
    x: str
    y: str
    x_title: str
    y_title: str
    title: str = ""
    measured: pl.DataFrame | None = None
    x_scale: alt.Scale | None = None
    x_axis: alt.Axis | None = None


def curves(drawn: Curves, *, width: int = 560, height: int = 320) -> alt.TopLevelMixin:
    """Draw curves into one pair of axes, each with its own colour and dash."""
    return themed(_layers(drawn, width, height))


def curve_panels(panels: Sequence[Curves], *, columns: int = 2) -> alt.TopLevelMixin:
    """Draw several pairs of axes beside one another, each with its own legend."""
    charts = [_layers(panel, 380, 260) for panel in panels]
    return themed(alt.concat(*charts, columns=columns).resolve_scale(
        color="independent", strokeDash="independent", x="independent", y="independent"
    ))  # fmt: skip


def _layers(drawn: Curves, width: int, height: int) -> Any:  # noqa: ANN401 - layers share no base
    order = drawn.frame["curve"].unique(maintain_order=True).to_list()
    points = drawn.measured
    measured = [] if points is None else points["curve"].unique(maintain_order=True).to_list()
    every = list(dict.fromkeys([*order, *measured]))
    legend = legend_of(every, orient="bottom", columns=2, symbolSize=400, symbolType="stroke")
    encodings = {
        "x": alt.X(
            f"{drawn.x}:Q",
            title=drawn.x_title,
            scale=drawn.x_scale or alt.Scale(zero=False),
            axis=drawn.x_axis or alt.Axis(),
        ),
        "y": alt.Y(f"{drawn.y}:Q", title=drawn.y_title),
        "color": alt.Color("curve:N", scale=group_colours(every), sort=every, legend=legend),
        "tooltip": [*fields("curve:N"), *numbers(drawn.x, drawn.y)],
    }
    dashes = [list(DASHES[place % len(DASHES)]) for place in range(len(every))]
    dash = alt.StrokeDash(
        "curve:N", scale=alt.Scale(domain=every, range=dashes), sort=every, legend=legend
    )
    lines = alt.Chart(inline(drawn.frame)).mark_line(strokeWidth=2).encode(
        **encodings, strokeDash=dash
    )  # fmt: skip
    layers: list[Any] = [lines]
    if points is not None:
        marks = alt.Chart(inline(points)).mark_point(filled=True, size=50, opacity=1)
        # with the dash as well, or there would be a legend of colours and one of dashes
        layers.append(marks.encode(**encodings, strokeDash=dash))
    return composed.layers(*layers, width=width, height=height, title=drawn.title)


QUANTITIES = {
    "time_s": "time / s",
    "window_segments": "window / segments",
    "delay_ratio": "feedback delay / round trip",
    "equivalent_rtt_ratio": "equivalent / real round trip",
    "volume_segments": "volume / segments",
    "completion_time_s": "transfer time / s",
    "multiplier": "capacity requested / rate measured (k)",
    "slot_utilisation_ratio": "slots used / slots assigned",
    "carried_megabytes": "carried / MB",
}
"""Titles of axes, by column."""

EVEN_AXES = {"delay_ratio": alt.Axis(tickCount=7), "multiplier": alt.Axis(tickMinStep=1)}
"""Axes of quantities that are drawn evenly."""


def model_curves(
    frame: pl.DataFrame, title: str = "", measured: pl.DataFrame | None = None
) -> Curves:
    """Draw a frame of `models.dama.curves`: what is along x, and what is along y.

    Parameters
    ----------
    frame : DataFrame
        Columns ``curve``, x and y, in this order, with names of `QUANTITIES`, or
        ``carried_bytes``.
    measured : DataFrame, optional
        The same columns as measured, which become points.
    """
    if "carried_bytes" in frame.columns:
        frame, measured = _megabytes(frame), None if measured is None else _megabytes(measured)
    _, x, y = frame.columns
    scale, axis = None, None
    if x in EVEN_AXES:
        scale, axis = EVEN, EVEN_AXES[x]
    elif x == "volume_segments":
        scale, axis = quantity_axis(frame[x])
    return Curves(frame, x, y, QUANTITIES[x], QUANTITIES[y], title, measured, scale, axis)


def _megabytes(frame: pl.DataFrame) -> pl.DataFrame:
    carried = (pl.col("carried_bytes") / 1e6).alias("carried_megabytes")
    return frame.select("curve", "time_s", carried)
