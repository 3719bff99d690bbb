"""Subjects of a run's measures: groups, transfers, queues, fairness; and their main measures."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fairwind.results.results import Results
from fairwind.results.transfers import has_answers, one_after_the_other, transfer_times


@dataclass(frozen=True)
class Subject:
    """One kind of thing that is measured.

    Attributes
    ----------
    table : str
        The table that has one row for each, or that these are made of.
    column : str
        The column that names it.
    measures : tuple of str
        The columns that a person looks at first, in this order.
    """

    table: str
    column: str
    measures: tuple[str, ...]

    def measures_in(self, frame: pl.DataFrame) -> list[str]:
        """Give the main measures of which a table knows anything."""
        return [
            name
            for name in self.measures
            if name in frame.columns and frame[name].null_count() < frame.height
        ]


GROUPS = Subject(
    "groups",
    "group",
    (
        "goodput_bits_per_second",
        "throughput_bits_per_second",
        "packet_loss_ratio",
        "retransmission_ratio",
        "ack_latency_p50_s",
        "ack_latency_p99_s",
        "delivery_latency_p50_s",
        "delivery_latency_p99_s",
    ),
)
TRANSFERS = Subject(
    "transfers",
    "group",
    (
        "completion_time_p50_s",
        "completion_time_p90_s",
        "ended_transfers",
        "unfinished_transfers",
    ),
)
"""Made of the flows, by `transfer_times`."""

QUEUES = Subject(
    "queues",
    "queue",
    (
        "drops_packets",
        "backlog_mean_packets",
        "arrival_backlog_p99_packets",
        "sojourn_p50_s",
        "sojourn_p99_s",
    ),
)
FAIRNESS = Subject("fairness", "among", ("jain_index",))

SUBJECTS = (GROUPS, TRANSFERS, QUEUES, FAIRNESS)

HARDLY_ANY_PACKETS = 0.005
"""A queue with a smaller mean backlog, and without drops, had no influence."""


def rows_of(results: Results, subject: Subject) -> pl.DataFrame:
    """Give the rows of one subject; none where the run does not have its table.

    Queues that nobody noticed are left out, and so is fairness among one, or among those who do
    not compete: callers and those who answer them, and transfers one after the other.
    """
    if subject is TRANSFERS:
        return transfer_times(results)
    if not results.has_table(subject.table):
        return pl.DataFrame()
    rows = results.table(subject.table)
    if not rows.width:
        return rows
    match subject.table:
        case "queues":
            return _noticed(rows)
        case "fairness":
            return _among(results, rows)
        case _:
            return rows


def _noticed(queues: pl.DataFrame) -> pl.DataFrame:
    matters = (pl.col("backlog_mean_packets") > HARDLY_ANY_PACKETS) | (pl.col("drops_packets") > 0)
    return queues.filter(matters.any().over("queue"))


def _among(results: Results, fairness: pl.DataFrame) -> pl.DataFrame:
    """Name the members of a fairness index: all flows, the flows of a group, or the groups."""
    if has_answers(results):
        fairness = fairness.filter(pl.col("scope") == "group")
    in_turn = pl.col("name").is_in(one_after_the_other(results))
    fairness = fairness.filter(~((pl.col("scope") == "group") & in_turn))
    words = (
        pl.when(pl.col("scope") == "group")
        .then(pl.format("flows of {}", "name"))
        .when(pl.col("scope") == "all")
        .then(pl.lit("all flows"))
        .otherwise(pl.lit("groups, per flow"))
    )
    return fairness.filter(pl.col("members") > 1).with_columns(words.alias("among"))
