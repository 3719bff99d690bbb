"""Figures of slots that are assigned on demand."""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, rate_over_time
from fairwind.quantities import parse_seconds
from fairwind.report.layout import choice, columns, panels
from fairwind.results import Results
from fairwind.results.tidy import central_queue

TO_THE_SAME = 1e-6
"""Instants that are so many seconds apart count as one."""


def slot_figures(results: Results) -> list[Figure]:
    """Draw what a terminal asked for, was assigned and sent over time; of several the busiest."""
    if not results.has_table("slot_intervals") or not results.slot_intervals.height:
        return []
    frames = results.slot_intervals
    names = frames["queue"].unique(maintain_order=True).to_list()
    central = central_queue(results)
    queue = central if central in names else names[0]
    chosen = frames.filter(pl.col("queue") == queue)
    windows = capacity_windows(chosen.join(_request_periods(results, queue), on="cell", how="left"))
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
                f"{shown['interval_s'][0]:g} s; where a request was due and none came it was for "
                f"nothing. "
                f"Of all slots in the runs {share:.0%} were used. Line: mean over replicates; "
                f"band: from the smallest to the largest.{note}"
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


def _request_periods(results: Results, queue: object) -> pl.DataFrame:
    """Give the time from one request of a queue's terminal to its next: ``request_period_s``."""
    rows = []
    for cell in results.manifest.plan.cells:
        network = cell.experiment["network"]
        periods = [
            network["carriers"][link["assigned"]["carrier"]]["request_period"]
            for link in network["links"]
            if link["name"] == queue and "assigned" in link
        ]
        rows.append((cell.index, parse_seconds(periods[0]) if periods else None))
    schema = {"cell": pl.UInt32, "request_period_s": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def capacity_windows(frames: pl.DataFrame) -> pl.DataFrame:
    """Give rates of capacity by window: ``group`` says of what, ``bits_per_second`` how much.

    Tables leave out requests for nothing. So what was asked for is nothing in a window without a
    request where one was due, ``request_period_s`` after the last one, and in those before the
    first. Other windows without a request, and those in which no frame began, have no row.
    """
    asked = pl.col("requested_mean_bits_per_second").cast(pl.Float64)
    end = pl.col("start_s") + pl.col("interval_s")
    last_asked = pl.when(asked.is_not_null()).then(end).forward_fill()
    due = (end + TO_THE_SAME >= last_asked + pl.col("request_period_s")).fill_null(value=True)
    nothing = pl.when(asked.is_not_null().any() & due).then(0.0)
    run = ["cell", "seed"]
    ways = {
        "asked for": pl.coalesce(asked, nothing).over(run),
        "assigned": pl.col("assigned_bits_per_second"),
        "sent": pl.col("assigned_bits_per_second") * pl.col("capacity_use_ratio"),
    }
    return pl.concat(
        frames.with_columns(
            pl.lit(name).alias("group"), rate.cast(pl.Float64).alias("bits_per_second")
        )
        for name, rate in ways.items()
    ).drop_nulls("bits_per_second")
