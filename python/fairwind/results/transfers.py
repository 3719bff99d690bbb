"""Times of transfers: flows of a volume, which end when all of it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from fairwind.quantities import parse_seconds
from fairwind.results.results import Results

ANSWERS = "-responses"
"""Suffix of the group that carries the answers to another group's calls."""

ANSWERED_KINDS = ("transfers", "request-response", "web")
"""Workloads of two groups each: those who ask, and what they are answered."""


def transfer_times(results: Results) -> pl.DataFrame:
    """Give the times of the transfers that ended when the warm-up was over.

    Transfers are what is sent upon the calls of ``transfers``, and greedy streams of a volume.

    Returns
    -------
    DataFrame
        Leading columns, ``group``, ``ended_transfers``, ``unfinished_transfers`` (which the end
        of the run, or a connection's being given up, cut short), and quantiles of the times of
        those that ended, from the flow's start to its finish: ``completion_time_p50_s`` and
        ``completion_time_p90_s``.
    """
    meant = pl.DataFrame(
        list(_groups_of_transfers(results)),
        schema={"cell": pl.UInt32, "group": pl.String, "warm_up_s": pl.Float64},
        orient="row",
    )
    if meant.is_empty():
        return pl.DataFrame()
    flows = results.flows.with_columns(pl.col("cell").cast(pl.UInt32)).join(
        meant, on=["cell", "group"], maintain_order="left"
    )
    axes = [axis.column for axis in results.manifest.plan.axes]
    ended = pl.col("finished_s") >= pl.col("warm_up_s")
    times = pl.col("completion_time_s").filter(ended)
    return flows.group_by(["cell", "replicate", "seed", *axes, "group"], maintain_order=True).agg(
        ended.sum().alias("ended_transfers"),
        pl.col("finished_s").is_null().sum().alias("unfinished_transfers"),
        times.quantile(0.5, "linear").alias("completion_time_p50_s"),
        times.quantile(0.9, "linear").alias("completion_time_p90_s"),
    )  # fmt: skip


def _groups_of_transfers(results: Results) -> Iterator[tuple[int, str, float]]:
    for cell in results.manifest.plan.cells:
        warm_up_s = parse_seconds(cell.experiment.get("measure", {}).get("warmup", "0 s"))
        for name, workload in _workloads(cell.experiment):
            if workload["kind"] == "transfers":
                yield cell.index, f"{name}{ANSWERS}", warm_up_s
            elif is_of_a_volume(workload):
                yield cell.index, name, warm_up_s


def _workloads(experiment: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Give groups and their workloads; of captures nothing is known of these."""
    groups = experiment.get("flows", ())
    return [(group["name"], group["workload"]) for group in groups if "workload" in group]


def is_of_a_volume(workload: Mapping[str, Any]) -> bool:
    """Return whether a stream writes a volume as fast as it can."""
    return workload["kind"] == "greedy" and workload.get("volume") is not None


def has_answers(results: Results) -> bool:
    """Return whether some group's calls are answered."""
    return any(
        workload["kind"] in ANSWERED_KINDS
        for cell in results.manifest.plan.cells
        for _, workload in _workloads(cell.experiment)
    )


def one_after_the_other(results: Results) -> list[str]:
    """Name the groups whose flows do not share a path at one time, but follow one another."""
    return [
        f"{name}{ending}"
        for cell in results.manifest.plan.cells
        for name, workload in _workloads(cell.experiment)
        if workload["kind"] == "transfers"
        for ending in ("", ANSWERS)
    ]
