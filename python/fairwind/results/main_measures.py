"""The main measure of each group, by what its application waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from fairwind.results import Results, rows_of
from fairwind.results.summary import GROUPS, TRANSFERS, is_known
from fairwind.results.tidy import ANSWERS, is_of_a_volume, workloads

GOODPUT = "goodput_bits_per_second"
LATENCIES = ("delivery_latency_p99_s", "ack_latency_p99_s")
RESPONSES = "response_time_p99_s"
COMPLETION = ("completion_time_p90_s", "completion_time_s")

BULK = ("greedy", "on-off", "relay")
"""Kinds of workloads that send as much as they can."""

CALLS = ("request-response", "web")
"""Kinds of workloads that wait for a response."""

MEDIANS = {
    "delivery_latency_p99_s": "delivery_latency_p50_s",
    "ack_latency_p99_s": "ack_latency_p50_s",
    "response_time_p99_s": "response_time_p50_s",
    "completion_time_p90_s": "completion_time_p50_s",
}
"""The median that describes what a main measure judges by its tail."""

MainMeasure = tuple[str, str, str]
"""Table, group and measure."""


def main_measures(results: Results) -> list[MainMeasure]:
    """Give the main measure of each group: table, name and measure, in the order of the groups.

    Bulk transfers are judged by goodput, transfers of a volume by the time that 90 % of them took,
    or by its time where there is a single one, calls by the 99th percentile of the response time,
    everything else by that of the delivery latency (of the time to the acknowledgment where nobody
    saw the delivery).
    """
    # A group is judged by its workload in the first cell.
    known = {name: workload for _, name, workload in reversed([*workloads(results)])}
    groups, transfers = rows_of(results, GROUPS), rows_of(results, TRANSFERS)
    found = [
        main
        for name in (groups["group"].unique(maintain_order=True) if groups.height else ())
        if (main := _main_measure(str(name), known, groups, transfers)) is not None
    ]
    answered = {f"{name}{ANSWERS}" for _, name, measure in found if measure == RESPONSES}
    return [main for main in found if main[1] not in answered]


def _main_measure(
    name: str, known: dict[str, Any], groups: pl.DataFrame, transfers: pl.DataFrame
) -> MainMeasure | None:
    for measure in COMPLETION:
        if _has(transfers, name, measure):
            return TRANSFERS.table, name, measure
    found = next((one for one in _measures(name, known) if _has(groups, name, one)), None)
    return None if found is None else (GROUPS.table, name, found)


def _measures(name: str, known: dict[str, Any]) -> Iterator[str]:
    """Give the measures that suit a group, best first; none for one that others speak for."""
    workload = known.get(name)
    caller = known.get(name.removesuffix(ANSWERS))
    if workload is None and caller is not None:
        # A response that never ends, as a download, is known by its goodput alone.
        yield GOODPUT
    elif workload is not None and workload["kind"] in CALLS:
        yield RESPONSES
    elif workload is not None and workload["kind"] in BULK and not is_of_a_volume(workload):
        yield GOODPUT
    elif workload is None or workload["kind"] != "transfers":
        yield from LATENCIES
        yield GOODPUT


def _has(frame: pl.DataFrame, name: str, measure: str) -> bool:
    return measure in frame.columns and is_known(frame.filter(group=name), measure)
