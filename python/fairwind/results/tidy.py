"""Tables rearranged for figures and claims, and times of transfers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from fairwind.quantities import parse_seconds
from fairwind.results.results import Results


def with_cell_label(results: Results, frame: pl.DataFrame) -> pl.DataFrame:
    """Add ``cell_label``, the settings of each row's cell in the order of the axes."""
    axes = results.manifest.plan.axes
    if not axes:
        return frame.with_columns(pl.lit(results.manifest.plan.name).alias("cell_label"))
    settings = [pl.col(axis.column).cast(pl.String) for axis in axes]
    return frame.with_columns(pl.concat_str(settings, separator=", ").alias("cell_label"))


def _leading(results: Results) -> list[str]:
    return ["cell", "replicate", "seed", *results.manifest.plan.axis_columns]


def group_windows(results: Results) -> pl.DataFrame:
    """Give the windows of every group at the shortest interval that the run measured.

    Returns
    -------
    DataFrame
        Leading columns, ``group``, ``start_s`` (seconds since the experiment began),
        ``interval_s``, ``throughput_bits_per_second``, ``goodput_bits_per_second``.
    """
    windows = results.intervals.filter(pl.col("scope") == "group")
    return windows.filter(pl.col("interval_s") == pl.col("interval_s").min())


def latency_buckets(results: Results, kind: str) -> pl.DataFrame:
    """Give the histogram buckets of one kind of latency.

    Parameters
    ----------
    kind : str
        ``"ack"`` or ``"delivery"``.

    Returns
    -------
    DataFrame
        Leading columns, ``group``, ``lower_s``, ``upper_s`` (seconds), ``count``.
    """
    return results.latency_histogram.filter(pl.col("kind") == kind)


def drops(results: Results) -> pl.DataFrame:
    """Give what queues dropped of each group: leading columns, ``group``, ``packets``."""
    keys = [*_leading(results), "group"]
    return results.queue_drops.group_by(keys, maintain_order=True).agg(pl.col("packets").sum())


def central_queue(results: Results) -> str | None:
    """Name the queue that dropped most, or, where none did, through which most bytes went."""
    if not results.has_table("queue_drops") or not results.queue_drops.height:
        return None
    sums = results.queue_drops.group_by("queue", maintain_order=True).agg(
        pl.col("packets", "enqueued_bytes").sum()
    )
    return str(sums.sort("packets", "enqueued_bytes", descending=True)["queue"][0])


def of_queue(results: Results, name: str, queue: str) -> pl.DataFrame:
    """Give the rows of one queue in the table of this name; none where there is no such table."""
    if not results.has_table(name):
        return pl.DataFrame()
    frame = results.table(name)
    return frame.filter(pl.col("queue") == queue) if frame.height else frame


def relative_losses(results: Results, queue: str) -> pl.DataFrame:
    """Give what share of a group's packets, and of its bytes, a queue dropped.

    Returns
    -------
    DataFrame
        Leading columns, ``group``, ``counted`` (``packets`` or ``bytes``) and ``loss_ratio``;
        groups that offered nothing to the queue are left out.
    """
    keys, frame = [*_leading(results), "group"], of_queue(results, "queue_drops", queue)
    if "packet_drop_ratio" not in frame.columns:
        return pl.DataFrame()  # of a folder that an older version wrote
    return (
        frame.select(*keys, packets="packet_drop_ratio", bytes="byte_drop_ratio")
        .unpivot(["packets", "bytes"], index=keys, variable_name="counted", value_name="loss_ratio")
        .drop_nulls("loss_ratio")
    )


def queue_windows(results: Results, queue: str) -> pl.DataFrame:
    """Give what waited in a queue, window by window.

    Returns
    -------
    DataFrame
        Leading columns, ``start_s`` (seconds since the experiment began), ``interval_s``,
        ``measure`` (in words, with its unit), ``mean`` and ``most``; nothing is known of windows in
        which nobody came, or left.
    """
    frame = of_queue(results, "queue_intervals", queue)
    if not frame.height:
        return pl.DataFrame()
    leading = [*_leading(results), "start_s", "interval_s"]
    waiting = frame.select(
        *leading,
        pl.lit("waiting packets found by arrivals").alias("measure"),
        mean=pl.col("arrival_backlog_mean_packets").cast(pl.Float64),
        most=pl.col("arrival_backlog_max_packets").cast(pl.Float64),
    )
    sojourn = frame.select(
        *leading,
        pl.lit("waiting time / ms").alias("measure"),
        mean=pl.col("sojourn_mean_s") * 1000,
        most=pl.col("sojourn_max_s") * 1000,
    )
    return pl.concat([waiting, sojourn]).drop_nulls("mean")


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
        of the run, or a connection's being given up, cut short), and times of those that ended,
        from the flow's start to its finish: quantiles ``completion_time_p50_s`` and
        ``completion_time_p90_s``, or ``completion_time_s`` where each run has a single one.
    """
    flows = transfers(results)
    if flows.is_empty():
        return flows
    times = pl.col("completion_time_s").filter("has_ended")
    rows = flows.group_by([*_leading(results), "group"], maintain_order=True).agg(
        pl.col("has_ended").sum().alias("ended_transfers"),
        pl.col("finished_s").is_null().sum().alias("unfinished_transfers"),
        times.mean(),
        times.quantile(0.5, "linear").alias("completion_time_p50_s"),
        times.quantile(0.9, "linear").alias("completion_time_p90_s"),
        pl.len().alias("transfers"),
    )  # fmt: skip
    is_single = pl.col("transfers").max().over("cell", "group") == 1
    quantiles = pl.col("completion_time_p50_s", "completion_time_p90_s")
    return rows.with_columns(
        pl.when(is_single).then("completion_time_s"), pl.when(~is_single).then(quantiles)
    ).drop("transfers")


def transfers(results: Results) -> pl.DataFrame:
    """Give the flows that are transfers, one row each; none where the plan has no transfers.

    Returns
    -------
    DataFrame
        The columns of the flows, and ``has_ended``: whether it did after the warm-up.
    """
    meant = pl.DataFrame(
        list(_groups_of_transfers(results)),
        schema={"cell": pl.UInt32, "group": pl.String, "warm_up_s": pl.Float64},
        orient="row",
    )
    if meant.is_empty():
        return pl.DataFrame()
    flows = results.flows.with_columns(pl.col("cell").cast(pl.UInt32))
    ended = (pl.col("finished_s") >= pl.col("warm_up_s")).fill_null(value=False)
    return flows.join(meant, on=["cell", "group"], maintain_order="left").with_columns(
        ended.alias("has_ended")
    )


def _groups_of_transfers(results: Results) -> Iterator[tuple[int, str, float]]:
    cells = {cell.index: cell.experiment for cell in results.manifest.plan.cells}
    for cell, name, workload in workloads(results):
        warm_up_s = parse_seconds(cells[cell].get("measure", {}).get("warmup", "0 s"))
        if workload["kind"] == "transfers":
            yield cell, f"{name}{ANSWERS}", warm_up_s
        elif is_of_a_volume(workload):
            yield cell, name, warm_up_s


def workloads(results: Results) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Give cells, groups and their workloads; of captures nothing is known of these."""
    for cell, group in groups_with_workload(results):
        yield cell, group["name"], group["workload"]


def groups_with_workload(results: Results) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Give cells and the tables of their groups of flows; of captures none has a workload."""
    for cell in results.manifest.plan.cells:
        for group in cell.experiment.get("flows", ()):
            if "workload" in group:
                yield cell.index, group


def is_of_a_volume(workload: Mapping[str, Any]) -> bool:
    """Return whether a stream writes a volume as fast as it can."""
    return workload["kind"] == "greedy" and workload.get("volume") is not None


def has_answers(results: Results) -> bool:
    """Return whether some group's calls are answered."""
    return any(workload["kind"] in ANSWERED_KINDS for _, _, workload in workloads(results))


def one_after_the_other(results: Results) -> list[str]:
    """Name the groups of flows that do not share a path at one time, but follow one another."""
    return [
        f"{name}{ending}"
        for _, name, workload in workloads(results)
        if workload["kind"] == "transfers"
        for ending in ("", ANSWERS)
    ]
