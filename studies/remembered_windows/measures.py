"""Times and losses of transfers, speed-ups, and losses of the other flows on the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from fairwind.models.sharing import speed_up
from fairwind.quantities import parse_bytes, parse_seconds
from fairwind.results import Results
from fairwind.results.tidy import ANSWERS, of_queue
from fairwind.statistics import harm, mean_interval, paired_difference
from fairwind.studies.comparisons import interval_per_panel
from fairwind.studies.workloads import capacity_bits_per_second

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
"""Groups of the transfers, of one host or of several."""


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
    """Return the speed-up of transfers with a memory over those without.

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
        with serialisation; its second connection begins with a window that fills the path.
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


BOTTLENECK = "bottleneck"

FIRST_S = 1.0
"""A jump's burst has passed by then, whatever it has met."""


def in_the_first_second(results: Results, calls: pl.DataFrame, others: str) -> pl.DataFrame:
    """Give the losses and waits of a group in the second after the call.

    Parameters
    ----------
    results : Results
        With windows that are short beside a second, of groups and of queues.
    calls : DataFrame
        One row for each run, with ``start_s``, when it began.
    others : str
        The group.

    Returns
    -------
    DataFrame
        The keys of `calls`; ``..._lost`` (packets), ``..._first_bits_per_second``
        (goodput), each with the group's name before it; ``wait_s``, the mean over the windows of
        the mean time that all packets waited in the bottleneck's queue: mostly those of the
        burst, if there is one.
    """
    keys = [name for name in calls.columns if name != "start_s"]
    since = calls.rename({"start_s": "called_s"})
    windows = _within(results.intervals.filter(pl.col("group") == others), since, keys)
    met = windows.group_by(keys, maintain_order=True).agg(
        pl.col("packets_lost").sum().alias(f"{others}_lost"),
        pl.col("goodput_bits_per_second").mean().alias(f"{others}_first_bits_per_second"),
    )
    queue = _within(of_queue(results, "queue_intervals", BOTTLENECK), since, keys)
    waited = queue.group_by(keys, maintain_order=True).agg(
        pl.col("sojourn_mean_s").mean().alias("wait_s")
    )
    return met.join(waited, on=keys, how="left", maintain_order="left")


def _within(windows: pl.DataFrame, since: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    begun = pl.col("start_s").is_between(
        pl.col("called_s"), pl.col("called_s") + FIRST_S, closed="left"
    )
    return with_axes(windows).join(since, on=keys, maintain_order="left").filter(begun)


WORSE_AXES = (LIMIT, AFTER)
GREEDY_AXES = (PRESENCE, LIMIT, AFTER)

MEANS = {"time_s": TIME, "lost": LOST, "thin_s": "thin_s"}
"""Means: their names and columns."""

DIFFERENCES = {
    "more_lost": LOST,
    "thin_more_lost": "thin_lost",
    "greedy_more_lost": "greedy_lost",
    "longer_wait_s": "wait_s",
}
"""Differences from the run without a memory: their names and columns."""

HARMS = {
    "thin_harm": ("thin_s", False),
    "greedy_harm": ("greedy_bits_per_second", True),
    "greedy_first_harm": ("greedy_first_bits_per_second", True),
}
"""Harms of a memory: the column, and whether more of it is better."""


def second_transfers(results: Results, axes: Sequence[str], others: str = "thin") -> pl.DataFrame:
    """Give the second transfer of every run, with the measures of the group `others`."""
    return _numbered(results, axes, 2, others)


def last_transfers(results: Results, axes: Sequence[str]) -> pl.DataFrame:
    """Give the last transfer of every run likewise, beside thin streams."""
    return _numbered(results, axes, transfers(results)["number"].to_numpy().max(), "thin")


def _numbered(results: Results, axes: Sequence[str], number: int, others: str) -> pl.DataFrame:
    done = transfers(results).filter(pl.col("number") == number)
    return _beside(results, done.select(*axes, MEMORY, "seed", "start_s", TIME, LOST), others)


def after_the_change(results: Results) -> pl.DataFrame:
    """Give times and losses of all transfers but the first: means over seeds, by ``number``."""
    done = transfers(results).filter(pl.col("number") > 1)
    by = [*WORSE_AXES, MEMORY, "number"]
    return done.group_by(by, maintain_order=True).agg(pl.col(TIME, LOST).mean())


def at_once(results: Results, axes: Sequence[str] = (COUNT,)) -> pl.DataFrame:
    """Give the slowest transfer and the losses of every crowd, with those of thin streams."""
    crowds = transfers(results).group_by(*axes, MEMORY, "seed", maintain_order=True).agg(
        pl.col("start_s").min(), pl.col(TIME).max(), pl.col(LOST).sum()
    )  # fmt: skip
    return _beside(results, crowds, "thin")


def _beside(results: Results, done: pl.DataFrame, others: str) -> pl.DataFrame:
    keys = [name for name in done.columns if name not in ("start_s", TIME, LOST)]
    beside = with_axes(results.groups).filter(pl.col("group") == others)
    known = {
        "thin": pl.col("delivery_latency_p99_s").alias("thin_s"),
        "greedy": pl.col("goodput_bits_per_second").alias("greedy_bits_per_second"),
    }
    with_others = done.join(
        beside.select(*keys, known[others]), on=keys, how="left", maintain_order="left"
    )
    return with_others.join(
        in_the_first_second(results, done.select(*keys, "start_s"), others),
        on=keys,
        how="left",
        maintain_order="left",
    ).drop("start_s")


def against(done: pl.DataFrame, axes: Sequence[str], reference: str = INITIAL) -> pl.DataFrame:
    """Compare every memory with one of them, seed by seed: with none unless said.

    Returns
    -------
    DataFrame
        The axes and `MEMORY`; the `MEANS`; and, each with ``..._low`` and ``..._high`` of its 95 %
        interval: ``speed_up`` (times by the reference's, mean over the seeds), `DIFFERENCES` and
        `HARMS`, as far as `done` knows of them.
    """
    keys = [*axes, "seed"]
    measured = [name for name in done.columns if name not in (*keys, MEMORY)]
    without = done.filter(pl.col(MEMORY) == reference).select(
        *keys, *(pl.col(name).alias(f"{name}_without") for name in measured)
    )
    pairs = done.join(without, on=keys, maintain_order="left")
    rows = []
    for key, part in pairs.group_by([*axes, MEMORY], maintain_order=True):
        rows.append(dict(zip([*axes, MEMORY], key, strict=True)) | _compared(part))
    return pl.DataFrame(rows, infer_schema_length=None)


def _compared(part: pl.DataFrame) -> dict[str, float]:
    found = {
        name: float(_values(part, column).mean())
        for name, column in MEANS.items()
        if column in part.columns
    }
    faster = mean_interval(_values(part, f"{TIME}_without") / _values(part, TIME))
    found |= _named("speed_up", faster.estimate, faster.low, faster.high)
    for name, column in DIFFERENCES.items():
        if column in part.columns:
            more = paired_difference(_values(part, f"{column}_without"), _values(part, column))
            found |= _named(name, more.estimate, more.low, more.high)
    for name, (column, more_is_better) in HARMS.items():
        if column in part.columns:
            pairs = part.select(f"{column}_without", column).drop_nulls().iter_rows()
            harmed = mean_interval([harm(*pair, more_is_better=more_is_better) for pair in pairs])
            found |= _named(name, harmed.estimate, harmed.low, harmed.high)
    return found


def _named(name: str, estimate: float, low: float, high: float) -> dict[str, float]:
    return {name: estimate, f"{name}_low": low, f"{name}_high": high}


def _values(part: pl.DataFrame, column: str) -> np.ndarray:
    return part[column].cast(pl.Float64).to_numpy()


def map_of_speed_ups(results: Results) -> pl.DataFrame:
    """Compare memories by change of the path, round trip and volume, as `against` does."""
    axes = [AFTER, RTT, VOLUME]
    second = transfers(results).filter(pl.col("number") == 2)
    done = second.select(*axes, MEMORY, "seed", TIME, LOST)
    return against(done, axes).filter(pl.col(MEMORY) != INITIAL)
