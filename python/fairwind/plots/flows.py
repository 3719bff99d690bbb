"""All that is drawn of one flow, one panel below the other on the same axis of time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import altair as alt
import polars as pl

from fairwind.plots.points import csv_data, greatest, unit_of_bytes, unit_of_rate
from fairwind.plots.theme import themed
from fairwind.plots.traces import WIDTH, nothing, sequence_layers, time_axis

SEQUENCE_HEIGHT = 400
PANEL_HEIGHT = 130

RATES = {
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
    present = [kind for kind in RATES if (rows["kind"] == kind).any()]
    if not present:
        return None
    unit, divisor = unit_of_rate(greatest(rows))
    names = {kind: RATES[kind][0] for kind in present}
    shown = rows.filter(pl.col("kind").is_in(present)).select(
        "time_s",
        pl.col("high") / divisor,
        pl.col("kind").replace_strict(names, return_dtype=pl.String).alias("what"),
    )
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=list(names.values()), range=[RATES[kind][1] for kind in present]),
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
            y2="high:Q",
            tooltip=[*_tooltip("least / ms", value="low"), *_values("greatest / ms")],
        )
    )
    return _panel(samples)


def _flight(rows: pl.DataFrame) -> alt.LayerChart | None:
    if not rows.height:
        return None
    unit, divisor = unit_of_bytes(greatest(rows))
    shown = rows.select("time_s", pl.col("low", "high") / divisor, "points")
    base = alt.Chart(csv_data(shown)).encode(x=time_axis())
    title = ["in flight", f"/ {unit}"]
    band = base.mark_area(interpolate="step-after", color="#009e73", opacity=0.25, clip=True)
    line = base.mark_line(interpolate="step-after", strokeWidth=1.2, color="#00694c", clip=True)
    return _panel(
        band.encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        line.encode(y=alt.Y("high:Q", title=title), tooltip=_tooltip(f"in flight / {unit}")),
    )


def _panel(*layers: alt.Chart, height: int = PANEL_HEIGHT) -> alt.LayerChart:
    return alt.LayerChart(layer=list(layers), width=WIDTH, height=height)


def _tooltip(title: str, what: str | None = None, value: str = "high") -> list[alt.Tooltip]:
    named = [] if what is None else [alt.Tooltip(f"{what}:N", title="what")]
    return [
        *named,
        alt.Tooltip("time_s:Q", title="time / s", format=".6f"),
        *_values(title, value),
    ]


def _values(title: str, value: str = "high") -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{value}:Q", title=title, format=",.4~g")]
