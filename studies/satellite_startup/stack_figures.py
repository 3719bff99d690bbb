"""The source's stacks over time: volume, rate and round trip."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind import plots
from fairwind.plots import Curves, Figure
from fairwind.results import Results

from .growth import beginnings, carried
from .stacks import AXES, LIMIT, REQUEST, STACK
from .transfers import with_axes

SHOWN_LIMIT = "300 packets"
"""What the channel carries in a round trip and the feedback delay together, 3.2 s, is 320."""

SHOWN_S = 40.0

ASKED = {
    "rbdc": ("stacks-over-time", "asking for the measured rate (k = 1)"),
    "constant, not bunched": (
        "stacks-over-constant",
        "with the same rate all the time, and slots that are spread over the frame",
    ),
}


PLACED = {"rbdc, k = 4.8": "slots together", "rbdc, spread, k = 4.8": "slots spread"}
"""Ways of asking that differ in where a terminal's slots are, and in when frames begin."""


def by_placement(stacks: Results) -> list[Figure]:
    """Draw the stacks over slots that follow one another, and below over slots that are spread."""
    requests = with_axes(stacks.flows)[REQUEST].unique().to_list()
    if not set(PLACED) <= set(requests):
        return []
    return [
        Figure(
            name="stacks-by-placement",
            title="The three stacks at k = 4.8, by where the terminal's slots of a frame are, and "
            "when frames begin",
            caption=f"One run each, {SHOWN_LIMIT} of buffer, as above. Above: slots that follow "
            "one another; below: slots that are spread over the frame, in frames that begin when "
            "plans come.",
            chart=plots.curve_panels(
                [panel for way, words in PLACED.items() for panel in _panels(stacks, way, words)],
                columns=3,
            ),
        )
    ]


def over_time(stacks: Results) -> list[Figure]:
    """Draw volume, rate and round trip of the stacks, on demand and without waiting."""
    requests = with_axes(stacks.flows)[REQUEST].unique().to_list()
    return [
        _of(stacks, request, name, words)
        for request, (name, words) in ASKED.items()
        if request in requests
    ]


def _of(stacks: Results, request: str, name: str, words: str) -> Figure:
    return Figure(
        name=name,
        title=f"Linux 2.6 without and with SACK, and FreeBSD 5.4, {words}",
        caption=f"One run each, {SHOWN_LIMIT} of buffer: payload read since the beginning (the "
        "sequence plot), goodput in windows of a second, and smoothed round trip.",
        chart=plots.curve_panels(
            _panels(stacks, request),
            columns=3,
        ),
    )


def _panels(stacks: Results, request: str, words: str = "") -> list[Curves]:
    of = f", {words}" if words else ""
    return [
        _panel(_volume(stacks, request), "megabytes", f"read / MB{of}"),
        _panel(_rate(stacks, request), "rate", f"goodput / Mbit/s{of}"),
        _panel(_round_trip(stacks, request), "smoothed_rtt_s", f"round trip / s{of}"),
    ]


def _panel(frame: pl.DataFrame, y: str, title: str) -> Curves:
    return Curves(
        frame, "time_s", y, "time / s", title, x_scale=alt.Scale(domain=[0, SHOWN_S], nice=False)
    )


def _volume(stacks: Results, request: str) -> pl.DataFrame:
    chosen = _first_run(carried(stacks, AXES), request)
    return chosen.select("curve", "time_s", (pl.col("carried_bytes") * 1e-6).alias("megabytes"))


def _rate(stacks: Results, request: str) -> pl.DataFrame:
    windows = _since_the_beginning(stacks, with_axes(stacks.intervals), "start_s")
    rate = (pl.col("goodput_bits_per_second") * 1e-6).alias("rate")
    return _first_run(windows, request).select("curve", "time_s", rate)


def _round_trip(stacks: Results, request: str) -> pl.DataFrame:
    known = with_axes(stacks.endpoint).drop_nulls("smoothed_rtt_s")
    samples = _since_the_beginning(stacks, known, "time_s")
    return _first_run(samples, request).select("curve", "time_s", "smoothed_rtt_s")


def _since_the_beginning(stacks: Results, frame: pl.DataFrame, time: str) -> pl.DataFrame:
    since = (pl.col(time) - pl.col("begun_s")).alias("time_s")
    begun = frame.join(beginnings(stacks), on=["cell", "seed"], maintain_order="left")
    return begun.with_columns(since).filter(pl.col("time_s") >= 0)


def _first_run(frame: pl.DataFrame, request: str) -> pl.DataFrame:
    chosen = frame.filter((pl.col(REQUEST) == request) & (pl.col(LIMIT) == SHOWN_LIMIT))
    first = chosen["seed"].first()
    return chosen.filter((pl.col("seed") == first) & (pl.col("time_s") <= SHOWN_S)).with_columns(
        pl.col(STACK).alias("curve")
    )
