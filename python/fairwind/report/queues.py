"""Figures of the busiest queue, and of slots that are assigned on demand."""

from __future__ import annotations

import polars as pl

from fairwind.plots import (
    Figure,
    latency_distribution,
    loss_by_group,
    queue_over_time,
    rate_over_time,
    run_lengths,
)
from fairwind.quantities import parse_seconds
from fairwind.report.layout import choice, columns, panels
from fairwind.results import Results
from fairwind.results.tidy import (
    central_queue,
    of_queue,
    queue_windows,
    relative_losses,
    with_cell_label,
)


def queue_figures(results: Results) -> list[Figure]:
    """Draw relative losses, how losses came together, and what waited for how long, and when."""
    queue = central_queue(results)
    if queue is None:
        return []
    return [
        *_losses(results, queue),
        *_runs(results, queue),
        *_waiting(results, queue),
        *backlog_figures(results, queue),
    ]


def _losses(results: Results, queue: str) -> list[Figure]:
    losses = relative_losses(results, queue)
    if not losses.height or losses["loss_ratio"].sum() == 0:
        return []
    return [
        Figure(
            name="queue-loss",
            title="Relative loss at the queue",
            caption=(
                "What share of the packets, and of the bytes, that a group offered to the queue "
                f"{queue} was dropped there, mean over replicates."
            ),
            chart=loss_by_group(
                with_cell_label(results, losses), setting="cell_label", setting_title="cell"
            ),
        )
    ]


def _runs(results: Results, queue: str) -> list[Figure]:
    lengths = of_queue(results, "queue_loss_run_lengths", queue)
    if not lengths.height:
        return []
    shown, note = choice(results, lengths)
    return [
        Figure(
            name="loss-runs",
            title="How losses came together",
            caption=(
                f"Losses of each group at the queue {queue} by the length of the run that they "
                "were in: packets of the group lost one after another; all replicates together."
                f"{note}"
            ),
            chart=run_lengths(shown, panels=panels(results), columns=columns(results)),
        )
    ]


def _waiting(results: Results, queue: str) -> list[Figure]:
    waiting = of_queue(results, "queue_sojourn_histogram", queue)
    if not waiting.height:
        return []
    shown, note = choice(results, waiting)
    return [
        Figure(
            name="queue-waiting",
            title="Waiting in the queue",
            caption=(
                f"How long packets of each group waited in the queue {queue} before they were "
                f"sent; all replicates together, read off histograms (1 % error).{note}"
            ),
            chart=latency_distribution(
                shown, panels=panels(results), columns=columns(results), title="waiting time"
            ),
        )
    ]


def backlog_figures(results: Results, queue: str) -> list[Figure]:
    """Draw what waited in a queue over time, and how long."""
    windows = queue_windows(results, queue)
    if not windows.height:
        return []
    shown, note = choice(results, windows)
    seconds = shown["interval_s"][0]
    return [
        Figure(
            name="queue-over-time",
            title="The queue over time",
            caption=(
                f"What packets found waiting when the queue {queue} took them, and how long they "
                f"waited before they were sent, in windows of {seconds:g} s. Line: mean of the "
                f"window and of all replicates; band: up to the most of any of them.{note}"
            ),
            chart=queue_over_time(shown, panels=panels(results), columns=columns(results)),
        )
    ]


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
