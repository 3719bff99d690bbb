"""Figures of captures: distributions by group, and the points of single flows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from fairwind.plots import (
    Figure,
    brought_together,
    closer_look,
    flow_panels,
    tail_distribution,
    thinned,
)
from fairwind.plots.series import percentile_curves, value_over_time
from fairwind.results import Results

LAYERS = {
    "network": "network",
    "transport": "transport: with repairs",
    "application": "in-order delivery",
}
"""Layers of delay as panels call them, from the lowest."""

SHORTEST_S = 1e-4
"""Shorter delays are drawn as this long: an axis of orders of magnitude has no zero."""

PERCENTILE = r"^p([0-9]+(?:_[0-9]+)?)_(?:s|bytes)$"


def captured_figures(results: Results) -> list[Figure]:
    """Draw what the tables of captures have, of all cells together."""
    figures = [
        *_delays(results),
        *_over_time(results),
        *_percentiles(results),
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


def _delays(results: Results) -> Iterator[Figure]:
    rows = _rows(results, "delay_histogram")
    if rows.is_empty():
        return
    buckets = rows.filter(pl.col("kind") == "variation", pl.col("payload_bytes") > 0).select(
        "group",
        pl.col("layer").replace(LAYERS).alias("layer"),
        pl.col("upper_s").clip(lower_bound=SHORTEST_S),
        pl.col("payload_bytes").alias("count"),
    )
    if buckets.is_empty():
        return
    order = pl.col("layer").replace_strict({name: n for n, name in enumerate(LAYERS.values())})
    yield Figure(
        name="delay-variation",
        title="Distribution of one-way delay beyond the smallest",
        caption=(
            "Time from the first departure of bytes, beyond the smallest network delay of the "
            "same flow: to the arrival of the packet (network), to the first arrival of the "
            "bytes (transport), to the arrival of all bytes before them as well (in-order "
            "delivery). Each byte is a sample; drift between the clocks is taken off; less than "
            "0.1 ms is drawn as 0.1 ms."
        ),
        chart=tail_distribution(
            buckets.sort(order, maintain_order=True),
            panels="layer",
            title="delay beyond the smallest",
        ),
    )


def _over_time(results: Results) -> list[Figure]:
    figures = []
    for table, measure, name, title, caption, scale, axis in (
        (
            "losses",
            "payload_byte_loss_ratio",
            "loss-over-time",
            "Loss over time",
            "Payload bytes lost between the two captures by those sent, in windows of {:g} s, by "
            "the time at which they were sent.",
            100,
            "bytes lost / %",
        ),
        (
            "queueing",
            "mean_s",
            "queueing-over-time",
            "Queueing delay over time",
            "Mean network delay beyond the smallest of the same flow, in windows of {:g} s, by the "
            "time at which packets were sent.",
            1000,
            "queueing delay / ms",
        ),
    ):
        windows = _shortest(_rows(results, table))
        if windows.height and windows[measure].drop_nulls().len():
            chart = value_over_time(windows, pl.col(measure) * scale, axis)
            caption = caption.format(windows["interval_s"][0])
            figures.append(Figure(name, title, caption, chart))
    return figures


def _percentiles(results: Results) -> Iterator[Figure]:
    for table, kind, name, title, caption, axis in (
        (
            "stream_times",
            "rtt",
            "round-trip-time",
            "Distribution of round-trip time",
            "Round trips between tap and receiver",
            "round-trip time",
        ),
        (
            "stream_times",
            "inter_transmission",
            "inter-transmission-time",
            "Distribution of inter-transmission time",
            "Times between one data segment of a flow and the next",
            "inter-transmission time",
        ),
        (
            "stream_sizes",
            None,
            "segment-size",
            "Distribution of segment sizes",
            "Payload of data segments as they passed the tap, repeated ones included",
            "payload",
        ),
    ):
        rows = _rows(results, table)
        if rows.is_empty():
            continue
        curves = percentiles_of(rows if kind is None else rows.filter(pl.col("kind") == kind))
        if curves.height:
            yield Figure(
                name,
                title,
                f"{caption}, by the percentiles of the table `{table}`.",
                percentile_curves(curves, title=axis, is_time=table == "stream_times"),
            )


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


TRACE = "flow-"
"""How names of time-sequence graphs begin."""

MOST_FLOWS = 12
"""Flows that a page shows, those with most points first; the others are in the table."""

MOST_NAMED = 12
"""Flows that are named among those that are not shown."""

MOST_POINTS = 60_000
"""Points of all flows on a page, where one can look closer: about 0.8 MB, compressed."""

MOST_STILL_POINTS = 10_000
"""Points of one flow in a file: there are not more places for them."""

KEYS = ("cell", "replicate", "name")
COLUMNS = ("name", "series", "kind", "time_s", "low", "high", "points")

FEW_SEGMENTS = 5
"""A direction with fewer data segments is not drawn beside the other one of its connection."""

AT_THE_SENDER = ("rtt", "flight")
"""Series that mean what they are called only where the data leaves."""

CAPTION = (
    "Above, each stroke is a segment, from its first byte to its last, when it was sent; the lines "
    "are what had been acknowledged and the end of the window that the receiver offered. Signs "
    "mark what is rare: data sent again and why, blocks of selective acknowledgments, duplicate "
    "acknowledgments, a closed window, SYN, FIN and RST. Below, on the same axis of time: payload "
    "per second, samples of the round-trip time, bytes sent and not yet acknowledged. Turn the "
    "wheel or drag to look closer, double-click to see all again, point at a sign to read what it "
    "was."
)


def trace_figures(results: Results) -> list[Figure]:
    """Draw every traced flow, as many as there is room for."""
    if not results.has_table("traces"):
        return []
    traces = results.table("traces")
    shown, note_of_others = _chosen(traces)
    arriving = _arriving(results)
    figures = []
    for number, flow in enumerate(shown.iter_rows(named=True), start=1):
        points = traces.filter(*(pl.col(key) == flow[key] for key in KEYS)).select(COLUMNS)
        if is_arriving := (flow["cell"], flow["replicate"], flow["name"]) in arriving:
            points = points.filter(~pl.col("series").is_in(AT_THE_SENDER))
        drawn = thinned(points, MOST_POINTS // shown.height)
        note = brought_together(drawn)
        closer = None
        if (piece := closer_look(points)) is not None:
            closer = points.filter(pl.col("time_s").is_between(*piece))
            note += " At the bottom, a piece of it is drawn larger."
        if is_arriving:
            note += (
                " It was captured where it arrives: round trips and flight of its sender are not "
                "known there."
            )
        if number == shown.height:
            note += note_of_others
        few = drawn if drawn.height <= MOST_STILL_POINTS else thinned(points, MOST_STILL_POINTS)
        title = f"Flow {flow['name']}"
        if results.manifest.plan.runs > 1:
            title += f" (cell {flow['cell']}, replicate {flow['replicate']})"
        figures.append(
            Figure(
                name=f"{TRACE}{number}",
                title=title,
                caption=CAPTION + note,
                chart=flow_panels(drawn, closer, title=title),
                still=flow_panels(few, closer, title=title),
            )
        )
    return figures


def _chosen(traces: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Choose the flows that are drawn, and say which are not."""
    is_data = pl.col("series").eq("data")
    # Both directions of a connection have the same name: that of its ends in their order.
    connection = pl.col("name").str.split(">").list.sort().list.join(">")
    sizes = (
        traces.group_by(*KEYS, maintain_order=True)
        .agg(
            pl.col("points").sum(),
            pl.col("points").filter(is_data).sum().alias("segments"),
        )
        .sort("points", descending=True, maintain_order=True)
        .with_columns(connection.alias("connection"))
    )
    is_main = pl.col("segments") == pl.col("segments").max().over("cell", "replicate", "connection")
    wanted = sizes.filter((pl.col("segments") >= FEW_SEGMENTS) | is_main)
    shown = wanted.head(MOST_FLOWS)
    note = ""
    if omitted := wanted["name"].to_list()[MOST_FLOWS:]:
        named = ", ".join(omitted[:MOST_NAMED]) + (", ..." if len(omitted) > MOST_NAMED else "")
        note += (
            f" {len(omitted)} further flows were traced; their points are in traces.parquet: "
            f"{named}."
        )
    if empty := sizes.height - wanted.height:
        note += (
            f" Of {empty} {'connection' if empty == 1 else 'connections'} the other direction is "
            f"not drawn: it has fewer than {FEW_SEGMENTS} segments of data."
        )
    return shown, note


def _arriving(results: Results) -> set[tuple[int, int, str]]:
    """Give the flows that were captured where they arrive and not where they leave."""
    if not results.has_table("flows"):
        return set()
    flows = results.scan("flows")
    if "packets_sent" not in flows.collect_schema().names():
        return set()
    return set(flows.filter(pl.col("packets_sent").is_null()).select(KEYS).collect().rows())
