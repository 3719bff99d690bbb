"""How a start-up grows: equivalent round trips, volumes and windows over time, run by run."""

from __future__ import annotations

import math

import polars as pl

from fairwind.results import Results

from .transfers import (
    FRAME_S,
    MULTIPLIER,
    PAYLOAD_BYTES,
    ROUND_TRIP_S,
    SEGMENTS,
    TIME,
    transfers,
    with_axes,
)

PERIODS = {
    "near, 1 and 1": (0.001, 2),
    "near, 4 and 1": (0.001, 5),
    "far, 1 and 1": (ROUND_TRIP_S / 2, 2),
    "far, 2 and 1": (ROUND_TRIP_S / 2, 3),
    "far, 4 and 1": (ROUND_TRIP_S / 2, 5),
    "far, 8 and 1": (ROUND_TRIP_S / 2, 9),
}
"""Of each setting of periods.toml: the signalling delay, and both periods together in frames."""

WATCHED_S = 20.0
"""How long a start-up is watched, as in the source."""


def delay_ratio(setting: str) -> float:
    """Give rho of a setting: the feedback delay by the round trip."""
    signalling_s, frames = PERIODS[setting]
    return (ROUND_TRIP_S + 2 * signalling_s + frames * FRAME_S / 2) / ROUND_TRIP_S


def equivalent_rtts(periods: Results) -> pl.DataFrame:
    """Measure the round trip over constant capacity that would grow as fast, by the real one.

    Slow start over constant capacity doubles what it has carried in every round trip. So the time
    from the end of the smaller transfer to that of the larger one, by the doublings in between, is
    the equivalent round trip.

    Returns
    -------
    DataFrame
        ``delay``, ``delay_ratio``, `MULTIPLIER`, ``seed``, ``equivalent_rtt_ratio``.
    """
    times = transfers(periods)
    sizes = times[SEGMENTS].unique().sort().to_list()
    doublings = math.log2(sizes[-1] / sizes[0])
    keys = ["delay", MULTIPLIER, "seed"]
    small, large = (
        times.filter(pl.col(SEGMENTS) == size).select(*keys, TIME) for size in (sizes[0], sizes[-1])
    )
    took = pl.col(f"{TIME}_right") - pl.col(TIME)
    return small.join(large, on=keys, maintain_order="left").select(
        *keys,
        pl.col("delay").replace_strict(
            {setting: delay_ratio(setting) for setting in PERIODS}, return_dtype=pl.Float64
        ).alias("delay_ratio"),
        (took / doublings / ROUND_TRIP_S).alias("equivalent_rtt_ratio"),
    )  # fmt: skip


def carried(results: Results, axes: tuple[str, ...]) -> pl.DataFrame:
    """Give what had been read by a time since the connection was there.

    Returns
    -------
    DataFrame
        The axes, ``seed``, ``time_s`` (0 when the connection is established), ``carried_bytes``.
    """
    windows = with_axes(results.intervals)
    read = pl.col("goodput_bits_per_second") * pl.col("interval_s") / 8
    begun = beginnings(results)
    return (
        windows.join(begun, on=["cell", "seed"])
        .sort("cell", "seed", "start_s")
        .select(
            *axes,
            "seed",
            (pl.col("start_s") + pl.col("interval_s") - pl.col("begun_s")).alias("time_s"),
            read.cum_sum().over("cell", "seed").alias("carried_bytes"),
        )
        .filter(pl.col("time_s") >= 0)
    )


def carried_by(frame: pl.DataFrame, axes: tuple[str, ...], until_s: float) -> pl.DataFrame:
    """Give what each run had carried by a time, in megabytes: ``carried_megabytes``."""
    return (
        frame.filter(pl.col("time_s") <= until_s)
        .group_by(*axes, "seed", maintain_order=True)
        .agg((pl.col("carried_bytes").max() * 1e-6).alias("carried_megabytes"))
    )


def times_of_volumes(
    frame: pl.DataFrame, axes: tuple[str, ...], volumes: tuple[float, ...]
) -> pl.DataFrame:
    """Give when each run had carried so many segments: ``volume_segments``, ``time_s``."""
    parts = [
        frame.filter(pl.col("carried_bytes") >= volume * PAYLOAD_BYTES)
        .group_by(*axes, "seed", maintain_order=True)
        .agg(pl.col("time_s").min(), pl.lit(volume).alias("volume_segments"))
        for volume in volumes
    ]
    return pl.concat(parts)


def windows(results: Results, axes: tuple[str, ...]) -> pl.DataFrame:
    """Give congestion windows over time: the axes, ``seed``, ``time_s``, ``window_segments``."""
    samples = with_axes(results.endpoint)
    return samples.join(beginnings(results), on=["cell", "seed"]).select(
        *axes,
        "seed",
        (pl.col("time_s") - pl.col("begun_s")).round(1).alias("time_s"),
        pl.col("cwnd_packets").cast(pl.Float64).alias("window_segments"),
    )


def beginnings(results: Results) -> pl.DataFrame:
    """Give when each run's connection was established: ``cell``, ``seed``, ``begun_s``."""
    begun = pl.col("start_s") + pl.col("setup_time_s")
    return results.flows.select("cell", "seed", begun.alias("begun_s"))
