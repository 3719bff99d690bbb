"""Figures 4.1 and 4.2, table 4.1 as a figure, and the latency that they do not show."""

from __future__ import annotations

import altair as alt
import polars as pl

from fairwind.plots import Figure
from fairwind.results import Results
from fairwind.studies.charts import KILO, PER_CENT, SEEDS, estimates, measure_by_count
from fairwind.studies.panels import Panels
from fairwind.studies.streams import COUNT


def figures(results: Results) -> list[Figure]:
    """Draw goodput, relative loss, problematic connections and latency against N."""
    return [
        Figure(
            name="aggregated-goodput",
            title="Aggregated goodput of N greedy and N thin streams (figure 4.1)",
            caption=(
                "Payload that the receiving applications read, each byte once, summed over all "
                f"streams of a kind. {SEEDS}"
            ),
            chart=_chart(results, "goodput_bits_per_second", KILO, "aggregated goodput / kbit/s"),
        ),
        Figure(
            name="relative-loss",
            title="Relative loss of N greedy and N thin streams (figure 4.2)",
            caption=f"Packets lost over packets sent, of all streams of a kind. {SEEDS}",
            chart=_chart(results, "packet_loss_ratio", PER_CENT, "relative loss / %"),
        ),
        Figure(
            name="problematic-connections",
            title="Problematic connections among N greedy and N thin ones (table 4.1)",
            caption=(
                "Connections that never came to be or were given up, that repeated their SYN, had "
                "three or more time-outs in a row, or let a write wait for 10 s or more. "
                f"{SEEDS}"
            ),
            chart=_chart(results, "flows_problematic", 1.0, "problematic connections"),
        ),
        Figure(
            name="ack-latency-by-count",
            title="ACK latency of N greedy and N thin streams, 99th percentile",
            caption=(
                "Time from the first transmission of a segment to its cumulative acknowledgement "
                f"at the sender. {SEEDS}"
            ),
            chart=_chart(results, "ack_latency_p99_s", 1.0, "ACK latency p99 / s"),
        ),
    ]


def _chart(results: Results, measure: str, scale: float, title: str) -> alt.TopLevelMixin:
    frame: pl.DataFrame = estimates(results, measure, scale)
    return measure_by_count(frame, Panels.of(results, COUNT), title)
