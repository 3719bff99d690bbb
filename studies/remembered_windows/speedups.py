"""Speed-ups as simulated beside those of the closed form."""

from __future__ import annotations

import numpy as np
import polars as pl

from fairwind.models.sharing import speed_up
from fairwind.results import Results
from fairwind.studies.streams import capacity_bits_per_second

from .transfers import (
    DELAY,
    MEMORY,
    NEW,
    OLD,
    TIME,
    VOLUME,
    later_times,
    old_by_new,
    transfers,
)

PAYLOAD_BYTES = 1448
WIRE_BYTES = 1500

ROUND_TRIP_S = 0.001
"""Of a call and its answer; of all else the delay of each acknowledgment comes to it."""

CLOSED_SEGMENT_BYTES = 1000
CLOSED_WINDOW = 32


def by_delay(results: Results) -> pl.DataFrame:
    """Give the speed-ups of the leading part, with the closed form's.

    Returns
    -------
    DataFrame
        `DELAY`, `VOLUME`, what `old_by_new` gives, and ``form``: the speed-up by the closed form
        with serialisation, whose second connection begins with a window that fills the path.
    """
    found = old_by_new(later_times(results), [VOLUME, DELAY]).sort(VOLUME, DELAY)
    rate = capacity_bits_per_second(results.manifest.plan.cells[0].experiment)
    each = WIRE_BYTES * 8 / rate
    return found.with_columns(pl.Series("form", _form(found, each)))


def _form(found: pl.DataFrame, each: float) -> np.ndarray:
    rtt = found[DELAY].to_numpy() + ROUND_TRIP_S
    segments = np.ceil(found[VOLUME].to_numpy() / PAYLOAD_BYTES)
    filling = 2 + rtt / each
    return speed_up(segments, filling, rtt, each, opening_s=ROUND_TRIP_S)


def closed_form(closed: Results) -> pl.DataFrame:
    """Give the speed-ups without serialisation, with the closed form's.

    Returns
    -------
    DataFrame
        ``segments``, ``old_s``, ``new_s``, ``simulated``, ``form`` and ``deviation_ratio``.
    """
    times = transfers(closed).select(
        (pl.col(VOLUME) / CLOSED_SEGMENT_BYTES).alias("segments"), MEMORY, TIME
    )
    sides = [
        times.filter(pl.col(MEMORY) == memory).select("segments", pl.col(TIME).alias(f"{memory}_s"))
        for memory in (OLD, NEW)
    ]
    pairs = sides[0].join(sides[1], on="segments", maintain_order="left").sort("segments")
    form = speed_up(pairs["segments"].to_numpy(), CLOSED_WINDOW)
    simulated = (pl.col("old_s") / pl.col("new_s")).alias("simulated")
    return pairs.with_columns(simulated, pl.Series("form", form)).with_columns(
        (pl.col("simulated") / pl.col("form") - 1).alias("deviation_ratio")
    )
