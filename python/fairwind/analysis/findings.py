"""What a capture shows first: losses, repairs, delays, limits and waits, a line for each.

Every line is a count or a time of a table, with the connection that has the most of it. None says
why: that is for the reader of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairwind.analysis.summary import CAUSES, limiting, slowest_rows
from fairwind.quantities import counted, significant, time_in_words
from fairwind.results import Results

REPAIRS = {
    "fast_retransmit_segments": "by fast retransmit",
    "timeout_segments": "by time-out",
    "after_timeout_segments": "after a time-out",
    "tail_loss_probe_segments": "as tail loss probes",
    "unknown_segments": "for an unknown cause",
}
"""Columns of the retransmitted segments by cause, and the cause in words."""

OF_FLOWS = ("cell", "replicate", "flow", "name", "packets_sent", "packets_lost")
OF_TRANSPORT = (
    "data_segments",
    "retransmitted_segments",
    *REPAIRS,
    "spurious_by_report",
    "timeouts",
    "rtt_samples",
    "rtt_min_s",
    "rtt_mean_s",
    "idle_ratio",
    "application_limited_ratio",
    "receiver_limited_ratio",
    "congestion_limited_ratio",
    "zero_windows",
    "zero_window_s",
)

LEAST_ABOVE_RATIO = 0.1
"""Smallest delays of two connections differ if by this share of the mean delay beyond them."""

FEW_SAMPLES = 10
"""The mean of fewer round trips is not compared with the smallest."""


@dataclass(frozen=True)
class Finding:
    """One line about a capture.

    Attributes
    ----------
    topic, text : str
    """

    topic: str
    text: str


def findings(results: Results) -> list[Finding]:
    """Give what a capture shows first; empty for the captures of several runs together."""
    flows = _flows(results)
    if flows.is_empty():
        return [*_setups(results)]
    if flows.select("cell", "replicate").n_unique() > 1:
        return []
    return [
        *_losses(flows),
        *_repairs(flows),
        *_timeouts(flows),
        *_loss_windows(results),
        *_queueing(results),
        *_least_delays(results, flows),
        *_round_trips(flows),
        *_limits(flows),
        *_closed_windows(flows),
        *_setups(results),
        *_longest_wait(results),
    ]


def _flows(results: Results) -> pl.DataFrame:
    """Give the columns of the flows that lines are made of, and of them no more."""
    if not (results.has_table("flows") and results.has_table("transport")):
        return pl.DataFrame()
    transport = results.scan("transport").filter(scope="flow").select("flow", *OF_TRANSPORT)
    flows = results.scan("flows").select(*OF_FLOWS)
    return flows.join(transport, on="flow", how="left", maintain_order="left").collect()


def _share(part: float, whole: float) -> str:
    return f"{significant(100 * part / whole, 2)} %"


def _most(flows: pl.DataFrame, by: str) -> dict[str, Any]:
    """Give the flow with the most of a column, the first one of several."""
    return flows.sort(by, descending=True, nulls_last=True, maintain_order=True).row(0, named=True)


def _of_its(flow: dict[str, Any], part: str, whole: str) -> str:
    share = _share(flow[part], flow[whole])
    return f"{flow['name']}: {flow[part]} of its {flow[whole]} ({share})"


def _counted_by_flow(flows: pl.DataFrame, part: str, whole: str, what: str) -> str:
    """Write a count, the flow that has most of it, and that with the largest share."""
    part_of_all, all_of_it = int(flows[part].sum()), int(flows[whole].sum())
    text = f"{part_of_all} of {all_of_it} {what}"
    if not part_of_all:
        return text
    most = _most(flows, part)
    worst = _most(flows.with_columns(share=pl.col(part) / pl.col(whole)).fill_nan(0), "share")
    text += f" ({_share(part_of_all, all_of_it)}); most in {_of_its(most, part, whole)}"
    if worst["flow"] != most["flow"]:
        text += f"; largest share in {_of_its(worst, part, whole)}"
    return text


def _losses(flows: pl.DataFrame) -> Iterator[Finding]:
    seen = flows.drop_nulls(["packets_sent", "packets_lost"])
    if seen["packets_sent"].sum():
        text = _counted_by_flow(seen, "packets_lost", "packets_sent", "packets")
        yield Finding("lost", text)


def _repairs(flows: pl.DataFrame) -> Iterator[Finding]:
    if not flows["data_segments"].sum():
        return
    text = _counted_by_flow(flows, "retransmitted_segments", "data_segments", "data segments")
    yield Finding("sent again", text)
    near = _near_sender(flows)
    # Near the receiver timers are not seen, so that causes are estimates.
    estimated = " (estimated, seen near the receiver)" if near.is_empty() else ""
    seen = flows if near.is_empty() else near
    causes = {words: int(seen[column].sum()) for column, words in REPAIRS.items()}
    parts = [f"{count} {words}" for words, count in causes.items() if count]
    if needless := int(seen["spurious_by_report"].sum()):
        parts.append(f"{needless} of all reported as duplicates")
    if parts:
        yield Finding("causes", f"{'; '.join(parts)}{estimated}")


def _near_sender(flows: pl.DataFrame) -> pl.DataFrame:
    """Give the flows that were seen leaving."""
    return flows.filter(pl.col("packets_sent").is_not_null())


def _timeouts(flows: pl.DataFrame) -> Iterator[Finding]:
    flows = _near_sender(flows)
    if timeouts := int(flows["timeouts"].sum()):
        most = _most(flows, "timeouts")
        yield Finding("time-outs", f"{timeouts}; most in {most['name']}: {most['timeouts']}")


def _windows(results: Results, table: str, measure: pl.Expr) -> pl.DataFrame:
    """Give a measure of all groups together in each window, those of the shortest length.

    Windows in which it is unknown have no row.
    """
    if not results.has_table(table):
        return pl.DataFrame()
    rows = results.scan(table)
    if "scope" in rows.collect_schema().names():
        rows = rows.filter(scope="group")
    rows = rows.drop_nulls(measure.meta.root_names())
    shortest = rows.filter(pl.col("interval_s") == pl.col("interval_s").min())
    return shortest.group_by("interval_s", "start_s").agg(measure).sort("start_s").collect()


def _loss_windows(results: Results) -> Iterator[Finding]:
    """Say when packets were lost, or payload was sent again where losses are not seen."""
    for table, column, what, unit in (
        ("losses", "packets_lost", "losses", ""),
        ("intervals", "bytes_retransmitted", "payload sent again", " B"),
    ):
        windows = _windows(results, table, pl.col(column).sum())
        if windows.is_empty():
            continue
        some = windows.filter(pl.col(column) > 0)
        if some.height and windows.height > 1:
            yield Finding("when", f"{what} in {_span(some, column, unit)}")
        return


def _span(windows: pl.DataFrame, column: str, unit: str) -> str:
    """Write how many windows there are, the first, the last, and that with the most."""
    start_s = windows["start_s"]
    most = windows[column].arg_max() or 0
    text = f"{counted(windows.height, 'window')} of {time_in_words(windows['interval_s'][0])}"
    if windows.height == 1:
        return f"{text}, from {start_s[0]:g} s on ({windows[column][0]}{unit})"
    return (
        f"{text}: the first from {start_s[0]:g} s on, the last from {start_s[-1]:g} s on, most "
        f"({windows[column][most]}{unit}) from {start_s[most]:g} s on"
    )


def _queueing(results: Results) -> Iterator[Finding]:
    mean_s = (pl.col("mean_s") * pl.col("ranges")).sum() / pl.col("ranges").sum()
    windows = _windows(results, "queueing", mean_s.alias("mean_s"))
    if windows.height < 2:
        return
    most = windows["mean_s"].arg_max() or 0
    least_s, most_s = windows["mean_s"][windows["mean_s"].arg_min() or 0], windows["mean_s"][most]
    length = time_in_words(windows["interval_s"][0])
    yield Finding(
        "queueing",
        f"mean delay beyond a flow's smallest, in windows of {length}: "
        f"{time_in_words(least_s)} to {time_in_words(most_s)}, most from "
        f"{windows['start_s'][most]:g} s on",
    )


def _least_delays(results: Results, flows: pl.DataFrame) -> Iterator[Finding]:
    """Tell of a connection that never saw the queue as empty as another one of its direction."""
    if not results.has_table("delays"):
        return
    network = results.scan("delays").filter(scope="flow", layer="network")
    delays = network.select("flow", "min_s", "variation_mean_s").collect()
    known = _near_sender(flows).join(delays, on="flow").drop_nulls("min_s")
    if known.height < 2:
        return
    above = known.with_columns(above_s=pl.col("min_s") - pl.col("min_s").min())
    most = _most(above, "above_s")
    if most["above_s"] < LEAST_ABOVE_RATIO * most["variation_mean_s"]:
        return
    yield Finding(
        "empty queue",
        f"never seen by {most['name']}: its smallest delay is {time_in_words(most['above_s'])} "
        "above that of another connection; if they share the path, it waits so much longer than "
        "its own queueing shows",
    )


def _round_trips(flows: pl.DataFrame) -> Iterator[Finding]:
    measured = (
        _near_sender(flows)
        .filter(pl.col("rtt_samples") >= FEW_SAMPLES)
        .drop_nulls(["rtt_min_s", "rtt_mean_s"])
    )
    if measured.is_empty():
        return
    longer = measured.with_columns(longer_s=pl.col("rtt_mean_s") - pl.col("rtt_min_s"))
    most = _most(longer, "longer_s")
    yield Finding(
        "round trips",
        f"{time_in_words(most['rtt_mean_s'])} on average and {time_in_words(most['rtt_min_s'])} at "
        f"least in {most['name']}, where the two are furthest apart",
    )


def _limits(flows: pl.DataFrame) -> Iterator[Finding]:
    """Count what limited senders for the largest part of their time; only their side shows it."""
    known = _near_sender(flows).with_columns(limit=limiting())
    found = known.drop_nulls("limit").group_by("limit", maintain_order=True).agg("name")
    parts = [
        f"{row['limit']} in {counted(len(row['name']), 'connection')}"
        + (f" ({row['name'][0]})" if len(row["name"]) == 1 and found.height > 1 else "")
        for row in found.sort(pl.col("name").list.len(), descending=True).iter_rows(named=True)
    ]
    if parts:
        yield Finding("limited by", "; ".join(parts))


def _closed_windows(flows: pl.DataFrame) -> Iterator[Finding]:
    closed = flows.filter(pl.col("zero_windows") > 0)
    if closed.height:
        most = _most(closed, "zero_window_s")
        yield Finding(
            "closed windows",
            f"{counted(int(closed['zero_windows'].sum()), 'time')} in "
            f"{counted(closed.height, 'connection')}; longest in {most['name']}: "
            f"{time_in_words(most['zero_window_s'])} in all",
        )


def _setups(results: Results) -> Iterator[Finding]:
    """Say how many attempts to connect failed, and how many connections were reset."""
    parts = []
    if results.has_table("setups"):
        names = ("attempts", "unanswered", "refused", "half_open")
        sums = results.scan("setups").select(pl.col(names).sum()).collect().row(0, named=True)
        failed = {name.replace("_", " "): sums[name] for name in names[1:] if sums[name]}
        if failed:
            counts = ", ".join(f"{count} {name}" for name, count in failed.items())
            parts.append(f"of {counted(sums['attempts'], 'attempt')} {counts}")
    if results.has_table("connections"):
        resets = results.scan("connections").filter(ending="reset").select(pl.len()).collect()
        if count := resets.item():
            parts.append(f"{counted(count, 'connection')} reset")
    if parts:
        yield Finding("connections", "; ".join(parts))


def _longest_wait(results: Results) -> Iterator[Finding]:
    for row in slowest_rows(results, 1):
        cause = CAUSES.get(row["cause"] or "", row["cause"])
        near = ", seen near the receiver" if row["seen_at"] == "receiver" else ""
        yield Finding(
            "longest wait",
            f"{time_in_words(row['wait_s'])} in {row['name']}, for a segment sent at "
            f"{row['sent_s']:.3f} s ({cause}{near})",
        )
