"""The figures that only captures have: of each group, what was lost, queued and inferred."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fairwind.plots import Figure, latency_distribution
from fairwind.plots.series import percentile_curves, share_over_time, time_over_time
from fairwind.results import Results

LAYERS = {
    "network": "network",
    "transport": "transport: with repairs",
    "application": "application: in order",
}
"""Layers of delay as panels call them, from the lowest."""

SHORTEST_S = 1e-4
"""Shorter delays are drawn as this long: an axis of orders of magnitude has no zero."""

PERCENTILE = r"^p([0-9]+(?:_[0-9]+)?)_(?:s|bytes)$"


def captured_figures(results: Results) -> list[Figure]:
    """Draw what the tables of captures have, of all cells together."""
    figures = [
        *_delays(results),
        *_losses(results),
        *_queueing(results),
        *_times(results),
        *_sizes(results),
    ]
    if results.manifest.plan.runs == 1:
        return figures
    note = " All cells together."
    return [replace(figure, caption=figure.caption + note) for figure in figures]


def _rows(results: Results, table: str) -> pl.DataFrame:
    """Give the rows of groups of a table; none if it is not there or has none."""
    if not results.has_table(table):
        return pl.DataFrame()
    rows = results.table(table)
    return rows.filter(pl.col("scope") == "group") if "scope" in rows.columns else rows


def _delays(results: Results) -> list[Figure]:
    rows = _rows(results, "delay_histogram")
    if rows.is_empty():
        return []
    buckets = rows.filter(pl.col("kind") == "variation", pl.col("payload_bytes") > 0).select(
        "group",
        pl.col("layer").replace(LAYERS).alias("layer"),
        pl.col("upper_s").clip(lower_bound=SHORTEST_S),
        pl.col("payload_bytes").alias("count"),
    )
    if buckets.is_empty():
        return []
    order = pl.col("layer").replace_strict({name: n for n, name in enumerate(LAYERS.values())})
    return [
        Figure(
            name="delay-variation",
            title="Distribution of one-way delay beyond the smallest",
            caption=(
                "Time from the first departure of bytes, beyond the smallest network delay of the "
                "same flow: to the arrival of the packet (network), to the first arrival of the "
                "bytes (transport), to the arrival of all bytes before them as well (application). "
                "Each byte is a sample; drift between the clocks is taken off; less than 0.1 ms "
                "is drawn as 0.1 ms."
            ),
            chart=latency_distribution(
                buckets.sort(order, maintain_order=True),
                panels="layer",
                title="delay beyond the smallest",
            ),
        )
    ]


def _losses(results: Results) -> list[Figure]:
    windows = _shortest(_rows(results, "losses"))
    if windows.is_empty() or windows["payload_byte_loss_ratio"].drop_nulls().is_empty():
        return []
    return [
        Figure(
            name="loss-over-time",
            title="Loss over time",
            caption=(
                "Payload bytes lost between the two captures by those sent, in windows of "
                f"{windows['interval_s'][0]:g} s, by the time at which they were sent."
            ),
            chart=share_over_time(windows, measure="payload_byte_loss_ratio", title="bytes lost"),
        )
    ]


def _queueing(results: Results) -> list[Figure]:
    windows = _shortest(_rows(results, "queueing"))
    if windows.is_empty() or windows["mean_s"].drop_nulls().is_empty():
        return []
    return [
        Figure(
            name="queueing-over-time",
            title="Queueing delay over time",
            caption=(
                "Mean network delay beyond the smallest of the same flow, in windows of "
                f"{windows['interval_s'][0]:g} s, by the time at which packets were sent."
            ),
            chart=time_over_time(windows, measure="mean_s", title="queueing delay"),
        )
    ]


def _times(results: Results) -> list[Figure]:
    rows = _rows(results, "stream_times")
    figures = []
    for kind, name, title, caption in (
        ("rtt", "round-trip-time", "Round-trip time", "Round trips between tap and receiver"),
        (
            "inter_transmission",
            "inter-transmission-time",
            "Inter-transmission time",
            "Times between one data segment of a flow and the next",
        ),
    ):
        if rows.is_empty():
            continue
        curves = percentiles_of(rows.filter(pl.col("kind") == kind))
        if curves.height:
            chart = percentile_curves(curves, title=title.lower(), is_time=True)
            figures.append(
                Figure(
                    name,
                    f"Distribution of {title.lower()}",
                    f"{caption}, by the percentiles of the table `stream_times`.",
                    chart,
                )
            )
    return figures


def _sizes(results: Results) -> list[Figure]:
    rows = _rows(results, "stream_sizes")
    curves = percentiles_of(rows) if rows.height else rows
    if curves.is_empty():
        return []
    return [
        Figure(
            name="segment-size",
            title="Distribution of segment sizes",
            caption=(
                "Payload of data segments as they passed the tap, repeated ones included, by the "
                "percentiles of the table `stream_sizes`."
            ),
            chart=percentile_curves(curves, title="payload", is_time=False),
        )
    ]


def percentiles_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Turn columns of percentiles, with the extremes, into rows; of several cells the mean."""
    extremes = {"min": 0.0, "max": 100.0}
    found = {
        column: float(match.replace("_", "."))
        for column in rows.columns
        if (match := pl.Series([column]).str.extract(PERCENTILE)[0]) is not None
    }
    found |= {
        column: extremes[column.partition("_")[0]]
        for column in rows.columns
        if column.partition("_")[0] in extremes and column.endswith(("_s", "_bytes"))
    }
    return (
        rows.group_by("group", maintain_order=True)
        .agg(pl.col(list(found)).cast(pl.Float64).mean())
        .unpivot(index="group", variable_name="column", value_name="value")
        .with_columns(pl.col("column").replace_strict(found, return_dtype=pl.Float64))
        .rename({"column": "percentile"})
        .drop_nulls("value")
    )


def _shortest(windows: pl.DataFrame) -> pl.DataFrame:
    """Keep the windows of the shortest length."""
    if windows.is_empty():
        return windows
    return windows.filter(pl.col("interval_s") == pl.col("interval_s").min())
