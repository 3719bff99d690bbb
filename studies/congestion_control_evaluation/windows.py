"""Congestion windows and rates over time."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure, inline, themed
from fairwind.results import Results

from .shares import CONTROL, RTT, with_places

COLOURS = alt.Scale(domain=["first", "second"], range=["#c8352b", "#2166ac"])

EVERY_S = 1.0
"""Windows are drawn this often."""

RATE_WINDOWS = 5
"""So many windows of a second make one point of a rate."""


def windows(results: Results) -> Figure:
    """Draw the congestion windows of two flows, a row for each congestion control."""
    samples = with_places(results.endpoint)
    frame = (
        samples.with_columns((pl.col("time_s") // EVERY_S * EVERY_S).alias("time_s"))
        .group_by([CONTROL, RTT, "group", "time_s"], maintain_order=True)
        .agg(pl.col("cwnd_packets").mean().round(1))
        .with_columns(pl.format("{}, {} ms", CONTROL, RTT).alias("panel"))
        .sort(pl.col(CONTROL).cast(pl.Enum(_order(samples))), RTT, maintain_order=True)
    )
    return Figure(
        name="windows-over-time",
        title="Congestion windows at 250 Mbit/s and a queue of 20 % of the product",
        caption=(
            "Of two flows with one congestion control and one round trip, the second of which "
            "starts a minute after the first; means over a second, first seed."
        ),
        chart=_panels(frame, "cwnd_packets", "congestion window / packets", _columns(frame)),
    )


def rates_over_time(results: Results) -> Figure:
    """Draw what two flows get over time, a panel for each congestion control."""
    length = float(RATE_WINDOWS)
    frame = (
        with_places(results.intervals)
        .with_columns((pl.col("start_s") // length * length).alias("time_s"))
        .group_by([CONTROL, "group", "time_s"], maintain_order=True)
        .agg((pl.col("goodput_bits_per_second").mean() * 1e-6).round(2).alias("rate"))
        .with_columns(pl.col(CONTROL).alias("panel"))
    )
    return Figure(
        name="early-drop",
        title="Two flows at 500 Mbit/s, 100 ms and a queue of 500 packets",
        caption=(
            "The second one loses its hundredth packet, in slow start. Goodput in "
            f"windows of {length:g} s, mean over seeds."
        ),
        chart=_panels(frame, "rate", "goodput / Mbit/s", 3),
    )


def _order(samples: pl.DataFrame) -> list[str]:
    names: list[str] = samples[CONTROL].unique(maintain_order=True).to_list()
    return names


def _columns(frame: pl.DataFrame) -> int:
    return int(frame[RTT].n_unique())


def _panels(frame: pl.DataFrame, measure: str, title: str, columns: int) -> alt.TopLevelMixin:
    values = frame["panel"].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(inline(frame.select("panel", "group", "time_s", measure)))
        .mark_line(strokeWidth=1.2)
        .encode(
            x=alt.X("time_s:Q", title="time / s"),
            y=alt.Y(f"{measure}:Q", title=title),
            color=alt.Color("group:N", scale=COLOURS, legend=alt.Legend(title=None)),
        )
        .properties(width=220, height=90)
        .facet(facet=alt.Facet("panel:N", sort=values, title=None), columns=columns)
        .resolve_scale(y="independent")
    )
    return themed(chart)
