"""The figures that every run gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from fairwind.plots import (
    Figure,
    drops_by_group,
    loss_by_group,
    queue_over_time,
    rate_over_time,
    run_lengths,
    subtitled,
    tail_distribution,
)
from fairwind.quantities import parse_seconds
from fairwind.report.captured import captured_figures, trace_figures
from fairwind.report.link_words import queue_words
from fairwind.report.main_figure import main_figure
from fairwind.report.overlay import axis_titles, measure_chart, overlaid
from fairwind.results import Results
from fairwind.results.tidy import (
    central_queue,
    drops,
    group_windows,
    latency_buckets,
    of_queue,
    queue_windows,
    relative_losses,
    transfers,
    with_cell_label,
)


def default_figures(results: Results) -> list[Figure]:
    """Draw what can be drawn of a run: what an axis does, goodput, latency, rates over time, drops.

    The time-sequence graphs of captures come first: they are what one opens a capture for.
    """
    traces = trace_figures(results)
    figures = [
        *main_figure(results),
        *_goodput(results),
        *(one for kind, title in LATENCIES.items() for one in _latency(results, kind, title)),
        *completion_figures(results),
        *_over_time(results),
        *window_figures(results),
        *_drops(results),
        *queue_figures(results),
        *slot_figures(results),
        *captured_figures(results),
    ]
    return [*traces, *figures] if results.manifest.is_foreign else [*figures, *traces]


LATENCIES = {"response": "Response time", "ack": "ACK latency", "delivery": "Delivery latency"}
"""Kinds of the table `latency_histogram`, in the order of their figures."""

MEANINGS = {
    "response": "Time from the write of a request's first byte to the read of its response's last",
    "ack": "Time from a segment's first transmission to its cumulative acknowledgement at the "
    "sender",
    "delivery": "Time from the application's write to the in-order read at the receiver",
}


def _goodput(results: Results) -> Iterator[Figure]:
    measure = "goodput_bits_per_second"
    if results.groups[measure].null_count() == results.groups.height:
        return  # a capture at the sender alone does not know what was read
    points = " Points: mean over replicates; lines: 95 % interval of the mean (Student's t)."
    yield Figure(
        name="goodput",
        title="Goodput of each group",
        caption=(
            "Unique payload read in order by the receiving applications, per second of measured "
            "time, summed over the flows of a group."
            f"{points if results.manifest.plan.replicates > 1 else ''}"
        ),
        chart=measure_chart(results, measure),
    )


def _latency(results: Results, kind: str, title: str) -> Iterator[Figure]:
    if not results.has_table("latency_histogram"):
        return
    buckets = latency_buckets(results, kind)
    if not buckets.height:
        return
    shown = overlaid(results, buckets)
    named = title if kind == "ack" else title[0].lower() + title[1:]
    yield Figure(
        name=f"{kind}-{'time' if kind == 'response' else 'latency'}",
        title=f"Distribution of {named}",
        caption=f"{MEANINGS[kind]}; all replicates together. {HOW_TO_READ}{shown.note}",
        chart=tail_distribution(shown.frame, **shown.arguments, title=title),
    )


def completion_figures(results: Results) -> Iterator[Figure]:
    """Draw how long transfers took."""
    flows = transfers(results)
    if flows.is_empty() or not flows["has_ended"].any():
        return
    times = flows.filter("has_ended").with_columns(
        pl.col("completion_time_s").alias("upper_s"), pl.lit(1).alias("count")
    )
    shown = overlaid(results, times)
    yield Figure(
        name="completion-time",
        title="Distribution of transfer time",
        caption=(
            "Time from a flow's start to its finish, of transfers that ended after the warm-up; "
            f"all replicates together. {QUANTILE}{shown.note}"
        ),
        chart=tail_distribution(shown.frame, **shown.arguments, title="transfer time"),
    )


QUANTILE = "Read at 1 %: the time that one sample in a hundred exceeds, the 99th percentile."

HOW_TO_READ = f"{QUANTILE} Buckets of 1 % width; each line ends at its largest sample."
"""How to read the tail of a distribution."""


def _over_time(results: Results) -> Iterator[Figure]:
    if not results.has_table("intervals"):
        return
    windows = group_windows(results)
    if windows["throughput_bits_per_second"].null_count() == windows.height:
        return  # no windows, or a capture at the sender alone
    if windows["start_s"].n_unique() == 1:
        return  # a point is no course; goodput has been drawn
    shown = overlaid(results, windows)
    seconds = shown.frame["interval_s"][0]
    yield Figure(
        name="throughput-over-time",
        title="Throughput over time",
        caption=(
            "Aggregate throughput of each group on the wire, IP headers and retransmissions "
            f"included, in windows of {seconds:g} s. Line: mean over replicates; band: from "
            f"the smallest to the largest.{shown.note}"
        ),
        chart=rate_over_time(
            shown.frame,
            measure="throughput_bits_per_second",
            title="throughput",
            **shown.arguments,
        ),
    )


def window_figures(results: Results) -> Iterator[Figure]:
    """Draw congestion windows over time, of the first flow of each group in the first replicate."""
    if not results.has_table("endpoint") or not results.endpoint.height:
        return
    samples = results.endpoint.rename({"time_s": "start_s"})
    first = [
        pl.col(key) == pl.col(key).min().over("cell", "group") for key in ("replicate", "flow")
    ]
    shown = overlaid(results, samples.filter(*first))
    instants = shown.frame["start_s"].unique().sort()
    kept = instants.gather_every(-(-shown.frame.height // MOST_SAMPLES))
    yield Figure(
        name="congestion-window",
        title="Congestion window over time",
        caption=(
            "Congestion window of the first flow of each group in the first replicate, at instants "
            f"that `endpoint_interval` sets.{shown.note}"
        ),
        chart=rate_over_time(
            shown.frame.filter(pl.col("start_s").is_in(kept.implode())),
            measure="cwnd_packets",
            title="window",
            unit="packets",
            **shown.arguments,
        ),
    )


MOST_SAMPLES = 6_000
"""Samples of one figure, of all curves together."""


def _drops(results: Results) -> Iterator[Figure]:
    if not results.has_table("queue_drops"):
        return
    dropped = drops(results)
    if not dropped.height or dropped["packets"].sum() == 0:
        return
    yield Figure(
        name="queue-drops",
        title="Packets dropped at queues",
        caption="Packets that queues dropped of each group, mean over replicates.",
        chart=drops_by_group(
            with_cell_label(results, dropped), setting="cell_label", setting_title=_axes(results)
        ),
    )


def _axes(results: Results) -> str:
    """Name the axes whose settings `with_cell_label` joins."""
    return ", ".join(axis_titles(results).values()) or "run"


def queue_figures(results: Results) -> list[Figure]:
    """Draw relative losses, how losses came together, and what waited for how long, and when."""
    queue = central_queue(results)
    if queue is None:
        return []
    cells = [cell.experiment for cell in results.manifest.plan.cells]
    words = queue_words(cells, queue)
    figures = [
        *_losses(results, queue),
        *_runs(results, queue),
        *_waiting(results, queue),
        *backlog_figures(results, queue),
    ]
    if not words:  # of a capture nothing is known but the name
        return figures
    named = f"{queue}: {words}"
    return [replace(one, chart=subtitled(one.chart, named)) for one in figures]


def _losses(results: Results, queue: str) -> Iterator[Figure]:
    losses = relative_losses(results, queue)
    if not losses.height or losses["loss_ratio"].sum() == 0:
        return
    yield Figure(
        name="queue-loss",
        title="Relative loss at the queue",
        caption=(
            "What share of the packets, and of the bytes, that a group offered to the queue "
            f"{queue} was dropped there, mean over replicates."
        ),
        chart=loss_by_group(
            with_cell_label(results, losses), setting="cell_label", setting_title=_axes(results)
        ),
    )


def _runs(results: Results, queue: str) -> Iterator[Figure]:
    lengths = of_queue(results, "queue_loss_run_lengths", queue)
    if not lengths.height:
        return
    shown = overlaid(results, lengths)
    yield Figure(
        name="loss-runs",
        title="How losses came together",
        caption=(
            f"Losses of each group at the queue {queue} by the length of the run that they "
            "were in: packets of the group lost one after another; all replicates together."
            f"{shown.note}"
        ),
        chart=run_lengths(shown.frame, **shown.arguments),
    )


def _waiting(results: Results, queue: str) -> Iterator[Figure]:
    waiting = of_queue(results, "queue_sojourn_histogram", queue)
    if not waiting.height:
        return
    shown = overlaid(results, waiting)
    yield Figure(
        name="queue-waiting",
        title="Waiting in the queue",
        caption=(
            f"How long packets of each group waited in the queue {queue} before they were "
            f"sent; all replicates together. {HOW_TO_READ}{shown.note}"
        ),
        chart=tail_distribution(shown.frame, **shown.arguments, title="waiting time"),
    )


def backlog_figures(results: Results, queue: str) -> Iterator[Figure]:
    """Draw what waited in a queue over time, and how long."""
    windows = queue_windows(results, queue)
    if not windows.height:
        return
    shown = overlaid(results, windows, separates=None)
    frame = coarser(shown.frame, MOST_WINDOWS * results.manifest.plan.replicates)
    seconds = frame["interval_s"][0]
    arguments = shown.arguments if shown.curve_title else {}
    yield Figure(
        name="queue-over-time",
        title="The queue over time",
        caption=(
            f"What packets found waiting when the queue {queue} took them, and how long they "
            f"waited before they were sent, in windows of {seconds:g} s. Line: mean of the "
            f"window and of all replicates; band: up to the most of any of them.{shown.note}"
        ),
        chart=queue_over_time(frame, **arguments),
    )


MOST_WINDOWS = 12_000
"""Windows of one figure, of all curves together: more take half a megabyte, and none sees them."""


def coarser(windows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Bring neighbouring windows of a queue together until about ``most`` rows are left to draw.

    Parameters
    ----------
    windows : DataFrame
        As `queue_windows` gives them: one length, ``interval_s``. They only begin at the same
        ``start_s`` then; the chart takes their mean, and the most of all.
    """
    together = -(-windows.height // most)
    length = float(windows["interval_s"][0]) * together
    if together == 1:
        return windows
    first = pl.col("start_s") + float(windows["interval_s"][0]) / 2
    return windows.with_columns(
        ((first / length).floor() * length).alias("start_s"), pl.lit(length).alias("interval_s")
    )


TO_THE_SAME = 1e-6
"""Instants that are so many seconds apart count as one."""


def slot_figures(results: Results) -> Iterator[Figure]:
    """Draw what a terminal asked for, was assigned and sent over time; of several the busiest."""
    if not results.has_table("slot_intervals") or not results.slot_intervals.height:
        return
    frames = results.slot_intervals
    names = frames["queue"].unique(maintain_order=True).to_list()
    central = central_queue(results)
    queue = central if central in names else names[0]
    chosen = frames.filter(pl.col("queue") == queue)
    windows = capacity_windows(chosen.join(_request_periods(results, queue), on="cell", how="left"))
    shown = overlaid(results, windows)
    used = results.slots.filter(pl.col("queue") == queue)
    sums = used.select(pl.col("slots_used", "slots_assigned").cast(pl.Float64).sum())
    share = sums["slots_used"][0] / max(sums["slots_assigned"][0], 1.0)
    yield Figure(
        name="slots-over-time",
        title="Capacity on demand over time",
        caption=(
            f"What the terminal of {queue} asked for by rate, what the slots that it was "
            f"assigned carry, and what it sent in them, in windows of "
            f"{shown.frame['interval_s'][0]:g} s; where a request was due and none came it was for "
            f"nothing. "
            f"Of all slots in the runs {share:.0%} were used. Line: mean over replicates; "
            f"band: from the smallest to the largest.{shown.note}"
        ),
        chart=rate_over_time(
            shown.frame,
            measure="bits_per_second",
            title="capacity",
            **shown.arguments,
        ),
    )


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
