"""What a transfer from a remembered window does where the path has changed since, and to whom."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairwind.results import Results
from fairwind.statistics import harm, mean_interval, paired_difference
from fairwind.studies.remembered_windows.transfers import (
    AFTER,
    COUNT,
    INITIAL,
    LIMIT,
    LOST,
    MEMORY,
    RTT,
    TIME,
    VOLUME,
    transfers,
    with_axes,
)

THIN = "delivery_latency_p99_s"
"""Of the thin streams' writes, from before the transfer on until the end of the run."""


def second_transfers(results: Results, axes: Sequence[str]) -> pl.DataFrame:
    """Give the second transfer of every run, and what the thin streams beside it met."""
    done = transfers(results).filter(pl.col("number") == 2)
    return _beside(results, done.select(*axes, MEMORY, "seed", TIME, LOST), axes)


def at_once(results: Results) -> pl.DataFrame:
    """Give the slowest transfer of every crowd, all that it lost, and what thin streams met."""
    done = transfers(results)
    crowds = done.group_by(COUNT, MEMORY, "seed", maintain_order=True).agg(
        pl.col(TIME).max(), pl.col(LOST).sum()
    )
    return _beside(results, crowds, [COUNT])


def _beside(results: Results, done: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    thin = with_axes(results.groups).filter(pl.col("group") == "thin")
    keys = [*axes, MEMORY, "seed"]
    return done.join(thin.select(*keys, THIN), on=keys, how="left", maintain_order="left")


def against_initial(done: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Compare every memory with none, seed by seed.

    Returns
    -------
    DataFrame
        The axes, `MEMORY`, ``time_s``, ``lost``, ``thin_s`` (means), ``speed_up`` (times without
        a memory by those with it) with ``speed_up_low`` and ``speed_up_high``, ``more_lost`` with
        its interval, ``thin_harm`` (mean over the seeds, of the thin streams' 99th percentiles)
        with its interval.
    """
    keys = [*axes, "seed"]
    without = done.filter(pl.col(MEMORY) == INITIAL).select(
        *keys, *(pl.col(name).alias(f"{name}_without") for name in (TIME, LOST, THIN))
    )
    pairs = done.join(without, on=keys, maintain_order="left")
    rows = []
    for key, part in pairs.group_by([*axes, MEMORY], maintain_order=True):
        rows.append(dict(zip([*axes, MEMORY], key, strict=True)) | _compared(part))
    return pl.DataFrame(rows, infer_schema_length=None)


def _compared(part: pl.DataFrame) -> dict[str, float]:
    faster = mean_interval((part[f"{TIME}_without"] / part[TIME]).to_numpy())
    lost = paired_difference(part[f"{LOST}_without"].to_numpy(), part[LOST].to_numpy())
    harms = [
        harm(alone, beside, more_is_better=False)
        for alone, beside in part.select(f"{THIN}_without", THIN).drop_nulls().iter_rows()
    ]
    harmed = mean_interval(harms)
    return {
        "time_s": _mean(part, TIME),
        "lost": _mean(part, LOST),
        "thin_s": _mean(part, THIN),
        "speed_up": faster.estimate,
        "speed_up_low": faster.low,
        "speed_up_high": faster.high,
        "more_lost": lost.estimate,
        "more_lost_low": lost.low,
        "more_lost_high": lost.high,
        "thin_harm": harmed.estimate,
        "thin_harm_low": harmed.low,
        "thin_harm_high": harmed.high,
    }


def _mean(part: pl.DataFrame, column: str) -> float:
    return float(part[column].cast(pl.Float64).to_numpy().mean())


def map_of_speed_ups(results: Results) -> pl.DataFrame:
    """Give speed-up and further losses by round trip, volume, what became of the path, and memory.

    Returns
    -------
    DataFrame
        `AFTER`, `RTT`, `VOLUME`, `MEMORY`, ``speed_up`` (the mean over the seeds of the times
        from today's initial window by those from the memory) and ``more_lost`` (packets).
    """
    axes = [AFTER, RTT, VOLUME]
    done = transfers(results).filter(pl.col("number") == 2)
    keys = [*axes, "seed"]
    without = done.filter(pl.col(MEMORY) == INITIAL).select(
        *keys, pl.col(TIME).alias("without_s"), pl.col(LOST).alias("lost_without")
    )
    pairs = done.filter(pl.col(MEMORY) != INITIAL).join(without, on=keys, maintain_order="left")
    lost = pl.col(LOST).cast(pl.Float64) - pl.col("lost_without").cast(pl.Float64)
    return pairs.group_by([*axes, MEMORY], maintain_order=True).agg(
        (pl.col("without_s") / pl.col(TIME)).mean().alias("speed_up"),
        lost.mean().alias("more_lost"),
    )


WORSE_AXES = (LIMIT, AFTER)
