"""The figures that every run gets."""

from __future__ import annotations

import polars as pl

from fairwind.plots import (
    Figure,
    are_far_apart,
    drops_by_group,
    estimates_by_setting,
    latency_distribution,
    rate_over_time,
)
from fairwind.report.captured import captured_figures
from fairwind.report.layout import choice, columns, panels
from fairwind.report.queues import queue_figures, slot_figures
from fairwind.report.traces import trace_figures
from fairwind.results import Results, summarise
from fairwind.results.tidy import drops, group_windows, latency_buckets, with_cell_label


def default_figures(results: Results) -> list[Figure]:
    """Draw what can be drawn of a run: goodput, latency, rates over time, drops, flows."""
    figures = _goodput(results)
    for kind, name in (("ack", "ACK latency"), ("delivery", "Delivery latency")):
        figures.extend(_latency(results, kind, name))
    figures.extend(_over_time(results))
    figures.extend(_drops(results))
    figures.extend(queue_figures(results))
    figures.extend(slot_figures(results))
    figures.extend(captured_figures(results))
    figures.extend(trace_figures(results))
    return figures


def _goodput(results: Results) -> list[Figure]:
    measure = "goodput_bits_per_second"
    if results.groups[measure].null_count() == results.groups.height:
        return []  # a capture at the sender alone does not know what was read
    axes = results.manifest.plan.axes
    estimates = summarise(results, [measure]).frame.with_columns(
        pl.col("mean", "low", "high") / 1000
    )
    # An axis along which rates are far apart separates panels, each with its own axis.
    near = [axis for axis in axes if not are_far_apart(estimates, axis.column, "high")]
    along = next(iter(near or axes), None)
    if along is not None:
        setting, order, title = along.column, along.values, along.name
    else:
        setting, order, title = "group", estimates["group"].to_list(), "group"
    panels = None
    if len(axes) > 1:
        panels = "panel"
        rest = [
            pl.format("{} {}", pl.lit(axis.name), axis.column) for axis in axes if axis is not along
        ]
        estimates = estimates.with_columns(pl.concat_str(rest, separator=", ").alias(panels))
    figure = Figure(
        name="goodput",
        title="Goodput of each group",
        caption=(
            "Unique payload read in order by the receiving applications, per second of measured "
            f"time, summed over the flows of a group.{_points(results)}"
        ),
        chart=estimates_by_setting(
            estimates,
            setting=setting,
            order=order,
            measure_title="goodput / kbit/s",
            setting_title=title,
            panels=panels,
        ),
    )
    return [figure]


def _points(results: Results) -> str:
    """Say what points and lines are, where there is more than one run."""
    if results.manifest.plan.replicates == 1:
        return ""
    return " Points: mean over replicates; lines: 95 % interval of the mean (Student's t)."


def _latency(results: Results, kind: str, name: str) -> list[Figure]:
    if not results.has_table("latency_histogram"):
        return []
    buckets = latency_buckets(results, kind)
    if not buckets.height:
        return []
    shown, note = choice(results, buckets)
    what = {
        "ack": "Time from a segment's first transmission to its cumulative acknowledgement at the "
        "sender",
        "delivery": "Time from the application's write to the in-order read at the receiver",
    }[kind]
    return [
        Figure(
            name=f"{kind}-latency",
            title=f"Distribution of {name[0].lower() + name[1:] if kind != 'ack' else name}",
            caption=f"{what}; all replicates together, read off histograms (1 % error).{note}",
            chart=latency_distribution(
                shown, panels=panels(results), columns=columns(results), title=name
            ),
        )
    ]


def _over_time(results: Results) -> list[Figure]:
    if not results.has_table("intervals"):
        return []
    windows = group_windows(results)
    if windows["throughput_bits_per_second"].null_count() == windows.height:
        return []  # no windows, or a capture at the sender alone
    if windows["start_s"].n_unique() == 1:
        return []  # a point is no course; goodput has been drawn
    shown, note = choice(results, windows)
    seconds = shown["interval_s"][0]
    return [
        Figure(
            name="throughput-over-time",
            title="Throughput over time",
            caption=(
                "Aggregate throughput of each group on the wire, IP headers and retransmissions "
                f"included, in windows of {seconds:g} s. Line: mean over replicates; band: from "
                f"the smallest to the largest.{note}"
            ),
            chart=rate_over_time(
                shown,
                measure="throughput_bits_per_second",
                title="throughput",
                panels=panels(results),
                columns=columns(results),
            ),
        )
    ]


def _drops(results: Results) -> list[Figure]:
    if not results.has_table("queue_drops"):
        return []
    dropped = drops(results)
    if not dropped.height or dropped["packets"].sum() == 0:
        return []
    return [
        Figure(
            name="queue-drops",
            title="Packets dropped at queues",
            caption="Packets that queues dropped of each group, mean over replicates.",
            chart=drops_by_group(
                with_cell_label(results, dropped), setting="cell_label", setting_title="cell"
            ),
        )
    ]
