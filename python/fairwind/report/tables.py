"""Tables of a page: cells as text, response times, and the connections of captures."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from fairwind.results.summary import estimate, readable


def numeric_columns(rows: Sequence[Sequence[object]]) -> frozenset[int]:
    """Give the places of numeric columns; cells may have an uncertainty or a unit."""
    if not rows:
        return frozenset()
    return frozenset(
        place
        for place in range(len(rows[0]))
        if all(row[place] is None or _is_numeric(row[place]) for row in rows)
        and any(row[place] is not None for row in rows)
    )


def _is_numeric(value: object) -> bool:
    if isinstance(value, str):
        return NUMERIC.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


NUMERIC = re.compile(
    r"([-+]?[\d.,]+(e[-+]?\d+)?( ± \S+| \(\d+ equal\))?|\[[-+\d.]+, [-+\d.]+\])( %)?"
)
"""How cells of numbers are written."""


RESPONSE_MEASURES = (
    "responses",
    "response_time_p50_s",
    "response_time_p99_s",
    "response_time_max_s",
)
"""Columns of the table `groups` about requests and their responses."""


def response_times(results: Results) -> tuple[list[str], list[list[object]]] | None:
    """Give how long requests, and the objects of web pages, waited for their responses.

    Returns
    -------
    headers, rows
        One row for each cell and group that has requests; None if no group has any.
    """
    groups = results.groups
    if not set(RESPONSE_MEASURES) <= set(groups.columns):
        return None
    asked = groups.filter(pl.col("responses") > 0)
    if asked.is_empty():
        return None
    axes = [axis.column for axis in results.manifest.plan.axes]
    return readable(estimate(asked, (*axes, "group"), RESPONSE_MEASURES))


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


@dataclass(frozen=True)
class Connections:
    """Table of connections on the page.

    Attributes
    ----------
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


def captured_overview(results: Results) -> list[tuple[list[str], list[list[object]]]]:
    """Give what a capture tells of groups; nothing of a run."""
    if not _is_single_capture(results):
        return []
    groups = summary_of(frames_of(results), "group", MOST_ROWS)
    return [upright(groups)] if groups.height else []


def _is_single_capture(results: Results) -> bool:
    return results.manifest.captured is not None and results.manifest.plan.runs == 1


def connections_of(results: Results) -> Connections | None:
    """Give the connections of a capture; none of a run, because its plan has the flows."""
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
    parts = [name for name in known if name not in hidden and (rows[name] != 0).any()]
    headers, cells = readable_rows(rows.select(*KEYS, *parts), parts)
    return Connections(headers, cells, counts["flows"], ORDERS[sort])
