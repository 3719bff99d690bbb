"""Whether a limit is attained where theory says so."""

from __future__ import annotations

import polars as pl

from fairwind.results import Claim, Results, Verdict
from fairwind.studies.in_part import listed, sentence

from .accuracy import HTB, TBF, accuracies

TOLERANCE_RATIO = 0.005
"""A packet more or less in the measured time, at the slowest rate."""

CLOSED_FORM = "min(1, burst * 8 * HZ / rate)"


def claims(results: Results) -> list[Claim]:
    """Judge an exact clock, coarse clocks, and both formulas."""
    table = accuracies(results)
    coarse = table.filter(pl.col("clock") != "exact")
    return [
        _agreement(
            "With an exact clock every rate is attained with every bucket.",
            table.filter(pl.col("clock") == "exact"),
            "expected_ratio",
        ),
        *(
            _agreement(
                f"With a clock of HZ ticks {limiter} attains {CLOSED_FORM}.",
                coarse.filter(pl.col("limiter") == limiter),
                "expected_ratio",
            )
            for limiter in (TBF, HTB)
        ),
        _at_least(
            f"With a clock of HZ ticks htb attains at least {CLOSED_FORM}.",
            coarse.filter(pl.col("limiter") == HTB),
        ),
        _agreement(
            "With a clock of HZ ticks a limit attains what a bucket that is filled in ticks lets "
            "through in whole packets, tbf of tokens that it has, htb on credit of one packet.",
            coarse,
            "whole_packets_ratio",
        ),
    ]


def _agreement(statement: str, table: pl.DataFrame, formula: str) -> Claim:
    is_near = pl.col("difference").abs() <= TOLERANCE_RATIO
    rule = f"Attained over nominal rate within {TOLERANCE_RATIO:.1%} of the formula."
    return _judged(statement, rule, table, formula, is_near)


def _at_least(statement: str, table: pl.DataFrame) -> Claim:
    is_enough = pl.col("difference") >= -TOLERANCE_RATIO
    rule = f"Attained over nominal rate not more than {TOLERANCE_RATIO:.1%} below the formula."
    return _judged(statement, rule, table, "expected_ratio", is_enough)


def _judged(statement: str, rule: str, table: pl.DataFrame, formula: str, holds: pl.Expr) -> Claim:
    details = table.with_columns((pl.col("attained_ratio") - pl.col(formula)).alias("difference"))
    held = details.filter(holds).height
    if details.height == 0:
        verdict = Verdict.UNDECIDED
    elif held == details.height:
        verdict = Verdict.BORNE_OUT
    else:
        verdict = Verdict.BORNE_OUT_IN_PART if held else Verdict.NOT_BORNE_OUT
    return Claim(
        statement=statement,
        rule=(
            f"{rule} Borne out: in every cell; in part: in some. There is no chance in it, so "
            "there are no intervals."
        ),
        verdict=verdict,
        evidence=f"{held} of {details.height} cells.{_farthest(details, formula)}",
        details=details,
        in_short=_in_short(details, holds),
    )


def _in_short(details: pl.DataFrame, holds: pl.Expr) -> str:
    """Say with which buckets the formula holds at every rate, and with which it does not."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    cells = details.with_columns(holds.alias("holds"))
    for (bucket,), own in cells.group_by("bucket", maintain_order=True):
        held = own.filter("holds").height
        is_whole = held == own.height
        name = str(bucket).replace(",", "")
        parts[is_whole].append(name if is_whole else f"{name} ({held} of {own.height})")
    whole, broken = (listed(parts[key]) for key in (True, False))
    always = [f"it holds in every cell with {whole}"] if whole else []
    return sentence([*always, f"it holds in some cells only with {broken}"]) if broken else ""


def _farthest(details: pl.DataFrame, formula: str) -> str:
    """Name the cell that is farthest from the formula; nothing where there are no cells."""
    ordered = details.sort(pl.col("difference").abs(), descending=True)
    for worst in ordered.head(1).iter_rows(named=True):
        return (
            f" The farthest: {worst['clock']}, {worst['bucket']}, "
            f"{worst['nominal_mbit_per_second']:g} Mbit/s: attained "
            f"{worst['attained_ratio']:.3f}, formula {worst[formula]:.3f}."
        )
    return ""
