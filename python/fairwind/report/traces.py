"""Figures of single flows, for folders with the table ``traces``."""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, brought_together, closer_look, flow_panels, thinned
from fairwind.results import Results

MOST_FLOWS = 12
"""Flows that a page shows, those with most points first; the others are in the table."""

MOST_NAMED = 12
"""Flows that are named among those that are not shown."""

MOST_POINTS = 100_000
"""Points of all flows on a page, where one can look closer: about three megabytes."""

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
        title = f"Flow {flow['name']}{_where(results, flow['cell'], flow['replicate'])}"
        figures.append(
            Figure(
                name=f"flow-{number}",
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
    sizes = (
        traces.group_by(*KEYS, maintain_order=True)
        .agg(
            pl.col("points").sum(),
            pl.col("points").filter(is_data).sum().alias("segments"),
        )
        .sort("points", descending=True, maintain_order=True)
        .with_columns(_ways_together().alias("connection"))
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


def _ways_together() -> pl.Expr:
    """Give both directions of a connection the same name: that of its ends in their order."""
    return pl.col("name").str.split(">").list.sort().list.join(">")


def _arriving(results: Results) -> set[tuple[int, int, str]]:
    """Give the flows that were captured where they arrive and not where they leave."""
    if not results.has_table("flows"):
        return set()
    flows = results.scan("flows")
    if "packets_sent" not in flows.collect_schema().names():
        return set()
    return set(flows.filter(pl.col("packets_sent").is_null()).select(KEYS).collect().rows())


def _where(results: Results, cell: int, replicate: int) -> str:
    """Name the cell and replicate of a flow, if there are several."""
    plan = results.manifest.plan
    if plan.runs == 1:
        return ""
    return f" (cell {cell}, replicate {replicate})"
