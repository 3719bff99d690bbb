"""Figures 4.3, 4.4 and 4.5, and the latency that they do not show."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure
from fairwind.results import Results
from fairwind.studies.charts import (
    KILO,
    PER_CENT,
    SEEDS,
    estimates,
    measure_by_count,
    measure_by_variant,
)
from fairwind.studies.panels import Panels
from fairwind.studies.streams import REFERENCE, VARIANT, variants

from .rates import THIN_COUNT, offered_rates

GREEDY_COUNT = "flows_greedy_count"
LOSS_CELL = {THIN_COUNT: 30, GREEDY_COUNT: 20}
"""The numbers of streams of figure 4.5."""


def figures(results: Results) -> list[Figure]:
    """Draw goodput, goodput against throughput, loss and latency."""
    panels = Panels.of(results, THIN_COUNT)
    return [
        Figure(
            name="goodput-by-count",
            title="Aggregated goodput of N thin streams and five greedy ones (figure 4.3)",
            caption=(
                "Payload that the receiving applications read, each byte once, summed over all "
                f"streams of a kind. {SEEDS}"
            ),
            chart=measure_by_count(
                _fewest_greedy(estimates(results, "goodput_bits_per_second", KILO)),
                panels,
                "aggregated goodput / kbit/s",
            ),
        ),
        Figure(
            name="goodput-against-throughput",
            title="Goodput against throughput of unmodified thin streams (figure 4.4)",
            caption=(
                "Sums over all thin streams. Goodput: payload read, each byte once. Throughput: "
                "everything that arrived, IP headers and repeated bytes included. Offered: what "
                "the applications write, and what that would be on the wire if each write made "
                f"one packet. {SEEDS}"
            ),
            chart=measure_by_count(_rates(results), panels, "aggregate of thin streams / kbit/s"),
        ),
        _loss(results, panels),
        Figure(
            name="ack-latency-by-count",
            title="ACK latency beside greedy streams, 99th percentile",
            caption=(
                "Time from the first transmission of a segment to its cumulative acknowledgement "
                f"at the sender. {SEEDS}"
            ),
            chart=measure_by_count(
                estimates(results, "ack_latency_p99_s"), panels, "ACK latency p99 / s"
            ),
        ),
    ]


def _rates(results: Results) -> pl.DataFrame:
    measured = [
        estimates(results, f"{name}_bits_per_second", KILO)
        .filter((pl.col("group") == "thin") & (pl.col(VARIANT) == REFERENCE))
        .with_columns(pl.lit(name).alias("group"))
        for name in ("throughput", "goodput")
    ]
    offered = offered_rates(results).with_columns(pl.col("mean", "low", "high") * KILO)
    return pl.concat([*measured, offered], how="diagonal_relaxed")


def _loss(results: Results, panels: Panels) -> Figure:
    frame = _of_loss_cell(estimates(results, "packet_loss_ratio", PER_CENT))
    chart: alt.TopLevelMixin = measure_by_variant(
        frame, panels, variants(results), "relative packet loss / %"
    )
    return Figure(
        name="relative-packet-loss",
        title="Relative packet loss of thin and greedy streams (figure 4.5)",
        caption=f"Packets lost over packets sent, of all streams of a kind. {SEEDS}",
        chart=chart,
    )


def _fewest_greedy(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the five greedy streams of figure 4.3, or the fewest that there are."""
    if GREEDY_COUNT not in frame.columns:
        return frame
    return frame.filter(pl.col(GREEDY_COUNT) == pl.col(GREEDY_COUNT).min())


def _of_loss_cell(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep 30 thin against 20 greedy streams, or the most of each that there are."""
    for column, wanted in LOSS_CELL.items():
        if column in frame.columns:
            there = frame[column].to_list()
            frame = frame.filter(pl.col(column) == (wanted if wanted in there else max(there)))
    return frame
