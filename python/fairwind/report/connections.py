"""The connections of a capture as a table of the page, those with the longest waits first."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fairwind.analysis.summary import (
    ARRIVED,
    KEYS,
    TITLES,
    frames_of,
    readable_rows,
    summary_of,
    upright,
)
from fairwind.results import Results

MOST_ROWS = 100

ORDERS = {
    "delivery_latency_max_s": "the longest delivery",
    "ack_latency_max_s": "the longest ACK latency",
    None: "most payload",
}
"""Sort keys of connections, and their directions."""

FIRST = tuple(
    f"{kind}_latency_{which}_s" for kind in ("delivery", "ack") for which in ("p50", "p99", "max")
)
"""Shown before everything else."""

LEFT_OUT = ("flows", "goodput_bits_per_second", "throughput_bits_per_second")
"""Rates over the measured time say little of connections that were open for a part of it."""


Rows = tuple[list[str], list[list[object]]]
"""Headers and cells."""


@dataclass(frozen=True)
class Connections:
    """Table of connections on the page.

    Attributes
    ----------
    headers : list of str
    rows : list of lists
        One for each, at most `MOST_ROWS`.
    total : int
        How many there are.
    order : str
        Which come first.
    """

    headers: list[str]
    rows: list[list[object]]
    total: int
    order: str


def captured_overview(results: Results) -> list[Rows]:
    """Give what a capture tells of groups; nothing of a run."""
    if not _is_single_capture(results):
        return []
    groups = summary_of(frames_of(results), "group", MOST_ROWS)
    return [upright(groups)] if groups.height else []


def _is_single_capture(results: Results) -> bool:
    return results.manifest.captured is not None and results.manifest.plan.runs == 1


def connections_of(results: Results) -> Connections | None:
    """Give the connections of a capture; none of a run, whose flows are its own plan."""
    if not _is_single_capture(results) or not results.has_table("flows"):
        return None
    flows = results.scan("flows")
    known = [name for name in ORDERS if name in flows.collect_schema().names()]
    counts = (
        flows.select(pl.len().alias("flows"), pl.col(known).count()).collect().row(0, named=True)
    )
    sort = next((name for name in known if counts[name]), None)
    rows = summary_of(frames_of(results), "connection", MOST_ROWS, sort)
    if rows.is_empty():
        return None
    left = "packets_sent" in rows.columns and not rows["packets_sent"].null_count()
    hidden = {*LEFT_OUT, *(ARRIVED if left else ())}
    known = [name for name in dict.fromkeys((*FIRST, *TITLES)) if name in rows.columns]
    told = [name for name in known if name not in hidden and (rows[name] != 0).any()]
    headers, cells = readable_rows(rows.select(*KEYS, *told), told)
    return Connections(headers, cells, counts["flows"], ORDERS[sort])
