"""Limits of flows other than congestion control (after Leith), and unused careful resumption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwind.results.results import Results
from fairwind.results.tidy import groups_with_workload, is_of_a_volume

HELD_RATIO = 0.1
"""A sender that something else held back for more than this part of its time was not exercised."""

REASONS = {
    "window": "the receiver's window held data back for more than {share:.0%} of the time",
    "buffer": "the send buffer held the application back for more than {share:.0%} of the time",
    "connection": "a greedy flow never sent anything, because its connection was not established",
    "application": "a greedy application had nothing to send for more than {share:.0%} of the time",
    "slow start": "a greedy flow never lost anything and never left slow start",
}
"""Reasons why congestion control did not limit a flow, in words."""


def limits_in_words(results: Results) -> list[str]:
    """Find groups that something other than congestion control limited."""
    limited = limited_senders(results)
    if limited.is_empty():
        return []
    senders = results.senders
    assert senders is not None, "where limited senders come from"
    found = limited.group_by("group", "reason", maintain_order=True).agg(
        pl.len().alias("flows"), pl.col("cell").unique()
    )
    sentences = []
    for row in found.iter_rows(named=True):
        of_cells = senders.filter(pl.col("cell").is_in(row["cell"]), group=row["group"])
        where = results.manifest.plan.cells_in_words(row["cell"])
        sentences.append(
            f"Congestion control was not exercised{f' with {where}' if where else ''}: in "
            f"{row['flows']} of {of_cells.height} flows of group {row['group']} "
            f"{REASONS[row['reason']].format(share=HELD_RATIO)}. What these flows did says little "
            "about their congestion control."
        )
    return sentences


def limited_senders(results: Results) -> pl.DataFrame:
    """Give the flows that something other than their congestion control limited.

    Only greedy applications are listed for meeting no loss, and only those without a volume and
    without a stop for writing too little: others are meant to.

    Returns
    -------
    DataFrame
        Rows of the table ``senders``, with ``reason``, one of `REASONS`; one for each reason.
    """
    senders = results.senders
    if senders is None or senders.is_empty():
        return pl.DataFrame(schema={"group": pl.String, "reason": pl.String})
    greedy, has_sent = pl.col("is_greedy"), pl.col("busy_s") > 0
    known = senders.join(_greedy(results), on=["cell", "group"], maintain_order="left")
    known = _with_established_time(results, known)
    held = {
        "window": pl.col("window_limited_s") > HELD_RATIO * pl.col("busy_s"),
        "buffer": pl.col("buffer_limited_s") > HELD_RATIO * pl.col("busy_s"),
        "connection": greedy & ~has_sent,
        "application": pl.col("is_endless")
        & has_sent
        & (pl.col("established_s") - pl.col("busy_s") > HELD_RATIO * pl.col("established_s")),
        "slow start": greedy
        & has_sent
        & (pl.col("total_segments_retransmitted") == 0)
        & pl.col("in_slow_start"),
    }
    return pl.concat(
        known.filter(when).with_columns(pl.lit(reason).alias("reason"))
        for reason, when in held.items()
    ).drop("established_s")


def _with_established_time(results: Results, senders: pl.DataFrame) -> pl.DataFrame:
    """Add ``established_s``: ``open_s`` without the set-up, in which nothing can be sent."""
    keys = ["cell", "replicate", "flow"]
    flows = results.flows
    if "setup_time_s" not in flows.columns:
        return senders.with_columns(established_s="open_s")
    setups = flows.select(*keys, "setup_time_s")
    return (
        senders.join(setups, on=keys, how="left", maintain_order="left")
        .with_columns(established_s=pl.col("open_s") - pl.col("setup_time_s").fill_null(0))
        .drop("setup_time_s")
    )


def _greedy(results: Results) -> pl.DataFrame:
    """Classify the groups of every cell: greedy, and without end."""
    rows = [
        (cell, group["name"], is_greedy, is_greedy and not _is_to_end(group))
        for cell, group in groups_with_workload(results)
        for is_greedy in [group["workload"]["kind"] == "greedy"]
    ]
    kinds = dict.fromkeys(("is_greedy", "is_endless"), pl.Boolean)
    schema = {"cell": pl.UInt32, "group": pl.String, **kinds}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _is_to_end(group: Mapping[str, Any]) -> bool:
    """Return whether a group's streams have a volume, or stop before the experiment ends."""
    return is_of_a_volume(group["workload"]) or group.get("stop") is not None


CAREFUL = "careful-resume"
OPENING, JUMPED = "opening", "unvalidated"
"""The policy, the row that every connection has, and the phase that a jump begins."""


def never_resumed_in_words(results: Results) -> list[str]:
    """Explain why no connection of the run jumped, if some were to."""
    if not _is_meant(results):
        return []
    found = results.resumptions
    found = None if found is None else found.filter(pl.col("phase") != OPENING)
    if found is None or found.is_empty():
        return [
            "Careful Resume never jumped: no connection found a saved window. A window is saved "
            "when a connection ends with at least four initial windows. Later connections between "
            "the same hosts use it, if `openings` includes them."
        ]
    if (found["phase"] == JUMPED).any():
        return []
    reasons = found.filter(pl.col("reason") != "").group_by("reason").len("times")
    text = ", ".join(
        f"{reason} ({times})"
        for reason, times in reasons.sort("times", "reason", descending=[True, False]).iter_rows()
    )
    looked_up = found.select("cell", "replicate", "flow").n_unique()
    why = f", but did not use it: {text}" if text else ", but closed before they could use it"
    return [
        f"Careful Resume never jumped: {looked_up} connections found a saved window{why}. "
        "These runs show the initial window only."
    ]


def _is_meant(results: Results) -> bool:
    return any(
        _policy(group.get(side)) == CAREFUL
        for cell in results.manifest.plan.cells
        for group in cell.experiment.get("flows", ())
        for side in ("tcp", "receiver_tcp")
    )


def _policy(tcp: Mapping[str, Any] | None) -> object:
    sharing = (tcp or {}).get("sharing")
    return sharing.get("policy") if isinstance(sharing, dict) else None
