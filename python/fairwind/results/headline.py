"""Latency under load: round trips of a probe beside other flows, against an idle path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwind.preview.network import Network
from fairwind.preview.traffic import HEADERS_BYTES
from fairwind.quantities import parse_bytes, significant
from fairwind.results.results import Results
from fairwind.results.summary import with_uncertainty
from fairwind.statistics import mean_interval

PROBE = "probe"
"""The group of requests and responses whose response time is the latency under load."""

QUANTILES = {"p50": "response_time_p50_s", "p99": "response_time_p99_s"}


def latency_under_load(results: Results) -> pl.DataFrame:
    """Compare the round trips of the group ``probe`` with those of an idle path.

    Returns
    -------
    DataFrame
        One row per cell that has such a group with small requests and responses: ``cell``, one
        column per axis, ``idle_s`` (one request and its response without any queue, computed from
        the links), and for the median and the 99th percentile the mean over replicates with its
        95 % interval (Student's t): ``p50_s``, ``p50_low_s``, ``p50_high_s``, ``p99_s`` and so on.
        Bounds are missing with one replicate. Empty if no cell has a probe.
    """
    plan = results.manifest.plan
    rows = []
    for cell in plan.cells:
        idle_s = idle_exchange_s(cell.experiment)
        if idle_s is None:
            continue
        measured = results.groups.filter(cell=cell.index, group=PROBE)
        row: dict[str, object] = {"cell": cell.index}
        row |= {axis.column: axis.value(cell.settings[axis.name]) for axis in plan.axes}
        row["idle_s"] = idle_s
        for name, column in QUANTILES.items():
            values = measured[column].cast(pl.Float64).drop_nulls().to_numpy()
            one = mean_interval(values)
            row |= {f"{name}_s": one.estimate, f"{name}_low_s": one.low, f"{name}_high_s": one.high}
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)) if rows else frame


def idle_exchange_s(experiment: Mapping[str, Any]) -> float | None:
    """Give the time of a probe's request and response on an idle path; None without a probe."""
    groups = (group for group in experiment.get("flows", ()) if group["name"] == PROBE)
    group = next(groups, None)
    if group is None or group.get("workload", {}).get("kind") != "request-response":
        return None
    sizes = [group["workload"][key] for key in ("request", "response")]
    if not all(isinstance(size, str) for size in sizes):
        return None
    network = Network.of(experiment["network"])
    request, response = (parse_bytes(size) + HEADERS_BYTES for size in sizes)
    if max(request, response) > network.mtu_bytes:
        return None
    return network.exchange_s(group["from"], group["to"], request, response)


def headlines(results: Results) -> list[str]:
    """Write the latency under load of each cell in a line; empty if there is no probe."""
    axes = results.manifest.plan.axes
    lines = []
    for row in latency_under_load(results).iter_rows(named=True):
        settings = ", ".join(f"{axis.name} {row[axis.column]}" for axis in axes)
        place = f" ({settings})" if settings else ""
        loaded = ", ".join(_increase(row, name) for name in QUANTILES)
        idle = significant(1e3 * row["idle_s"], 3)
        lines.append(f"latency under load{place}: idle {idle} ms; {loaded}")
    return lines


def _increase(row: Mapping[str, Any], name: str) -> str:
    """Write a quantile and how far it is above the idle path."""
    mean, high = row[f"{name}_s"], row[f"{name}_high_s"]
    if mean is None:
        return f"{name} unknown"
    more = f"+{significant(1e3 * (mean - row['idle_s']), 3)} ms".replace("+-", "-")
    if high is None or high == mean:
        return f"{name} {significant(1e3 * mean, 3)} ms ({more})"
    return f"{name} {with_uncertainty(1e3 * mean, 1e3 * (high - mean))} ms ({more})"
