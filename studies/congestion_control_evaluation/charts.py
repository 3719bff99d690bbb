"""Lines of means with intervals, one for each congestion control."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from fairwind.plots import PALETTE, inline, themed
from fairwind.plots.theme import SHAPES
from fairwind.studies.comparisons import interval_per_panel

from .measures import BANDWIDTH, CONTROL, RTT, STANDARD, controls

SEEDS = "Points: mean over seeds; bars: 95 % interval of it."

BOUND_COLOUR = "#9a9a9a"
STANDARD_COLOUR = "#000000"
WIDTH, HEIGHT = 300, 240


@dataclass(frozen=True)
class Axis:
    """Horizontal axis: a column and its title."""

    column: str
    title: str


def lines(
    frame: pl.DataFrame,
    axis: Axis,
    title: str,
    panels: str,
    *,
    domain: tuple[float, float] | None = None,
    logarithmic: bool = False,
) -> alt.TopLevelMixin:
    """Draw means with intervals, one line for each congestion control, standard TCP in black.

    Each has its own shape, too, for readers who cannot distinguish the colours.

    Parameters
    ----------
    frame : DataFrame
        `CONTROL`, the columns of the axis and the panels, ``mean``, ``low``, ``high``.
    title : str
        The measure, with its unit.
    panels : str
        The column with one panel per value, in the order of the frame.
    domain : tuple of float, optional
        What is possible: intervals are cut there, and y ends there unless it is logarithmic.
    logarithmic : bool
        Whether y is.
    """
    names = controls(frame)
    order = frame[axis.column].unique(maintain_order=True)
    if order.dtype.is_numeric():
        order = order.sort()
    if domain is not None:  # an interval may be wider than what is possible
        frame = frame.with_columns(pl.col("low", "high").clip(*domain))
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(
            f"{axis.column}:O", sort=order.to_list(), title=axis.title, axis=alt.Axis(labelAngle=0)
        ),
        color=alt.Color(f"{CONTROL}:N", scale=_colours(names), legend=alt.Legend(title=None)),
    )
    measure = _measure(title, domain, logarithmic=logarithmic)
    drawn = base.mark_line(strokeWidth=1.5).encode(y=measure)
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        shape=_shapes(names),
        y=measure,
        tooltip=[
            alt.Tooltip(f"{CONTROL}:N"),
            alt.Tooltip(f"{axis.column}:N"),
            *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "low", "high")),
        ],
    )
    bars = base.mark_rule(strokeWidth=1, opacity=0.6).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    values = frame[panels].unique(maintain_order=True).to_list()
    chart = (
        alt.layer(bars, drawn, points)
        .properties(width=WIDTH, height=HEIGHT)
        .facet(facet=alt.Facet(f"{panels}:N", sort=values, title=None), columns=3)
    )
    return themed(chart)


def _measure(title: str, domain: tuple[float, float] | None, *, logarithmic: bool) -> alt.Y:
    """Give y: with a line for each power of ten, or from zero, or between bounds."""
    if logarithmic:
        decades = [10.0**power for power in range(-3, 4)]
        scale, axis = alt.Scale(type="log"), alt.Axis(values=decades)
    else:
        scale = alt.Scale(zero=True) if domain is None else alt.Scale(domain=list(domain))
        axis = alt.Axis()
    return alt.Y("mean:Q", title=title, scale=scale, axis=axis)


def _shapes(names: list[str]) -> alt.Shape:
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(names))]
    scale = alt.Scale(domain=names, range=shapes)
    return alt.Shape(f"{CONTROL}:N", scale=scale, legend=alt.Legend(title=None))


def _colours(names: list[str]) -> alt.Scale:
    """Give standard TCP black, a bound grey, and all others their colours."""
    fixed = {STANDARD: STANDARD_COLOUR} | {
        name: BOUND_COLOUR for name in names if name.startswith("(")
    }
    others = [name for name in names if name not in fixed]
    colours = fixed | {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(others)}
    return alt.Scale(domain=names, range=[colours[name] for name in names])


OF_RTT = Axis(RTT, "round trip / ms")


def means(frame: pl.DataFrame, measure: str, places: tuple[str, ...]) -> pl.DataFrame:
    """Average a measure over seeds, with its interval."""
    found = interval_per_panel(frame, measure, (CONTROL, *places))
    return found.drop("replicates")


def with_path_panel(frame: pl.DataFrame) -> pl.DataFrame:
    """Add ``panel``, a title for each bandwidth and round trip."""
    return frame.with_columns(pl.format("{}, {} ms", BANDWIDTH, RTT).alias("panel"))
