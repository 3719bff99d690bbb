"""The common look of all figures: colours, panels, axes."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

from fairwind.plots import composed
from fairwind.plots.points import csv_data

GROUP_COLOURS = {"greedy": "#e0604a", "thin": "#164a88"}
"""Colours of groups that the literature has colours for: red and blue, light and dark in grey."""

PALETTE = (
    "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#0072b2", "#d55e00", "#4d4d4d", "#999933",
    "#882255",
)  # fmt: skip
"""Colours of all other groups, distinct with any colour vision: seven after Okabe and Ito, two of
Tol's muted ones."""

DASHES = ((1, 0), (6, 2), (2, 2), (9, 2, 2, 2), (14, 3))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
"""Of lines and of points, group by group. There are nine colours and five of these, so that 45
groups differ in one or the other, and neighbours in both: without colours, too."""

FAR_APART = 6.0
"""Panels have an axis each if their greatest values differ by more than this factor."""

FONT = "DejaVu Sans, Helvetica Neue, Helvetica, Arial, sans-serif"

CHARACTER = 7
"""About the width of a label's character, in points."""

LEGEND_CHARACTERS = 36
"""Longer labels of a legend are broken into lines; `page.js` leaves room for so many."""

PLOT_WIDTH, PLOT_HEIGHT = 560, 260
"""Of a plot that stands alone, in points."""

PANEL_WIDTH = 220
"""Of one plot of several, in points."""


def group_colours(groups: Iterable[Any], chosen: Mapping[str, str] | None = None) -> alt.Scale:
    """Give every group its colour, in the order given.

    Parameters
    ----------
    groups : iterable of str
        Group names.
    chosen : mapping of str to str, optional
        Colours that replace the defaults.
    """
    names = list(dict.fromkeys(groups))
    known = GROUP_COLOURS | dict(chosen or {})
    others = (name for name in names if name not in known)
    colours = known | {
        name: PALETTE[position % len(PALETTE)] for position, name in enumerate(others)
    }
    return alt.Scale(domain=names, range=[colours[name] for name in names])


def group_lines(
    groups: Iterable[Any],
    column: str = "group",
    chosen: Mapping[str, str] | None = None,
    title: str | None = None,
) -> tuple[alt.Color, alt.StrokeDash]:
    """Give the channels that tell lines of groups apart; parameters as of `group_colours`.

    ``title`` is that of the legend.
    """
    names = list(dict.fromkeys(groups))
    # So much of a line is shown that its dashes are seen.
    legend = legend_of(names, title, symbolType="stroke", symbolSize=600)
    dashes = [DASHES[position % len(DASHES)] for position in range(len(names))]
    scale = alt.Scale(domain=names, range=dashes)
    return (
        alt.Color(f"{column}:N", scale=group_colours(names, chosen), legend=legend),
        alt.StrokeDash(f"{column}:N", scale=scale, legend=legend),
    )


def group_points(groups: Iterable[str]) -> tuple[alt.Color, alt.Shape]:
    """Give the channels that tell points of groups apart, by the column ``group``."""
    names = list(dict.fromkeys(groups))
    legend = legend_of(names)
    shapes = [SHAPES[position % len(SHAPES)] for position in range(len(names))]
    scale = alt.Scale(domain=names, range=shapes)
    return (
        alt.Color("group:N", scale=group_colours(names), legend=legend),
        alt.Shape("group:N", scale=scale, legend=legend),
    )


def group_series(
    series: Sequence[str], groups: Sequence[str]
) -> tuple[alt.Color, alt.StrokeDash, alt.Shape]:
    """Give the channels that tell several series of each group apart, by the column ``series``.

    Parameters
    ----------
    series, groups : sequence of str
        The names of the series, each once, and the group of each.
    """
    colours = group_colours(groups).to_dict()
    of_group = dict(zip(colours["domain"], colours["range"], strict=True))
    names, legend = list(series), legend_of(series)
    dashes = [DASHES[position % len(DASHES)] for position in range(len(names))]
    shapes = [SHAPES[position % len(SHAPES)] for position in range(len(names))]
    of_series = [of_group[group] for group in groups]
    return (
        alt.Color("series:N", scale=alt.Scale(domain=names, range=of_series), legend=legend),
        alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
        alt.Shape("series:N", scale=alt.Scale(domain=names, range=shapes), legend=legend),
    )


def legend_of(names: Iterable[Any], title: str | None = None, **style: Any) -> alt.Legend:  # noqa: ANN401 - properties share no type
    """Give a legend that cuts no label: long ones may differ in their last words only."""
    return alt.Legend(
        title=wrapped(title, LEGEND_CHARACTERS) if title else None,
        titleLimit=WHOLE,
        labelLimit=WHOLE,
        labelExpr=broken_labels(names, LEGEND_CHARACTERS),
        symbolOpacity=1,
        **style,
    )


WHOLE = 0
"""Limit of labels that are never cut. To find out where hundreds are to be cut takes half a minute,
too."""


def broken_labels(names: Iterable[Any], characters: int) -> str:
    """Give the expression that breaks longer labels into lines, each setting into its own."""
    lines = {
        text: [line for setting in text.split(", ") for line in wrapped(setting, characters)]
        for text in map(str, names)
        if len(text) > characters
    }
    # Headers put a conditional in the place of `datum.label`.
    return f"{json.dumps(lines)}[datum.label] || (datum.label)" if lines else "datum.label"


def wrapped(text: str, characters: int) -> list[str]:
    """Break a text into lines of so many characters, but no number from its unit."""
    joined = re.sub(r"(\d) (?=[A-Za-z%])", "\\1\u00a0", text)
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(joined, characters)]


def panel_facet(column: str, order: Sequence[Any], width: int) -> alt.Facet:
    """Give a panel to each value of a column, under a title that is no wider than the panel."""
    header = alt.Header(labelExpr=broken_labels(order, width // CHARACTER), labelLimit=width)
    return alt.Facet(f"{column}:N", sort=list(order), title=None, header=header)


def in_panels(
    chart: Any,  # noqa: ANN401 - chart classes share no base
    rows: pl.DataFrame,
    panels: str | None,
    columns: int,
    height: int,
    *,
    has_own_axes: bool = False,
) -> alt.TopLevelMixin:
    """Finish a chart, which it changes: alone, or as small panels, one per value of a column.

    Parameters
    ----------
    rows : DataFrame
        Tells the order of the panels.
    height : int
        Of one panel of several, in points.
    has_own_axes : bool
        Whether each panel has its own axis of values.
    """
    if panels is None:
        chart.width, chart.height = PLOT_WIDTH, PLOT_HEIGHT
        return themed(chart)
    order = rows[panels].unique(maintain_order=True).to_list()
    facet = panel_facet(panels, order, PANEL_WIDTH)
    chart.width, chart.height = PANEL_WIDTH, height
    resolve = composed.axes(is_own=has_own_axes)
    return themed(composed.panels(chart, facet, columns=columns, resolve=resolve))


SUBTITLE_CHARACTERS = 52
"""So many fit beside each other on a telephone."""


def subtitled(chart: Any, text: str) -> alt.TopLevelMixin:  # noqa: ANN401 - chart classes share no base
    """Write a few words above a chart, in place, such as what it is drawn of."""
    lines = wrapped(text, SUBTITLE_CHARACTERS)
    title = alt.TitleParams(lines, fontSize=12, fontWeight="normal", offset=8) if lines else ""
    chart.title = title
    titled: alt.TopLevelMixin = chart
    return titled


def numbers(*names: str, form: str = ".4g") -> list[alt.Tooltip]:
    """Give columns of numbers as parts of a tooltip."""
    return [alt.Tooltip(f"{name}:Q", format=form) for name in names]


def fields(*names: str) -> list[alt.Tooltip]:
    """Give columns with their types as parts of a tooltip; Altair reads plain names slowly."""
    return [alt.Tooltip(name) for name in names]


def are_far_apart(frame: pl.DataFrame, panels: str | None, value: str) -> bool:
    """Return whether one axis would flatten some panels, because their maxima are far apart."""
    if panels is None:
        return False
    found = frame.group_by(panels).agg(pl.col(value).abs().max())[value]
    greatest = found.filter(found > 0).to_list()
    return bool(greatest) and max(greatest) > FAR_APART * min(greatest)


FEW_ROWS = 200
"""Larger frames are embedded as comma-separated values: Altair checks and copies each record."""


def inline(frame: pl.DataFrame) -> alt.InlineData:
    """Embed a frame into a chart, so that the chart stands alone."""
    if frame.height <= FEW_ROWS or any(dtype.is_nested() for dtype in frame.dtypes):
        return alt.InlineData(values=frame.to_dicts())
    return csv_data(frame)


@contextmanager
def unvalidated() -> Iterator[None]:
    """Make charts without checking each part as it is made, which takes half of the time.

    For charts of functions that the tests call with the checks.
    """
    with debug_mode(arg=False):
        yield


def themed(chart: Any) -> alt.TopLevelMixin:  # noqa: ANN401 - chart classes share no base
    """Give a finished chart the common look, and return it."""
    # Set in place, since `configure` copies the whole chart.
    chart.config = alt.Config(
        font=FONT,
        background="white",
        axis=alt.AxisConfig(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#e6e6e6"
        ),
        legend=alt.LegendConfig(labelFontSize=12, titleFontSize=12, titleFontWeight="normal"),
        header=alt.HeaderConfig(labelFontSize=12, titleFontSize=12, titleFontWeight="normal"),
        title=alt.TitleConfig(fontSize=14, fontWeight="bold", anchor="start"),
        view=alt.ViewConfig(stroke="#bbbbbb"),
    )
    complete: alt.TopLevelMixin = chart
    return complete


FEW_TIMES = 4.0
"""Values that differ by less than this factor are drawn evenly, not by orders of magnitude."""

DENSE = (1.0, 2.0, 5.0)
SPARSE = (1.0,)
MOST_DENSE = 3.0
"""Up to so many orders of magnitude have lines between them."""

MOST_LINES = 12


def quantity_axis(values: pl.Series) -> tuple[alt.Scale, alt.Axis]:
    """Choose an axis for quantities above zero: of orders of magnitude, or even if they are near.

    Parameters
    ----------
    values : Series
        What is drawn along the axis; zeros are left out of account.

    Returns
    -------
    Scale, Axis
        From a little below the least to a little above the greatest.
    """
    above = values.filter(values > 0).cast(pl.Float64)
    if above.is_empty():
        return alt.Scale(), alt.Axis()
    least, greatest = min(above.to_list()), max(above.to_list())
    if greatest < least * FEW_TIMES:
        room = (greatest - least) * 0.04 or greatest * 0.1
        ends = [least - room, greatest + room]
        return alt.Scale(domain=ends, nice=False, zero=False), alt.Axis(format=",~r")
    ends = [least / 1.1, greatest * 1.1]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    return scale, alt.Axis(values=lines(ends[0], ends[1]), format=",~r")


def lines(low: float, high: float) -> list[float]:
    """Give round numbers between two, for the lines of an axis of orders of magnitude."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = DENSE if math.log10(high / low) <= MOST_DENSE else SPARSE
    # As text, for 0.2 is none of 2 * 10**-1 in binary fractions alone.
    round_ones = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    shown = [number for number in round_ones if low <= number <= high]
    return shown[:: -(-len(shown) // MOST_LINES)] if shown else []
