"""The source's four figures, and the closed form; the price's follow."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind import plots
from fairwind.plots import Curves, Figure
from fairwind.results import Results

from .claims import newest_connections
from .price_figures import price_figures
from .speedups import by_delay, closed_form
from .transfers import (
    DELAY,
    MEMORY,
    NEW,
    NEW_TO_THE_END,
    OLD,
    TIME,
    VOLUME,
    in_words,
    later_times,
)

SHOWN_S = 8.0
"""Of the windows over time."""

MEGABYTE = 1e6

CALLED = {
    OLD: "old: from one segment",
    NEW: "new: from the remembered window",
    NEW_TO_THE_END: "new: remembered when all is acknowledged",
}


def figures(results: Results) -> list[Figure]:
    """Draw the source's figures, then the closed form and the price."""
    return [
        _speed_ups(results),
        _locally(results),
        *_far_away(results.part("long")),
        *_windows(results.part("windows")),
        *_closed(results.part("closed")),
        *price_figures(results),
    ]


def _volume_words(values: pl.Series) -> list[str]:
    return [in_words(VOLUME, value) for value in values]


def _speed_ups(results: Results) -> Figure:
    found = by_delay(results)
    named = found.with_columns(
        pl.Series("curve", _volume_words(found[VOLUME])),
        (pl.col(DELAY) * 1e3).alias("delay_ms"),
        pl.col("form").alias("speed_up"),
    )
    points = named.with_columns(pl.col("mean").alias("speed_up"))
    return Figure(
        name="speed-up-against-delay",
        title="Figure 3: speed-up by the delay of each acknowledgment, for four volumes",
        caption="Mean time of transfers from a window of one segment by that from the remembered "
        "one. Points: measured; lines: the closed form with serialisation.",
        chart=plots.curves(
            Curves(
                named.select("curve", "delay_ms", "speed_up"), "delay_ms", "speed_up",
                "delay of each acknowledgment / ms", "speed-up",
                measured=points.select("curve", "delay_ms", "speed_up"),
            )
        ),
    )  # fmt: skip


def _locally(results: Results) -> Figure:
    times = later_times(results)
    shown = sorted(times[DELAY].unique())[-2]
    at = times.filter(pl.col(DELAY) == shown)
    return Figure(
        name="times-locally",
        title=f"Figure 1: old against new locally, each acknowledgment {shown * 1e3:g} ms late",
        caption="Mean time of a transfer but for the first, from the call to the last byte.",
        chart=plots.curves(_times(at)),
    )


def _times(times: pl.DataFrame) -> Curves:
    means = times.group_by(MEMORY, VOLUME, maintain_order=True).agg(pl.col(TIME).mean())
    is_large = bool((means[VOLUME] >= MEGABYTE).any())
    unit, name = (MEGABYTE, "MB") if is_large else (MEGABYTE / 1e3, "kB")
    named = means.sort(VOLUME).with_columns(
        pl.col(MEMORY).replace(CALLED).alias("curve"), (pl.col(VOLUME) / unit).alias("volume")
    )
    chosen = named.select("curve", "volume", TIME).sort("curve", "volume", descending=[True, False])
    return Curves(
        chosen, "volume", TIME, f"volume / {name}", "time of a transfer / s", measured=chosen
    )


def _far_away(long: Results | None) -> list[Figure]:
    if long is None:
        return []
    return [
        Figure(
            name="times-far-away",
            title="Figure 2: old against new over a long path (1.5 Mbit/s, 110 ms, 0.5 % lost)",
            caption="Mean time of a transfer but for the first, over all seeds.",
            chart=plots.curves(_times(later_times(long))),
        )
    ]


def _windows(windows: Results | None) -> list[Figure]:
    if windows is None:
        return []
    sampled = newest_connections(windows).filter(pl.col("time_s") <= SHOWN_S)
    panels = [
        Curves(
            sampled.filter(pl.col(MEMORY) == memory).select(
                pl.lit("window").alias("curve"), "time_s", "cwnd_packets"
            ),
            "time_s",
            "cwnd_packets",
            "time / s",
            "congestion window / segments",
            title,
        )
        for memory, title in CALLED.items()
        if (sampled[MEMORY] == memory).any()
    ]
    return [
        Figure(
            name="windows-over-time",
            title="Figure 4: the window of connections that follow one another",
            caption="Transfers of 500 kB, each acknowledgment 100 ms late: without a memory every "
            "connection begins anew, with it each begins where one before was when its server "
            "closed it, or, in the last panel, when all was acknowledged. The axes differ.",
            chart=plots.curve_panels(panels, columns=len(panels)),
        )
    ]


def _closed(closed: Results | None) -> list[Figure]:
    if closed is None:
        return []
    found = closed_form(closed).with_columns(pl.lit("speed-up").alias("curve"))
    return [
        Figure(
            name="speed-up-in-closed-form",
            title="Speed-up by volume without serialisation, with 32 segments remembered",
            caption="Line: the closed form at the volumes shown; points: simulated.",
            chart=plots.curves(
                Curves(
                    found.select("curve", "segments", pl.col("form").alias("value")),
                    "segments",
                    "value",
                    "segments of a transfer",
                    "speed-up",
                    measured=found.select("curve", "segments", pl.col("simulated").alias("value")),
                    x_scale=alt.Scale(type="log", nice=False),
                )
            ),
        )
    ]
