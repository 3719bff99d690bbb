"""The source's two figures: byte loss and latency, by queue discipline."""

from __future__ import annotations

import polars as pl

from fairwind.plots import BOX, Figure, box_numbers, boxes_by_setting
from fairwind.results import Results

from .claims import AXIS, disciplines

PERCENTILES = dict(zip(BOX, ("p1_s", "p25_s", "p50_s", "p75_s", "p99_s"), strict=True))
"""What stands for the numbers of a box where latency is drawn."""


def figures(results: Results) -> list[Figure]:
    """Draw figures 5.1 and 5.2, and the latency that applications perceive."""
    return [
        _byte_loss(results),
        _latency(results, "ack", "ACK latency", ["greedy", "thin"], "figure 5.2"),
        _latency(results, "delivery", "delivery latency", ["thin"], "beyond the source"),
    ]


def _byte_loss(results: Results) -> Figure:
    value = 100 * pl.col("wire_byte_loss_ratio")
    return Figure(
        name="byte-loss-by-discipline",
        title="Relative byte loss of greedy and thin streams, by queue discipline (figure 5.1)",
        caption=(
            "Bytes on the wire that were dropped over those that were sent, one value per seed; "
            "the box holds the middle half, whiskers reach the extremes."
        ),
        chart=boxes_by_setting(
            box_numbers(results.groups, value, [AXIS, "group"]),
            setting=AXIS,
            order=disciplines(results),
            measure_title="byte loss / %",
        ),
    )


def _latency(results: Results, kind: str, name: str, groups: list[str], where: str) -> Figure:
    chosen = results.latencies.filter(
        (pl.col("scope") == "group") & (pl.col("kind") == kind) & pl.col("group").is_in(groups)
    )
    boxes = chosen.group_by([AXIS, "group"], maintain_order=True).agg(
        (1000 * pl.col(column)).mean().alias(number) for number, column in PERCENTILES.items()
    )
    return Figure(
        name=f"{kind}-latency-by-discipline",
        title=f"{name[0].upper()}{name[1:]} by queue discipline ({where})",
        caption=(
            "Percentiles of all samples of a group, mean over seeds: the box holds the middle "
            "half, whiskers reach from the 1st to the 99th percentile."
        ),
        chart=boxes_by_setting(
            boxes,
            setting=AXIS,
            order=disciplines(results),
            measure_title=f"{name} / ms",
        ),
    )
