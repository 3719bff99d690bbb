"""Warnings about a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from fairwind.results import (
    Results,
    has_lateness,
    late_hosts,
    late_runs,
    limits_in_words,
    never_resumed_in_words,
)

FEW_REPLICATES = 3
MOST_FAILURES = 5
"""Failures beyond these are only counted."""

MOST_LATE = 3
"""So many late runs are named, the worst ones."""


def warnings(results: Results) -> list[str]:
    """Give warnings about a run, the gravest first."""
    return [
        *_failures(results),
        *_late(results),
        *_late_hosts(results),
        *_missed(results),
        *_unsent(results),
        *_control_complaints(results),
        *_empty_windows(results),
        *limits_in_words(results),
        *never_resumed_in_words(results),
        *results.manifest.plan.warnings,
        *_captured(results),
        *_replicates(results),
        *_replicates_without_difference(results),
        *_never_established(results),
    ]


def _failures(results: Results) -> Iterator[str]:
    failures = results.failures
    yield from (f"Failed and therefore missing: {one}." for one in failures[:MOST_FAILURES])
    if len(failures) > MOST_FAILURES:
        yield f"{len(failures) - MOST_FAILURES} further runs failed."


def _control_complaints(results: Results) -> list[str]:
    """Warn of faults of congestion controls, once for each group and fault."""
    complaints = results.control_complaints
    if complaints is None:
        return []
    found = (
        complaints.group_by("group", "congestion", "complaint", maintain_order=True)
        .agg(
            pl.col("connections").sum(),
            pl.struct("cell", "replicate").n_unique().alias("runs"),
            pl.col("cell").unique(),
            pl.when(pl.col("times").is_not_null().all()).then(pl.col("times").sum()),
        )
        .iter_rows(named=True)
    )
    return [
        f"Congestion control {row['congestion']} of group {row['group']}"
        f"{_place(results, row['cell'])}: {row['complaint']}"
        + (f" ({row['times']} times)" if row["times"] is not None else "")
        + f"; in {row['connections']} connections of {row['runs']} runs. The results say little "
        "about the intended algorithm."
        for row in found
    ]


def _empty_windows(results: Results) -> list[str]:
    """Warn of flows on the kernel with a congestion control that left them no window."""
    senders = results.senders
    if senders is None or "cwnd_packets" not in senders.columns:  # of an earlier version
        return []
    empty = senders.filter((pl.col("busy_s") > 0) & (pl.col("cwnd_packets") == 0))
    found = empty.group_by("group", maintain_order=True).agg(
        pl.len().alias("flows"), pl.col("cell").unique()
    )
    return [
        f"The congestion window of {row['flows']} flow{'s' if row['flows'] > 1 else ''} of group "
        f"{row['group']}{_place(results, row['cell'])} was 0 at the end. Only a congestion control "
        "can set this; the flow sends nothing but probes."
        for row in found.iter_rows(named=True)
    ]


def _place(results: Results, cells: Sequence[int]) -> str:
    """Write where something holds: `` (change Reno)``; empty for all cells."""
    where = results.manifest.plan.cells_in_words(cells)
    return f" ({where})" if where else ""


def _late(results: Results) -> Iterator[str]:
    late = late_runs(results)
    if late.is_empty():
        return
    named = "; ".join(
        f"cell {row['cell']}, seed {row['seed']}: {row['lateness_p99_s'] * 1e6:.0f} us against "
        f"{row['bound_s'] * 1e6:.0f} us"
        for row in late.head(MOST_LATE).iter_rows(named=True)
    )
    more = f", and {late.height - MOST_LATE} more" if late.height > MOST_LATE else ""
    yield (
        f"Late: in {late.height} of {results.lateness.height} runs the router exceeded its bound "
        f"in one of a hundred deliveries ({named}{more}). Delays of these runs are not "
        "trustworthy; repeat them with --jobs 1 on an idle machine."
    )


def _most_first(results: Results, column: str) -> pl.DataFrame:
    """Give the runs in real time in which a count is not 0, that with the most first."""
    if not has_lateness(results) or column not in results.lateness.columns:
        return pl.DataFrame()
    return results.lateness.filter(pl.col(column) > 0).sort(column, descending=True)


def _missed(results: Results) -> Iterator[str]:
    missed = _most_first(results, "events_missed")
    for worst in missed.head(1).iter_rows(named=True):
        yield (
            f"Missed: in {missed.height} of {results.lateness.height} runs the kernel lost trace "
            f"events; the most are {worst['events_missed']} events or more, in cell "
            f"{worst['cell']}, seed {worst['seed']}, of {worst['packets_taken']} packets seen. "
            "Counts of packets, queues, time-outs and recoveries are too low, sums do not agree, "
            "and captures have holes; reads and writes of applications are complete."
        )


def _unsent(results: Results) -> Iterator[str]:
    unsent = _most_first(results, "datagrams_missing")
    for worst in unsent.head(1).iter_rows(named=True):
        yield (
            f"Unsent: in {unsent.height} of {results.lateness.height} runs the devices of hosts "
            f"were full, for {worst['datagrams_missing']} datagrams or more in cell "
            f"{worst['cell']}, seed {worst['seed']}. The tables count them neither as sent nor as "
            "lost: this machine cannot carry the load."
        )


def _late_hosts(results: Results) -> Iterator[str]:
    late = late_hosts(results)
    for worst in late.head(1).iter_rows(named=True):
        yield (
            f"Late applications: at {late.height} of {results.hosts.height} hosts one of a hundred "
            f"timed writes was more than 1 ms late, at worst {worst['late_write_p99_s'] * 1e3:.1f}"
            f" ms (host {worst['host']}, cell {worst['cell']}, seed {worst['seed']}). Reads and "
            "acknowledgments were late, too; repeat these runs on an idle machine."
        )


def _captured(results: Results) -> Iterator[str]:
    """Warn of defects of captures, and of measures that they do not have."""
    if captured := results.manifest.captured:
        if not captured.is_complete:
            yield "Interrupted: the rest of the captures was not read."
        yield from (*captured.caveats, *captured.notes)


def _replicates(results: Results) -> Iterator[str]:
    replicates = results.manifest.plan.replicates
    if results.manifest.is_foreign:
        return
    if replicates == 1:
        yield "One run per cell: there are no intervals; set sweep.repeat for several."
    elif replicates < FEW_REPLICATES:
        yield f"Only {replicates} runs per cell: intervals are very wide."


def _replicates_without_difference(results: Results) -> Iterator[str]:
    groups = results.groups
    if results.manifest.is_real_time:
        return
    same = groups.select(pl.all().exclude("replicate", "seed")).unique().height
    if groups.height > same <= groups.select("cell", "group").unique().height:
        yield (
            "All runs of a cell have the same results: the seed has no effect in this scenario, so "
            "intervals have no width. Random starts (start_spread, start_pattern = "
            '"random") make runs differ.'
        )


def _never_established(results: Results) -> Iterator[str]:
    flows = results.flows
    if "established" not in flows.columns:
        return
    never = flows.filter(~pl.col("established").cast(pl.Boolean))
    if never.height:
        cells = never["cell"].unique().to_list()
        every = flows.filter(pl.col("cell").is_in(cells)).height
        yield (
            f"{never.height} of {every} flows{_place(results, cells)} never established a "
            "connection; they count with a goodput of 0 and have no latency."
        )
