"""The figures of single flows, of runs whose folder has the table ``traces``."""

from __future__ import annotations

import polars as pl

from fairwind.plots import Figure, brought_together, closer_look, flow_panels, thinned
from fairwind.results import Results

MOST_FLOWS = 12
"""Flows that a page shows, those with most points first; the others are in the table."""

MOST_POINTS = 40_000
"""Points of all flows on a page: about two megabytes."""

KEYS = ("cell", "replicate", "name")
COLUMNS = ("name", "series", "kind", "time_s", "low", "high", "points")

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
    sizes = traces.group_by(*KEYS, maintain_order=True).agg(pl.col("points").sum())
    shown = sizes.sort("points", descending=True, maintain_order=True).head(MOST_FLOWS)
    omitted = sizes.height - shown.height
    figures = []
    for number, flow in enumerate(shown.iter_rows(named=True), start=1):
        points = traces.filter(*(pl.col(key) == flow[key] for key in KEYS)).select(COLUMNS)
        drawn = thinned(points, MOST_POINTS // shown.height)
        note = brought_together(drawn)
        closer = None
        if (piece := closer_look(points)) is not None:
            closer = points.filter(pl.col("time_s").is_between(*piece))
            note += " At the bottom, a piece of it is drawn larger."
        if number == shown.height and omitted:
            note += f" {omitted} further flows were traced; their points are in traces.parquet."
        title = f"Flow {flow['name']}{_where(results, flow['cell'], flow['replicate'])}"
        figures.append(
            Figure(
                name=f"flow-{number}",
                title=title,
                caption=CAPTION + note,
                chart=flow_panels(drawn, closer, title=title),
            )
        )
    return figures


def _where(results: Results, cell: int, replicate: int) -> str:
    """Say of which cell and replicate a flow is, if there are several."""
    plan = results.manifest.plan
    if plan.runs == 1:
        return ""
    return f" (cell {cell}, replicate {replicate})"
