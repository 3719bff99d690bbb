"""Lateness of the router and the hosts of a run in real time, and the overview of a run."""

from __future__ import annotations

from typing import Any

import polars as pl

from fairwind.quantities import significant
from fairwind.results.results import Results
from fairwind.results.summary import overview, readable

TABLE = "lateness"
HOSTS = "hosts"
MICROSECONDS = 1e6

HOST_BOUND_S = 1e-3
"""What the 99th percentile of a host's late writes may be. Latencies count from the write as it
was made; but where writes come late, so do reads, and the acknowledgments that reads send."""

STALL_S = 0.01
"""Who is once this late has stood still: no percentile shows it, and queues overflow by it."""


def has_lateness(results: Results) -> bool:
    """Return whether a run has measures of lateness."""
    return results.has_table(TABLE) and bool(results.table(TABLE).width)


def late_runs(results: Results) -> pl.DataFrame:
    """Give the rows of runs with a lateness beyond its bound, the worst first."""
    if not has_lateness(results):
        return pl.DataFrame()
    late = results.table(TABLE).filter(pl.col("exceeds_bound"))
    return late.sort(pl.col("lateness_p99_s") / pl.col("bound_s"), descending=True)


def late_hosts(results: Results) -> pl.DataFrame:
    """Give the rows of hosts with applications that woke too late, the worst first."""
    if not _has_rows(results, HOSTS):
        return pl.DataFrame()
    late = results.table(HOSTS).filter(pl.col("late_write_p99_s") > HOST_BOUND_S)
    return late.sort("late_write_p99_s", descending=True)


def lateness_by_cell(results: Results) -> pl.DataFrame:
    """Give each cell's worst run, one row per cell.

    Returns
    -------
    DataFrame
        ``cell``, one column per axis, ``runs``, ``late_runs``, ``bound_s``, and the largest median,
        99th percentile and maximum over the cell's runs: ``lateness_p50_s``, ``lateness_p99_s``,
        ``lateness_max_s``; ``late_write_p99_s`` of the worst host, missing without timed writes.
    """
    worst = ("bound_s", "lateness_p50_s", "lateness_p99_s", "lateness_max_s")
    by_cell = (
        results.table(TABLE)
        .group_by("cell", *results.manifest.plan.axis_columns, maintain_order=True)
        .agg(
            pl.len().alias("runs"),
            pl.col("exceeds_bound").sum().alias("late_runs"),
            *(pl.col(name).max() for name in worst),
        )
    )
    if not _has_rows(results, HOSTS):
        return by_cell.with_columns(pl.lit(None, pl.Float64).alias("late_write_p99_s"))
    hosts = results.table(HOSTS).group_by("cell").agg(pl.col("late_write_p99_s").max())
    return by_cell.join(hosts, on="cell", how="left", maintain_order="left")


def readable_lateness(results: Results) -> tuple[list[str], list[list[object]]]:
    """Give headers and rows of the punctuality of every cell, those beyond the bound marked.

    Where no router of ours delivered anything, as on a path of the kernel's own parts, hosts alone
    can be late, and columns of the router are left out.
    """
    axes = results.manifest.plan.axis_columns
    has_router = not _routed(results).is_empty()
    of_router = ["lateness p50 / us", "p99 / us", "max / us", "bound / us", "beyond it"]
    headers = [*axes, *(of_router if has_router else []), "late writes p99 / us"]
    rows: list[list[object]] = [
        [
            *(row[axis] for axis in axes),
            *(_router_in_words(row) if has_router else []),
            _microseconds(row["late_write_p99_s"]),
        ]
        for row in lateness_by_cell(results).iter_rows(named=True)
    ]
    return headers, rows


def _router_in_words(row: dict[str, Any]) -> list[object]:
    if row["lateness_p99_s"] is None:
        return [None] * 5
    times = ("lateness_p50_s", "lateness_p99_s", "lateness_max_s", "bound_s")
    late = f"LATE: {row['late_runs']} of {row['runs']} runs" if row["late_runs"] else "no run"
    return [*(_microseconds(row[name]) for name in times), late]


def lateness_in_words(results: Results) -> str | None:
    """Describe the lateness of a run; None in virtual time, or if nothing was timed."""
    if not has_lateness(results):
        return None
    text = (_router_lateness_in_words(results), _late_writes_in_words(results))
    return " ".join(sentence for sentence in text if sentence) or None


def _router_lateness_in_words(results: Results) -> str:
    rows = _routed(results)
    if rows.is_empty():
        return ""
    worst = rows.sort("lateness_p99_s", descending=True).row(0, named=True)
    usual = rows.select(pl.col("lateness_p99_s").median()).item()
    late = int(rows["exceeds_bound"].sum())
    return (
        f"Lateness of the router, 99th percentile: {usual * MICROSECONDS:.0f} us in the "
        f"median run, {worst['lateness_p99_s'] * MICROSECONDS:.0f} us in the worst, where the "
        f"bound is {worst['bound_s'] * MICROSECONDS:.0f} us; beyond its bound: {late} of "
        f"{rows.height} {'run' if rows.height == 1 else 'runs'}.{_stalls_in_words(rows)}"
    )


def _stalls_in_words(rows: pl.DataFrame) -> str:
    """Count the runs in which the machine stood still; empty if there are none."""
    stalled = rows.filter(pl.col("lateness_max_s") > STALL_S)
    if stalled.is_empty():
        return ""
    worst = float(stalled.select(pl.col("lateness_max_s").max()).item())
    return (
        f" In {stalled.height} of {rows.height} a packet was more than {1000 * STALL_S:.0f} ms "
        f"late, {1000 * worst:.0f} ms at most: the machine stalled, and the packets of this time "
        "reached the queues together."
    )


def _routed(results: Results) -> pl.DataFrame:
    """Give the rows of runs in which our own router delivered packets, early or late."""
    return results.table(TABLE).filter(pl.col("lateness_p99_s").is_not_null())


def _late_writes_in_words(results: Results) -> str:
    if not _has_rows(results, HOSTS):
        return ""
    worst = results.table(HOSTS)["late_write_p99_s"].drop_nulls().max()
    if not isinstance(worst, float):
        return ""
    text = _microseconds(worst)
    return f"Late writes of applications, 99th percentile: {text} us in the worst run."


def _has_rows(results: Results, table: str) -> bool:
    return results.has_table(table) and results.table(table).height > 0


def _microseconds(seconds: float | None) -> str | None:
    return None if seconds is None else significant(seconds * MICROSECONDS, 3)


def readable_overview(results: Results) -> list[tuple[list[str], list[list[object]]]]:
    """Give tables of groups, queues and fairness, and of lateness if the run was in real time."""
    tables = [readable(estimates) for estimates in overview(results).values()]
    if has_lateness(results):
        tables.append(readable_lateness(results))
    return tables
