"""The figures of a start-up over capacity assigned on demand: formulas, and runs beside them.

Each takes a frame with a column ``curve`` (see `fairwind.models.dama.curves`) and, optionally, the
same columns as measured, which become points.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots.curves import Curves
from fairwind.plots.range import quantity_axis


def window_over_time(
    frame: pl.DataFrame, title: str = "Window", measured: pl.DataFrame | None = None
) -> Curves:
    """Draw ``window_segments`` over ``time_s``."""
    return Curves(
        frame, "time_s", "window_segments", "time / s", "window / segments", title, measured
    )


def equivalent_rtt_by_ratio(
    frame: pl.DataFrame,
    title: str = "Equivalent round trip",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``equivalent_rtt_ratio`` against ``delay_ratio``."""
    return Curves(
        frame,
        "delay_ratio",
        "equivalent_rtt_ratio",
        "feedback delay / round trip",
        "equivalent / real round trip",
        title,
        measured,
        alt.Scale(zero=False, nice=False),
        alt.Axis(tickCount=7),
    )


def completion_by_volume(
    frame: pl.DataFrame,
    title: str = "Transfer time against volume",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``completion_time_s`` against ``volume_segments``, by orders of magnitude."""
    scale, axis = quantity_axis(frame["volume_segments"])
    return Curves(
        frame,
        "volume_segments",
        "completion_time_s",
        "volume / segments",
        "transfer time / s",
        title,
        measured,
        scale,
        axis,
    )


def completion_by_multiplier(
    frame: pl.DataFrame,
    title: str = "Transfer time against k",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``completion_time_s`` against ``multiplier``."""
    return Curves(
        frame,
        "multiplier",
        "completion_time_s",
        "capacity requested / rate measured (k)",
        "transfer time / s",
        title,
        measured,
        alt.Scale(zero=False, nice=False),
        alt.Axis(tickMinStep=1),
    )


def utilisation_by_multiplier(
    frame: pl.DataFrame,
    title: str = "Slots used against k",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``slot_utilisation_ratio`` against ``multiplier``."""
    return Curves(
        frame,
        "multiplier",
        "slot_utilisation_ratio",
        "capacity requested / rate measured (k)",
        "slots used / slots assigned",
        title,
        measured,
        alt.Scale(zero=False, nice=False),
        alt.Axis(tickMinStep=1),
    )


def carried_over_time(
    frame: pl.DataFrame,
    title: str = "Volume over time",
    measured: pl.DataFrame | None = None,
) -> Curves:
    """Draw ``carried_bytes`` over ``time_s``."""
    megabytes = (pl.col("carried_bytes") / 1e6).alias("carried_megabytes")
    return Curves(
        frame.with_columns(megabytes),
        "time_s",
        "carried_megabytes",
        "time / s",
        "carried / MB",
        title,
        None if measured is None else measured.with_columns(megabytes),
    )
