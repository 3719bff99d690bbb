"""Whether a limit is attained where theory says so."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.rate_limit_granularity.accuracy import accuracies

TOLERANCE_RATIO = 0.005
"""A packet more or less in the measured time, at the slowest rate."""


def claims(results: Results) -> list[Claim]:
    """Judge an exact clock, coarse clocks, and both formulas."""
    table = accuracies(results)
    coarse = table.filter(pl.col("clock") != "exact")
    return [
        _agreement(
            "With an exact clock every rate is attained with every burst.",
            table.filter(pl.col("clock") == "exact"),
            "expected_ratio",
        ),
        _agreement(
            "With a clock of HZ ticks a limit attains min(1, burst * 8 * HZ / rate).",
            coarse,
            "expected_ratio",
        ),
        _agreement(
            "With a clock of HZ ticks a limit attains what a bucket that is filled in ticks lets "
            "through in whole packets.",
            coarse,
            "whole_packets_ratio",
        ),
    ]


def _agreement(statement: str, table: pl.DataFrame, formula: str) -> Claim:
    details = table.with_columns((pl.col("attained_ratio") - pl.col(formula)).alias("difference"))
    near = details.filter(pl.col("difference").abs() <= TOLERANCE_RATIO).height
    if near == details.height:
        verdict = Verdict.BORNE_OUT
    else:
        verdict = Verdict.BORNE_OUT_IN_PART if near else Verdict.NOT_BORNE_OUT
    worst = details.sort(pl.col("difference").abs(), descending=True).row(0, named=True)
    return Claim(
        statement=statement,
        rule=(
            f"Attained over nominal rate within {TOLERANCE_RATIO:.1%} of the formula. Borne out: "
            "in every cell; in part: in some. There is no chance in it, so there are no intervals."
        ),
        verdict=verdict,
        evidence=(
            f"{near} of {details.height} cells. The farthest: {worst['clock']}, burst "
            f"{worst['burst']}, {worst['nominal_mbit_per_second']:g} Mbit/s: attained "
            f"{worst['attained_ratio']:.3f}, formula {worst[formula]:.3f}."
        ),
        details=details,
    )
