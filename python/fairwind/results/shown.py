"""Choice of the measures that mean something, by the workload of each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairwind.quantities import parse_bytes
from fairwind.results.lateness import has_lateness, readable_lateness
from fairwind.results.results import Results
from fairwind.results.summary import (
    FAIRNESS,
    GROUPS,
    TRANSFERS,
    Estimates,
    Subject,
    overview,
    readable,
)
from fairwind.results.tidy import ANSWERED_KINDS, ANSWERS, is_of_a_volume, workloads

RATE = ("goodput_bits_per_second",)
LOSS = ("packet_loss_ratio", "retransmission_ratio")
ACK = ("ack_latency_p50_s", "ack_latency_p99_s")
DELIVERY = ("delivery_latency_p50_s", "delivery_latency_p99_s")
RESPONSE = ("response_time_p50_s", "response_time_p99_s")

BY_WORKLOAD: Mapping[str, tuple[str, ...]] = {
    # A greedy write waits in the sender's own buffer, so its delivery says nothing of the path.
    **dict.fromkeys(("greedy", "on-off"), (*RATE, *LOSS, *ACK)),
    **dict.fromkeys(("thin", "constant", "replay", "relay"), (*RATE, *LOSS, *DELIVERY)),
    # Of a volume that was sent, goodput is a constant: the volume over the measured time.
    "volume": (*LOSS, *ACK),
    # A request is small; what counts is when its response is complete.
    **dict.fromkeys(("request-response", "web"), RESPONSE),
    **dict.fromkeys(("transfers", "small answers"), ()),
}
"""Measures of a group that its workload makes meaningful. The answers to requests are measured as
greedy streams are."""

SMALL_ANSWER_BYTES = 1400.0

DISPENSABLE = (
    "throughput_bits_per_second",
    "retransmission_ratio",
    "ack_latency_p50_s",
    "arrival_backlog_p99_packets",
    "delivery_latency_p50_s",
    "backlog_mean_packets",
    "unfinished_transfers",
    "sojourn_p50_s",
    "completion_time_p90_s",
    "ended_transfers",
    "response_time_p50_s",
    "ack_latency_p99_s",
    "packet_loss_ratio",
    "drops_packets",
    "response_time_p99_s",
    "delivery_latency_p99_s",
    "sojourn_p99_s",
    "completion_time_p50_s",
    "completion_time_s",
    "goodput_bits_per_second",
)
"""Measures in the order in which they are left out where a table is too wide."""


@dataclass(frozen=True)
class ShownTable:
    """A table for people.

    Attributes
    ----------
    headers, rows : list
        Keys, then measures with their units.
    dispensable : list of str
        Headers that may be left out where the table is too wide, the first one first.
    """

    headers: list[str]
    rows: list[list[object]]
    dispensable: list[str]


def shown_tables(results: Results, *, is_wide: bool = False) -> list[ShownTable]:
    """Give the overview of a run as tables, each with the measures that mean something.

    Parameters
    ----------
    is_wide : bool
        Give all groups, measures and indices.
    """
    # Captures name no workloads.
    kinds = {} if is_wide else workload_kinds(results)
    found = []
    for subject, estimates in overview(results).items():
        chosen = _chosen(subject, estimates, kinds) if kinds else estimates
        if chosen.frame.height:
            found.append(_table(chosen))
    if has_lateness(results):
        found.append(ShownTable(*readable_lateness(results), []))
    return found


def workload_kinds(results: Results) -> dict[str, str]:
    """Give the kind of workload of each group and of its answers; empty of captures."""
    kinds: dict[str, str] = {}
    for _, name, workload in workloads(results):
        kinds[name] = "volume" if is_of_a_volume(workload) else workload["kind"]
        if workload["kind"] in ANSWERED_KINDS:
            is_small = _is_small_answer(workload)
            kinds[f"{name}{ANSWERS}"] = "small answers" if is_small else "greedy"
    return kinds


def _is_small_answer(workload: Mapping[str, Any]) -> bool:
    """Whether a response fits a packet, so that only its time means something."""
    response = workload.get("response")
    return isinstance(response, str) and parse_bytes(response) <= SMALL_ANSWER_BYTES


def _chosen(subject: Subject, estimates: Estimates, kinds: Mapping[str, str]) -> Estimates:
    """Leave the measures of a subject that the workloads of groups make meaningful."""
    frame = estimates.frame
    if subject == GROUPS:
        rows = [
            measure in BY_WORKLOAD.get(kinds.get(group, ""), (measure,))
            for group, measure in frame.select("group", "measure").iter_rows()
        ]
        # Leave out measures that no group has, and groups without any measure.
        is_known = pl.col("mean").is_not_null().any()
        frame = frame.with_columns(
            pl.when(pl.Series(rows, dtype=pl.Boolean)).then(pl.col("mean", "low", "high"))
        ).filter(is_known.over("measure"), is_known.over(list(estimates.keys)))
    elif subject == TRANSFERS:
        frame = _without_idle_counts(frame)
    elif subject == FAIRNESS:
        frame = frame.filter(pl.col("among").is_in(_competitors(kinds)))
    return Estimates(frame, estimates.keys)


def _without_idle_counts(transfers: pl.DataFrame) -> pl.DataFrame:
    """Leave out how many transfers ended, unless some did not."""
    counts = ("ended_transfers", "unfinished_transfers")
    unfinished = transfers.filter(measure=counts[1])["mean"]
    return (
        transfers if (unfinished > 0).any() else transfers.filter(~pl.col("measure").is_in(counts))
    )


def _competitors(kinds: Mapping[str, str]) -> list[str]:
    """Name those among whom fairness means something: flows that take all that they get."""
    greedy = [group for group, kind in kinds.items() if kind == "greedy"]
    among = [f"flows of {group}" for group in greedy]
    return [*among, "all flows", "groups, per flow"] if len(greedy) == len(kinds) else among


def _table(estimates: Estimates) -> ShownTable:
    headers, rows = readable(estimates)
    measures = estimates.frame["measure"].unique(maintain_order=True).to_list()
    by_measure = dict(zip(measures, headers[len(estimates.keys) :], strict=True))
    dispensable = [by_measure[measure] for measure in DISPENSABLE if measure in by_measure]
    return ShownTable(headers, rows, dispensable)
