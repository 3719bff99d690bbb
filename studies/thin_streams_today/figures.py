"""Latency of thin streams, and what it costs greedy ones, by mechanism and queue."""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, estimates_by_setting, latency_distribution
from fairwind.results import Results, summarise
from fairwind.results.tidy import latency_buckets
from fairwind.studies.streams import VARIANT, variants

from .claims import DISCIPLINE

SLOWEST_FROM = 0.9


def figures(results: Results) -> list[Figure]:
    """Draw the slowest deliveries, their 99th percentile, and goodput."""
    return [_slowest(results), _percentile(results), _goodput(results)]


def _slowest(results: Results) -> Figure:
    buckets = latency_buckets(results, "delivery").filter(pl.col("group") == "thin")
    return Figure(
        name="delivery-latency-by-mechanism",
        title="Delivery latency of thin streams, by mechanism and queue",
        caption=(
            "From the application's write to the read in order of its last byte: the slowest "
            f"{1 - SLOWEST_FROM:.0%} of the messages of all seeds, one panel per discipline. Where "
            "fewer curves are seen than mechanisms, they coincide."
        ),
        chart=latency_distribution(
            buckets.with_columns(pl.col(VARIANT).alias("group")),
            panels=DISCIPLINE,
            title="delivery latency",
            lowest_share=SLOWEST_FROM,
        ),
    )


def _percentile(results: Results) -> Figure:
    return Figure(
        name="delivery-latency-p99",
        title="99th percentile of the delivery latency of thin streams",
        caption="Mean over seeds; bars: 95 % interval.",
        chart=_estimates(
            results, "delivery_latency_p99_s", 1000, ["thin"], "delivery latency, p99 / ms"
        ),
    )


def _goodput(results: Results) -> Figure:
    return Figure(
        name="goodput-by-mechanism",
        title="Goodput of greedy and thin streams",
        caption="Sum over the streams of a group, mean over seeds; bars: 95 % interval.",
        chart=_estimates(
            results, "goodput_bits_per_second", 0.001, ["greedy", "thin"], "goodput / kbit/s"
        ),
    )


def _estimates(
    results: Results, measure: str, scale: float, groups: list[str], title: str
) -> object:
    frame = summarise(results, [measure]).frame.filter(pl.col("group").is_in(groups))
    return estimates_by_setting(
        frame.with_columns(pl.col("mean", "low", "high") * scale),
        setting=VARIANT,
        order=variants(results),
        measure_title=title,
        setting_title="",
        panels=DISCIPLINE,
    )
