"""What a transfer from a remembered window does where the path has changed since, and to whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fairwind.results import Results
from fairwind.statistics import harm, mean_interval, paired_difference

from .others import in_the_first_second
from .transfers import (
    AFTER,
    COUNT,
    INITIAL,
    LIMIT,
    LOST,
    MEMORY,
    PRESENCE,
    RTT,
    TIME,
    VOLUME,
    transfers,
    with_axes,
)

WORSE_AXES = (LIMIT, AFTER)
GREEDY_AXES = (PRESENCE, LIMIT, AFTER)

MEANS = {"time_s": TIME, "lost": LOST, "thin_s": "thin_s"}
"""Means that are told as they are: what they are called, and of which column."""

DIFFERENCES = {
    "more_lost": LOST,
    "thin_more_lost": "thin_lost",
    "greedy_more_lost": "greedy_lost",
    "longer_wait_s": "wait_s",
}
"""What is greater by how much than without a memory."""

HARMS = {
    "thin_harm": ("thin_s", False),
    "greedy_harm": ("greedy_bits_per_second", True),
    "greedy_first_harm": ("greedy_first_bits_per_second", True),
}
"""Whom a memory harms, by the column that tells how they do, and whether more of it is better."""


def second_transfers(results: Results, axes: Sequence[str], others: str = "thin") -> pl.DataFrame:
    """Give the second transfer of every run, and what the group `others` beside it met."""
    return _numbered(results, axes, 2, others)


def last_transfers(results: Results, axes: Sequence[str]) -> pl.DataFrame:
    """Give the last transfer of every run likewise, beside thin streams."""
    return _numbered(results, axes, transfers(results)["number"].to_numpy().max(), "thin")


def _numbered(results: Results, axes: Sequence[str], number: int, others: str) -> pl.DataFrame:
    done = transfers(results).filter(pl.col("number") == number)
    return _beside(results, done.select(*axes, MEMORY, "seed", "start_s", TIME, LOST), others)


def after_the_change(results: Results) -> pl.DataFrame:
    """Give what all transfers but the first took and lost: means over the seeds, by ``number``."""
    done = transfers(results).filter(pl.col("number") > 1)
    by = [*WORSE_AXES, MEMORY, "number"]
    return done.group_by(by, maintain_order=True).agg(pl.col(TIME, LOST).mean())


def at_once(results: Results, axes: Sequence[str] = (COUNT,)) -> pl.DataFrame:
    """Give the slowest transfer of every crowd, all that it lost, and what thin streams met."""
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
    """Compare memories by what became of the path, round trip and volume, as `against` does."""
    axes = [AFTER, RTT, VOLUME]
    second = transfers(results).filter(pl.col("number") == 2)
    done = second.select(*axes, MEMORY, "seed", TIME, LOST)
    return against(done, axes).filter(pl.col(MEMORY) != INITIAL)
