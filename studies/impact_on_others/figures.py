"""The source's four figures: throughput, packet loss, and the ACK latency twice."""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, box_numbers, boxes_by_setting, latency_distribution
from fairwind.quantities import parse_seconds
from fairwind.results import Results
from fairwind.results.tidy import group_windows, latency_buckets
from fairwind.studies.offered import mean_of
from fairwind.studies.streams import group_of

from .claims import AXIS
from .steps import expected_steps

SLOWEST_FROM = 0.84
"""Where the annotated figure begins: only what was lost, or waited for that, is above."""

STEPS_TOLD = (
    "Upright lines: when the repair of a lost segment is expected to be acknowledged, by the "
    "median round trip, the mean interval of writes, and a time-out of the round trip plus 200 ms. "
    "The first duplicate ACK would repair at the line of two behind."
)


def figures(results: Results) -> list[Figure]:
    """Draw figures 5.3 to 5.6."""
    half = latency_buckets(results, "ack").filter(
        (pl.col(AXIS) == "half") & pl.col("group").is_in(["thin", "modified"])
    )
    return [_throughput(results), _loss(results), _latency(half), _annotated(results, half)]


def _throughput(results: Results) -> Figure:
    return Figure(
        name="throughput-by-group",
        title="Throughput of greedy, thin and modified thin streams (figure 5.3)",
        caption=(
            "Aggregate throughput on the wire in windows of 30 s, all windows of all seeds, when "
            "none, half or all of the thin streams are modified; the box holds the middle half, "
            "whiskers reach the extremes."
        ),
        chart=_boxes(results, pl.col("throughput_bits_per_second") / 1000, "throughput / kbit/s"),
    )


def _loss(results: Results) -> Figure:
    return Figure(
        name="packet-loss-by-group",
        title="Relative packet loss of greedy, thin and modified thin streams (figure 5.4)",
        caption=(
            "Packets dropped over packets sent in windows of 30 s, all windows of all seeds; boxes "
            "as above."
        ),
        chart=_boxes(
            results, 100 * pl.col("packets_lost") / pl.col("packets_sent"), "packet loss / %"
        ),
    )


def _boxes(results: Results, value: pl.Expr, title: str) -> object:
    return boxes_by_setting(
        box_numbers(group_windows(results), value, [AXIS, "group"]),
        setting=AXIS,
        order=list(results.manifest.plan.axis(AXIS).labels),
        measure_title=title,
        setting_title="thin streams that are modified",
    )


def _latency(half: pl.DataFrame) -> Figure:
    return Figure(
        name="ack-latency-of-thin",
        title="ACK latency of thin streams, modified and not (figure 5.5)",
        caption=(
            "Time from the first transmission of a segment to its cumulative acknowledgement at "
            "the sender; half of the thin streams are modified; all segments of all seeds."
        ),
        chart=latency_distribution(half),
    )


def _annotated(results: Results, half: pl.DataFrame) -> Figure:
    interval_s = _interval_s(results)
    if interval_s is None:
        steps, told = None, "When repairs are due is not known of this workload."
    else:
        steps, told = expected_steps(_usual_round_trip_s(half), interval_s), STEPS_TOLD
    return Figure(
        name="ack-latency-annotated",
        title="What ends the wait: the steps of the ACK latency (figure 5.6)",
        caption=f"As before, the slowest {1 - SLOWEST_FROM:.0%}. {told}",
        chart=latency_distribution(half, marks=steps, lowest_share=SLOWEST_FROM),
    )


def _usual_round_trip_s(half: pl.DataFrame) -> float:
    """Give the median of the ACK latency."""
    slots = half.group_by("upper_s").agg(pl.col("count").sum()).sort("upper_s")
    reached = slots.filter(pl.col("count").cum_sum() * 2 >= pl.col("count").sum())
    return float(reached["upper_s"][0])


def _interval_s(results: Results) -> float | None:
    """Give the mean time between two writes of a thin stream; None if it is not known."""
    workload = group_of(results.manifest.plan.cells[0].experiment, "thin")["workload"]
    return mean_of(workload.get("interval", {}), parse_seconds)
