"""What a rate limit attained, and what tokens that come in ticks let through."""

from __future__ import annotations

import polars as pl

from fairwind.quantities import parse_bits_per_second, parse_bytes, parse_seconds
from fairwind.results import Results


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


def whole_packets_ratio(rate: int, burst: int, packet: int, tick_ns: int, ticks: int) -> float:
    """Give what a bucket lets through that is filled in ticks and gives whole packets only.

    Tokens that find the bucket full are lost, and what is left of them after whole packets takes
    room from the next tick's: between two packets' worth the closed form is too much.

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
    """
    capacity, cost = burst * 8 * 10**9, packet * 8 * 10**9
    tokens, passed = capacity, 0
    for tick in range(-ticks, ticks):  # the first half empties the bucket
        tokens = min(capacity, tokens + rate * tick_ns)
        packets, tokens = divmod(tokens, cost)
        passed += packets if tick >= 0 else 0
    return passed * cost / (ticks * rate * tick_ns)


def accuracies(results: Results) -> pl.DataFrame:
    """Give attained and expected rate of every cell, over the nominal one.

    Returns
    -------
    DataFrame
        ``clock``, ``burst``, ``nominal_mbit_per_second``, ``attained_ratio``,
        ``expected_ratio`` (the closed form), ``whole_packets_ratio``.
    """
    attained = dict(
        results.groups.group_by("cell").agg(pl.col("throughput_bits_per_second").mean()).iter_rows()
    )
    rows = []
    for cell in results.manifest.plan.cells:
        if cell.index not in attained:
            continue
        queue = cell.experiment["network"]["links"][0]["queue"]
        rate = parse_bits_per_second(queue["rate"])
        tick_s = parse_seconds(queue.get("granularity", "0 ns"))
        burst = int(queue["burst_bytes"])
        packet = int(parse_bytes(cell.experiment["flows"][0]["workload"]["size"]["packet"]))
        expected = expected_ratio(rate, burst, tick_s)
        rows.append(
            {
                "clock": cell.settings["clock"],
                "burst": cell.settings["burst"],
                "nominal_mbit_per_second": rate / 1e6,
                "attained_ratio": attained[cell.index] / rate,
                "expected_ratio": expected,
                "whole_packets_ratio": expected
                if tick_s == 0
                else whole_packets_ratio(
                    round(rate), burst, packet, round(tick_s * 1e9), round(60 / tick_s)
                ),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)
