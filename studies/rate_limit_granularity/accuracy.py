"""What a rate limit attained, and what tokens that come in ticks let through."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Results

TBF = "tbf"
HTB = "htb"


class Bucket(NamedTuple):
    """A rate limit.

    Attributes
    ----------
    limiter : str
        `TBF`, which lets a packet go when it has tokens for all of it, or `HTB`, which lets one go
        while it is not in debt.
    rate : float
        Nominal, bit/s.
    burst : int
        What it holds, bytes.
    tick_s : float
        Time between two looks at the clock, seconds; 0 for an exact clock.
    """

    limiter: str
    rate: float
    burst: int
    tick_s: float


def expected_ratio(rate: float, burst: int, tick_s: float) -> float:
    """Give the closed form: a full bucket in every tick, or the rate if that is less.

    Parameters
    ----------
    rate : float
        Nominal, bit/s.
    burst : int
        Size of the bucket, bytes.
    tick_s : float
        Time between two looks at the clock, seconds; 0 for an exact clock.
    """
    return 1.0 if tick_s == 0 else min(1.0, burst * 8 / (tick_s * rate))


def whole_packets_ratio(
    rate: int, burst: int, packet: int, tick_ns: int, ticks: int, limiter: str = TBF
) -> float:
    """Give what a bucket lets through that is filled in ticks and gives whole packets only.

    Tokens that find the bucket full are lost. What tbf has left after whole packets takes room from
    the next tick's tokens: between two packets' worth the closed form is too much. htb sends one
    packet on credit in every tick and pays with the tokens of the next: the closed form is too
    little.

    Parameters
    ----------
    rate : int
        Nominal, bit/s.
    burst, packet : int
        Sizes of the bucket and of every packet, bytes.
    tick_ns : int
        Time between two looks at the clock, nanoseconds, above 0.
    ticks : int
        How many ticks are counted.
    limiter : str
        `TBF` or `HTB`.
    """
    capacity, cost = burst * 8 * 10**9, packet * 8 * 10**9
    tokens, passed = capacity, 0
    for tick in range(-ticks, ticks):  # the first half empties the bucket
        tokens = min(capacity, tokens + rate * tick_ns)
        packets = tokens // cost if limiter == TBF else max(0, tokens // cost + 1)
        tokens -= packets * cost
        passed += packets if tick >= 0 else 0
    return passed * cost / (ticks * rate * tick_ns)


def bucket_of(queue: dict[str, Any]) -> Bucket:
    """Give the rate limit that a resolved queue is."""
    limiter = queue["discipline"]
    own = queue["classes"][0] if limiter == HTB else queue
    tick_s = parse_seconds(queue.get("granularity", "0 ns"))
    return Bucket(limiter, parse_bits_per_second(own["rate"]), int(own["burst_bytes"]), tick_s)


def accuracies(results: Results) -> pl.DataFrame:
    """Give attained and expected rate of every cell, over the nominal one.

    Returns
    -------
    DataFrame
        ``clock``, ``bucket``, ``limiter``, ``burst_bytes``, ``tick_s``,
        ``nominal_mbit_per_second``, ``attained_ratio``, ``expected_ratio`` (the closed form),
        ``whole_packets_ratio``.
    """
    attained = dict(
        results.groups.group_by("cell").agg(pl.col("throughput_bits_per_second").mean()).iter_rows()
    )
    return pl.DataFrame(
        [
            _accuracy(cell.settings, cell.experiment, attained[cell.index])
            for cell in results.manifest.plan.cells
            if cell.index in attained
        ],
        infer_schema_length=None,
    )


def _accuracy(
    settings: dict[str, Any], experiment: dict[str, Any], attained_bits_per_second: float
) -> dict[str, Any]:
    bucket = bucket_of(experiment["network"]["links"][0]["queue"])
    packet = int(parse_bytes(experiment["flows"][0]["workload"]["size"]["packet"]))
    return {
        "clock": settings["clock"],
        "bucket": settings["bucket"],
        "limiter": bucket.limiter,
        "burst_bytes": bucket.burst,
        "tick_s": bucket.tick_s,
        "nominal_mbit_per_second": bucket.rate / 1e6,
        "attained_ratio": attained_bits_per_second / bucket.rate,
        "expected_ratio": expected_ratio(bucket.rate, bucket.burst, bucket.tick_s),
        "whole_packets_ratio": _of_whole_packets(bucket, packet),
    }


def _of_whole_packets(bucket: Bucket, packet: int) -> float:
    if bucket.tick_s == 0:
        return 1.0
    tick_ns, ticks = round(bucket.tick_s * 1e9), round(60 / bucket.tick_s)
    return whole_packets_ratio(
        round(bucket.rate), bucket.burst, packet, tick_ns, ticks, bucket.limiter
    )
