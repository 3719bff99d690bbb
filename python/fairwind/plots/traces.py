"""Time-sequence graph of one flow, with throughput, round-trip times and flight below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import altair as alt
import polars as pl

from fairwind.plots.points import csv_data, greatest
from fairwind.plots.theme import themed
from fairwind.quantities import RATES, SIZES, unit_for

Channel = TypeVar("Channel", alt.Color, alt.Shape)

WIDTH = 820
"""Width of the drawing area, in points."""

LARGEST_SIGN, SMALLEST_SIGN = 50.0, 10.0
"""Area of a sign, in square points."""

ROOM_FOR_SIGNS = 3000.0
"""Area of all signs of one kind, as far as they may be made smaller, in square points."""

MOST_OF_WINDOW = 0.5
"""So much of the room that data takes is given to the offered window above it."""

CROSS = "M-1,-1L1,1M1,-1L-1,1"
DOWN_TICK = "M0,0L0,1.6"
DASH = "M-1.6,0L1.6,0"


@dataclass(frozen=True)
class Sign:
    """Style and legend of the points of one kind.

    Attributes
    ----------
    series, kind : str
        As in the table ``traces``.
    shape : str, optional
        A symbol drawn as well, so that a single segment is seen among thousands.
    """

    series: str
    kind: str
    label: str
    colour: str
    shape: str | None = None


SIGNS = (
    Sign("window_edge", "", "offered window", "#e69f00"),
    Sign("acknowledged", "", "acknowledged", "#009e73"),
    Sign("arrival", "", "arrival", "#56b4e9"),
    Sign("data", "new", "new data", "#4d4d4d"),
    Sign("data", "bundle", "new data behind a bundled copy", "#0072b2"),
    Sign("sack", "sack", "SACK block", "#cc79a7"),
    Sign("sack", "duplicate_sack", "duplicate SACK block", "#aa3377", "circle"),
    Sign("duplicate_ack", "", "duplicate ACK", "#00694c", DOWN_TICK),
    Sign("data", "fast_retransmit", "fast retransmission", "#d55e00", "triangle-up"),
    Sign("data", "timeout", "retransmission after time-out", "#7a0019", "square"),
    Sign("data", "after_timeout", "retransmission in its wake", "#aa4466", "square"),
    Sign("data", "tail_loss_probe", "tail loss probe", "#0072b2", "diamond"),
    Sign("data", "retransmission", "retransmission, unknown cause", "#8c510a", "triangle-down"),
    Sign("data", "out_of_order", "out of order", "#882255", "circle"),
    Sign("data", "network_duplicate", "copy made by the network", "#999999", "circle"),
    Sign("data", "keep_alive", "keep-alive", "#999933", "triangle-right"),
    Sign("data", "window_probe", "window probe", "#999933", "triangle-left"),
    Sign("lost", "", "lost", "#000000", CROSS),
    Sign("mark", "zero_window", "zero window", "#e69f00", "stroke"),
)
"""In the order in which they are drawn: what is rare lies above what is frequent."""

OF_DATA = ("data", "arrival", "acknowledged", "sack", "lost")
"""Series that a time-sequence graph has room for, wherever they are."""

LINES = ("acknowledged", "window_edge")
"""Series that are steps from point to point."""

LABELS: dict[str, tuple[str, int, int, Literal["left", "right"]]] = {
    "syn": ("SYN", 4, -9, "left"),
    "fin": ("FIN", -5, -4, "right"),
    "reset": ("RST", -5, -15, "right"),
}
"""Labels of the beginning and end of a connection: text, shifts in points, side."""


def sequence_layers(points: pl.DataFrame) -> list[alt.Chart]:
    """Give the layers of a time-sequence graph, the lowest first.

    The offered window leaves the drawing where it is far above the data: in its scale a thin stream
    would be a flat line.

    Parameters
    ----------
    points : DataFrame
        As for `flow_panels`.
    """
    drawn = points.filter(pl.col("series").is_in([sign.series for sign in SIGNS]))
    domain = _domain(drawn)
    unit, divisor, _ = unit_for([domain[1] if domain else greatest(drawn)], SIZES)
    shown = points.with_columns(pl.col("low", "high") / divisor)
    present = [(sign, rows) for sign in SIGNS if (rows := _rows(shown, sign)).height]
    signs = [sign for sign, _ in present]
    colour = _of_kinds(alt.Color, signs, [sign.colour for sign in signs])
    shape = _of_kinds(alt.Shape, signs, [sign.shape or DASH for sign in signs])
    ends = [end / divisor for end in domain or ()]
    scale = alt.Scale(domain=ends, nice=False) if ends else alt.Scale(zero=False)
    y = alt.Y("high:Q", title=f"place in the stream / {unit}", scale=scale)
    layers: list[alt.Chart] = []
    for sign, rows in present:
        base = alt.Chart(csv_data(rows)).encode(
            x=time_axis(), y=y, color=colour, tooltip=_sequence_tooltip(unit)
        )
        layers.extend(_marks(base, sign, shape, _size(rows.height)))
    return [*layers, *_labels(shown, y)]


def _domain(points: pl.DataFrame) -> tuple[float, float] | None:
    """Give the bytes that are drawn: all of the data, the window if that leaves it enough room."""
    data = points.filter(pl.col("series").is_in(OF_DATA))
    if not data.height:
        return None
    low, high = min(data["low"].to_list()), max(data["high"].to_list())
    window = greatest(points.filter(pl.col("series") == "window_edge"))
    if high < window <= high + MOST_OF_WINDOW * (high - low):
        high = window
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _rows(points: pl.DataFrame, sign: Sign) -> pl.DataFrame:
    """Select the points that a sign stands for: without a kind, all of its series."""
    wanted = pl.col("series") == sign.series
    if sign.kind:
        wanted &= pl.col("kind") == sign.kind
    return points.filter(wanted).select(
        "time_s", "low", "high", "points", pl.lit(sign.label).alias("what")
    )


def _size(signs: int) -> float:
    """Give the area of a sign, smaller where there are many of its kind."""
    return max(SMALLEST_SIGN, min(LARGEST_SIGN, ROOM_FOR_SIGNS / max(signs, 1)))


def _marks(base: alt.Chart, sign: Sign, shape: alt.Shape, size: float) -> Iterable[alt.Chart]:
    if sign.series in LINES:
        yield base.mark_line(interpolate="step-after", strokeWidth=1.4, clip=True)
        return
    if sign.series not in {"duplicate_ack", "mark"}:
        # A square cap keeps a segment visible that is less than a pixel high.
        width = 1.3 if sign.shape is None else 1.8
        yield base.mark_rule(strokeWidth=width, strokeCap="square", clip=True).encode(
            y2=alt.Y2("low:Q")
        )
    if sign.shape is not None:
        is_line = sign.shape in {CROSS, DOWN_TICK, "stroke"}
        yield base.encode(shape=shape).mark_point(
            size=size,
            filled=not is_line,
            strokeWidth=(1.6 if size > LARGEST_SIGN / 2 else 1.1) if is_line else 0.6,
            opacity=1,
            clip=True,
        )


def _labels(points: pl.DataFrame, y: alt.Y) -> Iterable[alt.Chart]:
    for kind, (text, dx, dy, align) in LABELS.items():
        first = points.filter((pl.col("series") == "mark") & (pl.col("kind") == kind)).head(1)
        if first.height:
            yield (
                alt.Chart(csv_data(first.select("time_s", "high")))
                .mark_text(
                    text=text, dx=dx, dy=dy, align=align, fontSize=11, fontWeight="bold", clip=True
                )
                .encode(x=time_axis(), y=y)
            )


def _of_kinds(channel: type[Channel], signs: Sequence[Sign], values: Sequence[str]) -> Channel:
    """Give what stands for each kind of point, in the drawing and beside its name."""
    legend = alt.Legend(
        title=None, orient="top", columns=4, labelLimit=260, symbolSize=70, symbolStrokeWidth=1.8
    )
    scale = alt.Scale(domain=[sign.label for sign in signs], range=list(values))
    return channel("what:N", scale=scale, legend=legend)


def time_axis() -> alt.X:
    """Give the axis of time, which begins where the points do."""
    title = "time since the capture began / s"
    return alt.X("time_s:Q", title=title, scale=alt.Scale(zero=False, nice=False, padding=12))


def _sequence_tooltip(unit: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("what:N", title="what"),
        alt.Tooltip("time_s:Q", title="time / s", format=".6f"),
        alt.Tooltip("low:Q", title=f"from / {unit}", format=",.6~f"),
        alt.Tooltip("high:Q", title=f"to / {unit}", format=",.6~f"),
        alt.Tooltip("points:Q", title="stands for"),
    ]


def nothing(why: str) -> alt.TopLevelMixin:
    """Draw a frame that says why there is nothing in it."""
    chart = alt.Chart(alt.InlineData(values=[{"why": why}])).mark_text(fontSize=13, color="#555")
    return themed(chart.encode(text=alt.Text("why:N")).properties(width=WIDTH, height=80))


SEQUENCE_HEIGHT = 400
PANEL_HEIGHT = 130

RATE_SERIES = {
    "payload_sent": ("payload sent", "#999999"),
    "payload_received": ("payload received", "#56b4e9"),
    "new_payload_sent": ("new payload sent", "#4d4d4d"),
}
"""Kinds of throughput: what the legend calls them, and their colours."""


def flow_panels(
    points: pl.DataFrame, closer: pl.DataFrame | None = None, *, title: str | None = None
) -> alt.TopLevelMixin:
    """Draw a flow's time-sequence graph, and its throughput, round-trip times and flight below.

    In the page, the wheel and dragging zoom and move; all panels keep the same time.

    Parameters
    ----------
    points : DataFrame
        Columns ``series``, ``kind``, ``time_s``, ``low``, ``high`` and ``points`` of one flow, as
        in the table ``traces``.
    closer : DataFrame, optional
        The points of a shorter time, drawn in a panel of their own beneath.
    title : str, optional
        Whose picture it is, for where it stands alone.
    """
    panels = [panel for panel in _panels(points) if panel is not None]
    if not panels:
        return nothing("no packet of this flow was captured")
    views = [_name_view(panel, f"panel_{place}") for place, panel in enumerate(panels)]
    for panel in panels[:-1]:
        for layer in panel.layer:
            layer.encoding.x.title = None
    stacked = alt.vconcat(*panels, spacing=8).resolve_scale(
        x="shared", color="independent", shape="independent"
    )
    zooms = [_zoom("time", ["x"], views), _zoom("value", ["y"], views[:1])]
    if closer is not None and closer.height:
        below = _closer(closer)
        zooms.append(_zoom("closer", ["x", "y"], [_name_view(below, "closer_look")]))
        stacked = alt.vconcat(stacked, below, spacing=24).resolve_scale(
            color="independent", shape="independent"
        )
    stacked.params = zooms
    if title is not None:
        stacked.title = alt.TitleParams(title, anchor="start")
    return themed(stacked)


def _closer(points: pl.DataFrame) -> alt.LayerChart:
    """Draw the time-sequence graph of a part of a flow's life."""
    panel = _panel(*sequence_layers(points), height=SEQUENCE_HEIGHT)
    return panel.properties(title="A closer look")


def _name_view(panel: alt.LayerChart, name: str) -> str:
    """Name the view in which a panel takes the wheel, its lowest layer."""
    panel.layer[0].name = name
    return name


def _zoom(
    name: str, axes: list[Literal["x", "y"]], views: list[str]
) -> alt.TopLevelSelectionParameter:
    select = alt.IntervalSelectionConfig(type="interval", encodings=axes)
    return alt.TopLevelSelectionParameter(name=name, select=select, bind="scales", views=views)


def _panels(points: pl.DataFrame) -> Iterable[alt.LayerChart | None]:
    layers = sequence_layers(points)
    yield _panel(*layers, height=SEQUENCE_HEIGHT) if layers else None
    yield _throughput(points.filter(pl.col("series") == "throughput"))
    yield _round_trips(points.filter(pl.col("series") == "rtt"))
    yield _flight(points.filter(pl.col("series") == "flight"))


def _throughput(rows: pl.DataFrame) -> alt.LayerChart | None:
    present = [kind for kind in RATE_SERIES if (rows["kind"] == kind).any()]
    if not present:
        return None
    unit, divisor, _ = unit_for([greatest(rows)], RATES)
    names = {kind: RATE_SERIES[kind][0] for kind in present}
    shown = rows.filter(pl.col("kind").is_in(present)).select(
        "time_s",
        pl.col("high") / divisor,
        pl.col("kind").replace_strict(names, return_dtype=pl.String).alias("what"),
    )
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(
            domain=list(names.values()), range=[RATE_SERIES[kind][1] for kind in present]
        ),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=4),
    )
    line = (
        alt.Chart(csv_data(shown))
        .mark_line(interpolate="step-after", strokeWidth=1.4, clip=True)
        .encode(
            x=time_axis(),
            y=alt.Y("high:Q", title=["throughput", f"/ {unit}"]),
            color=colour,
            tooltip=_tooltip(f"rate / {unit}", "what"),
        )
    )
    return _panel(line)


def _round_trips(rows: pl.DataFrame) -> alt.LayerChart | None:
    if not rows.height:
        return None
    shown = rows.select("time_s", pl.col("low", "high") * 1000, "points")
    samples = (
        alt.Chart(csv_data(shown))
        .mark_rule(strokeWidth=2.5, strokeCap="round", color="#0072b2", clip=True)
        .encode(
            x=time_axis(),
            y=alt.Y("low:Q", title=["round-trip time", "/ ms"], scale=alt.Scale(zero=True)),
            y2=alt.Y2("high:Q"),
            tooltip=[
                *_tooltip("least / ms", value="low"),
                alt.Tooltip("high:Q", title="greatest / ms", format=",.4~g"),
            ],
        )
    )
    return _panel(samples)


def _flight(rows: pl.DataFrame) -> alt.LayerChart | None:
    if not rows.height:
        return None
    unit, divisor, _ = unit_for([greatest(rows)], SIZES)
    shown = rows.select("time_s", pl.col("low", "high") / divisor, "points")
    base = alt.Chart(csv_data(shown)).encode(x=time_axis())
    title = ["in flight", f"/ {unit}"]
    band = base.mark_area(interpolate="step-after", color="#009e73", opacity=0.25, clip=True)
    line = base.mark_line(interpolate="step-after", strokeWidth=1.2, color="#00694c", clip=True)
    return _panel(
        band.encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q")),
        line.encode(y=alt.Y("high:Q", title=title), tooltip=_tooltip(f"in flight / {unit}")),
    )


def _panel(*layers: alt.Chart, height: int = PANEL_HEIGHT) -> alt.LayerChart:
    return alt.LayerChart(layer=list(layers), width=WIDTH, height=height)


def _tooltip(title: str, what: str | None = None, value: str = "high") -> list[alt.Tooltip]:
    return [
        *([] if what is None else [alt.Tooltip(f"{what}:N", title="what")]),
        alt.Tooltip("time_s:Q", title="time / s", format=".6f"),
        alt.Tooltip(f"{value}:Q", title=title, format=",.4~g"),
    ]
