"""Curves of formulas with measured points, and the figures of a start-up on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from fairwind.plots.theme import group_colours, inline, legend_of, numbers, quantity_axis, themed

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
        "tooltip": ["curve:N", *numbers(drawn.x, drawn.y)],
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
    return alt.layer(*layers).properties(width=width, height=height, title=drawn.title)


def window_over_time(
    frame: pl.DataFrame, title: str = "Window", measured: pl.DataFrame | None = None
) -> Curves:
    """Draw ``window_segments`` over ``time_s``.

    This function and those below take a frame with a column ``curve``, as `models.dama.curves`
    gives it, and optionally the same columns as measured, which become points.
    """
    titles = ("time / s", "window / segments", title)
    return Curves(frame, "time_s", "window_segments", *titles, measured)


def equivalent_rtt_by_ratio(
    frame: pl.DataFrame,
    title: str = "Equivalent round trip",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``equivalent_rtt_ratio`` against ``delay_ratio``."""
    titles = ("feedback delay / round trip", "equivalent / real round trip", title)
    axis = alt.Axis(tickCount=7)
    return Curves(frame, "delay_ratio", "equivalent_rtt_ratio", *titles, measured, EVEN, axis)


def completion_by_volume(
    frame: pl.DataFrame,
    title: str = "Transfer time against volume",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``completion_time_s`` against ``volume_segments``, by orders of magnitude."""
    titles = ("volume / segments", "transfer time / s", title)
    axis = quantity_axis(frame["volume_segments"])
    return Curves(frame, "volume_segments", "completion_time_s", *titles, measured, *axis)


def completion_by_multiplier(
    frame: pl.DataFrame,
    title: str = "Transfer time against k",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``completion_time_s`` against ``multiplier``."""
    return _by_multiplier(frame, "completion_time_s", "transfer time / s", title, measured)


def utilisation_by_multiplier(
    frame: pl.DataFrame,
    title: str = "Slots used against k",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``slot_utilisation_ratio`` against ``multiplier``."""
    y, y_title = "slot_utilisation_ratio", "slots used / slots assigned"
    return _by_multiplier(frame, y, y_title, title, measured)


def _by_multiplier(
    frame: pl.DataFrame, y: str, y_title: str, title: str, measured: pl.DataFrame | None
) -> Curves:
    titles = ("capacity requested / rate measured (k)", y_title, title)
    return Curves(frame, "multiplier", y, *titles, measured, EVEN, alt.Axis(tickMinStep=1))


def carried_over_time(
    frame: pl.DataFrame,
    title: str = "Volume over time",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``carried_bytes`` over ``time_s``."""
    megabytes = (pl.col("carried_bytes") / 1e6).alias("carried_megabytes")
    titles = ("time / s", "carried / MB", title)
    points = None if measured is None else measured.with_columns(megabytes)
    return Curves(frame.with_columns(megabytes), "time_s", "carried_megabytes", *titles, points)
