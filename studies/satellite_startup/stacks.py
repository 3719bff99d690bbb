"""What the source's stacks did, run by run."""

from __future__ import annotations

import polars as pl

from fairwind.results import Results

from .transfers import (
    CHANNEL_BITS_PER_SECOND,
    PAYLOAD_BYTES,
    ROUND_TRIP_S,
    with_axes,
)

STACK, REQUEST, LIMIT = "stack", "request", "limit"
AXES = (STACK, REQUEST, LIMIT)

WITHOUT, WITH, FREEBSD = "Linux 2.6 without SACK", "Linux 2.6 with SACK", "FreeBSD 5.4"

SETTLED_S = 20.0
"""After so long a start-up counts as over: the source shows as much."""

CHANNEL_PAYLOAD = CHANNEL_BITS_PER_SECOND * PAYLOAD_BYTES / 1500
"""What the most slots carry of payload in full packets, in bit/s."""


def behaviour(stacks: Results) -> pl.DataFrame:
    """Give what each run did.

    Returns
    -------
    DataFrame
        `AXES`, ``seed``, ``timeouts``, ``packets_lost``, ``rate_ratio`` (goodput from 20 s on by
        what the most slots carry), ``irregularity_ratio`` (deviation of the goodput in windows of
        a second by its mean, from 20 s on; missing where nothing came), ``rtt_ratio`` (median of
        the smoothed round trip from 20 s on by the one without queues); ``early_lost`` and
        ``early_rtt_ratio`` are the packets lost and the round trip of the first 20 s.
    """
    counted = with_axes(stacks.flows).select(
        *AXES, "cell", "seed", "timeouts", "packets_lost", "data_segments_retransmitted"
    )
    rate = pl.col("goodput_bits_per_second")
    settled = stacks.intervals.filter(pl.col("start_s") >= SETTLED_S)
    rates = settled.group_by("cell", "seed").agg(
        (rate.mean() / CHANNEL_PAYLOAD).alias("rate_ratio"),
        pl.when(rate.mean() > 0).then(rate.std() / rate.mean()).alias("irregularity_ratio"),
    )
    waited = stacks.endpoint.filter(pl.col("time_s") >= SETTLED_S)
    trips = waited.group_by("cell", "seed").agg(
        (pl.col("smoothed_rtt_s").median() / ROUND_TRIP_S).alias("rtt_ratio")
    )
    early = stacks.intervals.filter(pl.col("start_s") < SETTLED_S)
    lost = early.group_by("cell", "seed").agg(pl.col("packets_lost").sum().alias("early_lost"))
    first = stacks.endpoint.filter(pl.col("time_s") < SETTLED_S)
    first_trips = first.group_by("cell", "seed").agg(
        (pl.col("smoothed_rtt_s").median() / ROUND_TRIP_S).alias("early_rtt_ratio")
    )
    keys = ["cell", "seed"]
    return (
        counted.join(rates, on=keys, how="left", maintain_order="left")
        .join(trips, on=keys, how="left", maintain_order="left")
        .join(lost, on=keys, how="left", maintain_order="left")
        .join(first_trips, on=keys, how="left", maintain_order="left")
        .drop("cell")
    )


def by_buffer(runs: pl.DataFrame, stack: str, request: str) -> pl.DataFrame:
    """Give one row for each buffer of one stack and way of asking.

    Returns
    -------
    DataFrame
        `LIMIT`, ``runs``, ``with_timeout`` and ``without_loss`` (shares of the runs), and means of
        the other measures of `behaviour`.
    """
    chosen = runs.filter((pl.col(STACK) == stack) & (pl.col(REQUEST) == request))
    return chosen.group_by(LIMIT, maintain_order=True).agg(
        pl.len().alias("runs"),
        (pl.col("timeouts") > 0).mean().alias("with_timeout"),
        (pl.col("packets_lost") == 0).mean().alias("without_loss"),
        pl.col("timeouts", "packets_lost").mean(),
        pl.col("rate_ratio", "irregularity_ratio", "rtt_ratio").mean(),
        (pl.col("early_lost") == 0).mean().alias("early_without_loss"),
        pl.col("early_rtt_ratio").mean(),
        pl.col("rate_ratio").min().alias("least_rate_ratio"),
    )
