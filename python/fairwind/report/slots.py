"""Figures of slots that are assigned on demand."""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, rate_over_time
from fairwind.report.layout import choice, columns, panels
from fairwind.results import Results
from fairwind.results.tidy import central_queue


def slot_figures(results: Results) -> list[Figure]:
    """Draw what a terminal asked for, was assigned and sent over time; of several the busiest."""
    if not results.has_table("slot_intervals") or not results.slot_intervals.height:
        return []
    frames = results.slot_intervals
    names = frames["queue"].unique(maintain_order=True).to_list()
    central = central_queue(results)
    queue = central if central in names else names[0]
    windows = capacity_windows(frames.filter(pl.col("queue") == queue))
    shown, note = choice(results, windows)
    used = results.slots.filter(pl.col("queue") == queue)
    sums = used.select(pl.col("slots_used", "slots_assigned").cast(pl.Float64).sum())
    share = sums["slots_used"][0] / max(sums["slots_assigned"][0], 1.0)
    return [
        Figure(
            name="slots-over-time",
            title="Capacity on demand over time",
            caption=(
                f"What the terminal of {queue} asked for by rate, what the slots that it was "
                f"assigned carry, and what it sent in them, in windows of "
                f"{shown['interval_s'][0]:g} s; requests for nothing are left out. Of all slots in "
                f"the runs {share:.0%} were used. Line: mean over replicates; band: from the "
                f"smallest to the largest.{note}"
            ),
            chart=rate_over_time(
                shown,
                measure="bits_per_second",
                title="capacity",
                panels=panels(results),
                columns=columns(results),
            ),
        )
    ]


def capacity_windows(frames: pl.DataFrame) -> pl.DataFrame:
    """Give rates of capacity by window: ``group`` says of what, ``bits_per_second`` how much.

    Windows in which no frame began, and those without a request, have no row of their own.
    """
    ways = {
        "asked for": pl.col("requested_mean_bits_per_second"),
        "assigned": pl.col("assigned_bits_per_second"),
        "sent": pl.col("assigned_bits_per_second") * pl.col("capacity_use_ratio"),
    }
    return pl.concat(
        frames.with_columns(
            pl.lit(name).alias("group"), rate.cast(pl.Float64).alias("bits_per_second")
        )
        for name, rate in ways.items()
    ).drop_nulls("bits_per_second")
