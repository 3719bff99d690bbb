"""What each transfer took and lost, with the axes in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from fairwind.quantities import parse_bytes, parse_seconds
from fairwind.results import Results
from fairwind.results.transfers import ANSWERS
from fairwind.studies.groups import interval_per_panel

MEMORY, AFTER, COUNT = "memory", "after", "count"
PRESENCE = "presence"
VOLUME, DELAY, RTT, LIMIT = "volume_bytes", "delay_s", "rtt_s", "limit"

OLD, NEW = "old", "new"
"""From a window of one segment, and from the remembered one."""

NEW_TO_THE_END = "new, to the end"
"""From the remembered one, taken when all is acknowledged, and not when the server closes."""

INITIAL = "initial window"
"""A stack of today that remembers nothing: connections begin with ten segments."""

TIME, LOST = "completion_time_s", "packets_lost"

_SIZED: dict[str, tuple[str, Callable[[str], float]]] = {
    "flows_web_workload_volume": (VOLUME, parse_bytes),
    "flows_web_workload_ack_delay": (DELAY, parse_seconds),
    "path_rtt": (RTT, parse_seconds),
}

_CALLED = {"path_queue_limit": LIMIT, "flows_web_count": COUNT}


def with_axes(frame: pl.DataFrame) -> pl.DataFrame:
    """Call the axes of a table as this study does, delays and volumes as numbers."""
    there = {column: name for column, name in _CALLED.items() if column in frame.columns}
    sized = [
        pl.col(column).map_elements(read, return_dtype=pl.Float64).alias(name)
        for column, (name, read) in _SIZED.items()
        if column in frame.columns
    ]
    return frame.with_columns(sized).rename(there)


def axes_of(frame: pl.DataFrame) -> list[str]:
    """Give the axes that a table has."""
    known = (VOLUME, DELAY, RTT, LIMIT, COUNT, PRESENCE, AFTER, MEMORY)
    return [name for name in known if name in frame.columns]


RESPONSES = rf"^web(-\d+)?{ANSWERS}$"
"""Groups whose flows are the transfers, of one host or of several."""


def transfers(results: Results) -> pl.DataFrame:
    """Give every transfer that ended.

    Returns
    -------
    DataFrame
        The axes, ``cell``, ``seed``, ``number`` (from 1, among those that follow one another),
        ``start_s``, `TIME` (from the call to the last byte's being read) and `LOST`.
    """
    named = with_axes(results.flows).filter(pl.col("group").str.contains(RESPONSES))
    number = pl.col("name").str.extract(r"-(\d+)$").cast(pl.Int64).alias("number")
    ended = named.with_columns(number).filter(pl.col(TIME).is_not_null())
    return ended.select("cell", "seed", *axes_of(named), "number", "start_s", TIME, LOST)


def later_times(results: Results) -> pl.DataFrame:
    """Give the mean time of every run's transfers but for its first, which remembers nothing."""
    done = transfers(results).filter(pl.col("number") > 1)
    return done.group_by("cell", "seed", *axes_of(done), maintain_order=True).agg(
        pl.col(TIME).mean(), pl.col(LOST).sum(), pl.len().alias("transfers")
    )


def old_by_new(times: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Give by which factor transfers with a memory are faster than without.

    Parameters
    ----------
    times : DataFrame
        One row for each run, with `TIME`.
    by : sequence of str
        Axes; runs that agree in them, and in the seed, are compared.

    Returns
    -------
    DataFrame
        The columns `by`, ``old_s`` and ``new_s`` (means), and ``mean``, ``low``, ``high`` and
        ``replicates`` of the quotients, seed by seed; no interval of a single seed.
    """
    keys = [*by, "seed"]
    old, new = (
        times.filter(pl.col(MEMORY) == memory).select(*keys, pl.col(TIME).alias(f"{memory}_s"))
        for memory in (OLD, NEW)
    )
    pairs = old.join(new, on=keys, maintain_order="left").with_columns(
        (pl.col("old_s") / pl.col("new_s")).alias("speed_up")
    )
    means = pairs.group_by(list(by), maintain_order=True).agg(pl.col("old_s", "new_s").mean())
    quotients = interval_per_panel(pairs, "speed_up", by)
    return means.join(quotients, on=list(by), maintain_order="left")


def in_words(axis: str, value: object) -> str:
    """Write a setting of an axis with its unit."""
    number = float(str(value))
    if axis == VOLUME:
        return f"{number / 1e6:g} MB" if number >= 1e6 else f"{number / 1e3:g} kB"
    return f"{number * 1e3:g} ms"
