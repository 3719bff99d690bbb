"""Transfers over satellites of today, from end to end, by who sends and how slots are assigned."""

from __future__ import annotations

import polars as pl

from fairwind.results import Results

from .transfers import TIME, compared

SENDER, VOLUME, CAPACITY, LINK = "sender", "volume", "capacity", "link"

CONSTANT, PLAIN, FORESEEN = "constant", "rbdc", "forecast"
ON_DEMAND = (PLAIN, "vbdc", FORESEEN)

STEADY = "steady"
HANDOVERS = ("delay steps", "delay and rate steps")
"""Of a link without slots; those with slots have steps of delay, too."""

LOSSY = "delay steps, outage"
"""Delay steps before each of which nothing gets through for a tenth of a second."""

STEP_S = 15.0
"""From one handover to the next; the first one is so long after the beginning of the run."""

MET = "handovers_met"

THROUGH = ("cubic", "hybla", "bbr")
"""Senders without a proxy."""


def end_to_end(results: Results) -> pl.DataFrame:
    """Give every transfer's time from its start until the last byte is read at its far end.

    Returns
    -------
    DataFrame
        The axes, ``cell``, ``seed``, ``group`` (always the same), `TIME`, which is missing where
        a connection of the transfer did not end, and `MET`: how often `STEP_S` passed meanwhile. A
        relay's flow counts from the first half's start.
    """
    axes = [name for name in (SENDER, CAPACITY, LINK, VOLUME) if name in results.flows.columns]
    completion = pl.col("completion_time_s")
    return (
        results.flows.group_by("cell", "seed", *axes, maintain_order=True)
        .agg(
            pl.when(completion.is_not_null().all()).then(completion.max()).alias(TIME),
            pl.col("timeouts").sum(),
            pl.col("start_s").min(),
        )
        .with_columns(
            pl.lit("transfer").alias("group"),
            (
                ((pl.col("start_s") + pl.col(TIME)) / STEP_S).floor()
                - (pl.col("start_s") / STEP_S).floor()
            ).alias(MET),
        )
        .drop("start_s")
    )


def delays(done: pl.DataFrame, axis: str, against: str, others: tuple[str, ...]) -> pl.DataFrame:
    """Compare each other setting of an axis with one, by sender and volume, paired by seed.

    Returns
    -------
    DataFrame
        What `compared` gives, with the column of the axis.
    """
    rows = [
        compared(done, TIME, axis, (against, other), [SENDER, VOLUME]).with_columns(
            pl.lit(other).alias(axis)
        )
        for other in others
        if other in done[axis].to_list()
    ]
    return pl.concat(rows)
